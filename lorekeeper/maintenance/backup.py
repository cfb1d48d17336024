"""``lorekeeper backup`` and ``restore``: one portable archive of a whole library, the same for every backend.

The archive is a zip file: ``manifest.json``, one file of JSON lines for each type, and the vectors that are known. Its last
64 bytes are the SHA-256 of all that stands before them, so that no flipped bit goes unnoticed.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import itertools
import json
import os
import struct
import time
import zipfile
import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import lorekeeper
from lorekeeper.cache.async_cache import ThreadedCache
from lorekeeper.cache.formats import FIRST_DECLARATIONS, declarations, is_later, parse_declarations
from lorekeeper.cache.protocol import CacheProtocol, Identity, Progress
from lorekeeper.cache.vectors import VectorCache, of_one_size, passage_keys, read_packed, write_packed
from lorekeeper.entities import COLLECTIONS, MAX_RECORD_BYTES, Entity, parse_json
from lorekeeper.errors import FilterError, ImportFileError
from lorekeeper.library import (
    IMPORT_BATCH,
    Library,
    embedding_service,
    open_store,
    vector_cache,
)
from lorekeeper.maintenance.earlier import current_entity
from lorekeeper.maintenance.migrate import take_vectors
from lorekeeper.printable import MAX_REASON, MAX_SHOWN, one_line
from lorekeeper.settings import Settings
from lorekeeper.system import private_file
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text

FORMAT = 1
"""Of the archive; kept in its manifest. The declared fields of its entries stand there too, and may be others than today's."""

MANIFEST, VECTORS = "manifest.json", "vectors"

SEAL_BYTES = 64
"""The SHA-256 of all before it, in hexadecimal digits: the zip file's comment."""

_CHUNK = 1 << 20
_BATCH_BYTES = 8 << 20
_MAX_LINE_BYTES = 2 * MAX_RECORD_BYTES
_MAX_MANIFEST_BYTES = 1 << 20

_FREE_BYTES = 64 << 20
_MAX_GROWTH = 50
"""What any archive may unpack to, and how many times its size a larger one may: JSON lines of real books take a fifth, vectors
nearly all of their size."""

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 1
_MAX_MEMBERS, _MAX_LIST_BYTES = 64, 1 << 16
_END, _END_SIGNATURE = struct.Struct("<4s4H2LH"), b"PK\5\6"
_LOCATOR, _LOCATOR_BYTES = b"PK\6\7", 20

_UNREADABLE = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    EOFError,
    OverflowError,
    RuntimeError,  # NotImplementedError and RecursionError are such
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
"""What Python's readers raise on files that are not what they seem to be."""


@dataclass
class ArchiveReport:
    """What a backup or a restore did. `as_dict` is its public shape.

    Attributes:
        archive: path of the archive.
        counts: entries in it, by type.
        vectors: vectors in it.
        stored: entries written to the library; of a restore only.
        unchanged: entries that were there as they are; of a restore only.
        removed: entries that the archive does not have, and the library now neither; of a restore only.
        embedded: texts whose vectors were not in it; of a restore only.
        before: archive of what the library held before, where something was changed or removed; of a restore only.
        seconds: how long it took.
    """

    archive: str
    counts: dict[str, int] = field(default_factory=dict)
    vectors: int = 0
    stored: int = 0
    unchanged: int = 0
    removed: int = 0
    embedded: int = 0
    before: str | None = None
    seconds: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """All of it, as JSON takes it."""
        return {**asdict(self), "seconds": round(self.seconds, 2)}


# --- backup ----------------------------------------------------------------------------------------------------------


