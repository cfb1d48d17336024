"""The format of backups: one portable archive of a whole library, the same for every backend.

It is a zip file: ``manifest.json``, one file of JSON lines for each type, and the cached vectors. Its last 64 bytes
are the SHA-256 of everything before them, so that every flipped bit is detected.
"""

from __future__ import annotations

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
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from lorekeeper.audience import DM
from lorekeeper.cache.formats import declarations, is_later, parse_declarations
from lorekeeper.cache.protocol import Identity
from lorekeeper.cache.vectors import KEY_BYTES
from lorekeeper.entities import AUDIENCE, COLLECTIONS, MAX_RECORD_BYTES, VAULT, Entity, parse_json
from lorekeeper.errors import FilterError, ImportFileError
from lorekeeper.intake.changes import IMPORT_BATCH
from lorekeeper.maintenance.earlier import current_entity
from lorekeeper.notes.marks import RULES
from lorekeeper.printable import MAX_REASON, MAX_SHOWN, one_line
from lorekeeper.regular_files import open_regular
from lorekeeper.system import Closing, private_file
from lorekeeper.version import VERSION

FORMAT = 1
"""Of the archive; kept in its manifest, as are the declared fields of its entries, which may differ from the current ones."""

TOO_OLD = f"has a format (layout {FORMAT}) of a development version of LoreKeeper, which this version no longer reads"

MANIFEST, VECTORS = "manifest.json", "vectors"

SEAL_BYTES = 64
"""The SHA-256 of everything before it, in hexadecimal digits: the zip file's comment."""

_CHUNK = 1 << 20
_BATCH_BYTES = 8 << 20
_MAX_LINE_BYTES = 2 * MAX_RECORD_BYTES
_MAX_MANIFEST_BYTES = 1 << 20
_MAX_VECTOR_BYTES, _SIZES_BYTES = 1 << 16, 64

_FREE_BYTES = 64 << 20
_MAX_GROWTH = 50
"""What any archive may unpack to, and how many times its size a larger one may: JSON lines of real books compress to a
fifth, vectors hardly at all."""

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
    RuntimeError,  # includes NotImplementedError and RecursionError
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
"""What Python's readers raise on damaged or malicious files."""


class ArchiveWriter(Closing):
    """An archive that is being written, under another name until it is finished. Blocking; use it as a context manager.

    Args:
        target: its path.

    Raises:
        ImportFileError: it cannot be written, or another file has its name.
    """

    def __init__(self, target: Path) -> None:
        if target.is_dir() or not target.parent.is_dir():
            raise ImportFileError(str(target), "cannot be written: name a file in an existing folder")
        if target.exists() and not zipfile.is_zipfile(target):
            raise ImportFileError(str(target), "already exists and is not an archive; choose another name")
        self._target, self._part = target, target.with_name(f"{target.name}.part")
        self._checksums: dict[str, str] = {}
        with self._explained():
            self._zip = zipfile.ZipFile(private_file(self._part), "w", zipfile.ZIP_DEFLATED)
        self._zip.comment = b"0" * SEAL_BYTES

    def add(self, name: str, content: bytes) -> None:
        """Add one file."""
        with self._explained():
            self._zip.writestr(name, content)
        self._checksums[name] = hashlib.sha256(content).hexdigest()

    def finish(self, *, embedding: str | None, counts: Mapping[str, int], vectors: int) -> None:
        """Add the manifest, seal the archive, and give it its name.

        Args:
            embedding: fingerprint that the library's vectors were made with.
            counts: entries in the archive, by type.
            vectors: vectors in the archive.
        """
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "made": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "embedding": embedding,
            "marks": RULES,
            "fields": declarations(),
            "counts": dict(counts),
            "vectors": vectors,
            "sha256": self._checksums,
        }
        with self._explained():
            self._zip.writestr(MANIFEST, json.dumps(manifest, indent=2))
            self._zip.close()
            seal(self._part)
            self._part.replace(self._target)

    def close(self) -> None:
        """Close it; an unfinished archive is removed."""
        with contextlib.suppress(OSError):
            self._zip.close()
        with contextlib.suppress(OSError):
            self._part.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise ImportFileError(str(self._target), f"cannot be written: {error.strerror or error}") from error


def seal(path: Path) -> None:
    """Put the checksum of a whole archive at its end, and sync it to the disk."""
    with path.open("r+b") as file:
        checksum = _checksum(file)
        file.seek(-SEAL_BYTES, os.SEEK_END)
        file.write(checksum)
        os.fsync(file.fileno())


def entity_line(entity: Entity) -> bytes:
    """An entity as a line of an archive's file of its type."""
    return json.dumps(entity.as_record(), ensure_ascii=False, allow_nan=False).encode() + b"\n"


