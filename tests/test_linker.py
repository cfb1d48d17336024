"""Names and values of the library among the words of a question: what has them comes first, and the filter for it is said."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.entities import SEARCHED, Entity
from lorekeeper.filters import clean_fields
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage
from tests.support.entities import make
from tests.support.libraries import open_library


def note(name: str, text: str, kind: str = "note", **fields: Any) -> Entity:
    data = {"sections": [{"desc": text}]}
    return make(name.casefold(), type="notes", name=name, kind=kind, document="vault", data=data, **fields)


def option(name: str, *features: str) -> Entity:
    data = {"features": [{"name": each, "desc": f"{each} is what you learn of patience. " * 8} for each in features]}
    return make(name.casefold(), type="character_options", name=name, kind="class", data=data)


def spell(name: str, text: str, level: int, classes: Sequence[str], **fields: Any) -> Entity:
    return make(name.casefold().replace(" ", "-"), text, name=name, level=level, classes=classes, **fields)


def creature(name: str, text: str, kind_of: str = "beast", **fields: Any) -> Entity:
    made = make(name.casefold(), text, type="creatures", name=name, **fields)
    return replace(made, fields=clean_fields("creatures", {**fields, "type": [kind_of]}))


ENTRIES = [
    *(make(f"reed-{n}", f"Reed {n} sways in the wind of spring.", name=f"Reed {n}") for n in range(320)),
    spell("Emberlance", "A lance of embers leaps at a foe.", 3, ["wizard"], damage_types=["fire"], school="evocation"),
    spell("Cold Hearth", "Frost puts out a fire at level ground.", 1, ["wizard"], damage_types=["cold"]),
    spell("Green Balm", "Leaves close a wound.", 1, ["druid"], heals=True, ritual=True),
    spell("Shrine Balm", "A prayer closes a wound. Druids dislike it.", 3, ["cleric"], heals=True),
    creature("Wolf", "It howls.", immune=["cold"], environments=["forest"]),
    creature("Cat", "It purrs and looks about."),
    creature("Bog Wight", "A corpse in the mire.", "undead", environments=["swamp"], languages=["elvish"]),
    creature("Tomb Wight", "A corpse in a crypt.", "undead", environments=["urban"]),
    creature("Frost Hag", "A lady of the cold who fears venom.", "fey", immune=["poison"], damage_types=["cold"]),
    option("Burglar", "Low Blow", "Twist Away"),
    note("Holya - Townmaster", "She rules the town with a firm hand."),
    note("The Ford", "We crossed, and lost the mule.", kind="session", session=12),
    note("The Mill", "Twelve sacks of flour for each session of the council.", kind="session", session=3),
    note("A Missing Mule", "It is still gone.", kind="quest", state="open"),
]


@pytest.fixture(scope="module")
async def library(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    async with open_library(tmp_path_factory.mktemp("linker"), backend="sqlite") as opened:
        for entity_type in {entity.type for entity in ENTRIES}:
            await opened.cache.store_entities([each for each in ENTRIES if each.type == entity_type], entity_type)
        yield opened


pytestmark = pytest.mark.asyncio(loop_scope="module")


async def asked(library: Library, text: str, types: Sequence[str] = SEARCHED) -> ResultPage:
    return await library.search(Query(types, text))


@pytest.mark.parametrize(
    ("types", "text", "first", "where"),
    [
        ("spells", "fire damage at level 3", "Emberlance", "level:3"),
        ("spells", "a 3rd level evocation", "Emberlance", "school:evocation"),
        ("spells", "druid spells that heal", "Green Balm", "classes:druid"),
        ("spells", "ritual spells for a druid", "Green Balm", "ritual:true"),
        ("creatures", "undead of the swamp", "Bog Wight", "environments:swamp"),
        ("creatures", "immune to cold", "Wolf", "immune:cold"),
        ("creatures", "who speaks elvish", "Bog Wight", "languages:elvish"),
        ("creatures", "undead that speak elvsh", "Bog Wight", "languages:elvish"),
        ("notes", "what happened in session 12", "The Ford", "session:12"),
        ("notes", "the twelfth session", "The Ford", "session:12"),
        ("notes", "open quests", "A Missing Mule", "state:open"),
    ],
)
async def test_what_has_the_values_of_a_question_comes_first(
    library: Library, types: str, text: str, first: str, where: str
) -> None:
    page = await asked(library, text, [types])
    assert page.results[0].entity.name == first
    assert where in (page.note or "")
    assert "finds these alone" in (page.note or "")


@pytest.mark.parametrize(
    ("types", "text", "not_said"),
    [
        ("spells", "a spell without a ritual", "ritual"),
        ("creatures", "not immune to cold", "immune"),
        ("creatures", "something cold and wet that howls in the wind of spring by night", "cold"),
    ],
)
async def test_what_is_not_wanted_or_is_little_of_a_question_is_no_filter(
    library: Library, types: str, text: str, not_said: str
) -> None:
    assert f"{not_said}:" not in ((await asked(library, text, [types])).note or "")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("stats of a wolf", "Wolf"),
        ("how does emberlance work", "Emberlance"),
        ("twist away", "Burglar"),
        ("what does Holya look like", "Holya - Townmaster"),
    ],
)
async def test_what_a_question_is_about_is_named(library: Library, text: str, first: str) -> None:
    page = await asked(library, text)
    assert (page.results[0].entity.name, page.results[0].sure) == (first, True)


async def test_a_name_that_is_little_of_a_question_is_not_named(library: Library) -> None:
    page = await asked(library, "looks like a cat, howls in spring, and lost the mule of the council in the mire")
    assert page.results
    assert "name" not in [result.match for result in page.results]


async def test_the_filter_that_is_said_finds_what_was_raised_alone(library: Library) -> None:
    page = await asked(library, "undead of the swamp", ["creatures"])
    where = (page.note or "").partition("where='")[2].partition("'")[0]
    alone = await library.search(Query(["creatures"], where=where))
    assert [result.entity.name for result in alone.results] == ["Bog Wight"]
    assert "Tomb Wight" in [result.entity.name for result in page.results]


async def test_values_of_a_hidden_note_are_not_linked_for_a_player(tmp_path) -> None:
    async with open_library(tmp_path, backend="sqlite") as opened:
        hidden = note("Vault of Ash", "The heir is a lich.", tags=["zqlich"], audience=["dm"])
        seen = note("Market", "Bread and a zqlich doll.", audience=["players"])
        await opened.cache.store_entities([hidden, seen], "notes")
        told = await opened.search(Query(["notes"], "zqlich tags"))
        assert "tags:zqlich" in (told.note or "")
        page = await opened.view(Viewer.player("ana")).search(Query(["notes"], "zqlich tags"))
        assert "tags:" not in (page.note or "")
        assert [result.entity.name for result in page.results] == ["Market"]
