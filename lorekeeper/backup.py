"""``lorekeeper backup`` and ``restore``: one portable archive of a whole library, the same for every backend.

The archive is a zip file: ``manifest.json``, one file of JSON lines for each type, and the vectors that are known. Its last
64 bytes are the SHA-256 of all that stands before them, so that no flipped bit goes unnoticed.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import itertools
import json
import os
import time
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import lorekeeper
from lorekeeper.cache.protocol import CacheProtocol, Progress
from lorekeeper.cache.threaded import ThreadedCache
from lorekeeper.cache.vectors import VectorCache, read_packed, write_packed
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.hints import hint_text
from lorekeeper.library import (
    IMPORT_BATCH,
    Library,
    embedding_service,
    open_store,
    store_in_batches,
    vector_cache,
)
from lorekeeper.migration import take_vectors
from lorekeeper.settings import Settings
from lorekeeper.system import private_file
from lorekeeper.text import passages

FORMAT = 1
"""Of the archive; kept in its manifest."""

MANIFEST, VECTORS = "manifest.json", "vectors"

SEAL_BYTES = 64
"""The SHA-256 of all before it, in hexadecimal digits: the zip file's comment."""

_CHUNK = 1 << 20


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
    model = (embedding or "").rsplit(" ", 1)[0]
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
    report.vectors = len(packed)
    await asyncio.to_thread(_write, archive, VECTORS, write_packed(packed), checksums)
    manifest = {
        "format": FORMAT,
        "version": lorekeeper.__version__,
        "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "embedding": embedding,
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
    seal = _sum(fresh)
    with fresh.open("r+b") as file:
        file.seek(-SEAL_BYTES, os.SEEK_END)
        file.write(seal)
        os.fsync(file.fileno())
    fresh.replace(target)


def _sum(path: Path) -> bytes:
    """SHA-256 of a file without its last 64 bytes, in hexadecimal digits."""
    found, left = hashlib.sha256(), path.stat().st_size - SEAL_BYTES
    with path.open("rb") as file:
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


@dataclass(frozen=True)
class Archive:
    """What an archive holds, all of it checked."""

    entities: Mapping[str, list[Entity]]
    vectors: Mapping[bytes, bytes]


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
    archive = await asyncio.to_thread(read_archive, source)
    report.counts = {entity_type: len(entities) for entity_type, entities in archive.entities.items()}
    report.vectors = len(archive.vectors)
    known = vector_cache(settings)
    await asyncio.to_thread(known.add, list(archive.vectors.items()))
    async with Library.from_settings(settings) as library:
        before = library.embedding.computed
        fresh, gone = await _differences(library.cache, archive, report)
        if any(gone.values()) or report.before:
            report.before = (await backup(settings, _unused(settings.library_path.parent))).archive
        if start:
            start(sum(map(len, fresh.values())))
        report.stored = await store_in_batches(library.cache, fresh, progress)
        for entity_type, identities in gone.items():
            report.removed += await library.cache.delete_entities(entity_type, identities)
        report.embedded = library.embedding.computed - before
    known.close()
    report.seconds = time.monotonic() - began
    return report


def _unused(folder: Path) -> Path:
    """A name for the archive of what a restore replaces, that no file has yet."""
    name = time.strftime("before-restore-%Y-%m-%d-%H%M%S")
    suffixes = itertools.chain([""], (f"-{i}" for i in itertools.count(2)))
    return next(path for suffix in suffixes if not (path := folder / f"{name}{suffix}.zip").exists())


async def _differences(
    cache: CacheProtocol, archive: Archive, report: ArchiveReport
) -> tuple[dict[str, list[Entity]], dict[str, list[tuple[str, str]]]]:
    """(what is to be stored, what is to be removed), by type; notes what is unchanged, and whether anything is replaced."""
    fresh: dict[str, list[Entity]] = {}
    gone: dict[str, list[tuple[str, str]]] = {}
    for entity_type, entities in archive.entities.items():
        held = await cache.content_hashes(entity_type)
        fresh[entity_type] = [e for e in entities if held.get(e.identity) != e.content_hash]
        gone[entity_type] = sorted(held.keys() - {e.identity for e in entities})
        report.unchanged += len(entities) - len(fresh[entity_type])
        if any(e.identity in held for e in fresh[entity_type]):
            report.before = "needed"
    return fresh, gone


def read_archive(path: Path) -> Archive:
    """Everything in an archive, checked: the seal, every checksum, every count, every entry. Blocking.

    Raises:
        ImportFileError: something is not as it was written; the message says what.
    """
    try:
        with path.open("rb") as file:
            file.seek(-SEAL_BYTES, os.SEEK_END)
            seal = file.read()
        if not zipfile.is_zipfile(path):
            raise ImportFileError(str(path), "is no archive of LoreKeeper, or damaged")
        if _sum(path) != seal:
            raise ImportFileError(
                str(path), "is damaged: its checksum does not fit; nothing was changed. Use another backup"
            )
        with zipfile.ZipFile(path) as archive:
            return _checked(archive, path)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        raise ImportFileError(
            str(path), f"is no archive of LoreKeeper, or damaged ({error}); nothing was changed"
        ) from error


def _checked(archive: zipfile.ZipFile, path: Path) -> Archive:
    manifest = json.loads(archive.read(MANIFEST))
    if manifest["format"] != FORMAT:
        raise ImportFileError(str(path), f"has format {manifest['format']}; this version of LoreKeeper reads {FORMAT}")
    contents = {name: archive.read(name) for name in manifest["sha256"]}
    for name, content in contents.items():
        if hashlib.sha256(content).hexdigest() != manifest["sha256"][name]:
            raise ImportFileError(str(path), f"is damaged: the checksum of {name} does not fit; nothing was changed")
    unknown = manifest["counts"].keys() - COLLECTIONS.keys()
    if unknown:
        raise ImportFileError(
            str(path), f"holds {', '.join(sorted(unknown))}, which this version of LoreKeeper does not know"
        )
    entities = {t: list(_entities(t, contents[f"{t}.jsonl"])) for t in manifest["counts"]}
    if {t: len(found) for t, found in entities.items()} != manifest["counts"]:
        raise ImportFileError(str(path), "is damaged: its entries are not as many as it says; nothing was changed")
    return Archive(entities, read_packed(contents[VECTORS]))


def _entities(entity_type: str, content: bytes) -> Iterator[Entity]:
    for line in io.BytesIO(content):
        yield Entity.from_record(entity_type, json.loads(line))
