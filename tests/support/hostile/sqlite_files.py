"""Hostile SQLite files: caches of an earlier LoreKeeper, and libraries of ours."""

from __future__ import annotations

import json
import math
import random
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from lorekeeper.cache.vectors import vector_key
from tests.support.hostile.input import Good, Input
from tests.support.hostile.values import (
    GIGABYTE,
    VALUES,
    deep,
    deflated_zeros,
    dumps,
    mutated_bytes,
    mutated_json,
    put,
    swaps,
)
from tests.support.hostile.vectors import MODEL, VICTIM, bad_vectors, embedded, good_vector, packed
from tests.support.legacy_cache import COLUMNS, TABLES, write_cache

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"

_TABLES = {name: rows for name, rows in TABLES.items() if name not in ("classes", "creatures")}


def _cache(
    name: str, change: Callable[[sqlite3.Connection, Path], object], *, ours: bool = False, **more: Any
) -> Input:
    """An earlier cache, or a library of ours, changed by SQL."""

    def build(good: Good, folder: Path, _: random.Random) -> list[str]:
        path = folder / "input.db"
        if ours:
            shutil.copyfile(good.library, path)
        else:
            write_cache(path, _TABLES)
        with closing(sqlite3.connect(path, isolation_level=None)) as c:
            change(c, path)
        return ["migrate", str(path), "--json"]

    return Input(f"{'library' if ours else 'cache'}: {name}", build, **more)


def _file(name: str, change: Callable[[bytes], bytes], beside: Mapping[str, bytes] | None = None) -> Input:
    """An earlier cache whose bytes are changed, with files beside it."""

    def build(good: Good, folder: Path, chance: random.Random) -> list[str]:
        path = write_cache(folder / "input.db", _TABLES)
        path.write_bytes(change(path.read_bytes()))
        for suffix, content in (beside or {}).items():
            path.with_name(path.name + suffix).write_bytes(content)
        return ["migrate", str(path), "--json"]

    return Input(f"cache: {name}", build)


def _run(*statements: str) -> Callable[[sqlite3.Connection, Path], object]:
    return lambda c, _: [c.execute(s).fetchall() for s in statements]


def _row(**values: object) -> Callable[[sqlite3.Connection, Path], object]:
    """One more row with these columns; the table takes anything, and what is large is made when it is needed."""
    row = {"slug": "x", "name": "X", "data": '{"name": "X", "slug": "x", "level_int": 1, "desc": "y"}', **values}

    def change(c: sqlite3.Connection, _: Path) -> None:
        c.execute("CREATE TABLE loose (slug, name, data, document, source_api, updated_at)")
        c.execute("ALTER TABLE spells RENAME TO before")
        c.execute("ALTER TABLE loose RENAME TO spells")
        c.execute("DROP TABLE before")
        c.execute(
            f"INSERT INTO spells ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
            [v() if callable(v) else v for v in row.values()],
        )

    return change


_ROWS = "SELECT i AS slug, i AS name, '{}' AS data FROM n"

