"""Notes as prose: sections, passages, words, evidence, and pages of any size."""

from __future__ import annotations

from typing import Any

from lorekeeper.cache.sqlite.keywords import words_of
from lorekeeper.entities import Entity
from lorekeeper.render import lean, markdown
from lorekeeper.text.evidence import evidence
from lorekeeper.text.facts import facts
from lorekeeper.text.notes import capped_path, filled_in
from lorekeeper.text.passages import PASSAGE_TOKENS, estimate_tokens, passages
from lorekeeper.text.sections import sections
from tests.support.campaign import campaign
from tests.support.entities import make
from tests.support.tables import each_row

ODA, BRIDGE, *_ = campaign()


def note(*parts: tuple[str, str], name: str = "Log", **data: Any) -> Entity:
    texts = [{"name": heading, "desc": text} for heading, text in parts]
    return make("Log.md", type="notes", name=name, kind="note", data={"sections": texts, **data})


def test_the_model_reads_the_innermost_heading_and_the_text():
    read = [passage.embedded for passage in passages(BRIDGE)]
    assert read == [
        "Tallow Bridge (location): A toll bridge of black timber.",
        "Toll: Three candles for a cart, one for a rider. The ferryman Bors collects it.",
        "History: The salt men burned it twice.",
    ]
    assert [passage.section for passage in passages(BRIDGE)] == ["", "Toll", "History"]


def test_kind_aliases_and_facts_are_in_the_first_passage():
    first, *others = passages(ODA)
    for words in ("(npc)", "The Reed Witch", "Role: witch", "hut of woven reeds"):
        assert words in first.embedded
    assert not any("nettle" in passage.embedded for passage in others)


def test_no_passage_spans_two_sections_and_none_is_too_long():
    texts = [(f"Day {n} > Evening {'of rain ' * n}", f"Sentence {n}. " * (1 + n * 12)) for n in range(12)]
    long = note(*texts, name="A name that is long " * 20)
    found = passages(long)
    assert list(dict.fromkeys(p.section for p in found)) == [" ".join(h.split()) for h, _ in texts]
    for passage in found:
        assert estimate_tokens(passage.embedded) <= PASSAGE_TOKENS + 5
        assert len({n for n in range(12) if f"Sentence {n}." in passage.text}) == 1


def test_the_model_reads_no_pictograms():
    _, second = passages(
        note(
            ("", "It rained all day long in the hills."),
            ("\U0001f3ad Scene > \u26a1 Storm", "Oda saw it \u2764 coming."),
        )
    )
    assert second.embedded == "Storm: Oda saw it coming."


def test_an_empty_note_is_embedded_by_its_name_and_place():
    (only,) = passages(make("World/Empty.md", type="notes", name="Empty", kind="location", data={}))
    assert only.embedded == "Empty (location): location · World"


def test_a_path_keeps_its_innermost_headings():
    assert capped_path("Chapter One > The Village > The Inn", 25) == "The Village > The Inn"
    assert capped_path("x" * 50, 10) == "x" * 10


@each_row("broken", [None, 3, "text", [3], [{"name": 3, "desc": 4}], [{"desc": None}], {"a": 1}])
def test_objects_of_any_shape_are_read(broken):
    for key in ("sections", "aliases", "facts", "links"):
        entity = make("x.md", type="notes", name="X", data={key: broken})
        assert passages(entity)
        assert markdown(entity).startswith("# X")
        assert lean(entity)
        assert facts(entity) is not None


def test_aliases_are_words_of_the_name_and_facts_words_of_the_text():
    names, body, *_ = words_of(ODA)
    assert "The Reed Witch" in names
    assert "nettle tea" in body


def test_headings_of_sections_are_whole_paths():
    assert [section.heading for section in sections(ODA)] == ["", "", "Deeds > In the war", "Secrets (GM only)"]


def test_the_words_of_a_query_find_the_section_without_a_passage():
    assert evidence(BRIDGE, "how many candles does a cart pay").section == "Toll"
    assert evidence(BRIDGE, "burned").section == "History"


def test_the_nearest_passage_decides_where_words_do_not():
    days = [(f"Day {n}", "The party walked through the rain.") for n in range(5)]
    shown = evidence(note(*days), "a march in bad weather", days[3][1], place="Day 3")
    assert (shown.section, shown.text) == ("Day 3", days[3][1])
    shown = evidence(note(*days, ("Day 9", "They met Bors.")), "who met Bors", days[3][1], place="Day 3")
    assert shown.section == "Day 9"


