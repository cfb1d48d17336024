"""The index of names finds what comparing all names finds, in the same order."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache.formats import not_again
from lorekeeper.cache.sqlite.catalogue import MAX_NAME_QUERY, NAMES
from lorekeeper.cache.sqlite.names import NameIndex
from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.entities import WHOLE_NAME, Entity
from lorekeeper.filters import Condition, Selection, parse_filters
from lorekeeper.folding import fold
from lorekeeper.text.names import SIMILAR, name_key, similar_names
from lorekeeper.text.passages import passages
from lorekeeper.text.similar import MOST_COUNTED, LetterCounts

WORDS = """
    adult ancient armor ball blade cloak dragon élan fire giant goblin hand holy ice lesser mage of red sword the wand wyrm 龍 ß
    1 20
""".split()
ALPHABET = "abcdefghijklmnopqrstuvwxyz é龍ß0123456789"


def some_name(chance: random.Random) -> str:
    return fold(" ".join(chance.choices(WORDS, k=chance.randint(1, 6))))


def misspelt(chance: random.Random, text: str) -> str:
    letters = list(text)
    for _ in range(chance.randint(0, 4)):
        place = chance.randrange(len(letters) + 1)
        letters[place : place + chance.randint(0, 1)] = chance.choice(ALPHABET)
    return fold("".join(letters))[:MAX_NAME_QUERY] or "x"


def scanned(names: list[str], query: str, limit: int | None = NAMES) -> list[tuple[int, float]]:
    """The most similar of all names, each compared with the query."""
    return similar_names(query, dict(enumerate(names)), dict(enumerate(map(name_key, names))), limit)


def index_of(names: list[str]) -> NameIndex:
    return NameIndex.of([(number, name, name_key(name)) for number, name in enumerate(names)])


@pytest.mark.parametrize("seed", range(6))
def test_similar_names_are_those_of_a_comparison_with_every_name(seed: int) -> None:
    print(f"seed {seed}")
    chance = random.Random(seed)
    names = [some_name(chance) for _ in range(500)]
    index = index_of(names)
    queries = [misspelt(chance, chance.choice(names)) for _ in range(60)]
    queries += [chance.choice(names) + chance.randint(1, 40) * "e" for _ in range(60)]
    assert any(scanned(names, query) for query in queries)
    for query in queries:
        assert index.spelt.like(query, NAMES) == scanned(names, query), query
        assert index.spelt.like(query, None)[:NAMES] == scanned(names, query), query


def test_few_names_are_compared() -> None:
    chance = random.Random(1)
    names = ["".join(chance.choices(ALPHABET, k=chance.randint(4, 30))) for _ in range(2000)]
    counts = LetterCounts.of(names)
    assert 1 <= len(counts.reachable(names[7])) < 100


@pytest.mark.parametrize("text", ["a" * 1000, "龍" * 300, "a" * MOST_COUNTED + "b", "\ud800", "x"])
def test_names_of_any_length_and_script_are_counted(text: str) -> None:
    counts = LetterCounts.of(["", text, "dragon"])
    assert 1 in counts.reachable(text[:MOST_COUNTED]) or len(text) * SIMILAR > MOST_COUNTED
    assert 2 in counts.reachable("dragn")


def test_the_index_of_no_names_finds_nothing() -> None:
    index = index_of([])
    assert index.spelt.like("dragon", NAMES) == []
    assert index.containing("d") == index.meeting(Condition(WHOLE_NAME, "any", ("dragon",))) == []


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    chance = random.Random(5)
    opened = SqliteStore(tmp_path / "cache.db", lambda entity: entity.fields)
    entities = [
        Entity(
            type="spells",
            slug=f"s{number}",
            name=some_name(chance).title(),
            kind="spell",
            document=chance.choice(["one", "two"]),
            source_api="own",
            data={},
            fields={"level": chance.randrange(10)},
        )
        for number in range(400)
    ]
    chunked = [(entity, passages(entity)[:1]) for entity in entities]
    opened.write("spells", chunked, np.eye(len(entities), 8, dtype=np.float32), "model")
    return opened


def test_filters_are_tested_before_the_most_similar_names_are_chosen(store: SqliteStore) -> None:
    selections = [
        Selection("spells"),
        Selection("spells", documents=["two"]),
        Selection("spells", parse_filters("spells", {"level_max": 3})),
        Selection("spells", parse_filters("spells", {"name": "red"}), ["one"]),
    ]
    entities = {entity.identity: entity for entity in store.load("spells", store.identities("spells"))}
    ids = dict(store._rows("SELECT slug, id FROM spells"))
    chance = random.Random(6)
    found = 0
    for query in [misspelt(chance, fold(chance.choice(list(entities.values())).name)) for _ in range(30)]:
        for selection in selections:
            chosen = sorted(store.find(selection, None, 0), key=lambda identity: ids[identity[1]])
            names = [fold(entities[identity].name) for identity in chosen]
            expected = [(chosen[i], names[i], score) for i, score in scanned(names, query)]
            assert [(r.identity, r.name, r.score) for r in store.rank_names(selection, query)] == expected
            found += len(expected)
    assert found


@pytest.mark.parametrize(
    ("filters", "passes"),
    [
        ({"name": "dragon"}, lambda name, _: "dragon" in name),
        ({"name_folded": ["dragon", "no such", "red"]}, lambda name, _: name in ("dragon", "red")),
        ({"name": "red", "level": 0}, lambda name, level: "red" in name and level == 0),
        ({"where": "-name:red"}, lambda name, _: "red" not in name),
    ],
)
def test_conditions_on_names_are_tested_by_the_index_as_by_the_table(
    store: SqliteStore, filters: dict[str, object], passes: Callable[[str, int], bool]
) -> None:
    entities = store.load("spells", store.identities("spells"))
    selection = Selection("spells", parse_filters("spells", filters))
    wanted = {e.identity for e in entities if passes(fold(e.name), int(str(e.fields["level"])))}
    assert wanted
    assert set(store.find(selection, None, 0)) == wanted
    assert store.count(selection) == len(wanted)


def test_the_index_follows_the_library(store: SqliteStore) -> None:
    (entity,) = store.load("spells", store.identities("spells")[:1])
    assert store.count(Selection("spells", parse_filters("spells", {"name": fold(entity.name)})))
    store.delete_entities("spells", store.identities("spells"))
    assert store.names("spells") == []
    assert store.rank_names(Selection("spells"), entity.name) == []


def test_notes_are_filtered_and_listed_without_reading_them(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "cache.db", not_again)
    filters = {"tags": "npc", "aliases": "the grey one", "folder": "places", "session": 3}
    asked: list[str] = []
    with closing(store):
        store.file.read(lambda c: c.set_trace_callback(asked.append))
        assert store.find(Selection("notes", parse_filters("notes", filters)), 10, 0) == []
        assert store.find(Selection("notes"), 10, 0) == []
        store.file.read(lambda c: c.set_trace_callback(None))

        def explained(c: sqlite3.Connection) -> list[list[str]]:
            queries = [query for query in asked if " FROM notes" in query]
            return [[row[-1] for row in c.execute(f"EXPLAIN QUERY PLAN {query}")] for query in queries]

        plans = store.file.read(explained)
    assert plans.count(["SCAN notes USING COVERING INDEX notes_listed"]) >= 2  # the fields, and the list by name
