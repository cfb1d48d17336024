"""Reads entities from files, pipes and folders in batches: while one is stored, the rest stays on the disk."""

from __future__ import annotations

import asyncio
import stat
import threading
import time
import zlib
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError, ImportFileError
from lorekeeper.intake.audiences import Audiences
from lorekeeper.intake.fences import unfenced
from lorekeeper.intake.formats import HEAD_CHARS, SUFFIXES, format_of, markdown, supported
from lorekeeper.intake.formats.foundry import UNPACKED, how_to_unpack, is_database
from lorekeeper.intake.formats.text_file import (
    MARKDOWN,
    Entry,
    Found,
    ImportedFiles,
    TextFile,
    UnknownFormatError,
)
from lorekeeper.intake.formats.text_file import (
    Asked as Asked,
)
from lorekeeper.intake.import_cache import Remembered
from lorekeeper.intake.json_stream import Window
from lorekeeper.intake.reports import ImportReport, by_suffix
from lorekeeper.intake.streams import Source, StoppedError
from lorekeeper.normalize import unsupported_formats
from lorekeeper.normalize.build import reason_of
from lorekeeper.normalize.own import SOURCE as OWN
from lorekeeper.normalize.taken import says_nothing
from lorekeeper.printable import shown
from lorekeeper.regular_files import files_below, require_regular
from lorekeeper.system import TURNS
from lorekeeper.text.printed_on import PDF
from lorekeeper.text.sections import full_text

BATCH_ENTITIES = 128

BATCH_CHARS = 1 << 20
"""Most characters read for a batch, not counting its last entity."""


OPEN5E = "open5e"
"""How the sources of Open5e's objects begin, which are stored as they are."""

NEVER_HOLLOW = frozenset({"documents", "notes"})
"""Types whose entries may have nothing but a name."""


@dataclass(frozen=True)
class Batch:
    """Entities that were read together.

    Attributes:
        entries: at most `BATCH_ENTITIES` of them, in the order of the files.
        size: bytes of regular files that were read for them.
        chars: characters that were read for them.
    """

    entries: list[Found]
    size: int
    chars: int


