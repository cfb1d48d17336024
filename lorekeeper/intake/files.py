"""Files and folders to entities: JSON, JSON lines, OrcBrew, also gzipped. The format is seen from the content.

Files are read as streams: while a batch of entities is stored, the rest is still on the disk. Only OrcBrew packs are read
whole.
"""

from __future__ import annotations

import asyncio
import stat
import threading
import zlib
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.intake.json_stream import UNDECODED, NotJsonError, Window, entries
from lorekeeper.intake.reports import ImportReport, by_suffix
from lorekeeper.intake.streams import Source, require_regular
from lorekeeper.normalize import UnknownShapeError, normalize
from lorekeeper.normalize.orcbrew import looks_like_orcbrew, packs

SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".orcbrew", ".orcbrew.gz")

ORCBREW = (".orcbrew", ".orcbrew.gz")

MARKDOWN = (".md", ".markdown")

FORMATS = "JSON, JSON lines and OrcBrew packs, each also gzipped"
"""What is read, for people."""

MAX_PACK_CHARS = 64 << 20
"""Longest OrcBrew file: what is read of it takes some twenty times as much memory."""

PACK_HEAD_CHARS = 10_000
"""How much of a text is looked at to see whether it is OrcBrew."""

MAX_FAILURES = 10_000
"""Entries of one file that may fail before the rest of it is given up."""

BATCH_ENTITIES = 128

BATCH_CHARS = 1 << 20
"""Text of which the entities of a batch are made, at most, but for a last entry."""


class Found(NamedTuple):
    """An entity, and where it was found: ``file:line``, ``file[index]`` or ``file``."""

    entity: Entity
    where: str


@dataclass(frozen=True)
class Batch:
    """Entities that were read together.

    Attributes:
        found: at most `BATCH_ENTITIES` of them, in the order of the files.
        size: bytes of regular files that were read for them.
        chars: characters that were read for them.
    """

    found: list[Found]
    size: int
    chars: int


