"""Archives and SQLite files that mean harm: each ends in a clear error or a report, and changes nothing that it did not store."""

from __future__ import annotations

import hashlib
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lorekeeper.cache.formats import declarations
from lorekeeper.cache.vectors import VectorCache, pack_vector, passage_keys, vector_key
from lorekeeper.composition import VECTORS
from lorekeeper.embedding import HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.library import Library
from lorekeeper.maintenance.archive import write_packed
from lorekeeper.maintenance.backup import restore
from lorekeeper.maintenance.migrate import migrate
from lorekeeper.settings import Settings
from tests.support.embedding_server import EmbeddingServer
from tests.support.entities import batch, everything, make
from tests.support.legacy_cache import SPELLS, write_cache
from tests.support.libraries import settings_in

GOOD = make("good", "A good entry.").as_record()
MODEL = "http all-MiniLM-L6-v2"
"""Fingerprint of the tests' embedding server."""

TYPES = ("spells", "creatures", "equipment", "character_options", "rules", "documents")


@pytest.fixture(params=["milvus", "sqlite"])
def library(request: pytest.FixtureRequest, tmp_path: Path, embeddings: EmbeddingServer) -> Settings:
    """An empty library of each backend."""
    return settings_in(tmp_path / "library", request.param, embeddings)


@pytest.fixture
def sqlite(tmp_path: Path, embeddings: EmbeddingServer) -> Settings:
    """An empty library in SQLite, where the backend makes no difference."""
    return settings_in(tmp_path / "library", "sqlite", embeddings)


async def held(library: Settings) -> list[Entity]:
    async with Library.from_settings(library) as opened:
        return await everything(opened.cache, "spells")


async def fill(library: Settings, *entities: Entity) -> None:
    async with Library.from_settings(library) as opened:
        await opened.cache.store_entities(entities, "spells")


# --- archives ----------------------------------------------------------------------------------------------------------


def lines(*records: object) -> bytes:
    """Records as JSON lines, as an encoder writes them that allows everything."""
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def write_archive(
    path: Path,
    spells: bytes = lines(GOOD),
    *,
    number: int = 1,
    vectors: bytes = b"[0, 0]\n",
    manifest: dict[str, Any] | None = None,
    change: Callable[[zipfile.ZipFile], None] = lambda _: None,
    method: int = zipfile.ZIP_DEFLATED,
) -> Path:
    """An archive with all checksums right."""
    contents = {f"{t}.jsonl": b"" for t in TYPES} | {"spells.jsonl": spells, "vectors": vectors}
    said: dict[str, Any] = {
        "format": 1,
        "embedding": f"{MODEL} sections-120-v2",
        "counts": dict.fromkeys(TYPES, 0) | {"spells": number},
        "vectors": 0,
        "fields": declarations(),
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()},
        **(manifest or {}),
    }
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", method) as archive:
        archive.comment = b"0" * 64
        for name, held in contents.items():
            archive.writestr(name, held)
        archive.writestr("manifest.json", json.dumps(said))
        change(archive)
    sealed(path, content.getvalue())
    return path


def sealed(path: Path, content: bytes) -> None:
    path.write_bytes(content[:-64] + hashlib.sha256(content[:-64]).hexdigest().encode())


async def refusal(library: Settings, archive: Path) -> ImportFileError:
    """How a restore is refused that changes nothing."""
    before = await held(library)
    with pytest.raises(ImportFileError) as refused:
        await restore(library, archive)
    assert refused.value.where.startswith(str(archive))
    assert len(str(refused.value)) < 700
    assert await held(library) == before
    return refused.value