async def backup(
    settings: Settings, target: Path, start: Progress | None = None, progress: Progress | None = None
) -> ArchiveReport:
    """Write everything in the library to an archive, while others use it; writers wait until it is done.

    Raises:
        ImportFileError: the archive cannot be written, or there is something else in its place.
        CacheError: the library cannot be read.
    """
    began, report = time.monotonic(), ArchiveReport(str(target))
    _check_target(target)
    store, known = open_store(settings), vector_cache(settings)
    cache = ThreadedCache(store, embedding_service(settings))
    fresh = target.with_name(f"{target.name}.part")
    try:
        statistics = await cache.statistics()  # which also brings all sides in step, before others are kept out
        if settings.cache_backend == "sqlite":
            await asyncio.to_thread(take_vectors, settings.sqlite_db_path, known)
        if start:
            start(sum(statistics.counts.values()))
        lock = store.write_lock()
        await asyncio.to_thread(lock.__enter__)
        try:
            with zipfile.ZipFile(private_file(fresh), "w", zipfile.ZIP_DEFLATED) as archive:
                archive.comment = b"0" * SEAL_BYTES
                await _fill(archive, cache, known, statistics.embedding, report, progress)
        finally:
            await asyncio.to_thread(lock.__exit__, None, None, None)
        await asyncio.to_thread(_seal, fresh, target)
    except OSError as error:
        raise ImportFileError(str(target), f"cannot be written: {error.strerror or error}") from error
    finally:
        fresh.unlink(missing_ok=True)
        known.close()
        await cache.close()
    report.seconds = time.monotonic() - began
    return report


async def _fill(
    archive: zipfile.ZipFile,
    cache: CacheProtocol,
    known: VectorCache,
    embedding: str | None,
    report: ArchiveReport,
    progress: Progress | None,
) -> None:
    checksums: dict[str, str] = {}
    model = _model(embedding)
    packed: dict[bytes, bytes] = {}
    for entity_type in COLLECTIONS:
        lines: list[bytes] = []
        async for batch in cache.iterate(entity_type, IMPORT_BATCH):
            lines += await asyncio.to_thread(lambda b=batch: [_line(entity) for entity in b])  # type: ignore[misc]
            packed |= await asyncio.to_thread(_vectors, known, model, batch)
            if progress:
                progress(len(batch))
        report.counts[entity_type] = len(lines)
        await asyncio.to_thread(_write, archive, f"{entity_type}.jsonl", b"".join(lines), checksums)
    packed = of_one_size(packed)
    report.vectors = len(packed)
    await asyncio.to_thread(_write, archive, VECTORS, write_packed(packed), checksums)
    manifest = {
        "format": FORMAT,
        "version": lorekeeper.__version__,
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "embedding": embedding,
        "fields": declarations(),
        "counts": report.counts,
        "vectors": report.vectors,
        "sha256": checksums,
    }
    archive.writestr(MANIFEST, json.dumps(manifest, indent=2))


