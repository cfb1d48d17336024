"""The mapped files of a data file: written once, checked when they are opened, and made again where they cannot be used."""

from __future__ import annotations

import gc
import os
import random
from contextlib import closing
from pathlib import Path

import faiss
import numpy as np
import pyarrow
import pyarrow.ipc
import pytest

from lorekeeper.cache.milvus._internals import indexes, remove_indexes, row_files
from lorekeeper.cache.milvus._internals.row_files import ROWS, SUFFIXES, VECTORS
from lorekeeper.cache.milvus.lite import Engine
from lorekeeper.cache.milvus.schema import Row
from tests.support.engine_rows import COLUMNS, DIMENSION, FIELDS, NAME, row

NUMBER = 60


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A library with some flushed rows."""
    chance, library = random.Random(0), tmp_path / "milvus.db"
    with closing(Engine(library)) as engine:
        engine.create_collection(NAME, COLUMNS, "{}")
        engine.upsert(NAME, [row(chance, key) for key in range(NUMBER)])
        engine.flush(NAME)
        engine._collection(NAME)._wait_for_bg()
    return library


def files(library: Path) -> dict[str, Path]:
    return {file.suffix: file for file in library.rglob("*") if file.suffix in SUFFIXES}


def answers(library: Path) -> tuple[list[Row], list[Row]]:
    """All rows, and the nearest ones to a vector."""
    with closing(Engine(library)) as engine:
        engine.load_collection(NAME)
        query = row(random.Random(9), 0)["vector"]
        return engine.query(NAME, "", [*FIELDS]), engine.search(NAME, query, "level <= 5", 10, FIELDS)


def test_a_second_opening_writes_nothing_and_answers_the_same(path: Path) -> None:
    before = answers(path)
    written = {suffix: file.stat().st_mtime_ns for suffix, file in files(path).items()}
    assert set(written) == set(SUFFIXES)
    assert len(before[0]) == NUMBER
    assert answers(path) == before
    assert {suffix: file.stat().st_mtime_ns for suffix, file in files(path).items()} == written


def _cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def _zeroed(file: Path) -> None:
    size = file.stat().st_size
    file.write_bytes(bytes(size))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("harm", [Path.unlink, _cut, lambda file: file.write_bytes(b"")])
def test_a_file_that_cannot_be_used_is_written_again(path: Path, suffix: str, harm) -> None:
    before = answers(path)
    size = files(path)[suffix].stat().st_size
    harm(files(path)[suffix])
    assert answers(path) == before
    assert files(path)[suffix].stat().st_size == size


def test_rows_without_their_content_are_written_again(path: Path) -> None:
    before = answers(path)
    _zeroed(files(path)[ROWS])
    assert answers(path) == before


def test_rows_whose_texts_lie_outside_the_file_are_written_again(path: Path) -> None:
    before = answers(path)
    file = files(path)[ROWS]
    with pyarrow.memory_map(str(file)) as source, pyarrow.ipc.open_file(source) as reader:
        offsets = reader.read_all().column("title").chunk(0).buffers()[1].to_pybytes()
    content = file.read_bytes()
    assert content.count(offsets) == 1
    file.write_bytes(content.replace(offsets, b"\xff\xff\xff\x7f" * (len(offsets) // 4)))
    assert answers(path) == before


def test_files_of_another_data_file_are_not_used(path: Path) -> None:
    before = answers(path)
    (data,) = path.rglob("*.parquet")
    os.utime(data, ns=(1, 1))
    times = files(path)[VECTORS].stat().st_mtime_ns
    assert answers(path) == before
    assert files(path)[VECTORS].stat().st_mtime_ns > times


def test_files_of_data_files_that_are_gone_are_removed(path: Path) -> None:
    folder = files(path)[ROWS].parent
    left = [folder / f"data_000090_000099{suffix}" for suffix in SUFFIXES]
    for file in left:
        file.write_bytes(b"left")
    files(path)[ROWS].unlink()
    answers(path)
    assert not any(file.exists() for file in left)
    assert set(files(path)) == set(SUFFIXES)


def test_a_library_answers_where_the_files_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = answers(path)

    def full(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(row_files, "_write", full)
    for file in files(path).values():
        file.unlink()
    assert answers(path) == before
    assert files(path) == {}


def test_vectors_of_large_files_are_read_one_by_one(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = answers(path)
    monkeypatch.setattr(row_files, "KEPT_BYTES", 0)
    monkeypatch.setattr(row_files, "KEPT_IN_ALL", 0)
    assert answers(path) == before


def test_files_are_private_and_removed_with_the_indexes(path: Path) -> None:
    answers(path)
    assert {file.stat().st_mode & 0o077 for file in files(path).values()} == {0}
    remove_indexes(path, NAME)
    assert files(path) == {}


def test_an_index_of_whole_vectors_is_built_again_with_8_bits(path: Path) -> None:
    before = answers(path)
    (index,) = path.rglob("*.idx")
    metric = faiss.METRIC_INNER_PRODUCT
    earlier = faiss.IndexIVFFlat(faiss.IndexFlat(DIMENSION, metric), DIMENSION, 2, metric)
    vectors = np.fromfile(files(path)[VECTORS], np.float32).reshape(NUMBER, DIMENSION)
    earlier.train(vectors)
    earlier.add(vectors)
    faiss.write_index(earlier, str(index))
    assert answers(path) == before
    assert isinstance(faiss.read_index(str(index)), faiss.IndexIVFScalarQuantizer)


@pytest.mark.parametrize("error", [0.5, 1e-9])
def test_more_rows_are_proposed_until_none_can_be_missing(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: float
) -> None:
    before = answers(path)
    monkeypatch.setattr(indexes, "PROPOSED", 1)
    monkeypatch.setattr(indexes, "AT_LEAST", 0)
    monkeypatch.setattr(indexes, "ERROR", error)
    found = answers(path)[1]
    assert (found == before[1]) or error < 1e-3
    assert len(found) == len(before[1]) == 10


def test_files_count_as_mapped_while_their_rows_are_in_use(path: Path) -> None:
    gc.collect()
    before = row_files._mapped.bytes
    with closing(Engine(path)) as engine:
        engine.load_collection(NAME)
        sizes = sum(file.stat().st_size for file in files(path).values())
        assert row_files._mapped.bytes == before + sizes
    del engine
    gc.collect()
    assert row_files._mapped.bytes == before
