"""Rows that have only common words are left out of a keyword ranking where they cannot be among the best."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.cache.sqlite import bounds, impacts, ranking
from lorekeeper.cache.sqlite.bounds import Split
from lorekeeper.cache.sqlite.impacts import Impact, KeptImpacts
from lorekeeper.cache.sqlite.postings import COLUMN_WEIGHTS
from lorekeeper.cache.sqlite.sql import fts_query
from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.cache.sqlite.tokens import only_token
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


def ranked(
    store: SqliteStore, selection: Selection, query: KeywordQuery, limit: int, common: Collection[str] = ()
) -> list[Ranked]:
    """The ranking of the rows that have other words than the common ones; nothing is kept of it."""

    def rank(c: sqlite3.Connection) -> list[Ranked]:
        impacts = KeptImpacts().of(c, "spells", 0)
        return ranking.ranked_by_words(impacts, query, limit, store._rows_meeting(c, selection), common)

    return store.file.read(rank)


def split_of(store: SqliteStore, query: KeywordQuery) -> Split | None:
    """How a query is split if nothing is kept."""
    return store.file.read(lambda c: ranking.split_of(KeptImpacts().of(c, "spells", 0), query))


def summed_by_sqlite(store: SqliteStore, words: Sequence[str]) -> dict[Identity, float]:
    """The BM25 scores of all rows that have one of the words, as SQLite adds them up."""
    weights = ", ".join(map(str, COLUMN_WEIGHTS.values()))
    sql = (
        f"SELECT document, slug, -bm25(spells_fts, {weights}) FROM spells_fts JOIN spells ON id = spells_fts.rowid "
        "WHERE spells_fts MATCH ?"
    )
    return {(document, slug): score for document, slug, score in store._rows(sql, [fts_query(words)])}


@pytest.mark.parametrize("share", [0.2, 0.5, 3.0])
def test_the_ranking_is_that_of_all_rows(
    store: SqliteStore, share: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "ROWS", 0)
    monkeypatch.setattr(bounds, "SHARE", share)
    chance, decided = random.Random(seed), 0
    for _ in range(100):
        words = chance.sample(COMMON, chance.randint(1, 4)) + chance.sample([*RARE, "absent"], chance.randint(0, 3))
        twice = words[:1] * chance.choice([0, 0, 2])
        related = tuple(chance.sample([w for w in (*COMMON, *RARE) if w not in words], chance.choice([0, 0, 1, 3])))
        shares = tuple((word, chance.choice([0.3, 1.0])) for word in words[3:])
        query = KeywordQuery((*words[:3], *twice), tuple(words[3:]), related=related, shares=shares)
        limit = chance.choice([1, 5, 60])
        filters: dict[str, object] = chance.choice([{}, {"level_max": 3}, {"name": "ape"}])
        selection = Selection("spells", parse_filters("spells", filters))
        assert store.rank_keyword(selection, query, limit) == ranked(store, selection, query, limit), words
        found = split_of(store, query)
        part = ranked(store, selection, query, limit, found.common) if found else []
        decided += bool(found and len(part) == limit and part[-1].score > found.rest)
    assert decided or share > 1


def test_scores_are_those_of_sqlite(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        words = chance.sample([*COMMON, *RARE], chance.randint(1, 6)) + chance.choices(COMMON, k=chance.randint(0, 2))
        found = ranked(store, Selection("spells"), KeywordQuery(tuple(words)), 900)
        assert {hit.identity: hit.score for hit in found} == summed_by_sqlite(store, words)


def test_complete_are_the_rows_that_sqlite_finds_by_all_words_of_a_wording(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        lists = [tuple(chance.sample([*COMMON, "absent"], chance.randint(1, 2))) for _ in range(chance.randint(1, 3))]
        query = KeywordQuery.joined([KeywordQuery(words) for words in lists])
        every = " OR ".join(f"({' AND '.join(words)})" for words in lists)
        sql = "SELECT document, slug FROM spells_fts JOIN spells ON id = spells_fts.rowid WHERE spells_fts MATCH ?"
        found = ranked(store, Selection("spells"), query, 900)
        assert {hit.identity for hit in found if hit.complete} == set(store._rows(sql, [every]))


def test_scores_of_some_rows_are_those_among_all(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        words = chance.sample([*COMMON, *RARE, "absent"], chance.randint(1, 6))
        everything = summed_by_sqlite(store, words)
        among = {("nowhere", "none"), *chance.sample(store.identities("spells"), 40)}
        found = store.word_scores("spells", words, among, lambda found, _: found)
        assert found == {identity: pytest.approx(everything[identity]) for identity in among & everything.keys()}
        if chance.random() < 0.3:  # some words are kept from now on
            store.rank_keyword(Selection("spells"), KeywordQuery(tuple(words[:2])), 5)


def test_no_row_without_a_rare_word_exceeds_the_bound(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "ROWS", 0)
    query, everything = KeywordQuery(("fire", "boat", "rare3")), Selection("spells")
    found = split_of(store, query)
    assert found
    assert found.common == {"fire", "boat"}
    rare = {hit.identity for hit in ranked(store, everything, query, 900, found.common)}
    others = [hit.score for hit in ranked(store, everything, query, 900) if hit.identity not in rare]
    assert others
    assert max(others) <= found.rest


def test_few_rows_are_all_scored(store: SqliteStore) -> None:
    assert split_of(store, KeywordQuery(("rare1", "rare2"))) is None
    assert split_of(store, KeywordQuery(("absent",))) is None


def test_words_that_are_kept_are_not_counted(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "ROWS", 0)
    query = KeywordQuery(("fire", "boat", "rare3"))

    def split_again(c: sqlite3.Connection) -> Split | None:
        impacts = KeptImpacts().of(c, "spells", 0)
        ranking.ranked_by_words(impacts, query, 10, None)
        return ranking.split_of(impacts, query)

    assert store.file.read(split_again) is None


def test_what_is_kept_is_of_the_latest_state(tmp_path: Path) -> None:
    with_fire = Entity(type="spells", slug="a", name="Fire", kind="spell", document="own", source_api="own", data={})
    without = replace(with_fire, name="Water")
    opened = SqliteStore(tmp_path / "cache.db", lambda entity: entity.fields)
    for entity, found in ((with_fire, ["Fire"]), (without, [])):
        opened.write("spells", [(entity, passages(entity)[:1])], np.eye(1, 8, dtype=np.float32), "model")
        hits = opened.rank_keyword(Selection("spells"), KeywordQuery(("fire",)), 5)
        assert [hit.name for hit in hits] == found


def test_the_latest_words_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impacts, "KEPT_ROWS", 5)
    kept, impact = KeptImpacts(), Impact(np.arange(2), np.ones(2))
    for word in ("one", "two", "three"):
        kept.keep(("spells", word), 1, impact)
        assert kept.get(("spells", "one"), 1) is impact
    assert kept.rows == 4
    assert kept.get(("spells", "two"), 1) is None
    assert kept.get(("spells", "three"), 2) is None


def test_the_token_of_a_word_is_that_of_the_table() -> None:
    assert [only_token(f'"{word}"') for word in ("Wolves", "Église", "running")] == ["wolv", "eglis", "run"]
    assert [only_token(each) for each in ('"d d"', '"o\'brien"', '""', '{name body} : "fire"')] == [None] * 4


@pytest.mark.parametrize("number", [0, 1, 127, 128, 300, 20_000, 3_000_000])
def test_numbers_of_words_are_read(number: int) -> None:
    parts = [number >> 7 * place & 127 for place in range(4) if number >> 7 * place or not place]
    varint = bytes([part | 128 for part in parts[:0:-1]] + parts[:1])
    assert impacts._numbers(b"\x05" + varint + b"\x00").tolist() == [5, number, 0]