class Reader:
    """Reads all entities in files, pipes and folders; what cannot be read goes to ``report.failed`` and is passed over.

    ``report.skipped`` counts, by file, what holds no lore (licences, publishers, ...), and ``report.oddities`` lists what was
    corrected. Of a folder the regular files named like data are read, hidden ones and those that begin with an underscore
    are not; a folder that has none is a failure, which says what there is instead.

    Args:
        paths: what to read.
        document: key of the document to file everything under; each entry's own by default.
        report: is filled in.

    Raises:
        ImportFileError: a path does not exist.
    """

    def __init__(self, paths: Sequence[Path], document: str | None, report: ImportReport) -> None:
        self._document, self._report = document, report
        self._stopped = threading.Event()
        self._bytes_before = self._chars_before = 0
        self._source: Source | None = None
        self._window: Window | None = None
        for path in paths:
            if not _exists(path):
                raise ImportFileError(str(path), "there is no such file or folder")
        self._files = [file for path in paths for file in (self._in_folder(path) if path.is_dir() else [path])]
        self.size = sum(map(_size, self._files))
        """Bytes of the regular files, as they are on the disk."""

    def read(self) -> Iterator[Found]:
        """All entities, in the order of the files. Blocking."""
        for file in self._files:
            yield from self._file(file)
            self._bytes_before += _size(file)
            self._chars_before += self._window.offset() if self._window else 0
            self._source = self._window = None

    async def batches(self) -> AsyncGenerator[Batch]:
        """The same batch by batch, each read in a thread when it is asked for; the last one may be empty."""
        batches = self._batches()
        try:
            while batch := await asyncio.to_thread(next, batches, None):
                yield batch
        finally:
            self._stopped.set()

    def _batches(self) -> Iterator[Batch]:
        found: list[Found] = []
        begun_bytes = begun_chars = 0
        for one in self.read():
            found.append(one)
            size, chars = self._passed()
            if len(found) >= BATCH_ENTITIES or chars - begun_chars > BATCH_CHARS:
                yield Batch(found, size - begun_bytes, chars - begun_chars)
                found, begun_bytes, begun_chars = [], size, chars
        size, chars = self._passed()
        yield Batch(found, size - begun_bytes, chars - begun_chars)

    def _passed(self) -> tuple[int, int]:
        """How many bytes on the disk, and how many characters, have been read."""
        size = self._bytes_before + (self._source.tell() if self._source else 0)
        return size, self._chars_before + (self._window.offset() if self._window else 0)

    def _in_folder(self, folder: Path) -> list[Path]:
        """The files of a folder that are read; others are counted or named in the report."""
        found: list[Path] = []
        others: Counter[str] = Counter()
        for file in sorted(folder.rglob("*")):
            hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
            if hidden or file.is_dir():
                continue
            try:
                require_regular(file.stat().st_mode)
            except OSError as error:
                self._report.oddities.append(ImportFileError(str(file), f"passed over: {error.strerror or error}"))
                continue
            if file.name.lower().endswith(SUFFIXES):
                found.append(file)
            else:
                others[file.suffix.lower()] += 1
        if found:
            self._report.passed_over.update(others)
        else:
            held = f"none of its files can be imported ({by_suffix(others)})" if others else "it holds no files"
            expected = _expected(markdown=not others.keys().isdisjoint(MARKDOWN))
            self._fail(str(folder), f"{held}; {expected}")
        return found

    def _file(self, file: Path) -> Iterator[Found]:
        try:
            with Source(file, self._stopped) as source:
                self._source, self._window = source, Window(source.text())
                head = self._window.head(PACK_HEAD_CHARS)
                orcbrew = file.name.lower().endswith(ORCBREW) or looks_like_orcbrew(head)
                yield from (self._packs if orcbrew else self._entries)(file, self._window)
        except (OSError, EOFError, zlib.error) as error:
            kept = "; what came before is imported" if self._window and self._window.offset() else ""
            self._fail(str(file), f"cannot be read: {error}{kept}")
        except ValueError as error:
            self._fail(str(file), str(error))

    def _entries(self, file: Path, window: Window) -> Iterator[Found]:
        """The entities of JSON."""
        failures = 0
        for where, value in entries(str(file), window):
            try:
                found = self._normalized(value, file)
            except ValueError as error:
                self._fail(where, self._reason(error, file, where))
                failures += 1
                if failures == MAX_FAILURES:
                    self._fail(
                        str(file), f"{MAX_FAILURES:,} of its entries cannot be read; the rest of it was not tried"
                    )
                    return
                continue
            if not found:
                self._report.skipped[file.name] = self._report.skipped.get(file.name, 0) + 1
            yield from (Found(entity, where) for entity in found)

    def _normalized(self, value: Any, file: Path) -> list[Entity]:
        if isinstance(value, ValueError):
            raise value
        if not isinstance(value, Mapping):
            raise UnknownShapeError(f"a JSON object is needed, not {type(value).__name__}")
        return normalize(value, hint=file.name, document=self._document)

    @staticmethod
    def _reason(error: ValueError, file: Path, where: str) -> str:
        markdown = _is_markdown(file)
        if isinstance(error, NotJsonError) or (markdown and where == str(file)):
            return f"its content is in no format that can be imported; {_expected(markdown=markdown)}"
        return str(error)

    def _packs(self, file: Path, window: Window) -> Iterator[Found]:
        """The entities of an OrcBrew file; its problems go to the report."""
        text = window.rest(MAX_PACK_CHARS + 1)
        if len(text) > MAX_PACK_CHARS:
            self._fail(str(file), f"it is longer than {MAX_PACK_CHARS >> 20} MB; split it")
            return
        if undecoded := UNDECODED.search(text):
            at, byte = undecoded.start(), ord(undecoded[0]) - 0xDC00
            place = f"{file}:{text.count(chr(10), 0, at) + 1}:{at - text.rfind(chr(10), 0, at)}"
            self._fail(place, f"not UTF-8: byte 0x{byte:02x}; save the file as UTF-8")
            return
        found = packs(text, file.name.removesuffix(".gz").rsplit(".", 1)[0], self._document)
        self._report.failed += [ImportFileError(f"{file}:{place}", reason) for place, reason in found.failed]
        self._report.oddities += [ImportFileError(f"{file}:{place}", reason) for place, reason in found.oddities]
        for content, number in found.skipped.items():
            name = f"{file.name}: {content}"
            self._report.skipped[name] = self._report.skipped.get(name, 0) + number
        yield from (Found(entity, str(file)) for entity in found.entities)

    def _fail(self, where: str, reason: str) -> None:
        self._report.failed.append(ImportFileError(where, reason))


def _expected(*, markdown: bool) -> str:
    return f"LoreKeeper reads {FORMATS}{'; Markdown notes are not read yet' if markdown else ''}"


def _is_markdown(file: Path) -> bool:
    return file.suffix.lower() in MARKDOWN


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _size(file: Path) -> int:
    try:
        found = file.stat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0
