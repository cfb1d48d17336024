"""Hostile inputs: good archives, caches, packs, files, answers of a server and vectors, each spoilt in one way.

`inputs` gives any number of them: the known kinds of attack first, then random mutations. The same seed gives the same ones.
"""

from __future__ import annotations

import copy
import gzip
import hashlib
import io
import json
import math
import random
import shutil
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import numpy as np

from lorekeeper.cache.vectors import pack_vector, read_packed, vector_key, write_packed
from lorekeeper.embedding import HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.hints import hint_text
from lorekeeper.text import passages
from tests.conftest import make
from tests.hostile_server import Attack, attacks
from tests.legacy_cache import COLUMNS, TABLES, write_cache

MODEL = "http all-MiniLM-L6-v2"
"""Fingerprint of the vectors that the libraries under attack have."""

DIMENSION = 128

SEAL_BYTES = 64

GIGABYTE = 1 << 30

VICTIM = make("victim", "Somebody imports this later, and then it must be found.", name="The Victim")
"""An entry that no input holds: the vectors of its text are what some of them try to replace."""

Build = Callable[["Good", Path, random.Random], list[str]]
"""Writes an input into a folder, and gives the arguments of the command that is to read it."""


@dataclass(frozen=True)
class Good:
    """What is good, before it is spoilt.

    Attributes:
        archive: bytes of an archive of ``lorekeeper backup``.
        library: a SQLite file of ours with the same entries.
        pack: an OrcBrew pack.
        objects: entries in LoreKeeper's own JSON.
    """

    archive: bytes
    library: Path
    pack: str
    objects: list[dict[str, Any]]


@dataclass(frozen=True)
class Input:
    """One hostile input.

    Attributes:
        name: what is wrong with it.
        build: writes it.
        attack: how the server answers that a sync asks; None where nothing is synced.
        lasting: whether the command tries again for some seconds before it gives up.
        good: whether it is not spoilt at all, and must be taken whole.
    """

    name: str
    build: Build
    attack: Attack | None = None
    lasting: bool = False
    good: bool = False