_STATEMENTS: dict[str, tuple[str, ...]] = {
    "an endless view": ("DROP TABLE spells", f"CREATE VIEW spells AS {ENDLESS} {_ROWS}"),
    "an endless view without rows": ("DROP TABLE spells", f"CREATE VIEW spells AS {ENDLESS} {_ROWS} WHERE i < 0"),
    "an endless view that sorts": ("DROP TABLE spells", f"CREATE VIEW spells AS {ENDLESS} {_ROWS} ORDER BY -i"),
    "an endless view beside good tables": (f"CREATE VIEW extras AS {ENDLESS} {_ROWS}",),
    "a virtual table": ("DROP TABLE spells", "CREATE VIRTUAL TABLE spells USING fts5(slug, name, data)"),
    "a trigger": ("CREATE TRIGGER t AFTER INSERT ON spells BEGIN DELETE FROM spells; END",),
    "a generated column of 900 MB": (
        "DROP TABLE spells",
        "CREATE TABLE spells (slug TEXT, name TEXT, data TEXT GENERATED ALWAYS AS (hex(zeroblob(450000000))) VIRTUAL)",
        "INSERT INTO spells (slug, name) VALUES ('a', 'A'), ('b', 'B')",
    ),
    "a name with quotes": (f"""CREATE TABLE "a""b'; --" ({COLUMNS})""",),
    "a name with a line break": (f'CREATE TABLE "a\nb\x1b[2J" ({COLUMNS})',),
    "2,000 tables": tuple(f"CREATE TABLE t{n} ({COLUMNS})" for n in range(2_000)),
    "a column of each name twice": ('CREATE TABLE twice (slug, name, data, "data ", "Slug ")',),
    "says that it is ours": ("PRAGMA application_id = 1280266821", "PRAGMA user_version = 1"),
    "100,000 rows of nothing": (
        f"INSERT INTO spells (slug, name, data) {ENDLESS} SELECT 'n' || i, 'n', '{{}}' FROM n LIMIT 100000",
    ),
}