HOSTILE_LINES: dict[str, bytes] = {
    "no JSON": b"{\n",
    "no slug": lines(GOOD | {"slug": None}),
    "not UTF-8": b'{"name": "\xff"}\n',
    "an endless line": b" " * 3_000_000 + b"\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_LINES)
async def test_b9_a_hostile_record_of_an_archive_is_refused_with_file_and_line(sqlite, tmp_path, name):
    content = lines(GOOD | {"slug": "first"}) + HOSTILE_LINES[name]
    error = await refusal(sqlite, write_archive(tmp_path / "shelf.zip", content, number=2))
    assert error.where == f"{tmp_path / 'shelf.zip'}:spells.jsonl:2"
    assert "nothing was changed" in error.reason


# --- vectors of archives -------------------------------------------------------------------------------------------------


def unit(number: int, dimension: int = 128) -> Any:
    """A vector of length 1 that no text has."""
    vector = np.zeros(dimension, dtype=np.float32)
    vector[number] = 1.0
    return vector


def vectors_of(entities: list[Entity], vector: Any, *, others: tuple[str, ...] = ()) -> bytes:
    """A block with the same vector for all texts of entities, and for other texts."""
    keys = [*passage_keys(MODEL, entities), *(vector_key(MODEL, text) for text in others)]
    return write_packed({key: pack_vector(key, vector) for key in keys})


def known(library: Settings) -> VectorCache:
    return VectorCache(library.library_path.with_name(VECTORS))


def right(text: str) -> Any:
    return HashingProvider(128).embed([text])[0]


BAD = {"NaN": np.full(128, np.nan, "<f4"), "infinite": np.full(128, np.inf, "<f4"), "zeros": np.zeros(128, "<f4"),
       "long": np.full(128, 3.0, "<f4"), "huge": np.full(128, 3e38, "<f4"), "three numbers": unit(0, 3)}  # fmt: skip


async def test_b2_an_archive_brings_vectors_for_its_own_texts_only(library, tmp_path):
    mine = make("mine", "An entry of mine.")
    (text,) = (p for p in ["mine (spell): An entry of mine."])
    entry = Entity.from_record("spells", GOOD)
    block = vectors_of([entry, mine], unit(5), others=(text, "any other text"))
    report = await restore(library, write_archive(tmp_path / "shelf.zip", vectors=block, manifest={"vectors": 4}))
    assert report.embedded == 0, "the vector of its own text"
    cache = known(library)
    with closing(sqlite3.connect(cache.path)) as c:
        assert [key for (key,) in c.execute("SELECT key FROM vectors")] == list(passage_keys(MODEL, [entry]))
    await fill(library, mine)
    async with Library.from_settings(library) as opened:
        hits = await opened.cache.rank_semantic("spells", "An entry of mine", 5)
    assert hits[0].identity == mine.identity


# --- vectors that earlier versions took ------------------------------------------------------------------------------------


def poison(library: Settings, vector: Any, number: int = 1) -> list[bytes]:
    """Put a vector in the place of known ones, as an archive did with an earlier version; their keys."""
    cache = known(library)
    with closing(sqlite3.connect(cache.path)) as c, c:
        keys = [key for (key,) in c.execute("SELECT key FROM vectors ORDER BY key LIMIT ?", (number,))]
        c.executemany("UPDATE vectors SET vector = ? WHERE key = ?", [(pack_vector(k, vector), k) for k in keys])
    return keys


async def poison_library(library: Settings, vector: Any) -> None:
    """Put a vector in the place of an entry's in the library itself."""
    if library.cache_backend == "sqlite":
        with closing(sqlite3.connect(library.sqlite_db_path)) as c, c:
            c.execute("UPDATE changes SET number = number + 1")
            (row, key) = c.execute("SELECT rowid, key FROM spells_passages LIMIT 1").fetchone()
            c.execute("UPDATE spells_passages SET vector = ? WHERE rowid = ?", (pack_vector(key, vector), row))
        return
    from lorekeeper.cache.milvus.embedded import EmbeddedStore
    from lorekeeper.composition import open_store

    store = open_store(library)
    assert isinstance(store, EmbeddedStore)
    (row,) = store.backend.query("spells", 'slug == "a1" and part == 0', ["*"])
    store.backend.upsert("spells", [row | {"vector": vector}])
    store.backend.flush("spells")
    store.close()


@pytest.mark.alike(2)
@pytest.mark.parametrize("name", ["NaN", "zeros", "three numbers"])
async def test_b2_repair_notices_and_drops_bad_vectors(library, name):
    from lorekeeper.maintenance.repair import repair

    if name == "three numbers" and library.cache_backend == "milvus":
        pytest.skip("Milvus stores no vector of another dimension")
    entries = batch("a", 0, 3)
    await fill(library, *entries)
    await poison_library(library, BAD[name])
    poison(library, BAD[name], 3)
    report = await repair(library)
    assert "damaged" in report.problems["spells"][0]
    assert (report.kept["spells"], report.aside is not None) == (3, True)
    assert report.dropped == (0 if name == "three numbers" else 3)
    async with Library.from_settings(library) as opened:
        ranked = await opened.cache.rank_semantic("spells", "text", 5)
        assert len(ranked) == 3
        assert all(0 < r.score <= 1.001 for r in ranked)
        assert await opened.reindex() == 3
    again = await repair(library)
    assert (again.problems, again.dropped, again.aside) == ({}, 0, None)


# --- SQLite files ----------------------------------------------------------------------------------------------------------

ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS slug, 'x' AS name, '{}' AS data, "
    "x'00' AS record, x'00' AS key, x'00' AS vector FROM n"
)
"""A query without an end, that has the columns of all tables."""