def _line(entity: Entity) -> bytes:
    return json.dumps(entity.as_record(), ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _vectors(known: VectorCache, model: str, batch: list[Entity]) -> dict[bytes, bytes]:
    return known.packed(model, [p.embedded for entity in batch for p in passages(entity, hint=hint_text(entity))])


def _write(archive: zipfile.ZipFile, name: str, content: bytes, checksums: dict[str, str]) -> None:
    archive.writestr(name, content)
    checksums[name] = hashlib.sha256(content).hexdigest()


def _seal(fresh: Path, target: Path) -> None:
    """Put the checksum of the whole file at its end, sync it to the disk, and let it take its name."""
    with fresh.open("r+b") as file:
        seal = _sum(file)
        file.seek(-SEAL_BYTES, os.SEEK_END)
        file.write(seal)
        os.fsync(file.fileno())
    fresh.replace(target)


def _sum(file: IO[bytes]) -> bytes:
    """SHA-256 of a file without its last 64 bytes, in hexadecimal digits."""
    found, left = hashlib.sha256(), file.seek(0, os.SEEK_END) - SEAL_BYTES
    file.seek(0)
    while left > 0 and (part := file.read(min(_CHUNK, left))):
        found.update(part)
        left -= len(part)
    return found.hexdigest().encode()


def _check_target(target: Path) -> None:
    if target.is_dir() or not target.parent.is_dir():
        raise ImportFileError(str(target), "cannot be written: give the name of a file in a folder that exists")
    if target.exists() and not zipfile.is_zipfile(target):
        raise ImportFileError(str(target), "is there already, and no archive; give another name")


# --- restore ---------------------------------------------------------------------------------------------------------


class Archive:
    """An archive of ours, open, and checked from end to end: its seal, every checksum, every count, every entry. Blocking.

    It may be from anybody, so it is read as a stream: neither what it says of itself nor what it unpacks to can fill the
    memory. Use it as a context manager.

    Args:
        path: the file.

    Attributes:
        hashes: ``Entity.content_hash`` of its entries, by type and identity.
        vectors: how many it says that it holds.
        model: fingerprint of the model that they were made with, "" where it says none.

    Raises:
        ImportFileError: something is not as a backup writes it; the message says what, and where.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hashes: dict[str, dict[Identity, str]] = {}
        self._fields: dict[str, str] = {}
        self._opened = contextlib.ExitStack()
        with self._named():
            try:
                self._zip = self._open()
                manifest = self._manifest()
                self.model = _model(manifest.get("embedding"))
                self._fields = self._known_fields(manifest)
                self.vectors = int(manifest["vectors"])
                for entity_type, number in manifest["counts"].items():
                    self.hashes[entity_type] = self._checked(entity_type, manifest)
                    if len(self.hashes[entity_type]) != number:
                        raise ValueError("its entries are not as many as it says")
                with self._member(VECTORS, manifest["sha256"][VECTORS]) as member:
                    while member.read(_CHUNK):
                        pass
            except BaseException:
                self.close()
                raise

    def entities(self, entity_type: str, identities: Collection[Identity]) -> Iterator[list[Entity]]:
        """Those of its entries that have one of the identities, in batches to be stored in one go."""
        batch: list[Entity] = []
        size = 0
        with self._named(), self._member(f"{entity_type}.jsonl") as member:
            for entity, length in self._entities(entity_type, member):
                if entity.identity in identities:
                    if self.hashes[entity_type].get(entity.identity) != entity.content_hash:
                        raise ValueError("it was changed while it was read")
                    batch.append(entity)
                    size += length
                if len(batch) >= IMPORT_BATCH or size > _BATCH_BYTES:
                    yield batch
                    batch, size = [], 0
        if batch:
            yield batch

    def vector_rows(self) -> Iterator[list[tuple[bytes, bytes]]]:
        """Its vectors by key, packed as it holds them, in batches; those that cannot be read are left out, and computed."""
        with contextlib.suppress(ValueError), self._member(VECTORS) as member:
            yield from read_packed(member)

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def _open(self) -> zipfile.ZipFile:
        file = self._opened.enter_context(self.path.open("rb"))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - SEAL_BYTES))
        seal = file.read()
        if not zipfile.is_zipfile(file):
            raise ImportFileError(str(self.path), "is no archive of LoreKeeper, or damaged")
        if _sum(file) != seal:
            raise ImportFileError(
                str(self.path), "is damaged: its checksum does not fit; nothing was changed. Use another backup"
            )
        _require_few(file, size)
        archive = self._opened.enter_context(zipfile.ZipFile(file))
        members = archive.infolist()
        if len({m.filename for m in members}) < len(members):
            raise ValueError("several of its files have one name")
        if any(m.flag_bits & _ENCRYPTED or m.compress_type not in _METHODS for m in members):
            raise ValueError("its files are encrypted, or compressed in a way that no backup is")
        if (total := sum(m.file_size for m in members)) > max(_FREE_BYTES, _MAX_GROWTH * size):
            raise ValueError(f"it would unpack to {total:,} bytes, more than {_MAX_GROWTH} times its size")
        return archive

    def _manifest(self) -> dict[str, Any]:
        with self._zip.open(MANIFEST) as member:
            content = member.read(_MAX_MANIFEST_BYTES + 1)
        manifest = parse_json(content) if len(content) <= _MAX_MANIFEST_BYTES else None
        if not isinstance(manifest, dict):
            raise ValueError("its manifest is none")
        if manifest["format"] != FORMAT:
            raise ImportFileError(
                str(self.path), f"has format {manifest['format']}; this version of LoreKeeper reads {FORMAT}"[:200]
            )
        if unknown := manifest["counts"].keys() - COLLECTIONS.keys():
            names = ", ".join(sorted(unknown))[:200]
            raise ImportFileError(str(self.path), f"holds {names}, which this version of LoreKeeper does not know")
        return manifest

    def _known_fields(self, manifest: dict[str, Any]) -> dict[str, str]:
        """The declared fields of its entries; ImportFileError if a later version declared others than this one."""
        fields, version = parse_declarations(manifest.get("fields", FIRST_DECLARATIONS)), str(manifest["version"])
        if fields != declarations() and is_later(version):
            raise ImportFileError(
                str(self.path),
                f"was written by LoreKeeper {version[:MAX_SHOWN]}, with fields that this one does not know; update this program",
            )
        return fields

    def _checked(self, entity_type: str, manifest: dict[str, Any]) -> dict[Identity, str]:
        """The hashes of all entries of a type."""
        hashes: dict[Identity, str] = {}
        name = f"{entity_type}.jsonl"
        with self._member(name, manifest["sha256"][name]) as member:
            for number, (entity, _) in enumerate(self._entities(entity_type, member), 1):
                if entity.identity in hashes:
                    raise ImportFileError(f"{self.path}:{name}:{number}", "is there a second time; nothing was changed")
                hashes[entity.identity] = entity.content_hash
        return hashes

    def _entities(self, entity_type: str, member: IO[bytes]) -> Iterator[tuple[Entity, int]]:
        """Every entry of a file of JSON lines, checked, and the length of its line in bytes."""
        for number in itertools.count(1):
            line = member.readline(_MAX_LINE_BYTES + 1)
            if not line:
                return
            try:
                if len(line) > _MAX_LINE_BYTES:
                    raise FilterError(f"it has more than {_MAX_LINE_BYTES:,} bytes")
                yield current_entity(entity_type, parse_json(line), self._fields.get(entity_type, "")), len(line)
            except (FilterError, ValueError) as error:
                where = f"{self.path}:{entity_type}.jsonl:{number}"
                raise ImportFileError(where, f"{one_line(str(error), MAX_REASON)}; nothing was changed") from error

    @contextlib.contextmanager
    def _member(self, name: str, checksum: str | None = None) -> Iterator[IO[bytes]]:
        """A file of the archive as a stream; ValueError at its end where it does not have a checksum that is given."""
        with self._zip.open(name) as member:
            found = _Summed(member)
            yield io.BufferedReader(found, _CHUNK)
            if checksum is not None and found.sum.hexdigest() != checksum:
                raise ImportFileError(
                    str(self.path), f"is damaged: the checksum of {name} does not fit; nothing was changed"
                )

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except _UNREADABLE as error:
            reason = (
                f"is no archive of LoreKeeper, or damaged ({one_line(str(error), MAX_REASON)}); nothing was changed"
            )
            raise ImportFileError(str(self.path), reason) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Summed(io.RawIOBase):
    """A stream that adds up the SHA-256 of all that is read of another."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.sum = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(len(buffer))
        self.sum.update(content)
        buffer[: len(content)] = content
        return len(content)


def _model(embedding: object) -> str:
    """The model of a library's fingerprint, which ends with the chunker."""
    return str(embedding or "").rsplit(" ", 1)[0]


def _require_few(file: IO[bytes], size: int) -> None:
    """ValueError where a zip file lists more than an archive has: the list alone could fill the memory.

    Layout of its end: https://pkware.cachefly.net/webdocs/APPNOTE/APPNOTE-6.3.10.TXT, sections 4.3.15 and 4.3.16.
    """
    file.seek(max(0, size - SEAL_BYTES - _END.size - _LOCATOR_BYTES))
    tail = file.read(_LOCATOR_BYTES + _END.size)
    signature, _, _, _, members, length, _, comment = _END.unpack(tail[_LOCATOR_BYTES:])
    few = members <= _MAX_MEMBERS and length <= _MAX_LIST_BYTES and comment == SEAL_BYTES
    large = tail.startswith(_LOCATOR) and size < zipfile.ZIP64_LIMIT  # which puts other numbers in the place of these
    if signature != _END_SIGNATURE or not few or large:
        raise ValueError("it does not end as an archive does")


async def restore(
    settings: Settings, source: Path, start: Progress | None = None, progress: Progress | None = None
) -> ArchiveReport:
    """Make the library hold what an archive holds, while others use it.

    The whole archive is read and checked before anything is changed. Where entries of the library would be changed or
    removed, an archive of it is written beside it first. Entries are stored and then removed batch by batch, each of them
    being at any time as it was or as it is in the archive; a restore that was cut off is finished by running it again.

    Raises:
        ImportFileError: the archive is damaged, of another format, or none.
        CacheError: the library cannot be read or written.
    """
    began, report = time.monotonic(), ArchiveReport(str(source))
    archive = await asyncio.to_thread(Archive, source)
    try:
        report.counts = {entity_type: len(hashes) for entity_type, hashes in archive.hashes.items()}
        report.vectors = archive.vectors
        async with Library.from_settings(settings) as library:
            before = library.embedding.computed
            fresh, gone = await _differences(library.cache, archive, report)
            if any(gone.values()) or report.before:
                report.before = (await backup(settings, _unused(settings.library_path.parent))).archive
            if start:
                start(sum(map(len, fresh.values())))
            if any(fresh.values()):
                await _take_own_vectors(settings, library, archive, fresh)
            for entity_type, identities in fresh.items():
                batches = archive.entities(entity_type, identities)
                while batch := await asyncio.to_thread(next, batches, None):
                    report.stored += await library.cache.store_entities(batch, entity_type, progress)
            for entity_type, surplus in gone.items():
                report.removed += await library.cache.delete_entities(entity_type, surplus)
            report.embedded = library.embedding.computed - before
    finally:
        archive.close()
    report.seconds = time.monotonic() - began
    return report


async def _take_own_vectors(
    settings: Settings, library: Library, archive: Archive, fresh: Mapping[str, Collection[Identity]]
) -> None:
    """Take over those vectors of an archive that are of the texts of its own entries, and of the current model."""
    provider, known = await library.embedding.provider(), vector_cache(settings)
    if archive.model != provider.fingerprint:
        return

    def take() -> None:
        batches = (batch for t, identities in fresh.items() for batch in archive.entities(t, identities))
        keys = {key for batch in batches for key in passage_keys(archive.model, batch)}
        for rows in archive.vector_rows():
            known.add([row for row in rows if row[0] in keys], provider.dimension)

    await asyncio.to_thread(take)
    known.close()


def _unused(folder: Path) -> Path:
    """A name for the archive of what a restore replaces, that no file has yet."""
    name = time.strftime("before-restore-%Y-%m-%d-%H%M%S")
    suffixes = itertools.chain([""], (f"-{i}" for i in itertools.count(2)))
    return next(path for suffix in suffixes if not (path := folder / f"{name}{suffix}.zip").exists())


async def _differences(
    cache: CacheProtocol, archive: Archive, report: ArchiveReport
) -> tuple[dict[str, set[Identity]], dict[str, list[Identity]]]:
    """(what is to be stored, what is to be removed), by type; notes what is unchanged, and whether anything is replaced."""
    fresh: dict[str, set[Identity]] = {}
    gone: dict[str, list[Identity]] = {}
    for entity_type, hashes in archive.hashes.items():
        held = await cache.content_hashes(entity_type)
        fresh[entity_type] = {identity for identity, noted in hashes.items() if held.get(identity) != noted}
        gone[entity_type] = sorted(held.keys() - hashes.keys())
        report.unchanged += len(hashes) - len(fresh[entity_type])
        if fresh[entity_type] & held.keys():
            report.before = "needed"
    return fresh, gone