class Reader:
    """Reads all entities in files, pipes and folders; the format of each file is recognised from its content.

    What cannot be read is skipped and reported in ``report.failed``, what was fixed in ``report.warnings``;
    ``report.skipped`` counts, by file, entries without lore (licences, publishers, ...). In a folder, the regular files with
    the suffix of a supported format are read, except hidden ones and those that begin with an underscore; a folder without any
    is a failure.

    Args:
        paths: what to read.
        document: key of the document to assign all entries to; each entry's own by default.
        report: is filled in.
        remembered: what objects have given in earlier imports; what the library has is then recalled in the batches.
        audiences: decides who may see each entry; by default only what it says itself.
        known: the entry that the library has of a type, with a name, in a document; it is called while a batch is read.
        asked: what the import says of its books.

    Raises:
        ImportFileError: a path does not exist.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        document: str | None,
        report: ImportReport,
        remembered: Remembered | None = None,
        audiences: Audiences | None = None,
        known: Callable[[str, str, str], Entity | None] | None = None,
        asked: Asked | None = None,
    ) -> None:
        self._asked = asked or Asked()
        self._document, self._report, self._remembered = document, report, remembered or Remembered()
        self._audiences = audiences or Audiences()
        self._stopped = threading.Event()
        self._bytes_before = self._chars_before = 0
        self._source: Source | None = None
        self._window: Window | None = None
        for path in paths:
            if not _exists(path):
                raise ImportFileError(str(path), "there is no such file or folder")
        self._files = [file for path in paths for file in (self._in_folder(path) if path.is_dir() else [path])]
        self._all_files = ImportedFiles([path for path in self._files if path.is_file()], known)
        self.size = sum(map(_size, self._files))
        """Bytes of the regular files, as they are on the disk."""

    def read(self) -> Iterator[Entry]:
        """All entities, in the order of the files. Blocking."""
        return (Entry(found.entity, found.where) for found in self._found())

    def _found(self) -> Iterator[Found]:
        for path in self._files:
            for found in self._file(path):
                time.sleep(TURNS.left)
                yield found
            self._bytes_before += _size(path)
            self._chars_before += self._window.offset() if self._window else 0
            self._source = self._window = None

    async def batches(self) -> AsyncGenerator[Batch]:
        """All entities in batches, each read in a thread when it is asked for; the last one may be empty."""
        batches = self._batches()
        try:
            while batch := await asyncio.to_thread(next, batches, None):
                yield batch
        finally:
            self._stopped.set()

    def _batches(self) -> Iterator[Batch]:
        batch: list[Found] = []
        first_byte = first_char = 0
        for entry in self._found():
            batch.append(entry)
            chars = self._chars()
            if len(batch) >= BATCH_ENTITIES or chars - first_char > BATCH_CHARS:
                size = self._bytes()
                yield Batch(batch, size - first_byte, chars - first_char)
                batch, first_byte, first_char = [], size, chars
        yield Batch(batch, self._bytes() - first_byte, self._chars() - first_char)

    def _bytes(self) -> int:
        """Bytes on the disk read so far; a call into the operating system, too slow for every entry."""
        return self._bytes_before + (self._source.tell() if self._source else 0)

    def _chars(self) -> int:
        """Characters read so far."""
        return self._chars_before + (self._window.offset() if self._window else 0)

    def _file(self, path: Path) -> Iterator[Found]:
        try:
            with Source(path, self._stopped) as source:
                self._source, self._window = source, Window(source.text())
                head, is_markdown = self._window.peek(HEAD_CHARS), path.suffix.lower() in MARKDOWN
                blocks, around = unfenced(self._window, head, is_markdown=is_markdown)
                if around:
                    reason = f"the text around its code block was left out: {shown(around, 60)}"
                    self._report.warnings.append(ImportFileError(str(path), reason))
                for self._window in blocks:
                    yield from self._text(path, self._window)
        except UnknownFormatError as error:
            if known := unsupported_formats.of_suffix(path.suffix):
                self._fail(path, f"this is {known.reason}")
                return
            is_text = path.name.lower().endswith(markdown.SUFFIXES)
            reason = str(error) if is_text else "it is neither JSON nor of another format that is read"
            self._fail(path, f"{reason}; {supported(markdown=path.suffix.lower() in MARKDOWN)}")
        except (OSError, EOFError, zlib.error) as error:
            imported = "; everything before it was imported" if self._window and self._window.offset() else ""
            self._fail(path, f"cannot be read: {error}{imported}")
        except ValueError as error:
            self._fail(path, str(error))
        except (StoppedError, CacheError, MemoryError):
            raise
        except Exception as error:  # a file's error is its own: the others are read
            self._fail(path, reason_of(error))

    def _text(self, path: Path, window: Window) -> Iterator[Found]:
        file_format = format_of(path, window.peek(HEAD_CHARS))
        file = TextFile(
            path, window, self._document, self._report, self._remembered, self._audiences, self._all_files, self._asked
        )
        for found in file_format.read(file):
            if isinstance(found, Entry) and is_hollow(found.entity):
                file.skip(f"{found.entity.kind} with nothing but a name")
            else:
                yield found

    def _in_folder(self, folder: Path) -> list[Path]:
        """The files of a folder that are to be read; the others are counted in the report."""
        files: list[Path] = []
        texts: list[Path] = []
        others: Counter[str] = Counter()
        packs = [folder] if is_database(folder) else []
        for path in self._walk(folder, packs, others):
            try:
                require_regular(path.stat().st_mode)
            except OSError as error:
                self._report.warnings.append(ImportFileError(str(path), f"skipped: {error.strerror or error}"))
                continue
            if path.name.lower().endswith(markdown.SUFFIXES):
                texts.append(path)
            elif path.name.lower().endswith(SUFFIXES):
                files.append(path)
            else:
                others[path.suffix.lower()] += 1
        chapters = dict.fromkeys(filter(markdown.is_chapter, texts) if markdown.is_book(texts) else ())
        others.update(path.suffix.lower() for path in texts if path not in chapters)
        files += chapters
        for pack in packs:
            self._fail(pack, how_to_unpack(pack))
        if files:
            self._report.other_files.update(others)
        elif not packs:
            content = f"none of its files can be imported ({by_suffix(others)})" if others else "it has no files"
            self._fail(folder, f"{content}; {supported(markdown=not others.keys().isdisjoint(MARKDOWN))}")
        return files

    def _walk(self, folder: Path, packs: list[Path], others: Counter[str]) -> Iterator[Path]:
        """The files of a folder and those in it; databases are added to ``packs``, and what is a program's own to ``others``."""
        for path in files_below(folder, self._unreadable, _is_passed):
            is_folder = path.is_dir()
            if unsupported_formats.of_programs(path.name, is_folder=is_folder):
                others[f"{path.name}/" if is_folder else path.name] += 1
            elif reason := unsupported_formats.of_placeholder(path.name):
                self._fail(path, reason)
            elif not _is_hidden(path) and path.parent not in packs:
                if is_folder and is_database(path):
                    packs.append(path)
                elif not is_folder:
                    yield path

    def _unreadable(self, path: Path, error: OSError) -> None:
        self._fail(path, f"cannot be read: {error.strerror or error}")

    def _fail(self, path: Path, reason: str) -> None:
        self._report.failed.append(ImportFileError(str(path), reason))


def _is_hidden(path: Path) -> bool:
    return path.name.startswith((".", "_")) and path.name.lower() not in UNPACKED


def _is_passed(folder: Path) -> bool:
    """Whether a folder is hidden, or a program keeps it for itself."""
    return _is_hidden(folder) or unsupported_formats.of_programs(folder.name, is_folder=True)


def is_hollow(entity: Entity) -> bool:
    """Whether an entry of another program's file has nothing but its name and where it is from; a spell needs its level.

    Such files have stubs that complete an entry of another file, and would replace it.
    """
    if entity.type in NEVER_HOLLOW or entity.source_api in (OWN, PDF) or entity.source_api.startswith(OPEN5E):
        return False
    if entity.type == "spells":
        return entity.fields.get("level") is None and not full_text(entity).strip()
    return says_nothing(entity.data)


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _size(path: Path) -> int:
    try:
        status = path.stat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
