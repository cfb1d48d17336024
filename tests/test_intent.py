"""What questions state in words about the entries they ask for."""

from __future__ import annotations

from lorekeeper.search.intent import MAX_CHARS, stated_conditions, type_asked_for
from tests.support.tables import each_row, rows


@each_row(
    ("question", "expected"),
    rows("intent_creatures"),
)
def test_creatures(question, expected):
    assert stated_conditions("creatures", question) == expected


@each_row(
    ("question", "expected"),
    rows("intent_spells"),
)
def test_spells(question, expected):
    assert stated_conditions("spells", question) == expected


@each_row(
    ("question", "expected"),
    [
        ("armour under 60 gp", "cost<60"),
        ("a ring that does not require attunement", "requires_attunement:false"),
        ("a +2 sword", "bonus:2"),
        ("a ring that is not cursed", ""),
        ("a rope", ""),
    ],
)
def test_equipment(question, expected):
    assert stated_conditions("equipment", question) == expected


def test_a_question_for_monsters_is_about_creatures_only():
    assert type_asked_for(["spells"], "monsters") == "spells"
    assert type_asked_for(["spells", "creatures"], "An encounter with undead") == "creatures"
    assert type_asked_for(["spells", "creatures"], "a monstrous sword") is None
    assert type_asked_for(["spells", "rules"], "monsters") is None
    assert type_asked_for(["spells", "creatures"], "CR 5 fey") == "creatures"
    assert type_asked_for(["spells", "creatures", "rules"], "bard spells that charm") == "spells"
    assert type_asked_for(["spells", "creatures", "rules"], "dragon CR 13") == "creatures"
    assert type_asked_for(["spells", "equipment", "rules"], "weapons under 10 gp") is None
    assert type_asked_for(["spells", "rules"], "how many spells does a wizard know") is None
    assert type_asked_for(["spells", "rules"], "What are cantrips?") is None


def test_other_types_and_long_stories_state_nothing():
    assert stated_conditions("rules", "immune to poison") == ""
    assert stated_conditions("creatures", "immune to poison " * MAX_CHARS) == ""


def test_a_long_question_is_read_in_linear_time():
    stated_conditions("creatures", ("resist fire, " * MAX_CHARS)[:MAX_CHARS])
    stated_conditions("spells", "a" * MAX_CHARS)
