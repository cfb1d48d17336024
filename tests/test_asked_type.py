"""The type that a question asks for by a noun comes before others."""

from __future__ import annotations

import pytest

from lorekeeper.cache.protocol import Ranked
from lorekeeper.entities import COLLECTIONS
from lorekeeper.search.intent import MAX_CHARS, OTHERS, asked_type
from lorekeeper.search.query import Query
from lorekeeper.search.retrieved import Retrieved
from tests.support.entities import make
from tests.support.libraries import open_library

TYPES = list(COLLECTIONS)


@pytest.mark.parametrize(
    ("wording", "name"),
    [
        ("spell to read minds", "spells"),
        ("Is there a cheap cantrip that lights a room?", "spells"),
        ("healing potion", "equipment"),
        ("what magic item lets me fly", "equipment"),
        ("magic item that lets me fly", "equipment"),
        ("low level monster that steals shiny things", "creatures"),
        ("which feat for better initiative", "character_options"),
        ("condition when you cannot move", "rules"),
        ("spell to see invisible creatures", "spells"),
        ("shrink a creature", None),
        ("can I cast two spells in one turn", None),
        ("what happens to an invisible creature in fog", None),
        ("weapons", "equipment"),
        ("who met the abbot at night", None),
        ("which monsters can turn you to stone", "creatures"),
        ("what spells make you invisible", "spells"),
        ("which monsters did we fight", None),
        ("a spell " + "that is long " * 30, None),
        ("", None),
    ],
)
def test_a_noun_at_the_beginning_says_what_is_asked_for(wording, name):
    asked = asked_type(TYPES, [wording])
    assert (asked.name if asked else None) == name
    assert len(wording) <= MAX_CHARS or name is None


def test_the_more_wordings_name_a_type_the_more_it_counts():
    both, one, neither = (
        asked_type(TYPES, wordings)
        for wordings in (
            ["spell to fly", "flying spell"],
            ["spell to fly", "wings"],
            ["spell to fly", "potion of flight"],
        )
    )
    assert both is not None
    assert one is not None
    assert (both.weight("spells"), both.weight("rules")) == (1.0, OTHERS)
    assert OTHERS < one.weight("rules") < one.weight("spells") == 1.0
    assert neither is None


@pytest.mark.parametrize(
    ("wording", "nearer"),
    [("a monster that turns you to stone", "books"), ("the monster that Odo saw turn to stone", "notes")],
)
def test_who_asks_for_a_kind_of_entry_asks_for_no_session_unless_somebody_is_named(wording, nearer):
    session, cockatrice = ("notes", ("vale", "session-3")), ("creatures", ("srd", "cockatrice"))
    near = {key: Ranked(key[1], "", score) for key, score in ((session, 0.6), (cockatrice, 0.5))}
    found = Retrieved(semantic=near, asked=asked_type(TYPES, [wording]))
    assert found.nearest_corpus.name == nearer


def test_a_type_that_is_not_searched_or_the_only_one_is_not_preferred():
    assert asked_type(["spells"], ["spell to fly"]) is None
    assert asked_type(["rules", "notes"], ["spell to fly"]) is None


@pytest.mark.parametrize(
    ("wording", "first"),
    [("a spell that lets you fly over walls", "Cloud Walk"), ("an item that lets you fly over walls", "Flying Carpet")],
)
async def test_an_entry_of_the_type_comes_before_one_that_says_the_same(tmp_path, wording, first):
    text = "It lifts you into the air, and lets you fly over walls and water."
    carpet = make("carpet", text, type="equipment", name="Flying Carpet", kind="wondrous-item")
    async with open_library(tmp_path) as library:
        await library.cache.store_entities([carpet], "equipment")
        await library.cache.store_entities([make("walk", text, name="Cloud Walk")], "spells")
        page = await library.search(Query(["equipment", "spells"], text=wording))
    assert page.results[0].entity.name == first
    assert page.total == 2