class Archive(Closing):
    """An archive, open, and checked from end to end: its seal, every checksum, every count, every entry. Blocking.

    It is not trusted, so it is read as a stream: neither its manifest nor what it unpacks to can exhaust the memory. Use
    it as a context manager.

    Args:
        path: the file.

    Attributes:
        hashes: ``Entity.content_hash`` of its entries, by type and identity.
        vectors: number of vectors in its manifest.
        model: fingerprint of the model that they were made with, "" if the manifest has none.

    Raises:
        ImportFileError: something differs from what a backup writes; the message says what and where.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.hashes: dict[str, dict[Identity, str]] = {}
        self._fields: dict[str, str] = {}
        self._opened = contextlib.ExitStack()
        with self._explained():
            try:
                self._zip = self._open()
                manifest = self._manifest()
                self.model = model_of(manifest.get("embedding"))
                self._is_read_otherwise = manifest.get("marks") != RULES
                self._fields = self._declared_fields(manifest)
                self.vectors = int(manifest["vectors"])
                for entity_type, number in manifest["counts"].items():
                    self.hashes[entity_type] = self._checked(entity_type, manifest)
                    if len(self.hashes[entity_type]) != number:
                        raise ValueError("the number of its entries differs from its manifest")
                with self._member(VECTORS, manifest["sha256"][VECTORS]) as member:
                    while member.read(_CHUNK):
                        pass
            except BaseException:
                self.close()
                raise

    def entities(self, entity_type: str, identities: Collection[Identity]) -> Iterator[list[Entity]]:
        """Its entries with one of the identities, in batches to be stored together.

        Those of vaults that other rules of marks have read are the game master's alone, until their notes are read again.
        """
        batch: list[Entity] = []
        size = 0
        with self._explained(), self._member(f"{entity_type}.jsonl") as member:
            for entity, length in self._entities(entity_type, member):
                if entity.identity in identities:
                    if self.hashes[entity_type].get(entity.identity) != entity.content_hash:
                        raise ValueError("it was changed while it was being read")
                    is_closed = self._is_read_otherwise and entity.source_api == VAULT
                    batch.append(_closed(entity) if is_closed else entity)
                    size += length
                if len(batch) >= IMPORT_BATCH or size > _BATCH_BYTES:
                    yield batch
                    batch, size = [], 0
        if batch:
            yield batch

    def vector_rows(self) -> Iterator[list[tuple[bytes, bytes]]]:
        """Its vectors by key, packed, in batches; those that cannot be read are left out, and computed again."""
        with contextlib.suppress(ValueError), self._member(VECTORS) as member:
            yield from read_packed(member)

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def _open(self) -> zipfile.ZipFile:
        file = self._opened.enter_context(open_regular(self.path))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - SEAL_BYTES))
        checksum = file.read()
        if not zipfile.is_zipfile(file):
            raise ImportFileError(str(self.path), "is not a LoreKeeper archive, or is damaged; use another backup")
        if _checksum(file) != checksum:
            raise ImportFileError(
                str(self.path), "is damaged: its checksum does not match; nothing was changed. Use another backup"
            )
        _require_few(file, size)
        archive = self._opened.enter_context(zipfile.ZipFile(file))
        members = archive.infolist()
        if len({m.filename for m in members}) < len(members):
            raise ValueError("two of its files have the same name")
        if any(m.flag_bits & _ENCRYPTED or m.compress_type not in _METHODS for m in members):
            raise ValueError("its files are encrypted, or compressed by an unsupported method")
        if (total := sum(m.file_size for m in members)) > max(_FREE_BYTES, _MAX_GROWTH * size):
            raise ValueError(f"it would unpack to {total:,} bytes, more than {_MAX_GROWTH} times its own size")
        return archive

    def _manifest(self) -> dict[str, Any]:
        with self._zip.open(MANIFEST) as member:
            content = member.read(_MAX_MANIFEST_BYTES + 1)
        manifest = parse_json(content) if len(content) <= _MAX_MANIFEST_BYTES else None
        if not isinstance(manifest, dict):
            raise ValueError(f"its manifest is not a JSON object of at most {_MAX_MANIFEST_BYTES:,} bytes")
        if manifest["format"] != FORMAT:
            raise ImportFileError(
                str(self.path),
                f"has format {manifest['format']}; this version of LoreKeeper reads {FORMAT}"[:MAX_SHOWN],
            )
        if unknown := manifest["counts"].keys() - COLLECTIONS.keys():
            names = ", ".join(sorted(unknown))[:MAX_SHOWN]
            raise ImportFileError(str(self.path), f"holds {names}, which this version of LoreKeeper cannot read")
        return manifest

    def _declared_fields(self, manifest: dict[str, Any]) -> dict[str, str]:
        """The declared fields of its entries; ImportFileError if a later version declared other fields."""
        if "fields" not in manifest:
            reason = (
                "Restore it with the last release that reads it, and back it up with that, or import your files again"
            )
            raise ImportFileError(str(self.path), f"{TOO_OLD}. {reason}")
        fields, version = parse_declarations(manifest["fields"]), str(manifest.get("version", "0"))
        if fields != declarations() and is_later(version):
            raise ImportFileError(
                str(self.path),
                f"was written by LoreKeeper {version[:MAX_SHOWN]}, with fields that this version does not have; update LoreKeeper",
            )
        return fields

    def _checked(self, entity_type: str, manifest: dict[str, Any]) -> dict[Identity, str]:
        """The hashes of all entries of a type."""
        hashes: dict[Identity, str] = {}
        name = f"{entity_type}.jsonl"
        with self._member(name, manifest["sha256"][name]) as member:
            for number, (entity, _) in enumerate(self._entities(entity_type, member), 1):
                if entity.identity in hashes:
                    raise ImportFileError(
                        f"{self.path}:{name}:{number}", "is a duplicate of an earlier entry; nothing was changed"
                    )
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
        """A file of the archive as a stream; ImportFileError at its end if it does not have the given checksum."""
        with self._zip.open(name) as member:
            stream = _Hashing(member)
            yield io.BufferedReader(stream, _CHUNK)
            if checksum is not None and stream.sha256.hexdigest() != checksum:
                raise ImportFileError(
                    str(self.path), f"is damaged: the checksum of {name} does not match; nothing was changed"
                )

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            raise ImportFileError(str(self.path), "does not exist; nothing was changed") from error
        except _UNREADABLE as error:
            reason = (
                f"is not a LoreKeeper archive, or is damaged ({one_line(str(error), MAX_REASON)}); nothing was changed"
            )
            raise ImportFileError(str(self.path), reason) from error


class _Hashing(io.RawIOBase):
    """A stream that computes the SHA-256 of everything that is read from another."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.sha256 = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(len(buffer))
        self.sha256.update(content)
        buffer[: len(content)] = content
        return len(content)


