"""Archives and SQLite files that mean harm: each ends in a clear error or a report, and changes nothing that it did not store."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import random
import resource
import sqlite3
import struct
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lorekeeper.cache.formats import declarations
from lorekeeper.cache.vectors import VectorCache, pack_vector, passage_keys, vector_key
from lorekeeper.composition import VECTORS, open_file
from lorekeeper.embedding import HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.library import Library
from lorekeeper.maintenance.archive import Archive, write_packed
from lorekeeper.maintenance.backup import backup, restore
from lorekeeper.maintenance.migrate import migrate
from lorekeeper.settings import Settings
from tests.support.embedding_server import EmbeddingServer
from tests.support.entities import batch, everything, make
from tests.support.legacy_cache import SPELLS, write_cache
from tests.support.libraries import settings_in
from tests.support.programs import command_of, restore_within

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


DEEP = '{"a":' * 3000 + "1" + "}" * 3000

HOSTILE_LINES: dict[str, bytes] = {
    "no JSON": b"{\n",
    "a blank line": b"\n",
    "no object": b"5\n",
    "no record": lines({"slug": "a"}),
    "a name of another type": lines(GOOD | {"name": 5}),
    "data that is a list": lines(GOOD | {"data": [1]}),
    "no slug": lines(GOOD | {"slug": None}),
    "no kind": lines(GOOD | {"kind": None}),
    "a slug of 1 MB": lines(GOOD | {"slug": "s" * 1_000_000}),
    "a name of 1 MB": lines(GOOD | {"name": "n" * 1_000_000}),
    "a control character in a slug": lines(GOOD | {"slug": "a\x1b[2J"}),
    "a lone surrogate": lines(GOOD | {"data": {"a": "\ud800"}}),
    "NaN": lines(GOOD | {"data": {"a": float("nan")}}),
    "infinity": json.dumps(GOOD).encode().replace(b'"desc":', b'"x": 1e999, "desc":') + b"\n",
    "500 levels": json.dumps(GOOD).encode().replace(b'"desc":', b'"x": ' + b"[" * 500 + b"]" * 500 + b', "desc":') + b"\n",
    "3000 levels": json.dumps(GOOD).replace('"desc":', f'"x": {DEEP}, "desc":').encode() + b"\n",
    "a field of another type": lines(GOOD | {"fields": {"level": {"a": 1}}}),
    "a field that is 1 MB": lines(GOOD | {"fields": {"level": "x" * 900_000}}),
    "a field that is a word": lines(GOOD | {"fields": {"level": "many"}}),
    "an unknown field": lines(GOOD | {"fields": {"colour": "red"}}),
    "fields that are a list": lines(GOOD | {"fields": []}),
    "not UTF-8": b'{"name": "\xff"}\n',
    "too large": lines(GOOD | {"data": {"desc": "x" * (1 << 20)}}),
    "an endless line": b" " * 3_000_000 + b"\n",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE_LINES)
async def test_b9_a_hostile_record_of_an_archive_is_refused_with_file_and_line(sqlite, tmp_path, name):
    content = lines(GOOD | {"slug": "first"}) + HOSTILE_LINES[name]
    error = await refusal(sqlite, write_archive(tmp_path / "shelf.zip", content, number=2))
    assert error.where == f"{tmp_path / 'shelf.zip'}:spells.jsonl:2"
    assert "nothing was changed" in error.reason


async def test_b9_two_entries_of_one_identity_are_refused(sqlite, tmp_path):
    error = await refusal(sqlite, write_archive(tmp_path / "shelf.zip", lines(GOOD, GOOD), number=2))
    assert error.where.endswith(":spells.jsonl:2")


HOSTILE_MANIFESTS: list[dict[str, Any]] = [
    {"format": None},
    {"format": "x" * 100_000},
    {"counts": None},
    {"counts": [1]},
    {"counts": {"spells": "1"}},
    {"counts": {"spells": 2}},
    {"counts": {"spells": 1, "x" * 100_000: 0}},
    {"sha256": None},
    {"sha256": {}},
    {"sha256": {"spells.jsonl": 5}},
    {"vectors": None},
    {"vectors": [1]},
    {"big": "x" * (1 << 20)},
]


@pytest.mark.parametrize("manifest", HOSTILE_MANIFESTS, ids=lambda m: str(m)[:40])
async def test_b9_a_hostile_manifest_is_refused(sqlite, tmp_path, manifest):
    await refusal(sqlite, write_archive(tmp_path / "shelf.zip", manifest=manifest))


def in_every_header(content: bytes, offset: int, value: bytes) -> bytes:
    """A zip file with bytes changed in the header of every member, there and in the list at its end."""
    changed = bytearray(content)
    for signature, place in ((b"PK\x03\x04", offset), (b"PK\x01\x02", offset + 2)):
        start = changed.find(signature)
        while start >= 0:
            changed[start + place : start + place + len(value)] = value
            start = changed.find(signature, start + 4)
    return bytes(changed)


@pytest.mark.parametrize(
    ("offset", "value"), [(6, b"\x01\x00"), (8, b"\x63\x00"), (8, b"\x0e\x00")], ids=["encrypted", "method 99", "LZMA"]
)
async def test_b9_files_that_no_backup_writes_are_refused(sqlite, tmp_path, offset, value):
    path = write_archive(tmp_path / "shelf.zip")
    sealed(path, in_every_header(path.read_bytes(), offset, value))
    await refusal(sqlite, path)


async def test_b9_data_that_cannot_be_unpacked_is_refused(sqlite, tmp_path):
    path = write_archive(tmp_path / "shelf.zip", method=zipfile.ZIP_STORED)
    sealed(path, in_every_header(path.read_bytes(), 8, b"\x08\x00"))
    await refusal(sqlite, path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
async def test_b9_two_files_of_one_name_are_refused(sqlite, tmp_path):
    path = write_archive(tmp_path / "shelf.zip", change=lambda archive: archive.writestr("spells.jsonl", b""))
    await refusal(sqlite, path)


async def test_b8_a_list_of_very_many_files_is_refused_before_it_is_read(sqlite, tmp_path):
    def add(archive: zipfile.ZipFile) -> None:
        for number in range(2000):
            archive.writestr(f"{number}", b"")

    error = await refusal(sqlite, write_archive(tmp_path / "shelf.zip", change=add))
    assert "not that of an archive" in error.reason


def bomb_end(archive: Path) -> tuple[str, int]:
    """How a process ends that restores an archive: what it says, and the most memory it had, in kB."""
    program = command_of(restore_within, 3 << 30, archive)
    done = subprocess.run(program, capture_output=True, text=True, timeout=200, check=True)
    *said, memory = done.stdout.splitlines()
    return " ".join(said), int(memory)


def zeros(path: Path, size: int, stated: int | None = None) -> Path:
    """An archive whose spells unpack to that many spaces, and say that they are ``stated`` bytes."""
    packer = zlib.compressobj(1, zlib.DEFLATED, -15)
    part, packed, checksum = b" " * (1 << 20), io.BytesIO(), 0
    for _ in range(size >> 20):
        packed.write(packer.compress(part))
        checksum = zlib.crc32(part, checksum)
    packed.write(packer.flush())
    content = bytearray(write_archive(path, b"", number=0).read_bytes())
    # the stream of an empty member, two bytes, gives way to the bomb; offsets behind it move
    start = content.find(b"spells.jsonl") + len(b"spells.jsonl")
    grown = len(packed.getvalue()) - 2
    content[start : start + 2] = packed.getvalue()
    sizes = struct.pack("<3L", checksum, len(packed.getvalue()), size if stated is None else stated)
    local = content.find(b"PK\x03\x04")
    content[local + 14 : local + 26] = sizes
    entry = content.find(b"PK\x01\x02")
    content[entry + 16 : entry + 28] = sizes
    following = content.find(b"PK\x01\x02", entry + 4)
    while following >= 0:
        (offset,) = struct.unpack_from("<L", content, following + 42)
        struct.pack_into("<L", content, following + 42, offset + grown)
        following = content.find(b"PK\x01\x02", following + 4)
    end = content.rfind(b"PK\x05\x06")
    (offset,) = struct.unpack_from("<L", content, end + 16)
    struct.pack_into("<L", content, end + 16, offset + grown)
    sealed(path, bytes(content))
    return path


@pytest.mark.skipif(sys.platform != "linux", reason="the most memory a process had is read from /proc")
@pytest.mark.timeout(60)
@pytest.mark.alike(1)
@pytest.mark.parametrize("stated", [None, 1000], ids=["as it is", "with a header that lies"])
def test_b8_an_archive_that_unpacks_to_very_much_is_refused_within_little_memory(tmp_path, stated):
    said, memory = bomb_end(zeros(tmp_path / "shelf.zip", 384 << 20, stated))
    assert "unpack to 402," in said if stated is None else "spells.jsonl" in said or "damaged" in said
    assert memory < 300_000


async def test_b8_a_good_archive_is_restored_all_the_same(library, tmp_path):
    report = await restore(library, write_archive(tmp_path / "shelf.zip"))
    assert (report.stored, report.embedded) == (1, 1)
    assert [e.as_record() for e in await held(library)] == [GOOD]


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


@pytest.mark.alike(4)
@pytest.mark.parametrize("name", BAD)
async def test_b2_bad_vectors_of_an_archive_are_not_taken(library, tmp_path, name):
    entry = Entity.from_record("spells", GOOD)
    path = write_archive(tmp_path / "shelf.zip", vectors=vectors_of([entry], BAD[name]), manifest={"vectors": 1})
    report = await restore(library, path)
    assert (report.stored, report.embedded) == (1, 1)
    async with Library.from_settings(library) as opened:
        (hit,) = await opened.cache.rank_semantic("spells", "a good entry", 5)
        assert 0 < hit.score <= 1.001
        assert await opened.reindex() == 1


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


async def test_b2_a_vector_that_is_known_is_never_replaced(library, tmp_path):
    mine = make("good", "A good entry.")
    await fill(library, mine)
    (key,) = passage_keys(MODEL, [mine])
    async with Library.from_settings(library) as opened:
        await opened.cache.delete_document("own")
    block = vectors_of([mine], unit(5))
    report = await restore(library, write_archive(tmp_path / "shelf.zip", vectors=block, manifest={"vectors": 1}))
    assert (report.stored, report.embedded) == (1, 0)
    with closing(sqlite3.connect(known(library).path)) as c:
        (blob,) = c.execute("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone()
    assert not np.allclose(np.frombuffer(blob[:-4], "<f4"), unit(5))


async def test_b2_vectors_of_another_model_are_not_taken(library, tmp_path):
    entry = Entity.from_record("spells", GOOD)
    block = vectors_of([entry], unit(5))
    said = {"vectors": 1, "embedding": "another sections-120-v2"}
    assert (await restore(library, write_archive(tmp_path / "a.zip", vectors=block, manifest=said))).embedded == 1


@pytest.mark.parametrize(
    "block",
    [b"", b"[]\n", b"[16, 1e9]\n", b'["a", 2]\n', b"[16, 516]\nxxx", b"[0, 516]\n" + b"x" * 600, b"[16, 0]\nx", b"{}"],
)
async def test_b9_vectors_that_are_none_are_left_out(sqlite, tmp_path, block):
    report = await restore(sqlite, write_archive(tmp_path / "shelf.zip", vectors=block))
    assert (report.stored, report.embedded) == (1, 1)


async def test_b2_a_library_with_poisoned_vectors_can_be_backed_up(sqlite, tmp_path):
    await fill(sqlite, *batch("a", 0, 5))
    poison(sqlite, BAD["three numbers"])
    await backup(sqlite, tmp_path / "shelf.zip")
    with Archive(tmp_path / "shelf.zip") as archive:
        sizes = {len(blob) for rows in archive.vector_rows() for _, blob in rows}
    assert sizes == {516}


# --- vectors that earlier versions took ------------------------------------------------------------------------------------


def poison(library: Settings, vector: Any, number: int = 1) -> list[bytes]:
    """Put a vector in the place of known ones, as an archive did with an earlier version; their keys."""
    cache = known(library)
    with closing(sqlite3.connect(cache.path)) as c, c:
        keys = [key for (key,) in c.execute("SELECT key FROM vectors ORDER BY key LIMIT ?", (number,))]
        c.executemany("UPDATE vectors SET vector = ? WHERE key = ?", [(pack_vector(k, vector), k) for k in keys])
    return keys


@pytest.mark.alike(4)
@pytest.mark.parametrize("name", BAD)
async def test_b2_a_poisoned_cache_of_vectors_is_healed_by_use(library, name):
    entries = batch("a", 0, 3)
    await fill(library, *entries)
    poison(library, BAD[name], 3)
    async with Library.from_settings(library) as opened:
        assert await opened.reindex() == 3
        assert opened.embedding.computed >= 3
        assert len(await opened.cache.rank_semantic("spells", "text", 5)) == 3
    async with Library.from_settings(library) as opened:
        assert await opened.reindex() == 3
        assert opened.embedding.computed == 0, "what was computed has taken the place of the bad ones"


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


async def test_b2_repair_drops_bad_vectors_of_the_cache_where_the_library_is_sound(library):
    from lorekeeper.maintenance.repair import repair

    await fill(library, *batch("a", 0, 3))
    poison(library, BAD["NaN"], 2)
    report = await repair(library)
    assert (report.problems, report.dropped, report.aside) == ({}, 2, None)


# --- SQLite files ----------------------------------------------------------------------------------------------------------

ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS slug, 'x' AS name, '{}' AS data, "
    "x'00' AS record, x'00' AS key, x'00' AS vector FROM n"
)
"""A query without an end, that has the columns of all tables."""


async def migrated(library: Settings, source: Path) -> str:
    """What a migration of a hostile file says; the library is usable afterwards."""
    before, stored = source.read_bytes(), 0
    try:
        report = await migrate(library, source)
    except ImportFileError as error:
        said = str(error)
    else:
        said, stored = "; ".join(failure.reason for _, failure in report.failed), report.total("stored")
    assert stored == len(await held(library))
    assert source.read_bytes() == before
    assert len(said) < 100_000
    await fill(library, make("mine", "Mine."))
    assert len(await held(library)) >= 1
    return said


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


@pytest.mark.timeout(60)
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


@pytest.mark.timeout(60)
@pytest.mark.parametrize("table", ["spells", "spells_passages"])
@pytest.mark.parametrize("forged", [False, True], ids=["a view", "a view that says it is a table"])
async def test_b10_a_view_in_the_place_of_a_table_of_ours_hangs_nothing(sqlite, ours, embeddings, table, forged):
    path = await made(ours, embeddings)
    with closing(sqlite3.connect(path)) as c, c:
        c.execute(f"DROP TABLE {table}")
        c.execute(f"CREATE VIEW {table} AS {ENDLESS}")
        if forged:
            c.execute("PRAGMA writable_schema = ON")
            c.execute("UPDATE sqlite_master SET type = 'table', rootpage = 2 WHERE name = ?", (table,))
    said = await migrated(sqlite, path)
    assert "no such table" in said if table == "spells" and not forged else True


@pytest.mark.timeout(60)
async def test_b10_a_record_that_unpacks_to_very_much_is_named(sqlite, ours, embeddings):
    path = await made(ours, embeddings)
    packer = zlib.compressobj(1)
    packed = b"".join([*(packer.compress(b" " * (1 << 20)) for _ in range(256)), packer.flush()])
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE spells SET record = ? WHERE slug = 'a2'", (packed,))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = await migrated(sqlite, path)
    assert "more than 4,194,304 bytes" in said
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


@pytest.mark.timeout(60)
async def test_b10_many_records_that_unpack_to_much_are_named(sqlite, ours, embeddings):
    path = await made(ours, embeddings)
    with closing(sqlite3.connect(path)) as c, c:
        for number in range(40):
            record = GOOD | {"slug": f"x{number}", "data": {"blob": " " * 1_000_000}}
            c.execute(
                "INSERT INTO spells (document, slug, name_folded, name_key, hash, record) VALUES ('own', ?, '', '', '', ?)",
                (f"x{number}", zlib.compress(json.dumps(record).encode())),
            )
    report = await migrate(sqlite, path, dry_run=True)
    assert 5 < report.total("stored") < 30
    assert "unpacks to far more" in report.failed[-1][1].reason


@pytest.mark.alike(4)
@pytest.mark.parametrize(
    "row", ["(NULL, NULL)", "('text', 'text')", "(5, 1.5)", "(x'00', x'00')", "(zeroblob(16), NULL)"]
)
async def test_b10_malformed_rows_of_vectors_delete_nothing(library, ours, embeddings, row):
    path = await made(ours, embeddings)
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("DROP TABLE spells_passages")
        c.execute("CREATE TABLE spells_passages (key, vector)")
        c.execute(f"INSERT INTO spells_passages VALUES {row}")
    path.with_name(VECTORS).unlink()  # or the vectors of these texts would be taken from there
    await fill(library, make("mine", "Mine."))
    cache = known(library)
    with closing(sqlite3.connect(cache.path)) as c:
        before = c.execute("SELECT key, vector FROM vectors").fetchall()
    report = await migrate(library, path)
    assert (report.total("stored"), report.embedded > 0) == (5, True)
    with closing(sqlite3.connect(cache.path)) as c:
        assert set(before) <= set(c.execute("SELECT key, vector FROM vectors"))


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


@pytest.mark.alike(8)
@pytest.mark.parametrize("name", HOSTILE_LINES)
async def test_b9_a_hostile_record_of_a_library_file_is_reported_and_the_rest_is_stored(sqlite, ours, embeddings, name):
    path = await made(ours, embeddings)
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("UPDATE spells SET record = ? WHERE slug = 'a2'", (zlib.compress(HOSTILE_LINES[name]),))
    report = await migrate(sqlite, path)
    ((table, failure),) = report.failed
    assert (table, failure.slug, report.total("stored")) == ("spells", "a2", 4)
    assert len(failure.reason) < 1000


@pytest.mark.parametrize(
    "change",
    ["name = 5", "document = 5.5", "source_api = x'00'", "data = 'null'", "slug = 7", "updated_at = 'soon'",
     """data = '{"name": "x", "desc": "\\ud800"}'""", "data = zeroblob(20000000)", """document = char(8238) || 'x'""",
     "data = replace(hex(zeroblob(300000)), '0', '[')", "slug = replace(hex(zeroblob(300000)), '0', 's')"],
)  # fmt: skip
async def test_b9_hostile_rows_of_an_earlier_cache_are_reported(sqlite, tmp_path, change):
    path = write_cache(tmp_path / "old.db", {"spells": SPELLS})
    with closing(sqlite3.connect(path)) as c, c:
        c.execute(f"UPDATE spells SET {change} WHERE name = 'Salt Ward'")
    report = await migrate(sqlite, path)
    assert report.tables["spells"].read == report.total("stored") + len(report.failed) == 3
    assert report.total("stored") >= 2
    assert all(len(str(failure)) < 1000 for _, failure in report.failed)
    stored = await held(sqlite)
    assert len(stored) == report.total("stored")


@pytest.mark.parametrize("seed", range(3))
async def test_b9_spoilt_archives_and_caches_end_in_a_report_or_a_clear_error(tmp_path, seed):
    """Bits, bytes and lengths of good ones are changed; what was sealed is sealed again."""
    print("seed", seed)
    chance = random.Random(seed)
    archive = write_archive(
        tmp_path / "a.zip", lines(*(GOOD | {"slug": f"s{i}"} for i in range(5))), number=5
    ).read_bytes()
    for _ in range(100):
        sealed(tmp_path / "b.zip", spoilt(archive, chance))
        with contextlib.suppress(ImportFileError), Archive(tmp_path / "b.zip") as opened:
            assert sum(map(len, opened.entities("spells", opened.hashes["spells"]))) == 5
            assert sum(map(len, opened.vector_rows())) == 0
    cache = write_cache(tmp_path / "old.db", {"spells": SPELLS})
    with closing(sqlite3.connect(cache)) as c:
        c.execute("PRAGMA journal_mode = DELETE")
    good = cache.read_bytes()
    for _ in range(100):
        cache.write_bytes(spoilt(good, chance))
        with contextlib.suppress(ImportFileError), open_file(cache) as source:
            for table in source.tables:
                assert len(list(source.rows(table))) < 100
                assert list(source.vectors()) == []


@pytest.mark.timeout(60)
def test_b10_pages_that_are_listed_many_times_over_end(tmp_path):
    """A tree of pages whose branches all lead to the same leaf would give its rows again and again."""
    path = write_cache(tmp_path / "old.db", {"spells": [SPELLS[0] | {"slug": f"s{i}"} for i in range(300)]})
    with closing(sqlite3.connect(path)) as c:
        c.execute("PRAGMA journal_mode = DELETE")
        (root,) = c.execute("SELECT rootpage FROM sqlite_master WHERE name = 'spells'").fetchone()
    content = bytearray(path.read_bytes())
    page = (root - 1) * 4096
    assert content[page] == 5, "a page with branches"
    cells = int.from_bytes(content[page + 3 : page + 5], "big")
    places = [int.from_bytes(content[page + 12 + 2 * i : page + 14 + 2 * i], "big") for i in range(cells)]
    first = content[page + places[0] : page + places[0] + 4]
    for place in places:
        content[page + place : page + place + 4] = first
    path.write_bytes(content)
    with open_file(path) as source:
        *rows, last = source.rows("spells")
    assert 0 < len(rows) < 300
    assert "rest of the table cannot be read" in (last.problem or "")


def spoilt(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 5, 20])):
        place = chance.randrange(len(changed) - 4)
        changed[place] = chance.choice([changed[place] ^ 1 << chance.randrange(8), 0, 255])
        if chance.random() < 0.2:
            changed[place : place + 4] = chance.choice([b"\0\0\0\0", b"\xff\xff\xff\xff", b""])
    return bytes(changed)


def test_b9_a_schema_that_is_not_utf_8_is_named(tmp_path):
    path = write_cache(tmp_path / "old.db", {"spells": SPELLS})
    with closing(sqlite3.connect(path)) as c:
        c.execute("PRAGMA journal_mode = DELETE")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE spells", b"CR\xffATE TABLE spells"))
    with pytest.raises(ImportFileError, match="cannot be read"):
        open_file(path)
