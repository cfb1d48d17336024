"""Rows that have only common words are left out of a keyword ranking where they cannot be among the best."""

from __future__ import annotations

import random

import numpy as np
import pytest

from lorekeeper.cache.protocol import Ranked
from lorekeeper.cache.sqlite import bounds
from lorekeeper.cache.sqlite.ranking import ranked_by_words
from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.entities import Entity
from lorekeeper.filters import Selection, parse_filters
from lorekeeper.text.keywords import KeywordQuery
from lorekeeper.text.passages import passages

RARE = [f"rare{number}" for number in range(30)]
COMMON = ["ape", "boat", "cave", "dune", "east", "fire"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SqliteStore:
    chance, path = random.Random(3), tmp_path_factory.mktemp("bounds") / "cache.db"
    opened = SqliteStore(path, lambda entity: entity.fields)
    entities = [
        Entity(
            type="spells",
            slug=f"s{number}",
            name=f"{chance.choice(RARE)} {chance.choice(COMMON)}",
            kind="spell",
            document="own",
            source_api="own",
            data={"desc": " ".join(chance.choices(COMMON, k=chance.randint(1, 9)) + chance.choices(RARE, k=1))},
            fields={"level": chance.randrange(10)},
        )
        for number in range(900)
    ]
    opened.write(
        "spells", [(e, passages(e)[:1]) for e in entities], np.eye(len(entities), 8, dtype=np.float32), "model"
    )
    return opened


def split(store: SqliteStore, query: KeywordQuery) -> bounds.Split | None:
    return store.file.read(lambda c: bounds.split(c, "spells_fts", query.weights))


def ranked(
    store: SqliteStore, selection: Selection, query: KeywordQuery, limit: int, rare: bounds.Split | None = None
) -> list[Ranked]:
    return store.file.read(lambda c: ranked_by_words(c, selection, query, limit, rare))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("share", [0.2, 0.5, 3.0])
def test_the_ranking_is_that_of_all_rows(
    store: SqliteStore, seed: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    print(f"seed {seed}")
    monkeypatch.setattr(bounds, "ROWS", 0)
    monkeypatch.setattr(bounds, "SHARE", share)
    chance, decided = random.Random(seed), 0
    for _ in range(30):
        words = chance.sample(COMMON, chance.randint(1, 4)) + chance.sample([*RARE, "absent"], chance.randint(0, 3))
        twice = words[:1] * chance.choice([0, 0, 2])
        related = tuple(chance.sample([w for w in (*COMMON, *RARE) if w not in words], chance.choice([0, 0, 1, 3])))
        query = KeywordQuery((*words[:3], *twice), tuple(words[3:]), related=related)
        limit = chance.choice([1, 5, 60])
        filters: dict[str, object] = chance.choice([{}, {"level_max": 3}, {"name": "ape"}])
        selection = Selection("spells", parse_filters("spells", filters))
        assert store.rank_keyword(selection, query, limit) == ranked(store, selection, query, limit), words
        found = split(store, query)
        part = ranked(store, selection, query, limit, found) if found else []
        decided += bool(found and len(part) == limit and part[-1].score > found.rest)
    assert decided or share > 1


def test_no_row_without_a_rare_word_exceeds_the_bound(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "ROWS", 0)
    query, everything = KeywordQuery(("fire", "boat", "rare3")), Selection("spells")
    found = split(store, query)
    assert found
    assert found.rare == '"rare3"'
    rare = {hit.identity for hit in ranked(store, everything, query, 900, found)}
    others = [hit.score for hit in ranked(store, everything, query, 900) if hit.identity not in rare]
    assert others
    assert max(others) <= found.rest


def test_few_rows_are_all_scored(store: SqliteStore) -> None:
    assert split(store, KeywordQuery(("rare1", "rare2"))) is None
    assert split(store, KeywordQuery(("absent",))) is None
