"""The accelerators return what Milvus Lite's own search, get and query return, whatever was written before."""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
from milvus_lite import Collection

from lorekeeper.cache.milvus._internals import row_files, writes
from lorekeeper.cache.milvus.lite import Engine
from lorekeeper.cache.milvus.schema import SEARCH_PARAMS, Row
from tests.support.engine_rows import COLUMNS, DIMENSION, FIELDS, NAME, row

TESTS = ["", "level <= 3", 'title in ["t1", "t2"] and level > 0', "level > 99", 'array_contains_any(tags, ["a"])']


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = Engine(tmp_path / "milvus.db")
    opened.create_collection(NAME, COLUMNS, "{}")
    yield opened
    opened.close()


OPTIONS = {"metric_type": "COSINE", "output_fields": FIELDS, "search_params": SEARCH_PARAMS["params"]}


def rounded(rows: list[Row]) -> list[Row]:
    return [{k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()} for row in rows]


def check(engine: Engine, chance: random.Random) -> None:
    """Hold the answers against those of Milvus Lite's own methods."""
    collection = engine._collection(NAME)
    collection._wait_for_bg()
    for test in TESTS:
        vector, limit = row(chance, 0)["vector"], chance.choice([1, 5, 50])
        (hits,) = Collection.search(collection, [vector], top_k=limit, expr=test or None, **OPTIONS)
        public = [{**hit["entity"], "pk": hit["id"], "distance": hit["distance"]} for hit in hits]
        assert rounded(engine.search(NAME, vector, test, limit, FIELDS)) == rounded(public)
        assert engine.query(NAME, test, FIELDS) == Collection.query(collection, test or None, output_fields=FIELDS)
    keys = [f"k{chance.randrange(60)}" for _ in range(20)]
    assert engine.get(NAME, keys, FIELDS) == Collection.get(collection, keys, output_fields=FIELDS)


def test_threads_that_open_a_collection_while_it_is_created_share_it(tmp_path: Path) -> None:
    chance = random.Random(2)
    for attempt in range(20):
        with closing(Engine(tmp_path / f"{attempt}.db")) as opened, ThreadPoolExecutor(8) as threads:

            def open_when_there(opened: Engine = opened) -> None:
                while not opened.has_collection(NAME):
                    pass
                opened.description(NAME)

            readers = [threads.submit(open_when_there) for _ in range(7)]
            opened.create_collection(NAME, COLUMNS, "{}")
            opened.upsert(NAME, [row(chance, 1)])
            for reader in readers:
                reader.result()
            assert opened.count(NAME) == 1


@pytest.mark.slow
def test_no_reader_misses_rows_while_they_are_flushed(engine: Engine) -> None:
    chance, written, missed, ended = random.Random(1), [0], [], threading.Event()

    def read(number_of_rows: Callable[[], int]) -> None:
        while not ended.is_set():
            expected = written[0]
            if (number := number_of_rows()) < expected:
                missed.append((number, expected))

    vector = row(chance, 0)["vector"]
    readers = [
        threading.Thread(target=read, args=[number_of_rows])
        for number_of_rows in (
            lambda: len(engine.query(NAME, "", ["pk"])),
            lambda: engine.count(NAME),
            lambda: len(engine.search(NAME, vector, "", 1000, FIELDS)),
        )
    ]
    for reader in readers:
        reader.start()
    try:
        for key in range(0, 250, 2):
            engine.upsert(NAME, [row(chance, key), row(chance, key + 1)])
            written[0] = key + 2
            engine.flush(NAME)
    finally:
        ended.set()
        for reader in readers:
            reader.join()
    assert missed == []


