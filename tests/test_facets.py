"""Facets: what they count is what a plain count over all entries gives, for everybody who looks."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.field_values import stored
from lorekeeper.filters import WHERE, matches, parse_filters
from lorekeeper.folding import fold_kind
from lorekeeper.library import Library
from lorekeeper.search.facets import Facet, facets
from lorekeeper.search.pipeline import Searcher
from lorekeeper.search.query_syntax import called, parse_query, with_test
from lorekeeper.views.view import View
from tests.support.backends import BACKENDS, MARKS
from tests.support.campaign import campaign
from tests.support.entities import everything, make

LIBRARIES = ("milvus", "sqlite", "milvus-client")

SEARCHED = [name for name in COLLECTIONS if name != "documents"]

SECRET = "tidal court"
"""A school of spells that only secret entries have."""

TEXTS = [
    "",
    "in:spells",
    "level<=2",
    "level<=2 class:wizard",
    "-class:wizard",
    "-school:illusion ritual",
    "cr:1/4..2 -type:undead",
    "type:dragon,undead size:huge",
    "book:first",
    "-book:first rarity:rare",
    "name:ward",
    "name:Storm-Ward",
    "tag:npc",
    "folder:world",
    "session>=9",
    "damage_type:fire",
    "kind:weapon,armor",
]


def shelf(random: Random) -> list[Entity]:
    """Entries of several types and two books, values missing here and there."""
    documents = ["first", "second book"]
    schools, classes = ["Illusion", "Evocation", "Conjuration", None], ["Wizard", "Bard", "Druid", "Cleric"]
    spells = [
        make(
            f"s{number}",
            f"A {random.choice(['storm', 'flame', 'song'])} for {random.choice(['one', 'all'])} friends.",
            name=f"{random.choice(['Storm', 'Flame', 'Song'])} Ward {number}",
            document=random.choice(documents),
            level=random.choice([0, 1, 2, 3, None]),
            school=random.choice(schools),
            classes=random.sample(classes, random.randrange(4)) or None,
            ritual=random.choice([True, False, None]),
            damage_types=random.choice([["fire"], ["cold", "fire"], [], None]),
        )
        for number in range(40)
    ]
    creatures = [
        make(
            f"c{number}",
            "It walks in a storm.",
            type="creatures",
            document=random.choice(documents),
            challenge_rating=random.choice([0, 0.125, 0.25, 0.5, 1, 5, 17, None]),
            size=random.choice(["Huge", "Small"]),
            environments=random.choice([["forest", "swamp"], ["swamp"], None]),
        )
        for number in range(30)
    ]
    creatures = [
        replace(each, fields={**each.fields, "type": (random.choice(["dragon", "undead", "beast"]),)})
        for each in creatures
    ]
    items = [
        make(f"e{n}", "Of storm glass.", type="equipment", kind=random.choice(["weapon", "magic-item"]), rarity=r)
        for n, r in enumerate(["rare", "very rare", None, "rare"])
    ]
    return [*spells, *creatures, *items, *campaign()]


def hidden() -> list[Entity]:
    """Entries that only game masters see."""
    spells = [make(f"x{n}", "A storm below.", name=f"Storm Court {n}", level=9, school=SECRET) for n in range(3)]
    return [replace(spell, fields={**spell.fields, "audience": ("dm",)}) for spell in spells]


BOTH = pytest.mark.parametrize("library", [pytest.param(n, marks=MARKS.get(n, [])) for n in LIBRARIES], indirect=True)


@pytest.fixture
async def library(request: pytest.FixtureRequest, tmp_path: Path, seed: int) -> AsyncIterator[Library]:
    settings = BACKENDS[getattr(request, "param", "sqlite")](tmp_path, request)
    embedding = EmbeddingService(lambda: HashingProvider(64))
    async with Library(open_cache(settings, embedding), embedding, offline=True, views=tmp_path / "views") as opened:
        entries = [*shelf(Random(seed)), *hidden()]
        for entity_type in {entry.type for entry in entries}:
            await opened.cache.store_entities([e for e in entries if e.type == entity_type], entity_type)
        yield opened


Counted = dict[tuple[str, str | None], dict[object, int]]
"""Number of entries by stored value, for each facet by its name and type."""


def of_facets(found: Iterable[Facet]) -> Counted:
    counted: Counted = {}
    for facet in found:
        assert facet.more == 0, facet
        if facet.entity_type is None:
            counted[facet.name, None] = {value.value: value.count for value in facet.values}
        else:
            declared = next(
                f for f in COLLECTIONS[facet.entity_type].filters.values() if f.facet and called(f) == facet.name
            )
            counted[facet.name, facet.entity_type] = {
                item: value.count for value in facet.values for item in one(stored(declared, value.value))
            }
    return counted


def one(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else (value,)


def plainly(entries: Iterable[Entity]) -> Counted:
    """The same, of some entries, one by one; the only kind of a type says what the type says."""
    counted: dict[tuple[str, str | None], Counter[object]] = {}
    entries = list(entries)
    kinds = {(entry.type, fold_kind(entry.kind)) for entry in entries}
    several = {entity_type for entity_type, number in Counter(kind for kind, _ in kinds).items() if number > 1}
    for entry in entries:
        counted.setdefault(("in", None), Counter())[entry.type] += 1
        counted.setdefault(("book", None), Counter())[entry.document] += 1
        if entry.type in several:
            counted.setdefault(("kind", None), Counter())[fold_kind(entry.kind)] += 1
        for declared in entry.collection.fields:
            value = entry.fields.get(declared.name)
            if declared.facet and value is not None:
                for item in one(stored(declared, value)):
                    counted.setdefault((called(declared), entry.type), Counter())[item] += 1
    return {key: dict(values) for key, values in counted.items()}


async def asked_for(view: View, text: str) -> list[Entity]:
    """The entries that a text without words asks for, found by looking at each."""
    sought = parse_query(text, await view.searcher.documents.titled(), SEARCHED)
    filters = {} if sought.where is None else {WHERE: sought.where}
    return [
        entry
        for entity_type in sought.types
        for entry in await everything(view.cache, entity_type)
        if matches(entry, parse_filters(entity_type, filters))
        and (sought.documents is None or entry.document in sought.documents)
    ]


def sees_no_notes(text: str) -> bool:
    """Whether a text asks for notes, which are secret unless they say otherwise."""
    return parse_query(text, {}, SEARCHED).types == ("notes",)


async def shown(searcher: Searcher, text: str) -> list[Facet]:
    return await facets(searcher, parse_query(text, await searcher.documents.titled(), SEARCHED))


@BOTH
async def test_facets_are_what_a_plain_count_gives(library: Library) -> None:
    several = 0
    for viewer, text in product((None, Viewer.player()), TEXTS):
        view = library.view(viewer)
        entries = await asked_for(view, text)
        assert entries or (viewer and sees_no_notes(text)), text
        wanted, counted = plainly(entries), of_facets(await shown(view.searcher, text))
        assert counted == {key: wanted[key] for key in counted}, text
        left_out = {key for key in wanted.keys() - counted.keys() if len(wanted[key]) > 1}
        assert all(not text and entity_type for _, entity_type in left_out), text
        several += len(counted)
    assert several > 120


async def test_with_words_the_results_are_counted(library: Library) -> None:
    for viewer in (None, Viewer.player()):
        searcher = library.view(viewer).searcher
        sought = parse_query("storm ward", await searcher.documents.titled(), SEARCHED)
        page = await searcher.search(sought.query(limit=50))
        assert page.total == len(page.found) == len(page.results) > 5
        wanted, counted = (
            plainly(result.entity for result in page.results),
            of_facets(await facets(searcher, sought, page)),
        )
        assert counted == {key: wanted[key] for key in counted}
        assert ("level", "spells") in counted
        short = await searcher.search(sought.query(limit=3))
        assert await facets(searcher, sought, short) == await facets(searcher, sought)


async def test_choosing_a_value_finds_as_many_entries_as_it_was_counted_for(library: Library) -> None:
    searcher, tried = library.searcher, 0
    titles = await searcher.documents.titled()
    for facet in await shown(searcher, "level<=3"):
        for value in facet.values[:4]:
            text = with_test("level<=3", facet.name, value.value, titles)
            again = {f.name: f for f in await shown(searcher, text)}
            (chosen,) = [v for v in again[facet.name].values if v.chosen]
            assert (chosen.value, chosen.count) == (value.value, value.count), text
            page = await searcher.search(parse_query(text, titles, SEARCHED).query())
            assert page.total == value.count, text
            tried += 1
    assert tried > 15


async def test_what_is_withheld_from_a_player_is_not_counted(library: Library) -> None:
    view = library.view(Viewer.player())
    before = of_facets(await shown(view.searcher, "in:spells"))
    gone = (await everything(view.cache, "spells"))[0]
    view.stale_uris = frozenset({gone.uri})
    after = of_facets(await shown(view.searcher, "in:spells"))
    assert after["book", None][gone.document] == before["book", None][gone.document] - 1
    assert after["in", None]["spells"] == before["in", None]["spells"] - 1
    assert of_facets(await shown(library.searcher, "in:spells"))["in", None]["spells"] > before["in", None]["spells"]