_BYTES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda b: b"",
    "a header only": lambda b: b[:100],
    "half of it": lambda b: b[: len(b) // 2],
    "pages of noise": lambda b: b[:4096] + bytes(range(256)) * ((len(b) - 4096) // 256),
    "pages that point at each other": lambda b: b[:4096] + b[4096:8192] * (len(b) // 4096 - 1),
    "a page size of 1": lambda b: b[:16] + b"\x00\x01" + b[18:],
    "a freelist without end": lambda b: b[:32] + struct.pack(">II", 2, 2**31 - 1) + b[40:],
}


def caches() -> Iterator[Input]:
    """With nothing wrong, and known attacks by an earlier cache."""
    yield _cache("as it was", _run(), good=True)
    for name, statements in _STATEMENTS.items():
        yield _cache(name, _run(*statements))
    for column in ("slug", "name", "data", "document", "source_api", "updated_at"):
        for name, value in {
            "null": None, "five": 5, "infinite": math.inf, "a blob": b"\xff\xfe\x00", "not UTF-8": b"\xe9", "NUL": "a\0b",
            "a megabyte": "x" * 1_000_000, "escapes": "\x1b[2J", "empty": "",
        }.items():  # fmt: skip
            yield _cache(f"{column} is {name}", _row(**{column: value}), swapped=True)
    yield _cache("data of 200 MB", _row(data=lambda: "[" + " " * 200_000_000 + "]"))
    for name, value in VALUES.items():
        yield _cache(f"the object is {name}", _row(data=partial(dumps, value)), swapped=True)
    for name, put_in in swaps("name", "slug", "desc", "document__slug", "level_int", "school"):
        obj = {"name": "X", "slug": "x", "level_int": 1, "desc": "y", "document__slug": "d"}
        put_in(obj)
        yield _cache(f"in the object {name}", _row(data=partial(dumps, obj)), swapped=True)
    for name, change in _BYTES.items():
        yield _file(name, change)
    yield _file("a log of noise beside it", bytes, {"-wal": b"noise" * 10_000})
    yield _file("a journal of noise beside it", bytes, {"-journal": b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"n" * 5_000})


def _record(change: Callable[[dict[str, Any]], object]) -> Callable[[sqlite3.Connection, Path], object]:
    """One record of a library of ours, changed."""

    def change_it(c: sqlite3.Connection, _: Path) -> None:
        row, blob = c.execute("SELECT id, record FROM spells ORDER BY id DESC LIMIT 1").fetchone()
        record = json.loads(zlib.decompress(blob))
        other = change(record)
        text = dumps(other if other is not None else record)
        c.execute("UPDATE spells SET record = ? WHERE id = ?", (zlib.compress(text.encode()), row))

    return change_it


def _blob(value: object) -> Callable[[sqlite3.Connection, Path], object]:
    def change(c: sqlite3.Connection, _: Path) -> None:
        c.execute("CREATE TABLE loose AS SELECT * FROM spells")
        c.execute("DROP TABLE spells")
        c.execute("ALTER TABLE loose RENAME TO spells")
        c.execute("UPDATE spells SET record = ? WHERE slug = (SELECT max(slug) FROM spells)", (value,))

    return change


def _passages(*rows: tuple[object, object]) -> Callable[[sqlite3.Connection, Path], object]:
    """These vectors instead of all others of a type, in a table that takes anything."""

    def change(c: sqlite3.Connection, _: Path) -> None:
        c.execute("DROP TABLE spells_passages")
        c.execute("CREATE TABLE spells_passages (key, vector)")
        for key, vector in rows:
            c.execute("INSERT INTO spells_passages VALUES (?, ?)", (key, vector() if callable(vector) else vector))

    return change


_PASSAGES, _SPELLS = "CREATE VIEW spells_passages AS", "CREATE VIEW spells AS"


def libraries() -> Iterator[Input]:
    """With nothing wrong, and known attacks by a SQLite library of ours."""
    ours = partial(_cache, ours=True)
    yield ours("as it was", _run(), good=True)
    bomb = deflated_zeros(4 * GIGABYTE, 15)
    for name, value in {
        "null": None, "text": "text", "five": 5, "noise": b"noise", "half": zlib.compress(b"{" * 1000)[:20],
        "unpacks to 4 GB": bomb, "an unpacked list": zlib.compress(b"[]"), "unpacked null": zlib.compress(b"null"),
        "not UTF-8": zlib.compress(b"\xff\xfe"), "deep": zlib.compress(str(deep(100_000)).encode()),
    }.items():  # fmt: skip
        yield ours(f"a record is {name}", _blob(value))
    for name, put_in in swaps("slug", "name", "kind", "document", "source_api", "data", "fields", "data.desc"):
        yield ours(name, _record(put_in), swapped=True)
    yield ours("a key is not that of its entry", _record(put("another", "slug")))
    for name, vector in {**bad_vectors(), "a good one of another text": good_vector("quite another text")}.items():
        yield ours(f"vectors: {name}", _passages(packed(embedded(VICTIM), vector)))
    for name, row in {
        "null": (vector_key(MODEL, "x"), None), "a key that is null": (None, b"x" * 516), "text": ("key", "vector"),
        "numbers": (5, 1e308),
    }.items():  # fmt: skip
        yield ours(f"vectors: {name}", _passages(row))
    yield ours("vectors: 300 MB", _passages(*((bytes([n]), lambda: b"x" * 10_000_000) for n in range(30))))
    for name, statements in {
        "vectors: no table": ["DROP TABLE spells_passages"],
        "vectors: an endless view": ["DROP TABLE spells_passages", f"{_PASSAGES} {ENDLESS} SELECT i AS key, i AS vector FROM n"],
        "entries: an endless view": ["DROP TABLE spells", f"{_SPELLS} {ENDLESS} SELECT i AS slug, x'00' AS record FROM n"],
        "format 99": ["PRAGMA user_version = 99"],
        "no table of spells": ["DROP TABLE spells"],
    }.items():  # fmt: skip
        yield ours(name, _run(*statements))


def cache_mutation(number: int) -> Input:
    """A random one: bytes of either kind of file, or an object in it."""

    def build(good: Good, folder: Path, chance: random.Random) -> list[str]:
        path = folder / "input.db"
        kind = chance.random()
        if kind < 0.5:
            write_cache(path, _TABLES)
            with closing(sqlite3.connect(path, isolation_level=None)) as c:
                obj = mutated_json(chance, chance.choice([o for own in _TABLES.values() for o in own]))
                _row(data=dumps(obj))(c, path)
        elif kind < 0.75:
            path.write_bytes(mutated_bytes(chance, write_cache(path, _TABLES).read_bytes()))
        else:
            path.write_bytes(mutated_bytes(chance, good.library.read_bytes()))
        return ["migrate", str(path), "--json"]

    return Input(f"cache: mutation {number}", build)
