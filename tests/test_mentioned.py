"""What a question names is first, whatever it asks: entries, several of them, features of a class, a class at a level."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from lorekeeper.entities import SEARCHED
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from tests.support.entities import make
from tests.support.libraries import open_library
from tests.support.tables import each_row

pytestmark = pytest.mark.asyncio(loop_scope="module")

OPTIONS = "character_options"

COMMON = "Grubkins hide."
"""What so many entries have that the words are common."""

FEATURES = {
    "Expertise in Locks": "You open what others cannot, with a pick and patience. " * 8,
    "Low Blow": "Once on each turn you hit harder from the shadows. " * 8,
    "Twist Away": "You halve the damage of a hit that you see, low blow or not. " * 8,
}


@pytest.fixture(scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    def burglar(name: str) -> dict[str, Any]:
        features = [{"name": heading, "desc": text} for heading, text in FEATURES.items()]
        return {"name": name, "type": OPTIONS, "kind": "class", "data": {"features": features}}

    made = [
        make("wolf", "A beast of the forest that howls.", name="Wolf", type="creatures"),
        make("dire-wolf", "A large wolf that hunts at night.", name="Dire Wolf", type="creatures"),
        make("grub", "It steals things; its armor class is low.", name="Grubkin", type="creatures"),
        make("ember", "A lance of embers that wizards learn at some level.", name="Emberlance"),
        make("heron", "A heron comes when a druid calls.", name="Call of the Heron"),
        make("call", "A call is heard within a mile.", name="Call"),
        make("delver", "Traits of those who live below.", name="Delver", type=OPTIONS, kind="species"),
        make("burglar", "", **burglar("Burglar")),
        make("levels", "What a level is, and what classes get at levels.", name="Level Advancement", type="rules"),
        *(
            make(f"r{n}", f"The armor class, level, range and traits of thing {n}. {COMMON}", type="rules")
            for n in range(9)
        ),
    ]
    async with open_library(tmp_path_factory.mktemp("named")) as opened:
        for entity_type in SEARCHED:
            await opened.cache.store_entities([each for each in made if each.type == entity_type], entity_type)
        yield opened


@each_row(
    ("text", "named"),
    [
        ("stats of a wolf", {"Wolf"}),
        ("explain dire wolves", {"Dire Wolf"}),
        ("grubkin's armor class", {"Grubkin"}),
        ("grubkin stats", {"Grubkin"}),
        ("what level do wizards get emberlance", {"Emberlance"}),
        ("is call of the heron a concentration spell", {"Call of the Heron"}),
        ("delver traits", {"Delver"}),
        ("call of the heron or emberlance", {"Call of the Heron", "Emberlance"}),
        ("what does a burglar get at level 7", {"Burglar"}),
        ("burglar level 3", {"Burglar"}),
        ("low blow", {"Burglar"}),
        ("how does the low blow work", {"Burglar"}),
        ("twist away at level 9", {"Burglar"}),
        ("looks like a wolf and steals things", set()),
        ("we are hunting a wolf", set()),
        ("wizard spells like emberlance", set()),
        ("emberlance against a heron", set()),
    ],
)
async def test_what_a_question_names_is_first(library: Library, text: str, named: set[str]) -> None:
    results = (await library.search(Query(SEARCHED, text))).results
    assert {result.entity.name for result in results if result.match == "name"} == named
    assert {result.entity.name for result in results[: len(named)]} == named


async def test_one_of_several_wordings_may_name_an_entry(library: Library) -> None:
    results = (await library.search(Query(SEARCHED, "a spear of glowing coals", also=["emberlance range"]))).results
    assert (results[0].entity.name, results[0].match) == ("Emberlance", "name")


async def test_a_part_of_a_short_question_raises_what_it_names(library: Library) -> None:
    first = (await library.search(Query(SEARCHED, "dire wolves hunting"))).results[0]
    assert first.entity.name == "Dire Wolf"


async def test_a_question_about_one_entry_is_no_filter(library: Library) -> None:
    results = (await library.search(Query(["spells"], "is emberlance a cleric spell"))).results
    assert results[0].entity.name == "Emberlance"


async def test_the_section_that_was_named_is_shown(library: Library) -> None:
    first = (await library.search(Query([OPTIONS, "spells"], "twist away"))).results[0]
    assert (first.match, first.section) == ("name", "Twist Away")
