"""Hostile archives, sealed as ``lorekeeper backup`` seals them, so that what is wrong with them gets past the seal."""

from __future__ import annotations

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lorekeeper.entities import Entity
from tests.support.hostile.input import Good, Input
from tests.support.hostile.values import GIGABYTE, deep, deflated_zeros, dumps, mutated_bytes, mutated_json, swaps
from tests.support.hostile.vectors import VICTIM, Vector, bad_vectors, embedded, good_vector, packed

SEAL_BYTES = 64


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
        records = {t: [json.loads(line) for line in file.read(f"{t}.jsonl").splitlines()] for t in manifest["counts"]}
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


def with_member_bomb(archive: bytes, name: str, size: int, claimed: int | None = None) -> bytes:
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


def _changed(name: str, change: Callable[[Contents], Any], **more: Any) -> Input:
    """An archive whose contents were changed, with fitting checksums; ``change`` may give another manifest."""

    def make_it(good: Good, _: random.Random) -> bytes:
        contents = opened(good.archive)
        return written(contents, change(contents))

    return _archive(name, make_it, **more)


def _in_manifest(change: Callable[[Any], Any]) -> Callable[[Contents], Any]:
    """A change of the manifest, or what stands in its place."""

    def make_it(contents: Contents) -> Any:
        own = opened(written(contents)).manifest
        return change(own) or own

    return make_it


def _with(change: Callable[..., bytes], *how: Any) -> Callable[[Good, random.Random], bytes]:
    return lambda good, _: change(good.archive, *how)


def _in_spell(change: Callable[[Any], Any]) -> Callable[[Contents], Any]:
    return lambda contents: change(contents.spells()[-1])


def _with_block(block: bytes) -> Callable[[Contents], Any]:
    return lambda contents: setattr(contents, "vectors", block)


_HEADERS = {
    "encrypted": (8, 6, b"\x01\x00"),
    "unknown compression": (10, 8, b"\x63\x00"),
    "sizes of 4 GB in the headers": (24, 22, b"\xfe\xff\xff\xff"),
    "packed sizes of 4 GB": (20, 18, b"\xfe\xff\xff\xff"),
    "sizes of 1 byte": (24, 22, b"\x01\x00\x00\x00"),
    "wrong CRC": (16, 14, b"abcd"),
    "offsets beyond the end": (42, 26, b"\xff\xff\x00\x00"),
}

_BOMBS = {
    "manifest.json unpacks to 6 GB": ("manifest.json", 6 * GIGABYTE, None),
    "spells.jsonl unpacks to 6 GB": ("spells.jsonl", 6 * GIGABYTE, None),
    "vectors unpack to 6 GB": ("vectors", 6 * GIGABYTE, None),
    "spells.jsonl unpacks to 2 GB and claims 10 bytes": ("spells.jsonl", 2 * GIGABYTE, 10),
    "another member unpacks to 3 GB": ("extra", 3 * GIGABYTE, None),
}

_CHANGES: dict[str, Callable[[Contents], Any]] = {
    "a member twice": lambda c: c.extra.append(("spells.jsonl", b"{}\n")),
    "names of members outside": lambda c: c.extra.append(("../../../etc/x", b"x")),
    "a type that is not there": lambda c: c.records.update(monsters=[{"slug": "x"}]),
    "a type less": lambda c: c.records.pop("rules") and None,
    "an entry twice": lambda c: c.spells().append(dict(c.spells()[-1])),
    "an entry twice, and different": lambda c: c.spells().append(c.spells()[-1] | {"name": "Other"}),
    "an unknown field": lambda c: c.spells()[-1]["fields"].update(unknown=1),
    "classes are 10,000": lambda c: c.spells()[-1]["fields"].update(classes=[f"c{n}" for n in range(10_000)]),
    "an entry is a list": lambda c: c.spells().append([]),
    "an entry is null": lambda c: c.spells().append(None),
    "an entry lacks its kind": lambda c: c.spells()[-1].pop("kind") and None,
    "manifest: null": lambda c: [None],
    "manifest: format 99": _in_manifest(lambda m: m.update(format=99)),
    "manifest: counts are wrong": _in_manifest(lambda m: m["counts"].update(spells=10**12)),
    "manifest: counts are negative": _in_manifest(lambda m: m["counts"].update(spells=-1)),
    "manifest: a checksum of no file": _in_manifest(lambda m: m["sha256"].update(nowhere="0" * 64)),
    "manifest: a checksum is wrong": _in_manifest(lambda m: m["sha256"].update({"spells.jsonl": "0" * 64})),
    "manifest: a checksum is missing": _in_manifest(lambda m: m["sha256"].pop("vectors") and None),
}


def archives() -> Iterator[Input]:
    """With nothing wrong, and known attacks by archive."""
    yield _archive("as it was made", lambda g, c: g.archive, good=True)
    yield _archive("as it was made, written again", lambda g, c: written(opened(g.archive)), good=True)
    yield _archive("empty", lambda g, c: b"")
    yield _archive("text", lambda g, c: b"a shopping list, longer than sixty-four bytes, with milk, eggs and bread" * 2)
    yield _archive("cut in the middle", lambda g, c: g.archive[: len(g.archive) // 2])
    yield _archive("cut in the middle and sealed", lambda g, c: reseal(g.archive[: len(g.archive) // 2]))
    for name, header in _HEADERS.items():
        yield _archive(name, _with(with_headers, *header))
    for name, bomb in _BOMBS.items():
        yield _archive(name, _with(with_member_bomb, *bomb))
    yield _archive("packed with LZMA", lambda g, c: written(opened(g.archive), method=zipfile.ZIP_LZMA))
    yield _archive("60,000 empty members", lambda g, c: zipped([(f"{n}", b"") for n in range(60_000)]))
    yield _archive("no manifest", lambda g, c: zipped([("spells.jsonl", b"")]))
    yield from (_changed(name, change) for name, change in _CHANGES.items())
    places = "slug name document kind source_api document_name data fields data.desc fields.level".split()
    for name, put_in in swaps(*places):
        yield _changed(name, _in_spell(put_in), swapped=True)
    for name, put_in in swaps("format", "counts", "sha256", "embedding", "vectors"):
        yield _changed(f"manifest: {name}", _in_manifest(put_in), swapped=True)
    for name, vector in bad_vectors().items():
        yield _changed(f"vectors: {name}, of its own text", _with_vector(vector, own=True))
        yield _changed(f"vectors: {name}, of another text", _with_vector(vector))
    fake = good_vector("quite another text")
    yield _changed("vectors: a good one of another text", _with_vector(fake))
    yield _changed("vectors: 20,000 of other texts", _with_vector(fake, 20_000))
    for name, block in _BLOCKS.items():
        yield _changed(f"vectors: {name}", _with_block(block))


def _with_vector(vector: Vector, number: int = 1, *, own: bool = False) -> Callable[[Contents], None]:
    """This vector for the text of an entry in the archive, or for texts of which there is none in it."""

    def change(contents: Contents) -> None:
        text = embedded(Entity.from_record("spells", contents.spells()[-1])) if own else embedded(VICTIM)
        rows = dict(packed(t, vector) for t in [text, *(f"text {n}" for n in range(number - 1))])
        sizes = [len(part) for part in next(iter(rows.items()))]
        header, _, held = contents.vectors.partition(b"\n")
        kept = held if json.loads(header) == sizes else b""  # all rows of a block have the same size
        contents.vectors = json.dumps(sizes).encode() + b"\n" + kept + b"".join(k + v for k, v in rows.items())

    return change


_BLOCKS = {
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
}


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