def _checksum(file: IO[bytes]) -> bytes:
    """SHA-256 of a file without its last 64 bytes, in hexadecimal digits."""
    digest, remaining = hashlib.sha256(), file.seek(0, os.SEEK_END) - SEAL_BYTES
    file.seek(0)
    while remaining > 0 and (part := file.read(min(_CHUNK, remaining))):
        digest.update(part)
        remaining -= len(part)
    return digest.hexdigest().encode()


def of_one_size(packed: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    """The vectors of `pack_vector` that have the most frequent dimension."""
    sizes = Counter(map(len, packed.values())).most_common(1)
    return {key: blob for key, blob in packed.items() if len(blob) == sizes[0][0]}


def write_packed(packed: Mapping[bytes, bytes]) -> bytes:
    """Vectors of `pack_vector`, all of one size, and their keys as one portable block.

    A first line gives both lengths; keys and vectors follow in turn.
    """
    rows = sorted(packed.items())
    sizes = [len(part) for part in rows[0]] if rows else [0, 0]
    return json.dumps(sizes).encode() + b"\n" + b"".join(key + vector for key, vector in rows)


def read_packed(block: IO[bytes]) -> Iterator[list[tuple[bytes, bytes]]]:
    """The vectors of `write_packed` in batches of about a megabyte; ValueError if the block is invalid or truncated."""
    sizes = json.loads(block.readline(_SIZES_BYTES))
    if sizes == [0, 0] and not block.read(1):
        return
    if not (isinstance(sizes, list) and len(sizes) == 2 and sizes[0] == KEY_BYTES and isinstance(sizes[1], int)):
        raise ValueError("it does not hold vectors")
    if not 0 < sizes[1] <= _MAX_VECTOR_BYTES:
        raise ValueError(f"it holds vectors of {sizes[1]} bytes")
    size = KEY_BYTES + sizes[1]
    while rows := block.read(size * max(1, _CHUNK // size)):
        if len(rows) % size:
            raise ValueError("its vectors are truncated")
        yield [(rows[i : i + KEY_BYTES], rows[i + KEY_BYTES : i + size]) for i in range(0, len(rows), size)]


def _closed(entity: Entity) -> Entity:
    """An entry of a vault as the game master's alone, whatever its parts say."""
    fields = {**entity.fields, AUDIENCE: (DM,)}
    return replace(entity, data={**entity.data, AUDIENCE: DM}, fields=fields)


def model_of(embedding: object) -> str:
    """The model's fingerprint within that of model and chunker; "" for None."""
    return str(embedding or "").rsplit(" ", 1)[0]


def _require_few(file: IO[bytes], size: int) -> None:
    """ValueError if a zip file lists more than an archive has: the list alone could exhaust the memory.

    Layout of its end: https://pkware.cachefly.net/webdocs/APPNOTE/APPNOTE-6.3.10.TXT, sections 4.3.15 and 4.3.16.
    """
    file.seek(max(0, size - SEAL_BYTES - _END.size - _LOCATOR_BYTES))
    tail = file.read(_LOCATOR_BYTES + _END.size)
    signature, _, _, _, members, length, _, comment = _END.unpack(tail[_LOCATOR_BYTES:])
    few = members <= _MAX_MEMBERS and length <= _MAX_LIST_BYTES and comment == SEAL_BYTES
    large = tail.startswith(_LOCATOR) and size < zipfile.ZIP64_LIMIT  # which would replace these numbers
    if signature != _END_SIGNATURE or not few or large:
        raise ValueError("its zip directory is not that of an archive")
