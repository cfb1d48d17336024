"""The cache of vectors: what was computed once is never computed again, and its file can only cost time."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cache.vectors import VectorCache, pack_vector, vector_key
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.embedding.open_vectors import OpenVectors, write_open_vectors

MODEL = "model-1"
TEXTS = [f"text number {i}" for i in range(700)]
VECTORS = HashingProvider().embed(TEXTS)


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    return VectorCache(tmp_path / "new folder" / "vectors.db")


def test_vectors_come_back_as_they_were_by_model_and_text(cache):
    cache.put(MODEL, TEXTS, VECTORS)
    cache.close()
    found = cache.get(MODEL, [*TEXTS, "another"])
    assert found.keys() == set(TEXTS)
    assert all(np.array_equal(found[text], vector) for text, vector in zip(TEXTS, VECTORS, strict=True))
    assert cache.get("model-2", TEXTS) == {}


def test_a_damaged_vector_is_computed_anew(cache):
    cache.put(MODEL, TEXTS[:2], VECTORS[:2])
    with sqlite3.connect(cache.path) as c:
        key, blob = c.execute("SELECT key, vector FROM vectors LIMIT 1").fetchone()
        c.execute("UPDATE vectors SET vector = ? WHERE key = ?", (bytes([blob[0] ^ 1]) + blob[1:], key))
    assert len(cache.get(MODEL, TEXTS[:2])) == 1


@pytest.mark.parametrize("content", [b"no database at all, " * 300, b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_file_is_replaced(cache, content):
    cache.path.parent.mkdir()
    cache.path.write_bytes(content)
    assert cache.get(MODEL, TEXTS) == {}
    cache.put(MODEL, TEXTS, VECTORS)
    assert len(cache.get(MODEL, TEXTS)) == len(TEXTS)


@pytest.mark.parametrize(
    "row", [(None, None), (b"x" * 16, None), (None, b"x"), ("text", "text"), (b"short", b"x"), (b"x" * 16, b"")]
)
def test_b10_rows_that_are_no_vectors_are_passed_over_and_delete_nothing(cache, row):
    cache.put(MODEL, TEXTS, VECTORS)
    cache.add([row])
    assert len(cache.get(MODEL, TEXTS)) == len(TEXTS)
    with sqlite3.connect(cache.path) as c:
        assert c.execute("SELECT count(*) FROM vectors").fetchone() == (len(TEXTS),)


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 1.0, 3e38], ids=str)
def test_b2_vectors_that_cannot_be_searched_are_neither_taken_nor_given(cache, value):
    bad = np.full((1, VECTORS.shape[1]), value, dtype=np.float32)
    cache.put(MODEL, TEXTS[:2], VECTORS[:2])
    cache.put(MODEL, TEXTS[2:3], bad)
    key = vector_key(MODEL, TEXTS[3])
    cache.add([(key, pack_vector(key, bad[0]))])
    assert cache.get(MODEL, TEXTS[:4]).keys() == set(TEXTS[:2])
    assert (cache.drop_damaged(), cache.drop_damaged()) == (1, 0)


def test_b2_vectors_of_another_dimension_are_neither_taken_nor_given(cache):
    dimension = VECTORS.shape[1]
    key = vector_key(MODEL, TEXTS[0])
    cache.add([(key, pack_vector(key, VECTORS[0]))], dimension + 1)
    assert cache.get(MODEL, TEXTS[:1]) == {}
    cache.add([(key, pack_vector(key, VECTORS[0]))], dimension)
    assert cache.get(MODEL, TEXTS[:1], dimension + 1) == {}
    assert len(cache.get(MODEL, TEXTS[:1], dimension)) == 1


def test_b2_what_is_known_is_not_replaced_from_elsewhere_and_what_ships_comes_first(tmp_path, cache):
    key = vector_key(MODEL, TEXTS[0])
    cache.put(MODEL, TEXTS[:1], VECTORS[:1])
    cache.add([(key, pack_vector(key, VECTORS[1]))])
    assert np.array_equal(cache.get(MODEL, TEXTS[:1])[TEXTS[0]], VECTORS[0])
    key = vector_key(MODEL, TEXTS[1])
    write_open_vectors(tmp_path / "some.vectors", MODEL, {key: VECTORS[1]})
    both = VectorCache(cache.path, OpenVectors(lambda: tmp_path / "some.vectors"))
    both.add([(key, pack_vector(key, VECTORS[0]))])
    assert float(both.get(MODEL, TEXTS[1:2])[TEXTS[1]] @ VECTORS[1]) > 0.999


def test_a_place_that_cannot_be_written_costs_nothing_but_time(tmp_path, caplog):
    (tmp_path / "file").write_text("not a folder")
    cache = VectorCache(tmp_path / "file" / "vectors.db")
    cache.put(MODEL, TEXTS, VECTORS)
    assert cache.get(MODEL, TEXTS) == {}
    assert [record.levelname for record in caplog.records].count("WARNING") == 1


def test_several_threads_and_files_of_one_name_agree(cache):
    others = [VectorCache(cache.path) for _ in range(4)]

    def work(number: int) -> None:
        for i in range(number, len(TEXTS), 4):
            others[number].put(MODEL, [TEXTS[i]], VECTORS[i : i + 1])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cache.get(MODEL, TEXTS)) == len(TEXTS)


async def test_a_service_computes_no_text_twice_even_in_another_process(cache):
    first = EmbeddingService(HashingProvider, cache)
    vectors = await first.embed(TEXTS[:200])
    steps: list[int] = []
    second = EmbeddingService(HashingProvider, VectorCache(cache.path))
    again = await second.embed(TEXTS[:300], steps.append)
    assert (first.computed, second.computed) == (200, 100)
    assert sum(steps) == 300
    assert np.array_equal(again[:200], vectors)
    assert np.array_equal(again, HashingProvider().embed(TEXTS[:300]))
    await second.embed_query("a question")
    assert VectorCache(cache.path).get(HashingProvider().fingerprint, ["a question"]) == {}
    first.close()
    second.close()


def test_a_file_of_a_later_version_is_left_alone_and_not_used(cache: VectorCache) -> None:
    vectors = HashingProvider().embed(TEXTS[:3])
    cache.put("model", TEXTS[:3], vectors)
    cache.close()
    with sqlite3.connect(cache.path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    later = VectorCache(cache.path)
    later.put("model", TEXTS[:3], vectors)
    assert later.get("model", TEXTS[:3]) == {}
    later.close()
    with sqlite3.connect(cache.path) as connection:
        assert connection.execute("SELECT count(*) FROM vectors").fetchone() == (3,)
    connection.close()
