"""The index of names finds what comparing all names finds, in the same order."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache.sqlite.catalogue import MAX_NAME_QUERY, NAMES
from lorekeeper.cache.sqlite.columns import NameIndex
from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.entities import Entity
from lorekeeper.filters import Selection, parse_filters
from lorekeeper.folding import fold
from lorekeeper.text.names import name_key, similar_names
from lorekeeper.text.passages import passages
from tests.support.tables import each_row

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


@each_row("seed", range(6))
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


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    chance = random.Random(5)
    opened = SqliteStore(tmp_path / "cache.db")
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
    entities = {
        entity.identity: entity for entity in store.ask("load", list, "spells", store.ask("identities", list, "spells"))
    }
    chance = random.Random(6)
    found = 0
    for query in [misspelt(chance, fold(chance.choice(list(entities.values())).name)) for _ in range(30)]:
        for selection in selections:
            chosen = sorted(
                store.ask("find", list, selection, None, 0), key=lambda each: (fold(entities[each].name), each)
            )
            names = [fold(entities[identity].name) for identity in chosen]
            expected = [(chosen[i], names[i], score) for i, score in scanned(names, query)]
            assert [(r.identity, r.name, r.score) for r in store.ask("rank_names", list, selection, query)] == expected
            found += len(expected)
    assert found
