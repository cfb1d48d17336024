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
from tests.support.hostile.values import GIGABYTE, VALUES, deep, deflated_zeros, dumps, mutated_bytes, mutated_json, put
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


def _instead(table: str, *statements: str) -> Callable[[sqlite3.Connection, Path], object]:
    return _run(f"DROP TABLE IF EXISTS {table}", *statements)


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


def caches() -> Iterator[Input]:
    """Known attacks by an earlier cache."""
    view = "CREATE VIEW spells AS"
    yield _cache(
        "an endless view", _instead("spells", f"{view} {ENDLESS} SELECT i AS slug, i AS name, '{{}}' AS data FROM n")
    )
    yield _cache(
        "an endless view without rows",
        _instead("spells", f"{view} {ENDLESS} SELECT i AS slug, i AS name, '{{}}' AS data FROM n WHERE i < 0"),
    )
    yield _cache(
        "an endless view that sorts",
        _instead("spells", f"{view} {ENDLESS} SELECT i AS slug, i AS name, '{{}}' AS data FROM n ORDER BY -i"),
    )
    yield _cache(
        "an endless view beside good tables",
        _run(f"CREATE VIEW extras AS {ENDLESS} SELECT i AS slug, i AS name, '{{}}' AS data FROM n"),
    )
    yield _cache("a virtual table", _instead("spells", "CREATE VIRTUAL TABLE spells USING fts5(slug, name, data)"))
    yield _cache("a trigger", _run("CREATE TRIGGER t AFTER INSERT ON spells BEGIN DELETE FROM spells; END"))
    yield _cache(
        "a generated column of 900 MB",
        _instead(
            "spells",
            "CREATE TABLE spells (slug TEXT, name TEXT, data TEXT GENERATED ALWAYS AS (hex(zeroblob(450000000))) VIRTUAL)",
            "INSERT INTO spells (slug, name) VALUES ('a', 'A'), ('b', 'B')",
        ),
    )
    yield _cache("a name with quotes", _run(f"""CREATE TABLE "a""b'; --" ({COLUMNS})"""))
    yield _cache("a name with a line break", _run(f'CREATE TABLE "a\nb\x1b[2J" ({COLUMNS})'))
    yield _cache("2,000 tables", _run(*(f"CREATE TABLE t{n} ({COLUMNS})" for n in range(2_000))))
    yield _cache("a column of each name twice", _run('CREATE TABLE twice (slug, name, data, "data ", "Slug ")'))
    yield _cache("says that it is ours", _run("PRAGMA application_id = 1280266821", "PRAGMA user_version = 1"))
    yield _cache("100,000 rows of nothing", _run(
        f"INSERT INTO spells (slug, name, data) {ENDLESS} SELECT 'n' || i, 'n', '{{}}' FROM n LIMIT 100000"
    ))  # fmt: skip
    for column in ("slug", "name", "data", "document", "source_api", "updated_at"):
        for name, value in {
            "null": None, "five": 5, "infinite": math.inf, "a blob": b"\xff\xfe\x00", "not UTF-8": b"\xe9", "NUL": "a\0b",
            "a megabyte": "x" * 1_000_000, "escapes": "\x1b[2J", "empty": "",
        }.items():  # fmt: skip
            yield _cache(f"{column} is {name}", _row(**{column: value}), swapped=True)
    yield _cache("data of 200 MB", _row(data=lambda: "[" + " " * 200_000_000 + "]"))
    for name, value in VALUES.items():
        yield _cache(f"the object is {name}", _row(data=partial(dumps, value)), swapped=True)
        for key in ("name", "slug", "desc", "document__slug", "level_int", "school"):
            if (len(name) + len(key)) % 3 == 0:
                good = {"name": "X", "slug": "x", "level_int": 1, "desc": "y", "document__slug": "d"}
                yield _cache(
                    f"{key} in the object is {name}", _row(data=partial(dumps, good | {key: value})), swapped=True
                )
    yield _file("empty", lambda b: b"")
    yield _file("a header only", lambda b: b[:100])
    yield _file("half of it", lambda b: b[: len(b) // 2])
    yield _file("pages of noise", lambda b: b[:4096] + bytes(range(256)) * ((len(b) - 4096) // 256))
    yield _file("pages that point at each other", lambda b: b[:4096] + b[4096:8192] * (len(b) // 4096 - 1))
    yield _file("a page size of 1", lambda b: b[:16] + b"\x00\x01" + b[18:])
    yield _file("a freelist without end", lambda b: b[:32] + struct.pack(">II", 2, 2**31 - 1) + b[40:])
    yield _file("a log of noise beside it", lambda b: b, {"-wal": b"noise" * 10_000})
    yield _file(
        "a journal of noise beside it", lambda b: b, {"-journal": b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"n" * 5_000}
    )


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


def libraries() -> Iterator[Input]:
    """Known attacks by a SQLite library of ours."""
    bomb = deflated_zeros(4 * GIGABYTE, 15)
    for name, value in {
        "null": None, "text": "text", "five": 5, "noise": b"noise", "half": zlib.compress(b"{" * 1000)[:20],
        "unpacks to 4 GB": bomb, "an unpacked list": zlib.compress(b"[]"), "unpacked null": zlib.compress(b"null"),
        "not UTF-8": zlib.compress(b"\xff\xfe"), "deep": zlib.compress(str(deep(100_000)).encode()),
    }.items():  # fmt: skip
        yield _cache(f"a record is {name}", _blob(value), ours=True)
    for name, value in VALUES.items():
        for key in ("slug", "name", "kind", "document", "source_api", "data", "fields"):
            if (len(name) + len(key)) % 3 == 0:
                yield _cache(f"{key} is {name}", _record(put(value, key)), ours=True, swapped=True)
        yield _cache(f"desc is {name}", _record(put(value, "data", "desc")), ours=True, swapped=True)
    yield _cache("a key is not that of its entry", _record(put("another", "slug")), ours=True)
    for name, vector in bad_vectors().items():
        yield _cache(f"vectors: {name}", _passages(packed(embedded(VICTIM), vector)), ours=True)
    fake = good_vector("quite another text")
    yield _cache("vectors: a good one of another text", _passages(packed(embedded(VICTIM), fake)), ours=True)
    yield _cache("vectors: null", _passages((vector_key(MODEL, "x"), None)), ours=True)
    yield _cache("vectors: a key that is null", _passages((None, b"x" * 516)), ours=True)
    yield _cache("vectors: text", _passages(("key", "vector")), ours=True)
    yield _cache("vectors: numbers", _passages((5, 1e308)), ours=True)
    yield _cache("vectors: 300 MB", _passages(*((bytes([n]), lambda: b"x" * 10_000_000) for n in range(30))), ours=True)
    yield _cache("vectors: no table", _run("DROP TABLE spells_passages"), ours=True)
    yield _cache(
        "vectors: an endless view",
        _run(
            "DROP TABLE spells_passages",
            f"CREATE VIEW spells_passages AS {ENDLESS} SELECT i AS key, i AS vector FROM n",
        ),
        ours=True,
    )
    yield _cache(
        "entries: an endless view",
        _instead("spells", f"CREATE VIEW spells AS {ENDLESS} SELECT i AS slug, x'00' AS record FROM n"),
        ours=True,
    )
    yield _cache("format 99", _run("PRAGMA user_version = 99"), ours=True)
    yield _cache("no table of spells", _run("DROP TABLE spells"), ours=True)


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


def good_caches() -> Iterator[Input]:
    """With nothing wrong."""
    yield _cache("as it was", _run(), good=True)
    yield _cache("as it was", _run(), ours=True, good=True)
