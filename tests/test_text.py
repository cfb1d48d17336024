"""Entity to text: clean prose, passages that lose nothing and fit the model, facts and snippets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.embedding.model import find_model
from lorekeeper.embedding.usage import DEFAULT_USAGE
from lorekeeper.entities import COLLECTIONS, MAX_TEXT_LENGTH, Entity
from lorekeeper.filters import clean_fields
from lorekeeper.text.cleaning import clean, sentences
from lorekeeper.text.excerpts import SNIPPET_CHARS, snippet
from lorekeeper.text.facts import facts, format_rating, indexed_facts
from lorekeeper.text.passages import PASSAGE_TOKENS, Passage, estimate_tokens, passages
from lorekeeper.text.sections import full_text, sections
from tests.support.corpus import imported_entries
from tests.support.entities import make
from tests.support.examples import examples
from tests.support.libraries import need_books, whole_books
from tests.support.tables import each_row

ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=300)
WORDS = "The drake breathes fire for 2d6 damage. Then it sleeps! A (very) long word: half-elf 50 feet дракон 火球 * |"
PROSE = st.lists(
    st.sampled_from([*WORDS.split(), "\n\n", "x" * 90, "1" * 80, "?!" * 60]), min_size=3, max_size=250
).map(" ".join)
HEADING = st.text("abcdefgh ", max_size=30)


def entity(
    data: dict[str, Any], entity_type: str = "spells", name: str = "Ash Storm", kind: str = "spell", **fields: Any
) -> Entity:
    cleaned = clean_fields(entity_type, fields)
    return Entity(entity_type, "ash-storm", name, kind, "own", "lorekeeper", {"name": name, **data}, cleaned)


def letters(text: str) -> str:
    """All letters and digits of a text, in order: what is left of its words however they are spaced."""
    return "".join(re.findall(r"[^\W_]", text))


def over(budget: int, found: list[Passage]) -> list[int]:
    return [size for size in (estimate_tokens(p.embedded) for p in found) if size > budget]


# --- clean ---------------------------------------------------------------------------------------------------------


@each_row(
    ("raw", "text"),
    [
        ("**_Ability Score Increase._** Your Strength", "Ability Score Increase. Your Strength"),
        ("# Title\n\nText", "Title\nText"),
        ("see [the rules](https://example.org/rules)", "see the rules"),
        ("![map](map.png) of the town", "map of the town"),
        ("<p>Hail <b>and</b> ice</p>", "Hail and ice"),
        ("one<br/>two", "one two"),
        ("in\u00advisible", "invisible"),
        ("a\r\nb\r\n\r\nc", "a\nb\nc"),
        ("to slay.\\n\\nOnce it has\\r\\nslain", "to slay.\nOnce it has\nslain"),
        ("[No description provided]", ""),
        ("[Column data]", ""),
        ("  \n\t\n ", ""),
        ("> quoted\n- listed", "quoted\n- listed"),
        ("| d6 | Weather |\n|----|:-------:|\n| 1 | Ash rain |", "d6; Weather\n1; Ash rain"),
        ("| a | b |\n| :-- | --: |\n| c | d |\n\n|--|\n- e", "a; b\nc; d\n- e"),
    ],
)
def test_markup_is_taken_out_of_prose(raw, text):
    assert clean(raw) == text


@each_row(
    "text",
    [
        "If it has HP < 10 and an AC > 15, it flees.",
        "At <5 feet or >60 feet you miss.",
        "Roll [two dice] (or three).",
        "3 < 4",
        "The rune reads a_b.",
        "5% | 10%",
    ],
)
def test_signs_that_look_like_markup_take_no_word_away(text):
    assert letters(clean(text)) == letters(text)


@given(ANY_TEXT)
def test_cleaning_any_text_leaves_no_blank_lines_and_no_outer_space(text):
    assert all(line == line.strip() and line for line in clean(text).split("\n") if clean(text))


# --- sections and passages -----------------------------------------------------------------------------------------


def test_all_prose_of_an_entry_is_found_under_its_own_headings():
    found = sections(
        entity(
            {
                "desc": "It storms.",
                "higher_level": "It storms more.",
                "traits": [{"name": "Ash Skin", "desc": "Fire does not harm it."}, {"name": "Mute", "desc": ""}],
                "actions": [{"name": "Bite", "desc": "It bites."}],
                "benefits": [{"name": None, "desc": "You choke less."}],
                "descriptions": [{"desc": "You cannot see.", "document": "own"}],
                "effects_desc": ["You cough.", "You sneeze."],
                "reactions": None,
            }
        )
    )
    assert [(s.heading, s.text) for s in found] == [
        ("", "It storms."),
        ("", "You cannot see."),
        ("At higher levels", "It storms more."),
        ("", "You cough.\nYou sneeze."),
        ("", "You choke less."),
        ("Ash Skin", "Fire does not harm it."),
        ("Bite", "It bites."),
    ]


@each_row("odd", [3, True, None, [], {}, [None, 3], {"desc": 5}, [["deep"]], {"name": ["x"], "desc": "y"}])
def test_prose_of_an_unexpected_shape_is_no_error(odd):
    assert passages(entity({"desc": odd, "traits": odd, "actions": [odd]}))


def test_a_short_entry_is_one_passage_that_says_what_it_is():
    (only,) = passages(entity({"desc": "Burning ash fills the air."}, level=3, school="conjuration"))
    assert only.embedded == "Ash Storm (level 3 conjuration spell): Burning ash fills the air."
    assert only.text == "Burning ash fills the air."


def test_an_entry_without_prose_is_known_by_name_kind_and_facts():
    (only,) = passages(entity({"desc": ""}, "equipment", "Longbow", "weapon", category="ranged", cost=50))
    assert only.embedded == "Longbow (ranged): weapon ranged · 50 gp"


def test_a_long_entry_has_many_passages_that_all_bear_its_name():
    found = passages(entity({"desc": " ".join(f"Sentence number {i} tells of ash and fire." for i in range(100))}))
    assert len(found) > 5
    assert all(p.embedded.startswith("Ash Storm") for p in found)


def test_a_section_that_is_cut_repeats_its_heading():
    long = " ".join(f"Its teeth number {i} and more." for i in range(60))
    found = passages(entity({"actions": [{"name": "Bite", "desc": long}]}, "creatures", kind="creature"))
    assert len(found) > 1
    assert all(p.section == "Bite" and p.text.startswith("Bite: ") for p in found)


@given(st.lists(st.tuples(HEADING, PROSE), min_size=1, max_size=4))
@examples(60)
def test_no_word_of_any_prose_is_lost(parts):
    told = entity({"desc": parts[0][1], "traits": [{"name": h, "desc": t} for h, t in parts[1:]]})
    text = letters("".join(p.text for p in passages(told)))
    rest = text
    for section in sections(told):
        for word in re.findall(r"[^\W_]+", section.text):
            _, found, rest = rest.partition(word)
            assert found, f"{word!r} is missing or out of order"


@given(st.text(st.characters(codec="utf-8"), max_size=2000))
@examples(150)
def test_no_letter_of_any_text_is_lost(text):
    told = entity({"desc": text})
    kept = letters("".join(p.text for p in passages(told)))
    assert letters(clean(text)) in kept


@given(st.lists(st.tuples(HEADING, PROSE | ANY_TEXT), min_size=1, max_size=4), st.integers(60, 200))
@examples(60)
def test_no_passage_is_over_its_budget(parts, budget):
    told = entity({"desc": parts[0][1], "traits": [{"name": h, "desc": t} for h, t in parts[1:]]})
    assert over(budget, passages(told, budget)) == []


@each_row(
    "data",
    [
        {"desc": "火" * 1000},
        {"desc": "x" * 10_000},
        {"desc": "1" * 3000 + " " + "!" * 3000},
        {"desc": "word " * 3000},
        {
            "desc": "It burns, and it burns well.",
            "actions": [{"name": "Bite and claw " * 200, "desc": "It bites hard."}],
        },
    ],
)
def test_odd_text_is_cut_to_what_the_model_reads_with_nothing_lost(data):
    told = entity(data)
    found = passages(told)
    assert over(DEFAULT_USAGE.max_tokens, found) == []
    assert letters(clean(data["desc"])) in letters("".join(p.text for p in found))


@each_row("name", ["Ash " * (MAX_TEXT_LENGTH // 4), "火" * MAX_TEXT_LENGTH])
def test_the_longest_name_leaves_room_for_the_text(name):
    assert (
        over(DEFAULT_USAGE.max_tokens, passages(entity({"desc": "Burning ash fills the air. " * 30}, name=name))) == []
    )


def test_long_lists_of_facts_leave_a_passage_the_model_reads_whole():
    told = entity({}, classes=[f"order of the burning lamp number {i}" for i in range(200)])
    assert over(DEFAULT_USAGE.max_tokens, passages(told)) == []


@given(ANY_TEXT)
def test_sentences_are_never_empty(text):
    assert all(s.strip() for s in sentences(text))


def test_keyword_search_sees_all_prose_with_its_headings():
    told = entity({"desc": "It storms.", "traits": [{"name": "Ash Skin", "desc": "Fire does not harm it."}]})
    assert full_text(told) == "It storms.\nAsh Skin: Fire does not harm it."


# --- facts and snippets --------------------------------------------------------------------------------------------


def test_the_facts_that_are_embedded_stay_as_they_are():
    told = {"duration": "1 hour", "range_text": "Touch", "speed": {"fly": 60}, "armor": {"ac_display": "14"}}
    for entity_type in COLLECTIONS:
        assert indexed_facts(entity(told, entity_type)) == indexed_facts(entity({}, entity_type))


@each_row("entity_type", COLLECTIONS)
def test_facts_of_an_entry_of_which_nothing_is_known_name_no_number(entity_type):
    line = facts(entity({}, entity_type, kind=COLLECTIONS[entity_type].kinds[0]))
    assert "cantrip" not in line
    assert not re.search(r"\d|None|False", line)


@each_row(("rating", "printed"), [(0.125, "1/8"), (0.25, "1/4"), (0.5, "1/2"), (0.0, "0"), (30.0, "30")])
def test_challenge_ratings_are_printed_as_in_books(rating, printed):
    assert format_rating(rating) == printed


def test_a_snippet_is_whole_up_to_its_limit_and_cut_one_character_beyond_it():
    assert snippet("ten letter", 10) == "ten letter"
    assert snippet("ten letters", 10) == "ten…"
    assert len(snippet("word " * 200 + "x")) <= SNIPPET_CHARS


def test_a_snippet_has_no_space_before_the_punctuation_that_follows_bold_words():
    text = clean("**Race**: dwarf of **Skara**, a smith; **Home**: **Kep**.")
    assert snippet(text) == "Race: dwarf of Skara, a smith; Home: Kep."


def test_a_snippet_ends_with_a_sentence_where_one_fits_else_with_a_word():
    assert snippet("It burns. It smokes.", 100) == "It burns. It smokes."
    assert snippet("It burns and burns. Then it smokes for a very long time", 40) == "It burns and burns."
    assert snippet("It burns and smokes for a very long time, it does", 22) == "It burns and smokes…"


@given(ANY_TEXT, st.integers(5, 200))
def test_a_snippet_is_one_line_and_never_longer_than_asked(text, limit):
    short = snippet(text, limit)
    assert len(short) <= limit
    assert "\n" not in short


# --- the corpus ----------------------------------------------------------------------------------------------------


@cache
def tokenizer() -> Any:
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(find_model("all-MiniLM-L6-v2", offline=True).path / "tokenizer.json"))
    loaded.no_truncation()
    loaded.no_padding()
    return loaded


def word_pieces(found: list[Passage]) -> Iterator[int]:
    for start in range(0, len(found), 2000):
        texts = [p.embedded for p in found[start : start + 2000]]
        yield from (len(encoding.ids) for encoding in tokenizer().encode_batch_fast(texts))


@each_row("name", ["spells", "creatures", "equipment", "character_options", "rules", "documents"])
async def test_every_passage_of_the_first_books_is_read_whole_by_the_model(name):
    need_books()
    found = [p for e in whole_books() if e.type == name for p in passages(e)]
    assert found
    assert max(word_pieces(found)) <= DEFAULT_USAGE.max_tokens


RUNS = {
    "bars": "|",
    "bars and spaces": "| ",
    "blank lines": "\n",
    "spaces": " ",
    "dashes": "-",
    "brackets": "[",
    "links": "[a](",
    "tags": "<a",
    "stars": "*",
    "sentence ends": '." ',
    "table rows": "| :-",
}


@pytest.mark.alike(3)
@pytest.mark.parametrize("run", RUNS)
def test_b24_a_long_run_of_any_sign_is_cut_in_linear_time(run):
    """Where the time is not linear it is minutes."""
    text = f"| x{RUNS[run] * (100_000 // len(RUNS[run]))}y"
    assert passages(entity({"desc": text}), hint=text[:50_000])


def test_b24_an_entry_of_very_many_sections_is_packed_into_few_passages():
    found = passages(
        entity({"traits": [{"name": f"Trait {n}", "desc": f"It burns {n} times."} for n in range(15_000)]})
    )
    assert len(found) < 15_000 / 5
    assert all(f"It burns {n} times." in "".join(p.text for p in found) for n in (0, 7_500, 14_999))


@pytest.fixture(scope="module")
def cut_corpus(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Entity, list[Passage]]]:
    """Every entity of the corpus with its passages."""
    return [(told, passages(told)) for told in imported_entries(corpus, tmp_path_factory)]


@pytest.mark.corpus
def test_every_passage_of_the_corpus_is_read_whole_by_the_model(cut_corpus):
    found = [p for _, cut in cut_corpus for p in cut]
    sizes = list(word_pieces(found))
    assert len(sizes) > 9_000
    assert [p.embedded for p, size in zip(found, sizes, strict=True) if size > DEFAULT_USAGE.max_tokens] == []


@pytest.mark.corpus
def test_no_sentence_of_the_corpus_is_lost_to_search(cut_corpus):
    for told, cut in cut_corpus:
        text = letters("".join(p.text for p in cut))
        missing = [line for s in sections(told) for line in sentences(s.text) if letters(line)[:100] not in text]
        assert missing == [], told.uri


def test_the_budget_of_a_passage_leaves_room_for_a_wrong_estimate():
    assert DEFAULT_USAGE.max_tokens >= PASSAGE_TOKENS * 2


def test_b24_a_long_title_over_many_paragraphs_takes_neither_time_nor_memory():
    """It stands before every one of them: 300 kB times 20,000 would be 6 GB."""
    parts = [{"desc": "aa bb"} for _ in range(20_000)]
    entity = make("long", data={"features": [{"name": "word. " * 50_000, "properties": parts}]})
    assert len(passages(entity)) < 20_000
    assert len(full_text(entity)) < 20_000 * (MAX_TEXT_LENGTH + 10)