def test_a_section_nearly_as_near_needs_fewer_words_than_one_far_away():
    days = [*((f"Day {n}", f"It rained in the year {n}.") for n in range(4)), ("Day 9", "They met Bors.")]
    asked, nearest = "where did the party hear of Bors", days[3][1]

    def shown(*near: tuple[str, float]) -> str:
        return evidence(note(*days), asked, nearest, place="Day 3", near=near).section

    assert shown() == shown(("Day 3", 0.6)) == shown(("Day 3", 0.6), ("Day 9", 0.46)) == "Day 3"
    assert shown(("Day 3", 0.6), ("Day 9", 0.54)) == "Day 9"
    assert shown(("Day 3", 0.6), ("Day 1", 0.54)) == "Day 3"


def test_a_page_of_a_huge_note_says_what_it_leaves_out():
    texts = [(f"Year {n // 30} > Day {n}", "It rained. " * 100) for n in range(300)]
    page = markdown(note(*texts))
    assert len(page) < 60_000
    assert "## Further sections" in page
    assert page.count("- Year") > 50
    assert "## Year 0\n\n### Day 0\n\nIt rained." in page
    assert page.count("## Year 0\n") == 1
    assert len(str(lean(note(*texts)))) < 100_000


def test_the_copy_of_a_note_keeps_its_marks():
    copy = lean(ODA)
    assert copy["sections"][2]["mark"] == "Secrets (GM only)"  # type: ignore[index]
    assert copy["aliases"] == ["The Reed Witch"]


def test_facts_say_folder_session_and_tags():
    assert facts(ODA) == "npc · World/Fens · #npc/ally #fens"
    assert [facts(note) for note in campaign()][2] == "session · Sessions · session 1, 2026-10-02"


def secret_note(mark: str | None) -> Entity:
    texts = [
        {"name": "Rumours", "desc": "The miller met a stranger at night."},
        {"name": "Truth", "desc": "The miller met the abbot at night.", **({"mark": mark} if mark else {})},
    ]
    return make("Miller.md", type="notes", name="Old Tam", kind="note", data={"sections": texts})


@each_row(("mark", "section"), [("GM only", "Truth"), (None, "Rumours")])
def test_of_sections_that_answer_alike_the_secret_one_is_shown(mark: str | None, section: str):
    assert evidence(secret_note(mark), "who met the miller at night?").section == section


def test_the_section_that_is_headed_as_a_query_asks_is_shown():
    texts = [
        {"name": "Looks > Appearance", "desc": "Short, with grey hair."},
        {"name": "Weapons & Armour", "desc": "A mace."},
        {"name": "Fights", "desc": "Old Tam lost his armour and a weapon in the fens."},
        {"name": "GM Notes", "desc": "Old Tam has a secret.", "mark": "GM Notes"},
    ]
    tam = make("Tam.md", type="notes", name="Old Tam", kind="note", data={"sections": texts})

    def shown(query: str) -> str:
        return evidence(tam, query, "Old Tam has a secret.", place="GM Notes").section

    assert shown("the appearance of Old Tam") == shown("describe Tam in appearance") == "Looks > Appearance"
    assert shown("armour and weapons of Old Tam") == "Weapons & Armour"
    assert shown("does Old Tam look tired in appearance") == "GM Notes"
    assert shown("what does Old Tam look like") == "Looks > Appearance"  # notes put it under another word


def test_a_secret_section_that_answers_nothing_is_not_shown():
    shown = evidence(secret_note("GM only"), "what did the stranger want?")
    assert (shown.section, evidence(secret_note("GM only"), "dragons").section) == ("Rumours", "Rumours")


def test_a_section_of_markup_alone_is_not_shown_however_it_is_headed():
    texts = [{"name": "🔥 The mill’s fire", "desc": "***"}, {"name": "Camp", "desc": "We saw the **fire** from afar."}]
    mill = make("Mill.md", type="notes", name="Notes", kind="note", data={"sections": texts})
    shown = evidence(mill, "the mill's fire")
    assert (shown.section, shown.text) == ("Camp", "Camp: We saw the fire from afar.")


@each_row(
    ("written", "kept"),
    [
        ("> Appearance: describe the character here\n**Motivation:** TBD\n**Secret:** (fill in)\n**Voice:** ???", ""),
        ("**Motivation:** wants her ring back\n**Voice:** TBD", "**Motivation:** wants her ring back"),
        ("**Secrets:**\n- the ring\n- TBD", "**Secrets:**\n- the ring"),
        ("Bond: -\nFlaw: [to be determined]\nHook: [[Mira]] knows", "Hook: [[Mira]] knows"),
        ("**Notes:**\n\n**Loot:**", ""),
        ("He asked:\nMira: why?", "He asked:\nMira: why?"),
        ("The sign says TBD.\nTodo: buy milk", "The sign says TBD.\nTodo: buy milk"),
    ],
)
def test_what_a_template_left_to_be_filled_in_is_no_text(written, kept):
    assert filled_in(written).strip() == kept