@pytest.mark.parametrize("seed", range(4))
def test_answers_are_those_of_the_collection_after_any_writes(engine: Engine, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        for _ in range(chance.randrange(1, 4)):
            keys = chance.sample(range(50), chance.randrange(1, 20))
            if chance.random() < 0.7:
                engine.upsert(NAME, [row(chance, key) for key in keys])
            else:
                engine.delete(NAME, [f"k{key}" for key in keys[:5]])
        engine.flush(NAME)
        check(engine, chance)


@pytest.mark.parametrize("number", [30, 300])
def test_the_nearest_are_those_of_brute_force_whether_the_index_is_asked_or_not(engine: Engine, number: int) -> None:
    chance = random.Random(number)
    rows = [row(chance, key) for key in range(number)]
    engine.upsert(NAME, rows)
    engine.flush(NAME)
    for least in (0, 5, 9, 10):
        query = row(chance, 0)["vector"]
        near = {one["pk"]: one["vector"] @ query for one in rows if (one["level"] or 0) >= least}
        found = engine.search(NAME, query, f"level >= {least}" if least else "", 5, FIELDS)
        assert [one["pk"] for one in found] == sorted(near, key=near.__getitem__, reverse=True)[:5]
        assert np.allclose([one["distance"] for one in found], [near[one["pk"]] for one in found])


def test_rows_in_memory_are_left_to_milvus_lite(engine: Engine) -> None:
    chance = random.Random(0)
    engine.upsert(NAME, [row(chance, key) for key in range(9)])
    assert engine._collection(NAME)._snapshot(FIELDS) is None
    assert [r["pk"] for r in engine.get(NAME, ["k1"], FIELDS)] == ["k1"]
    assert len(engine.search(NAME, row(chance, 0)["vector"], "", 5, FIELDS)) == 5
    assert len(engine.query(NAME, "", FIELDS)) == 9


def test_keys_are_read_while_rows_are_not_sealed_and_forgotten_when_they_are(engine: Engine) -> None:
    chance = random.Random(0)
    stored = [row(chance, key) for key in range(9)]
    engine.upsert(NAME, stored[:6])
    engine.flush(NAME)
    collection = engine._collection(NAME)
    collection._wait_for_bg()
    (segment,) = collection._segments_snapshot()
    assert "vector" not in segment.table.column_names
    assert segment._keys is None
    engine.upsert(NAME, stored[6:])
    for one in stored:
        nearest, *_ = engine.search(NAME, one["vector"], "", 3, FIELDS)
        assert nearest["pk"] == one["pk"]
        (found,) = engine.get(NAME, [one["pk"]], ["vector"])
        assert np.allclose(found["vector"], one["vector"])
    assert segment._keys is not None
    engine.flush(NAME)
    assert engine.get(NAME, ["k1"], FIELDS)
    assert segment._keys is None


@pytest.mark.parametrize("removable", [True, False])
def test_a_segment_whose_file_was_removed_still_gives_its_vectors(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, *, removable: bool
) -> None:
    monkeypatch.setattr(row_files, "REMOVABLE", removable)
    one = row(random.Random(0), 1)
    engine.upsert(NAME, [one])
    engine.flush(NAME)
    collection = engine._collection(NAME)
    collection._wait_for_bg()
    (segment,) = collection._segments_snapshot()
    Path(segment.file_path).unlink()
    assert segment.table.column("title").to_pylist() == [one["title"]]
    assert np.allclose(segment.vectors, [one["vector"]])
    assert np.allclose(segment.row_to_dict(0)["vector"], one["vector"])


def test_what_is_written_stays_in_its_file_until_it_is_asked_for(engine: Engine) -> None:
    chance, number = random.Random(0), 2000
    before = pyarrow.total_allocated_bytes()
    engine.upsert(NAME, [row(chance, key) for key in range(number)])
    engine.flush(NAME)
    collection = engine._collection(NAME)
    collection._wait_for_bg()
    (segment,) = collection._segments_snapshot()
    assert pyarrow.total_allocated_bytes() - before < 10 * number  # eight are its place in the order of writes
    assert engine.get(NAME, ["k1"], FIELDS)
    assert segment.vectors.shape == (number, DIMENSION)
    segment.forget()
    # the table, and neither the vectors nor the bytes that were read of the file, which Arrow's threads drop in their own time
    for _ in range(500):
        if (held := pyarrow.total_allocated_bytes() - before) < segment.table.nbytes + 20 * number:
            break
        time.sleep(0.01)
    assert held < segment.table.nbytes + 20 * number


def test_a_collection_that_is_loaded_is_read_whole_so_that_damage_is_seen(tmp_path: Path) -> None:
    with closing(Engine(tmp_path / "milvus.db")) as first:
        first.create_collection(NAME, COLUMNS, "{}")
        first.upsert(NAME, [row(random.Random(0), key) for key in range(40)])
        first.flush(NAME)
        (segment,) = first._collection(NAME)._segments_snapshot()
    file, column = Path(segment.file_path), segment._metadata.row_group(0).column(2)
    assert column.path_in_schema == "title"
    damaged = bytearray(file.read_bytes())
    damaged[column.data_page_offset : column.data_page_offset + 8] = bytes(8)
    file.write_bytes(damaged)
    with closing(Engine(tmp_path / "milvus.db")) as second, pytest.raises(OSError, match=r"."):
        second.load_collection(NAME)


def test_data_files_are_written_in_row_groups_without_dictionaries(engine: Engine, tmp_path: Path) -> None:
    engine.upsert(NAME, [row(random.Random(0), key) for key in range(9)])
    engine.flush(NAME)
    (segment,) = engine._collection(NAME)._segments_snapshot()
    columns = [segment._metadata.row_group(0).column(n) for n in range(segment._metadata.num_columns)]
    assert not any(column.has_dictionary_page for column in columns)
    path = writes.data_file_writer()(pyarrow.table({"_seq": range(writes.ROW_GROUP + 1)}), str(tmp_path), 0, 9)
    assert pyarrow.parquet.read_metadata(tmp_path / path).num_row_groups == 2


@pytest.mark.parametrize("again", [False, True])
def test_a_compaction_copies_rows_only_to_leave_some_out(engine: Engine, *, again: bool) -> None:
    chance = random.Random(0)
    collection = engine._collection(NAME)
    latest: dict[str, int | None] = {}
    for part in range(8):
        rows = [row(chance, key) for key in range(0 if again else 10 * part, 10 * part + 10)]
        latest |= {one["pk"]: one["level"] for one in rows}
        engine.upsert(NAME, rows)
        engine.flush(NAME)
    collection._wait_for_bg()
    assert len(collection._segments_snapshot()) < 8
    assert {one["pk"]: one["level"] for one in engine.query(NAME, "", ["level"])} == latest

    table = pyarrow.table({"pk": ["a", "b", "a" if again else "c"], "_seq": [1, 2, 3]})
    unique = collection._compaction_mgr._dedup_max_seq(table)
    assert (unique is table) is not again
    assert sorted(unique.column("_seq").to_pylist()) == ([2, 3] if again else [1, 2, 3])


def test_a_collection_that_takes_anothers_place_is_asked_itself(engine: Engine) -> None:
    chance = random.Random(0)
    engine.upsert(NAME, [row(chance, key) for key in range(9)])
    engine.flush(NAME)
    assert engine.get(NAME, ["k1"], FIELDS)
    engine.drop_collection(NAME)
    engine.create_collection(NAME, COLUMNS, "{}")
    assert engine.get(NAME, ["k1"], FIELDS) == []
    assert engine.search(NAME, row(chance, 0)["vector"], "", 5, FIELDS) == []


def test_indexes_are_mapped_into_memory_and_answer_as_before(tmp_path: Path) -> None:
    chance, maps = random.Random(0), Path("/proc/self/maps")
    query = row(chance, 0)["vector"]
    with closing(Engine(tmp_path / "milvus.db")) as first:
        first.create_collection(NAME, COLUMNS, "{}")
        first.upsert(NAME, [row(chance, key) for key in range(40)])
        first.flush(NAME)
        first._collection(NAME)._wait_for_bg()
        before = first.search(NAME, query, "level <= 5", 10, FIELDS)
    with closing(Engine(tmp_path / "milvus.db")) as second:
        second.load_collection(NAME)
        assert rounded(second.search(NAME, query, "level <= 5", 10, FIELDS)) == rounded(before)
        assert not maps.exists() or re.search(rf"{tmp_path}.*\.idx", maps.read_text())