@pytest.fixture
def ours(tmp_path: Path, embeddings: EmbeddingServer) -> Path:
    """A library file of ours with five entries, to be spoilt."""
    return tmp_path / "from" / "cache.db"


async def made(path: Path, embeddings: EmbeddingServer) -> Path:
    source = settings_in(path.parent, "sqlite", embeddings)
    await fill(source, *batch("a", 0, 5))
    with closing(sqlite3.connect(path)) as c:
        c.execute("PRAGMA journal_mode = DELETE")
    return path


async def test_b10_views_virtual_tables_and_triggers_of_a_file_are_never_run(sqlite, tmp_path):
    path = write_cache(tmp_path / "old.db", {"spells": SPELLS})
    with closing(sqlite3.connect(path)) as c, c:
        c.execute(f"CREATE VIEW monsters AS {ENDLESS}")
        c.execute("CREATE VIRTUAL TABLE creatures USING fts5(slug, name, data)")
        c.execute("INSERT INTO creatures VALUES ('virtual', 'Virtual', '{}')")
        c.execute("CREATE TRIGGER t AFTER INSERT ON spells BEGIN DELETE FROM spells; END")
        c.execute("CREATE TABLE feats (slug TEXT, name TEXT, d TEXT, data TEXT AS (hex(zeroblob(99999999))))")
        c.execute("INSERT INTO feats VALUES ('generated', 'Generated', '')")
    report = await migrate(sqlite, path)
    assert (list(report.tables), report.total("stored")) == (["spells"], 3)


async def test_b2_a_file_brings_vectors_for_its_own_texts_only(library, ours, embeddings):
    path = await made(ours, embeddings)
    foreign = vector_key(MODEL, "a text that is not in it")
    with closing(sqlite3.connect(path)) as c, c:
        row = (99, 0, "", "", foreign, pack_vector(foreign, unit(3)))
        c.execute("INSERT INTO spells_passages VALUES (?, ?, ?, ?, ?, ?)", row)
        own = {key for (key,) in c.execute("SELECT key FROM spells_passages")} - {foreign}
    report = await migrate(library, path)
    assert (report.total("stored"), report.embedded) == (5, 0)
    with closing(sqlite3.connect(known(library).path)) as c:
        assert {key for (key,) in c.execute("SELECT key FROM vectors")} == own
