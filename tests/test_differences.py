"""What differs between entries: found, marked, and said once; what is equal is left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mcp import Client

from lorekeeper.entities import Entity
from lorekeeper.play.differences import Differences, differences
from lorekeeper.play.differences.result import Runs
from lorekeeper.server.mcp import build_server
from tests.support.comparing import broken_laws, versions
from tests.support.corpus import imported_entries
from tests.support.entities import make
from tests.support.examples import examples
from tests.support.libraries import open_library
from tests.support.tables import each_row


def spell(text: str, document: str = "one", **data: Any) -> Entity:
    content = {"name": "Tide Lance", "desc": text, "level": 2, "school": "evocation", **data}
    return Entity("spells", "tide-lance", "Tide Lance", "spell", document, "own", content)


def creature(document: str = "one", **data: Any) -> Entity:
    return Entity("creatures", "heron", "Heron", "creature", document, "own", {"name": "Heron", **data})


def shown(runs: Runs | None) -> str | None:
    """A text with its changed words in brackets."""
    return None if runs is None else "".join(f"[{run.text}]" if run.changed else run.text for run in runs)


def facts_of(result: Differences) -> dict[str, tuple[str | None, ...]]:
    return {fact.label: tuple(map(shown, fact.values)) for fact in result.differing_facts}


def rows_of(result: Differences) -> list[tuple[str | None, ...]]:
    return [tuple(map(shown, row.texts)) for _, rows in result.differing_passages for row in rows]


def compared(*texts: str) -> list[tuple[str | None, ...]]:
    result = differences([spell(text, str(number)) for number, text in enumerate(texts)])
    assert broken_laws(result) == []
    return rows_of(result)


# --- sentences -------------------------------------------------------------------------------------------------------


def test_a_reworded_sentence_stands_beside_its_counterpart_with_the_changed_words_marked():
    assert compared(
        "Cold water strikes. The target takes 3d6 damage.", "Cold water strikes. Each target takes 4d6 damage."
    ) == [("[The] target takes [3d6] damage.", "[Each] target takes [4d6] damage.")]


def test_what_an_item_of_a_list_is_called_is_its_name_and_no_sentence():
    mine = "- Slow Wading. Your speed in the marsh falls by 5 feet until dawn.\n- Weak Arm. You drop what you hold."
    result = differences([spell(mine), spell("Your speed in the marsh falls by 10 feet until dawn.", "two")])
    assert broken_laws(result) == []
    assert {(place or ("",))[-1] for passage, _ in result.differing_passages for place in passage.places if place} == {
        "Slow Wading",
        "Weak Arm",
    }
    fall = "Your speed in the marsh falls by [{}] feet until dawn."
    assert rows_of(result) == [(fall.format(5), fall.format(10)), ("You drop what you hold.", None)]


def test_the_marks_of_a_box_are_no_text():
    assert compared("It burns.\n\n> It also blinds.", "It burns.\n\nIt also blinds.") == []


@each_row(("one", "other"), [
        ("The target can't move.", "the target can’t move"),
        ("It is **blinded**, and deaf.", "It is *blinded* and deaf."),
        ("A 20-foot-radius sphere.", "A 20‑foot radius sphere."),
        ("It costs 18,000 gp.", "It costs 18000 gp."),
        ("“Stop!” it says.", '"Stop!" it says.'),
        ("Roll 5–6 on the die.", "Roll 5-6 on the die."),
        ("It has -1.", "It has −1."),
        ("First part here.\n\nSecond part here.", "First part here. Second part here."),
    ])  # fmt: skip
def test_punctuation_case_quotes_and_markup_are_no_differences(one, other):
    assert compared(one, other) == []


@each_row(
    ("one", "other"),
    [
        ("2d6", "2d8"),
        ("1d4 - 1", "1d4 + 1"),
        ("a -1", "a +1"),
        ("2.5", "25"),
        ("1/4", "1/2"),
        ("30", "300"),
        ("x2", "x3"),
    ],
)
def test_numbers_and_their_minus_are_differences(one, other):
    assert len(compared(f"It is {one} here.", f"It is {other} here.")) == 1


# --- facts and passages ----------------------------------------------------------------------------------------------


def test_facts_that_differ_are_shown_with_their_changed_parts():
    result = differences([
        spell("It strikes.", duration="1 minute", classes=["Wizard", "Bard"], casting_time="action"),
        spell("It strikes.", "two", duration="1 hour", classes=["bard", "wizard"], casting_time="action", ritual=True),
    ])  # fmt: skip
    assert facts_of(result) == {
        "Level": ("2 evocation", "2 evocation [(ritual)]"),
        "Duration": ("1 [minute]", "1 [hour]"),
    }
    assert (result.same_facts, result.same_sentences) == (2, 1)
    assert result.shared_facts == [("Casting Time", "1 action"), ("Classes", "Wizard, Bard")]
    assert broken_laws(result) == []


def test_what_only_says_again_what_an_entry_is_is_no_fact_that_another_lacks():
    def soaked(document: str, **data: str) -> Entity:
        content = {"name": "Soaked", "desc": "You drip.", **data}
        return Entity("rules", "soaked", "Soaked", "condition", document, "own", content)

    result = differences([soaked("one", tag="Condition"), soaked("two")])
    assert (facts_of(result), result.shared_facts) == ({}, [("Kind", "Condition")])


def test_what_one_tells_in_another_line_or_in_its_text_is_not_said_to_be_lacking():
    result = differences([
        creature(desc="- **Asleep** It falls unconscious.", damage_immunities=["cold"]),
        creature("two", desc="**Asleep.** It falls prone.", immunities="cold, prone"),
    ])  # fmt: skip
    found = facts_of(result)
    assert (found["Damage Immunities"], found["Immunities"]) == (
        ("cold", "in Immunities"),
        ("in Damage Immunities", "cold, prone"),
    )
    assert "Asleep" not in found
    assert ("It falls [unconscious].", "It falls [prone].") in rows_of(result)


def test_ability_scores_are_facts_of_their_own():
    scores = {"strength": 10, "dexterity": 12, "constitution": 14, "intelligence": 3, "wisdom": 8, "charisma": 6}
    result = differences([creature(ability_scores=scores), creature("two", ability_scores={**scores, "dexterity": 18})])
    assert facts_of(result) == {"DEX": ("[12 (+1)]", "[18 (+4)]")}


def feature(name: str, text: str, kind: str = "ACTION") -> dict[str, str]:
    return {"name": name, "desc": text, "action_type": kind}


def test_a_trait_that_has_become_an_action_is_shown_as_moved_and_its_text_is_not():
    text = "The heron hides among the reeds of the marsh."
    result = differences([
        creature(traits=[{"name": "Stillness", "desc": text}]),
        creature("two", actions=[feature("Stillness", text, "BONUS_ACTION")]),
    ])  # fmt: skip
    ((passage, rows),) = result.differing_passages
    assert (passage.places, passage.moved, rows) == (
        (("Traits", "Stillness"), ("Bonus Actions", "Stillness")),
        True,
        [],
    )


def test_a_feature_that_is_had_at_another_level_is_the_same_feature():
    def subclass(level: int, text: str) -> Entity:
        features = [{"name": "Survivor", "desc": text, "gained_at": [{"level": level}]}]
        data = {"name": "Champion", "features": features}
        return Entity("character_options", "champion", "Champion", "subclass", str(level), "own", data)

    result = differences([subclass(15, "You regain hit points."), subclass(18, "You regain hit points each turn.")])
    ((passage, rows),) = result.differing_passages
    assert [place and place[-1] for place in passage.places] == ["Level 15: Survivor", "Level 18: Survivor"]
    assert len(rows) == 1


# --- laws ------------------------------------------------------------------------------------------------------------

WORDS = ["sea", "rises", "the", "2d6", "of", "Bell", "-1", "fire", "30", "you", "can't", "12,000"]

SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(lambda found: f"The {' '.join(found)}.")

TEXTS = st.lists(
    st.one_of(SENTENCES, st.just("\n\n**Name.** "), st.just("\n\n#### Part\n\n"), st.just("\n- ")), max_size=12
)


BESIDE_A_SHORT_ONE = [
    "The rises rises.",
    "\n\n#### Part\n\n The sea. \n\n**Name.** The 2d6 rises sea the rises rises the 2d6.",
    "\n\n#### Part\n\n The 2d6 rises sea the rises rises the 2d6.",
]
"""A sentence that two entries have in different passages, in one of them beside a short one of a third entry."""


OF_FEW_WORDS = [
    "The sea sea sea. The sea sea sea sea sea sea sea sea. The 2d6 the the 2d6 2d6 the the 2d6.",
    "\n\n**Name.**  The 2d6 the the 2d6 2d6 the the 2d6.",
]
"""A sentence in different passages that has only four words that carry meaning."""


BESIDE_ONE_ENTRY_TWICE = [
    "The sea sea. \n\n**Name.**  The sea sea.",
    "The sea 2d6 sea 2d6 sea sea sea.",
    "\n\n**Name.**  The sea 2d6 sea 2d6 sea sea sea.",
]
"""A sentence of two entries that in both their passages stands beside a short one of the third."""


@given(texts=st.lists(TEXTS.map(" ".join), min_size=2, max_size=4))
@example(texts=BESIDE_ONE_ENTRY_TWICE)
@example(texts=BESIDE_A_SHORT_ONE)
@example(texts=OF_FEW_WORDS)
@examples(100)
def test_nothing_is_lost_and_nothing_equal_is_shown_of_any_texts(texts):
    assert broken_laws(differences([spell(text, str(number)) for number, text in enumerate(texts)])) == []


def test_long_hostile_texts_are_compared_in_linear_time_by_equal_sentences():
    rows = [f"Word{number} of the sea rises." for number in range(600)]
    others = [*rows[:300], *(f"Word{number} of the sea sets." for number in range(300, 600))]
    result = differences([
        *(spell(" ".join(text)) for text in (rows, others[::-1])), spell("a " * 20_000), spell("*_" * 10_000)
    ])  # fmt: skip
    texts = [tuple(text is not None for text in row.texts) for passage in result.passages for row in passage.rows]
    assert texts.count((True, True, False, False)) == 300
    assert len(texts) == 901


# --- the corpus ------------------------------------------------------------------------------------------------------

FEWEST_PAIRS = 1_000


@pytest.fixture(scope="module")
def entries(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Entity]:
    return imported_entries(corpus, tmp_path_factory)


@pytest.mark.corpus
def test_no_pair_of_2014_and_2024_entries_breaks_a_law(entries):
    pairs = versions(entries, "srd-2014", "srd-2024")
    assert len(pairs) > FEWEST_PAIRS
    assert {pair[0].uri: broken for pair in pairs if (broken := broken_laws(differences(pair)))} == {}


async def test_versions_are_of_books_and_what_has_no_counterpart_is_not_said_to_be_theirs_only(tmp_path):
    texts = {
        "srd-2024": "A wall hides you. You have a bonus of 2 behind half of it. Giants throw their rocks over everything.",
        "srd-2014": "A wall hides you. Half of your body is behind something.",
        "lorekeeper-rules-2024": "Half hidden: +2.",
    }
    told = [make("cover", text, type="rules", kind="rule", name="Cover", document=of) for of, text in texts.items()]
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities(told, "rules")
        async with Client(build_server(library)) as client:
            answer = (await client.call_tool("compare_entries", {"name": "Cover"})).content[0].text
            alone = (await client.call_tool("compare_entries", {"uris": [told[0].uri, told[2].uri]})).content[0].text
    assert "A. Cover, srd-2024" in answer
    assert "B. Cover, srd-2014" in answer
    assert "\nC. " not in answer
    assert "Note: 1 more of that name, to compare with uris: rules/lorekeeper-rules-2024/cover" in answer
    assert "B. Cover, lorekeeper-rules-2024" in alone
    for text in (answer, alone):
        assert "only A" not in text
        assert text.endswith("others do not say in like words; they may say it in other words.")
