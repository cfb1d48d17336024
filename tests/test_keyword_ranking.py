"""Keyword ranking: FTS5's own BM25 scores, weighed and added up under filters, shares, related words and phrases."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.cache.sqlite.keywords import COLUMN_WEIGHTS, quoted
from lorekeeper.cache.sqlite.store import SqliteStore
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError
from lorekeeper.filters import Selection
from lorekeeper.text.keywords import KeywordQuery
from lorekeeper.text.passages import passages

RARE = [f"rare{number}" for number in range(30)]
COMMON = ["ape", "boat", "cave", "dune", "east", "fire"]
SPELLS = Selection("spells")
QUERIES = 25


def spell(number: int, name: str, text: str) -> Entity:
    return Entity(
        type="spells",
        slug=f"s{number}",
        name=name,
        kind="spell",
        document="own",
        source_api="own",
        data={"desc": text},
        fields={"level": number % 10},
    )


def write(store: SqliteStore, entities: Sequence[Entity], entity_type: str = "spells") -> None:
    chunked = [(each, passages(each)[:1]) for each in entities]
    store.write(entity_type, chunked, np.eye(len(entities), 8, dtype=np.float32), "model")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    chance = random.Random(3)
    opened = SqliteStore(tmp_path_factory.mktemp("keywords") / "cache.db")
    texts = [" ".join([*chance.choices(COMMON, k=chance.randint(1, 9)), chance.choice(RARE)]) for _ in range(900)]
    names = [f"{chance.choice(RARE)} {chance.choice(COMMON)}" for _ in texts]
    write(opened, [spell(number, *each) for number, each in enumerate(zip(names, texts, strict=True))])
    yield opened
    opened.close()


def bm25(store: SqliteStore, expression: str | None) -> dict[Identity, float]:
    """The scores of the rows that an expression matches, as SQLite gives them."""
    weights = ", ".join(map(str, COLUMN_WEIGHTS.values()))
    sql = (
        f"SELECT document, slug, -bm25(spells_fts, {weights}) FROM spells_fts JOIN spells ON id = spells_fts.rowid "
        "WHERE spells_fts MATCH ?"
    )

    def read(c: sqlite3.Connection) -> dict[Identity, float]:
        return {(document, slug): score for document, slug, score in c.execute(sql, [expression])}

    return store.file.read(read) if expression else {}


def summed(store: SqliteStore, weights: Mapping[str, float]) -> dict[Identity, float]:
    """An oracle: the scores of words one by one, weighed and added up."""
    scores: dict[Identity, float] = {}
    for word, weight in weights.items():
        for identity, score in bm25(store, quoted(word)).items():
            scores[identity] = scores.get(identity, 0.0) + weight * score
    return scores


def assert_ranking(hits: Sequence[Ranked], scores: Mapping[Identity, float], limit: int) -> None:
    """The hits are the best of the scores, in order."""
    best = sorted(scores.values(), reverse=True)[:limit]
    assert [hit.score for hit in hits] == pytest.approx(best)
    assert {hit.identity: hit.score for hit in hits} == pytest.approx({h.identity: scores[h.identity] for h in hits})
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_words_count_as_often_as_they_are_asked_and_by_their_shares(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(QUERIES):
        words = chance.sample(COMMON, chance.randint(1, 4)) + chance.sample([*RARE, "absent"], chance.randint(0, 3))
        own, others = words[:3] + words[:1] * chance.choice([0, 2]), words[3:]
        related = chance.sample([w for w in (*COMMON, *RARE) if w not in words], chance.choice([0, 0, 1, 3]))
        shares = {word: chance.choice([0.3, 1.0]) for word in others}
        query = KeywordQuery(tuple(own), tuple(others), related=tuple(related), shares=tuple(shares.items()))
        weights = {**dict.fromkeys(related, query.alone), **{w: float(own.count(w)) for w in own}, **shares}
        limit = chance.choice([1, 5, 60, 900])
        assert_ranking(store.ask("rank_keyword", list, SPELLS, query, limit), summed(store, weights), limit)


def test_hits_have_every_phrase_whatever_words_they_have(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(QUERIES):
        phrase, words = " ".join(chance.choices(COMMON, k=2)), chance.sample(COMMON, chance.randint(0, 2))
        scores = bm25(store, f"{{name body}} : {quoted(phrase)}")
        added = summed(store, dict.fromkeys(words, 1.0))
        twice = 2.0 if words else 1.0
        expected = {identity: twice * score + added.get(identity, 0.0) for identity, score in scores.items()}
        found = store.ask("rank_keyword", list, SPELLS, KeywordQuery(tuple(words), phrases=(phrase,)), 900)
        assert_ranking(found, expected, 900)


def test_complete_are_the_rows_with_all_words_of_a_wording(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(QUERIES):
        lists = [tuple(chance.sample([*COMMON, "absent"], chance.randint(1, 2))) for _ in range(chance.randint(1, 3))]
        every = [set.intersection(*(set(bm25(store, quoted(word))) for word in words)) for words in lists]
        query = KeywordQuery.joined([KeywordQuery(words) for words in lists])
        found = store.ask("rank_keyword", list, SPELLS, query, 900)
        assert {hit.identity for hit in found if hit.complete} == set().union(*every)


def test_a_full_text_table_that_lacks_rows_is_damage(tmp_path: Path) -> None:
    opened = SqliteStore(tmp_path / "cache.db")
    write(opened, [spell(number, f"Fire {number}", "burns") for number in range(3)])
    opened.close()
    with sqlite3.connect(tmp_path / "cache.db") as c:
        c.execute("DELETE FROM spells_fts WHERE rowid = (SELECT max(rowid) FROM spells_fts)")
    c.close()
    with pytest.raises(CacheError, match="repair"):
        opened.ask("rank_keyword", list, SPELLS, KeywordQuery(("fire",)), 5)
    opened.close()