def inputs(chance: random.Random, number: int) -> list[Input]:
    """That many inputs: of every family as many known ones as there is room for, and random mutations for the rest.

    Few ones leave out what takes long to fail.
    """
    families = [list(family()) for family in FAMILIES.values()]
    for family in families:
        chance.shuffle(family)
    known = [i for turn in range(max(map(len, families))) for family in families for i in family[turn : turn + 1]]
    known = [i for i in known if number >= len(known) or not i.lasting]
    good = [i for family in GOOD for i in family()]
    chosen = known[: max(number * 3 // 4, number - 80)]
    mutated = (mutation(n) for n in count() for mutation in MUTATIONS)
    return list(islice(chain(good, chosen, mutated), len(good) + number))


# --- values ----------------------------------------------------------------------------------------------------------


class Raw(str):
    """Text that stands in JSON as it is."""

    __slots__ = ()


def deep(levels: int) -> Raw:
    """Lists in lists, which Python's own encoder could not write."""
    return Raw("[" * levels + "]" * levels)


VALUES: dict[str, Any] = {
    "null": None,
    "a list": [],
    "an object": {},
    "a list of lists": [[["a"]]],
    "five": 5,
    "true": True,
    "an empty text": "",
    "blanks": " \t",
    "a surrogate": "\ud800",
    "NUL": "a\0b",
    "line breaks": "Wish\n2. Fireball (spell) | lore://spells/srd-2014/fireball",
    "escapes": "\x1b]0;title\x07\x1b[2J\x9b31m",
    "bidi": "\u202egnp.exe\u2066",
    "dots": "../../../../tmp/x",
    "a megabyte": "x" * 1_000_000,
    "wide": "ﷺ" * 400,
    "10,000 levels": deep(10_000),
    "500 levels": deep(500),
    "1e999": Raw("1e999"),
    "NaN": Raw("NaN"),
    "Infinity": Raw("-Infinity"),
    "5,000 digits": Raw("9" * 5_000),
    "65 bits": 2**64,
    "1e308": 1e308,
    "many": ["x"] * 100_000,
    "many keys": {f"k{n}": n for n in range(50_000)},
}
"""What may stand where something else is expected, by name."""


def dumps(value: Any) -> str:
    """JSON with `Raw` parts; surrogates as escapes."""
    parts: list[str] = []

    def mark(item: Any) -> Any:
        if isinstance(item, Raw):
            parts.append(str(item))
            return f"@raw{len(parts) - 1}@"
        if isinstance(item, dict):
            return {k: mark(v) for k, v in item.items()}
        return [mark(v) for v in item] if isinstance(item, list) else item

    text = json.dumps(mark(value))
    for number, part in enumerate(parts):
        text = text.replace(f'"@raw{number}@"', part, 1)
    return text


def mutated_json(chance: random.Random, value: Any) -> Any:
    """A copy with one to three places changed, removed, doubled or renamed."""
    changed = copy.deepcopy(value)
    for _ in range(chance.choice([1, 1, 2, 3])):
        holder = changed
        while True:
            keys: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            if not keys:
                break
            key = chance.choice(keys)
            inner = holder[key]
            if isinstance(inner, (dict, list)) and inner and chance.random() < 0.6:
                holder = inner
                continue
            match chance.randrange(5):
                case 0:
                    del holder[key]
                case 1 if isinstance(holder, dict):
                    holder[str(chance.choice(["", "\0", "\ud800", "name", "data", "x" * 1000]))] = holder.pop(key)
                case 2 if isinstance(holder, list):
                    holder.append(copy.deepcopy(inner))
                case _:
                    holder[key] = chance.choice(list(VALUES.values()))
            break
    return changed


def mutated_bytes(chance: random.Random, content: bytes) -> bytes:
    """Some bytes flipped, removed, doubled or cut."""
    changed = bytearray(content)
    for _ in range(chance.choice([1, 3, 20])):
        if not changed:
            break
        place, size = chance.randrange(len(changed)), chance.choice([1, 2, 16, 512])
        match chance.randrange(5):
            case 0 | 1:
                changed[place] ^= 1 << chance.randrange(8)
            case 2:
                changed[place : place + size] = chance.randbytes(size)
            case 3:
                del changed[place : place + size]
            case 4:
                changed[place:place] = changed[place : place + size]
    if chance.random() < 0.2:
        del changed[chance.randrange(len(changed) + 1) :]
    return bytes(changed)


def deflated_zeros(size: int, wbits: int) -> bytes:
    """A stream of zeros that is a thousandth of what it unpacks to; made in no time. Its checksum is wrong."""
    block = bytes(1 << 20)
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    head = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    repeated = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + repeated * (size // len(block) - 1) + packer.flush()


# --- archives --------------------------------------------------------------------------------------------------------


def reseal(content: bytes) -> bytes:
    """The same with the right checksum at its end, so that what is wrong gets past it."""
    return content[:-SEAL_BYTES] + hashlib.sha256(content[:-SEAL_BYTES]).hexdigest().encode()


@dataclass
class Contents:
    """What an archive holds, to be changed and written again.

    Attributes:
        records: objects by entity type.
        vectors: the block of vectors.
        manifest: what the manifest says beyond what follows from the others.
        extra: further files.
    """

    records: dict[str, list[Any]]
    vectors: bytes
    manifest: dict[str, Any]
    extra: list[tuple[str, bytes]] = field(default_factory=list)

    def spells(self) -> list[Any]:
        return self.records["spells"]


def opened(archive: bytes) -> Contents:
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        manifest = json.loads(file.read("manifest.json"))
        records = {
            t: [json.loads(line) for line in file.read(f"{t}.jsonl").splitlines()] for t in manifest["counts"]
        }
        return Contents(records, file.read("vectors"), manifest)


def written(contents: Contents, manifest: Any = None, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive whose checksums and counts all fit, unless the manifest is given."""
    files = [(f"{t}.jsonl", "".join(f"{dumps(r)}\n" for r in own).encode()) for t, own in contents.records.items()]
    files += [("vectors", contents.vectors), *contents.extra]
    fitting = contents.manifest | {
        "counts": {t: len(own) for t, own in contents.records.items()},
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files},
    }
    return zipped([*files, ("manifest.json", dumps(fitting if manifest is None else manifest).encode())], method)


def zipped(files: Sequence[tuple[str | zipfile.ZipInfo, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A sealed zip file."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as file:
        file.comment = b"0" * SEAL_BYTES
        for name, content in files:
            file.writestr(name, content, method)
    return reseal(target.getvalue())


def with_member_bomb(archive: bytes, name: str, size: int, *, claimed: int | None = None) -> bytes:
    """The archive with one member that unpacks to ``size``; its headers say so, or what is claimed."""
    bomb = deflated_zeros(size, -15)
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        kept = [(i.filename, file.read(i)) for i in file.infolist() if i.filename != name]
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        file.comment = b"0" * SEAL_BYTES
        for other, content in kept:
            file.writestr(other, content)
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_STORED
        file.writestr(info, bomb)
        info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, claimed if claimed is not None else size
    return reseal(target.getvalue())


def with_headers(archive: bytes, offset_central: int, offset_local: int, value: bytes) -> bytes:
    """Bytes written into every header of a zip file."""
    changed = bytearray(archive)
    for magic, offset in ((b"PK\x01\x02", offset_central), (b"PK\x03\x04", offset_local)):
        place = -1
        while (place := changed.find(magic, place + 1)) >= 0:
            changed[place + offset : place + offset + len(value)] = value
    return reseal(bytes(changed))


def _archive(name: str, make_it: Callable[[Good, random.Random], bytes], **more: Any) -> Input:
    def build(good: Good, folder: Path, chance: random.Random) -> list[str]:
        (folder / "input.zip").write_bytes(make_it(good, chance))
        return ["restore", str(folder / "input.zip"), "--json"]

    return Input(f"archive: {name}", build, **more)


def _changed(name: str, change: Callable[[Contents], Any]) -> Input:
    """An archive whose contents were changed, with fitting checksums; ``change`` may give another manifest."""

    def make_it(good: Good, _: random.Random) -> bytes:
        contents = opened(good.archive)
        return written(contents, change(contents))

    return _archive(name, make_it)


def archives() -> Iterator[Input]:
    """Known attacks by archive."""
    yield _archive("empty", lambda g, c: b"")
    yield _archive("text", lambda g, c: b"a shopping list, longer than sixty-four bytes, with milk, eggs and bread" * 2)
    yield _archive("cut in the middle", lambda g, c: g.archive[: len(g.archive) // 2])
    yield _archive("cut in the middle and sealed", lambda g, c: reseal(g.archive[: len(g.archive) // 2]))
    yield _archive("encrypted", lambda g, c: with_headers(g.archive, 8, 6, b"\x01\x00"))
    yield _archive("unknown compression", lambda g, c: with_headers(g.archive, 10, 8, b"\x63\x00"))
    yield _archive("sizes of 4 GB in the headers", lambda g, c: with_headers(g.archive, 24, 22, b"\xfe\xff\xff\xff"))
    yield _archive("packed sizes of 4 GB", lambda g, c: with_headers(g.archive, 20, 18, b"\xfe\xff\xff\xff"))
    yield _archive("sizes of 1 byte", lambda g, c: with_headers(g.archive, 24, 22, b"\x01\x00\x00\x00"))
    yield _archive("wrong CRC", lambda g, c: with_headers(g.archive, 16, 14, b"abcd"))
    yield _archive("offsets beyond the end", lambda g, c: with_headers(g.archive, 42, 26, b"\xff\xff\x00\x00"))
    for member in ("manifest.json", "spells.jsonl", "vectors"):
        yield _archive(f"{member} unpacks to 6 GB", lambda g, c, m=member: with_member_bomb(g.archive, m, 6 * GIGABYTE))
    yield _archive(
        "spells.jsonl unpacks to 2 GB and claims 10 bytes",
        lambda g, c: with_member_bomb(g.archive, "spells.jsonl", 2 * GIGABYTE, claimed=10),
    )
    yield _archive("another member unpacks to 3 GB", lambda g, c: with_member_bomb(g.archive, "extra", 3 * GIGABYTE))
    yield _archive("packed with LZMA", lambda g, c: written(opened(g.archive), method=zipfile.ZIP_LZMA))
    yield _archive("60,000 empty members", lambda g, c: zipped([(f"{n}", b"") for n in range(60_000)]))
    yield _archive("no manifest", lambda g, c: zipped([("spells.jsonl", b"")]))
    yield _changed("a member twice", lambda c: c.extra.append(("spells.jsonl", b"{}\n")))
    yield _changed("names of members outside", lambda c: c.extra.append(("../../../etc/x", b"x")))
    yield _changed("a type that is not there", lambda c: c.records.update(monsters=[{"slug": "x"}]))
    yield _changed("a type less", lambda c: c.records.pop("rules") and None)
    yield _changed("an entry twice", lambda c: c.spells().append(dict(c.spells()[-1])))
    yield _changed("an entry twice, and different", lambda c: c.spells().append(c.spells()[-1] | {"name": "Other"}))
    for name, value in VALUES.items():
        for key in ("slug", "name", "document", "kind", "source_api", "document_name", "data", "fields"):
            if (len(name) + len(key)) % 2 or key in ("slug", "name", "data"):
                yield _changed(f"{key} is {name}", lambda c, k=key, v=value: c.spells()[-1].update({k: v}))
        yield _changed(f"desc is {name}", lambda c, v=value: c.spells()[-1]["data"].update(desc=v))
        yield _changed(f"a field is {name}", lambda c, v=value: c.spells()[-1]["fields"].update(level=v))
    yield _changed("an unknown field", lambda c: c.spells()[-1]["fields"].update(unknown=1))
    yield _changed("classes are 10,000", lambda c: c.spells()[-1]["fields"].update(classes=[f"c{n}" for n in range(10_000)]))
    yield _changed("an entry is a list", lambda c: c.spells().append([]))
    yield _changed("an entry is null", lambda c: c.spells().append(None))
    yield _changed("an entry lacks its kind", lambda c: c.spells()[-1].pop("kind") and None)
    yield from _manifests()
    yield from _vectors()


def _manifests() -> Iterator[Input]:
    def manifest(name: str, change: Callable[[dict[str, Any]], Any]) -> Input:
        def make_it(good: Good, _: random.Random) -> bytes:
            contents = opened(good.archive)
            own = opened(written(contents)).manifest
            return written(contents, change(own) or own)

        return _archive(f"manifest: {name}", make_it)

    for name in ("null", "a list", "five", "a megabyte", "10,000 levels", "NaN", "a surrogate"):
        yield manifest(f"it is {name}", lambda m, v=VALUES[name]: [v] if v is None or v == [] else v)
        for key in ("format", "counts", "sha256", "embedding", "vectors"):
            yield manifest(f"{key} is {name}", lambda m, k=key, v=VALUES[name]: m.update({k: v}))
    yield manifest("format 99", lambda m: m.update(format=99))
    yield manifest("counts are wrong", lambda m: m["counts"].update(spells=10**12))
    yield manifest("counts are negative", lambda m: m["counts"].update(spells=-1))
    yield manifest("a checksum of a file that is not there", lambda m: m["sha256"].update(nowhere="0" * 64))
    yield manifest("a checksum is wrong", lambda m: m["sha256"].update({"spells.jsonl": "0" * 64}))
    yield manifest("a checksum is missing", lambda m: m["sha256"].pop("vectors") and None)


def embedded(entity: Entity) -> str:
    """The first text of an entity that is embedded."""
    return passages(entity, hint=hint_text(entity))[0].embedded


def packed(text: str, vector: np.ndarray[Any, Any]) -> tuple[bytes, bytes]:
    """Key and bytes of a vector, with a checksum that fits."""
    key = vector_key(MODEL, text)
    return key, pack_vector(key, vector.astype(np.float32))


def bad_vectors() -> dict[str, np.ndarray[Any, Any]]:
    """Vectors that are none, by what is wrong."""
    right = HashingProvider(DIMENSION).embed(["anything at all"])[0]
    infinite = right.copy()
    infinite[3] = math.inf
    return {
        "NaN": np.full(DIMENSION, math.nan),
        "infinite": infinite,
        "zeros": np.zeros(DIMENSION),
        "too long": right * 1e30,
        "length 2": right * 2,
        "3 numbers": np.array([1.0, 0.0, 0.0]),
        "no numbers": np.zeros(0),
        "10,000 numbers": np.full(10_000, 0.01),
    }


def _vectors() -> Iterator[Input]:
    """Archives with vectors that are wrong, or for texts of others."""

    def add(contents: Contents, rows: Mapping[bytes, bytes]) -> None:
        held = read_packed(contents.vectors)
        contents.vectors = write_packed({k: v for k, v in (held | rows).items() if len(v) == len(next(iter(rows.values())))})

    fake = HashingProvider(DIMENSION).embed(["quite another text"])[0]
    for name, vector in bad_vectors().items():
        yield _changed(f"vectors: {name}, of its own text", lambda c, v=vector: add(c, dict([packed(own_text(c), v)])))
        yield _changed(f"vectors: {name}, of another text", lambda c, v=vector: add(c, dict([packed(embedded(VICTIM), v)])))
    yield _changed("vectors: a good one of another text", lambda c: add(c, dict([packed(embedded(VICTIM), fake)])))
    yield _changed(
        "vectors: 20,000 of other texts",
        lambda c: add(c, dict(packed(f"text {n}", fake) for n in range(20_000)) | dict([packed(embedded(VICTIM), fake)])),
    )
    for name, block in {
        "nothing": b"",
        "no line break": b"[16, 516]",
        "sizes of 0": b"[0, 0]\nabc",
        "negative sizes": b"[-16, 10]\nabcdef",
        "sizes that are no numbers": b'["a", null]\nabc',
        "endless sizes": b"[1e999, 1]\nabc",
        "huge sizes": b"[16, 99999999999999999999]\n" + b"x" * 100,
        "three sizes": b"[16, 16, 16]\n" + b"x" * 100,
        "deep sizes": str(deep(10_000)).encode() + b"\nabc",
        "sizes of a byte": b"[1, 1]\n" + b"x" * 1_000_000,
        "half a row": b"[16, 516]\n" + b"x" * 700,
        "not UTF-8": b"\xff\xfe\n",
    }.items():
        yield _changed(f"vectors: {name}", lambda c, b=block: setattr(c, "vectors", b))


def own_text(contents: Contents) -> str:
    """The text of an entry that is in the archive."""
    return embedded(Entity.from_record("spells", contents.spells()[-1]))


def archive_mutation(number: int) -> Input:
    """A random one: bytes, contents or manifest."""

    def make_it(good: Good, chance: random.Random) -> bytes:
        kind = chance.random()
        if kind < 0.35:
            return reseal(mutated_bytes(chance, good.archive))
        contents = opened(good.archive)
        if kind < 0.85:
            entity_type = chance.choice([t for t, own in contents.records.items() if own])
            own = contents.records[entity_type]
            own[-1] = mutated_json(chance, own[-1])
        elif kind < 0.95:
            return written(contents, mutated_json(chance, opened(written(contents)).manifest))
        else:
            contents.vectors = mutated_bytes(chance, contents.vectors)
        return written(contents)

    return _archive(f"mutation {number}", make_it)


# --- SQLite files ----------------------------------------------------------------------------------------------------

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"

_TABLES = {name: rows for name, rows in TABLES.items() if name not in ("classes", "creatures")}


def _cache(name: str, change: Callable[[sqlite3.Connection, Path], object], *, ours: bool = False, **more: Any) -> Input:
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
    """One more row with these columns; the table takes anything."""
    row = {"slug": "x", "name": "X", "data": '{"name": "X", "slug": "x", "level_int": 1, "desc": "y"}', **values}

    def change(c: sqlite3.Connection, _: Path) -> None:
        c.execute("CREATE TABLE loose (slug, name, data, document, source_api, updated_at)")
        c.execute("ALTER TABLE spells RENAME TO before")
        c.execute("ALTER TABLE loose RENAME TO spells")
        c.execute("DROP TABLE before")
        c.execute(f"INSERT INTO spells ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))

    return change


def caches() -> Iterator[Input]:
    """Known attacks by an earlier cache."""
    view = "CREATE VIEW spells AS"
    yield _cache("an endless view", _instead("spells", f"{view} {ENDLESS} SELECT i AS slug, i AS name, '{{}}' AS data FROM n"))
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
            yield _cache(f"{column} is {name}", _row(**{column: value}))
    yield _cache("data of 200 MB", _row(data="[" + " " * 200_000_000 + "]"))
    for name, value in VALUES.items():
        yield _cache(f"the object is {name}", _row(data=dumps(value)))
        for key in ("name", "slug", "desc", "document__slug", "level_int", "school"):
            if (len(name) + len(key)) % 3 == 0:
                good = {"name": "X", "slug": "x", "level_int": 1, "desc": "y", "document__slug": "d"}
                yield _cache(f"{key} in the object is {name}", _row(data=dumps(good | {key: value})))
    yield _file("empty", lambda b: b"")
    yield _file("a header only", lambda b: b[:100])
    yield _file("half of it", lambda b: b[: len(b) // 2])
    yield _file("pages of noise", lambda b: b[:4096] + bytes(range(256)) * ((len(b) - 4096) // 256))
    yield _file("pages that point at each other", lambda b: b[:4096] + b[4096:8192] * (len(b) // 4096 - 1))
    yield _file("a page size of 1", lambda b: b[:16] + b"\x00\x01" + b[18:])
    yield _file("a freelist without end", lambda b: b[:32] + struct.pack(">II", 2, 2**31 - 1) + b[40:])
    yield _file("a log of noise beside it", lambda b: b, {"-wal": b"noise" * 10_000})
    yield _file("a journal of noise beside it", lambda b: b, {"-journal": b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"n" * 5_000})


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
        c.executemany("INSERT INTO spells_passages VALUES (?, ?)", rows)

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
                yield _cache(f"{key} is {name}", _record(lambda r, k=key, v=value: r.update({k: v})), ours=True)
        yield _cache(f"desc is {name}", _record(lambda r, v=value: r["data"].update(desc=v)), ours=True)
    yield _cache("a key is not that of its entry", _record(lambda r: r.update(slug="another", document="other")), ours=True)
    for name, vector in bad_vectors().items():
        yield _cache(f"vectors: {name}", _passages(packed(embedded(VICTIM), vector)), ours=True)
    fake = HashingProvider(DIMENSION).embed(["quite another text"])[0]
    yield _cache("vectors: a good one of another text", _passages(packed(embedded(VICTIM), fake)), ours=True)
    yield _cache("vectors: null", _passages((vector_key(MODEL, "x"), None)), ours=True)
    yield _cache("vectors: a key that is null", _passages((None, b"x" * 516)), ours=True)
    yield _cache("vectors: text", _passages(("key", "vector")), ours=True)
    yield _cache("vectors: numbers", _passages((5, 1e308)), ours=True)
    yield _cache("vectors: 300 MB", _passages(*((bytes([n]), b"x" * 10_000_000) for n in range(30))), ours=True)
    yield _cache("vectors: no table", _run("DROP TABLE spells_passages"), ours=True)
    yield _cache(
        "vectors: an endless view",
        _run("DROP TABLE spells_passages", f"CREATE VIEW spells_passages AS {ENDLESS} SELECT i AS key, i AS vector FROM n"),
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


# --- packs -----------------------------------------------------------------------------------------------------------


def _imported(name: str, suffix: str, make_it: Callable[[Good, random.Random], bytes | str], **more: Any) -> Input:
    def build(good: Good, folder: Path, chance: random.Random) -> list[str]:
        content = make_it(good, chance)
        path = folder / f"input{suffix}"
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return ["import", str(path), "--json"]

    return Input(f"{'pack' if 'orcbrew' in suffix else 'file'}: {name}", build, **more)


def packs() -> Iterator[Input]:
    """Known attacks by an OrcBrew pack."""
    text: dict[str, str] = {
        "mismatched brackets": "[(]\n" * 50_000,
        "mismatched brackets, 1 MB": "[(]\n" * 260_000,
        "closing brackets": ")]}\n" * 100_000,
        "opening brackets": "(\n" * 200_000,
        "opening maps": "{:a " * 100_000,
        "deep vectors": "[" * 20_000 + "]" * 20_000,
        "deep maps": "{:a " * 5_000 + "1" + "}" * 5_000,
        "discarded forms": "#_ " * 200_000 + "1",
        "discarded pairs": "#_ #_ 1 2 " * 50_000,
        "discarded brackets": "#_(" * 100_000,
        "signs of sets": "# \n{" * 50_000,
        "tags": "#a/b " * 100_000 + "{}",
        "signs alone": "#" * 300_000,
        "quotes": '"' * 300_001,
        "backslashes": "\\" * 300_000,
        "a text without end": '{:a "' + "x" * 2_000_000,
        "line breaks in a text without end": '{:a "' + "\n" * 500_000,
        "a comment without end": ";" * 2_000_000,
        "comments": ";\n" * 300_000,
        "commas": "," * 3_000_000,
        "a symbol of 2 MB": "a" * 2_000_000,
        "colons": ":" * 500_000,
        "carets": "^" * 200_000 + "{}",
        "quoting": "'`~@" * 100_000,
        "an integer of 100,000 digits": f"{{:a {'9' * 100_000}}}",
        "a ratio by zero": "{:a 1/0}",
        "1e999": "{:a 1e999, :b ##NaN, :c ##Inf}",
        "a surrogate as a character": "{:a \\ud800}",
        "a surrogate in a text": '{:a "\\ud800"}',
        "NUL": "{:a \0}",
        "a key 100,000 times": "{" + ":a 1 " * 100_000 + "}",
        "evaluation": '#=(eval (println "x")) {}',
        "a map with half a pair": "{:a 1 :b}",
        "nothing": "",
        "nil": "nil",
        "UTF-16": "",
    }
    for name, content in text.items():
        yield _imported(name, ".orcbrew", lambda g, c, t=content: t)
        if name in ("mismatched brackets", "discarded forms", "tags", "deep vectors", "signs of sets"):
            yield _imported(f"{name}, in an entry", ".orcbrew", lambda g, c, t=content: _spoilt_pack(g.pack, t))
    yield _imported("UTF-16", ".orcbrew", lambda g, c: g.pack.encode("utf-16"))
    yield _imported("not UTF-8", ".orcbrew", lambda g, c: g.pack.encode().replace(b"a", b"\xff", 1))
    yield _imported("half of it", ".orcbrew", lambda g, c: g.pack[: len(g.pack) // 2])
    yield _imported("1 GB, packed", ".orcbrew.gz", lambda g, c: gzip_bomb(GIGABYTE))
    for name in ("escapes", "line breaks", "bidi", "a megabyte", "wide", "an empty text", "dots"):
        yield _imported(
            f"a name of {name}", ".orcbrew", lambda g, c, v=VALUES[name]: g.pack.replace("Salt Spark", str(v)[:1_000_000])
        )


def _spoilt_pack(pack: str, content: str) -> str:
    """A pack with something in the middle of an entry."""
    place = pack.index(":description")
    return pack[:place] + content + pack[place:]


def pack_mutation(number: int) -> Input:
    def make_it(good: Good, chance: random.Random) -> bytes:
        content = good.pack.encode()
        if chance.random() < 0.5:
            return mutated_bytes(chance, content)
        sign = chance.choice([b"{", b"}", b"[", b"(", b")", b'"', b"#", b"#_", b"# {", b";", b"\\", b":", b"#x ", b"\0", b"\x1b"])
        place = chance.randrange(len(content))
        return content[:place] + sign * chance.choice([1, 2, 50, 5_000]) + content[place:]

    return _imported(f"mutation {number}", ".orcbrew", make_it)


# --- JSON files ------------------------------------------------------------------------------------------------------


def gzip_bomb(size: int) -> bytes:
    return deflated_zeros(size, 31)


def _lines(objects: Sequence[Any]) -> str:
    return "".join(f"{dumps(o)}\n" for o in objects)


def files() -> Iterator[Input]:
    """Known attacks by JSON, JSON lines, packed ones."""
    yield _imported("1 GB of zeros, packed", ".json.gz", lambda g, c: gzip_bomb(GIGABYTE))
    yield _imported("10 GB of zeros, packed", ".jsonl.gz", lambda g, c: gzip_bomb(10 * GIGABYTE))
    yield _imported("packed twice", ".json.gz", lambda g, c: gzip.compress(gzip.compress(_lines(g.objects).encode())))
    yield _imported("packed and cut", ".jsonl.gz", lambda g, c: gzip.compress(_lines(g.objects).encode())[:-20])
    yield _imported("packed, then noise", ".jsonl.gz", lambda g, c: gzip.compress(_lines(g.objects).encode()) + b"noise" * 9)
    yield _imported("500,000 packed nothings", ".jsonl.gz", lambda g, c: gzip.compress(b"") * 50_000)
    yield _imported("nothing", ".json", lambda g, c: b"")
    yield _imported("noise", ".json", lambda g, c: c.randbytes(100_000))
    yield _imported("UTF-16", ".json", lambda g, c: _lines(g.objects).encode("utf-16"))
    yield _imported("brackets", ".json", lambda g, c: "[" * 2_000_000)
    yield _imported("braces in lines", ".jsonl", lambda g, c: '{"a":\n' * 100_000)
    yield _imported("lines of brackets", ".jsonl", lambda g, c: _lines(g.objects) + "[" * 200_000 + "\n{}\n")
    yield _imported("200,000 lines that are no objects", ".jsonl", lambda g, c: _lines(g.objects[:1]) + "5\n" * 200_000)
    yield _imported("an entry twice", ".json", lambda g, c: dumps([g.objects[0], g.objects[0] | {"description": "Other."}]))
    yield _imported("a page of nulls", ".json", lambda g, c: dumps({"results": [None] * 100_000}))
    yield _imported(
        "an entry of 20,000 sections",
        ".json",
        lambda g, c: dumps(g.objects[0] | {"description": "".join(f"## Part {n}\n\nText {n}. {'x ' * 30}\n\n" for n in range(20_000))}),
    )
    yield _imported("an entry of 20 MB", ".json", lambda g, c: dumps(g.objects[0] | {"description": "word " * 4_000_000}))
    for name, value in VALUES.items():
        for key in ("collection", "name", "slug", "kind", "document", "description", "level", "classes", "document_name"):
            if (len(name) + len(key)) % 2 or key in ("name", "description"):
                yield _imported(f"{key} is {name}", ".json", lambda g, c, k=key, v=value: dumps([*g.objects, g.objects[0] | {k: v}]))
        yield _imported(f"it is {name}", ".json", lambda g, c, v=value: dumps([*g.objects, v]))
        yield _imported(f"another key is {name}", ".jsonl", lambda g, c, v=value: _lines([*g.objects, g.objects[0] | {"x": v}]))


def file_mutation(number: int) -> Input:
    def make_it(good: Good, chance: random.Random) -> bytes:
        if chance.random() < 0.3:
            return mutated_bytes(chance, _lines(good.objects).encode())
        return _lines([*good.objects, mutated_json(chance, chance.choice(good.objects))]).encode()

    return _imported(f"mutation {number}", chance_suffix(number), make_it)


def chance_suffix(number: int) -> str:
    return (".jsonl", ".json")[number % 2]


# --- a server's answers ----------------------------------------------------------------------------------------------


def _synced(attack: Attack) -> Input:
    def build(_: Good, __: Path, ___: random.Random) -> list[str]:
        return ["sync", "open5e", "--type", "spells", "--json"]

    return Input(f"server: {attack.name}", build, attack, lasting=attack.lasting)


def servers() -> Iterator[Input]:
    """Known attacks by an Open5e server."""
    yield from map(_synced, attacks(VALUES, dumps, deflated_zeros))


def server_mutation(number: int) -> Input:
    """One page with random changes."""

    def change(chance: random.Random, page: dict[str, Any]) -> bytes:
        return dumps(mutated_json(chance, page)).encode()

    return _synced(Attack(f"mutation {number}", mutate=change))


# --- known vectors that were spoilt before ---------------------------------------------------------------------------


def _repaired(name: str, spoil: Callable[[sqlite3.Connection], object]) -> Input:
    """The file of known vectors beside the library, as an earlier version may have taken it from an archive."""

    def build(_: Good, folder: Path, __: random.Random) -> list[str]:
        with closing(sqlite3.connect(folder / "vectors.db", isolation_level=None)) as c:
            spoil(c)
        return ["repair", "--json"]

    return Input(f"known vectors: {name}", build)


def known_vectors() -> Iterator[Input]:
    """Known attacks by vectors that are there already."""

    def poison(vector: np.ndarray[Any, Any]) -> Callable[[sqlite3.Connection], object]:
        return lambda c: c.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", packed(embedded(VICTIM), vector))

    def poison_all(c: sqlite3.Connection) -> None:
        for (key,) in c.execute("SELECT key FROM vectors").fetchall():
            blob = pack_vector(key, np.full(DIMENSION, math.nan, dtype=np.float32))
            c.execute("UPDATE vectors SET vector = ? WHERE key = ?", (blob, key))

    for name, vector in bad_vectors().items():
        yield _repaired(name, poison(vector))
    yield _repaired("all NaN", poison_all)
    yield _repaired("text", lambda c: c.execute("UPDATE vectors SET vector = 'text'"))
    yield _repaired(
        "an endless view",
        lambda c: [c.execute(s) for s in ("DROP TABLE vectors", f"CREATE VIEW vectors AS {ENDLESS} SELECT i AS key, i AS vector FROM n")],
    )


# --- all of them -----------------------------------------------------------------------------------------------------


def _good_ones() -> Iterator[Input]:
    yield _archive("as it was made", lambda g, c: g.archive, good=True)
    yield _archive("as it was made, written again", lambda g, c: written(opened(g.archive)), good=True)
    yield _cache("as it was", _run(), good=True)
    yield _cache("as it was", _run(), ours=True, good=True)
    yield _imported("as it was", ".orcbrew", lambda g, c: g.pack, good=True)
    yield _imported("as they were", ".jsonl", lambda g, c: _lines(g.objects), good=True)
    yield Input("server: as it is", _synced(Attack("none")).build, Attack("none"), good=True)


GOOD = (_good_ones,)

FAMILIES: dict[str, Callable[[], Iterator[Input]]] = {
    "archives": archives,
    "caches": caches,
    "libraries": libraries,
    "packs": packs,
    "files": files,
    "servers": servers,
    "known vectors": known_vectors,
}

MUTATIONS = (archive_mutation, file_mutation, cache_mutation, pack_mutation, server_mutation)


