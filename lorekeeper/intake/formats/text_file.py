"""A text file that is being imported: the input of every format's reader."""

from __future__ import annotations

import hashlib
import os
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.intake.audiences import Audiences
from lorekeeper.intake.import_cache import Digest, Remembered
from lorekeeper.intake.json_stream import UNDECODED, Window
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.streams import Source, not_utf8
from lorekeeper.normalize.build import Imported, slugify
from lorekeeper.normalize.taken import Text

MARKDOWN = (".md", ".markdown")
"""Suffixes of Markdown."""

HEAD_CHARS = 10_000
"""Characters of a text from which its format is recognised."""

Recognises = Callable[[str, str], bool]
"""Whether a file is of a format, by its name without ".gz", and by the first `HEAD_CHARS` of its text."""


T = TypeVar("T")


class Entry(NamedTuple):
    """An entity, and where it was found: ``file:line``, ``file[index]`` or ``file``."""

    entity: Entity
    where: str

    @property
    def digest(self) -> Digest:
        """Of the entity."""
        return Digest.of(self.entity)


@dataclass(frozen=True)
class Recalled:
    """An entity that the library has, and that was not made again.

    Attributes:
        digest: of the entity.
        where: as in `Entry`.
        made: makes the entity.
    """

    digest: Digest
    where: str
    made: Callable[[], Entity]

    @property
    def entity(self) -> Entity:
        """The entity itself."""
        return self.made()


@dataclass(frozen=True)
class Embedded:
    """An entity whose vectors came with it.

    Attributes:
        entity: the entity.
        where: as in `Entry`.
        vectors: as they were written, unchecked.
    """

    entity: Entity
    where: str
    vectors: object

    @property
    def digest(self) -> Digest:
        """Of the entity."""
        return Digest.of(self.entity)


Found = Entry | Recalled | Embedded
"""What is read from a file: a reader that remembers nothing gives entries only."""


class UnknownFormatError(ValueError):
    """The content of a file has no supported format."""


class ImportedFiles:
    """The regular files of an import, and what has been made of all of them together.

    Args:
        paths: of the files.
        known: the entry that the library has of a type, with a name, in a document; blocking.
    """

    def __init__(
        self, paths: Sequence[Path] = (), known: Callable[[str, str, str], Entity | None] | None = None
    ) -> None:
        self._paths, self.known = tuple(paths), known
        self._made: dict[object, Any] = {}

    @property
    def alone(self) -> bool:
        """Whether it is one file."""
        return len(self._paths) < 2

    @property
    def folder(self) -> Path:
        """The folder that all of them are in."""
        return Path(os.path.commonpath([path.absolute().parent for path in self._paths]))

    def folder_of_namesake(self, path: Path) -> str:
        """The folder that tells a file from an earlier one of its name with other content, "" if there is none.

        Collections have a book in several versions, in a folder each; their entries are of documents of their own.
        """
        return self.once(_folders_of_namesakes).get(path, "")

    def once(self, make: Callable[[Sequence[Path]], T]) -> T:
        """What a function makes of the files; it is called at most once in an import."""
        if make not in self._made:
            self._made[make] = make(self._paths)
        found: T = self._made[make]
        return found


def each_of(paths: Iterable[Path], recognises: Recognises, take: Callable[[Path, Window], None]) -> None:
    """Let a function take the files of an import that are of a format.

    One that cannot be read is passed over: it is read again by itself, which says what is wrong.
    """
    for path in paths:
        with suppress(OSError, EOFError, ValueError, zlib.error), Source(path, threading.Event()) as source:
            window = Window(source.text())
            if recognises(path.name.lower().removesuffix(".gz"), window.peek(HEAD_CHARS)):
                take(path, window)


def _folders_of_namesakes(paths: Sequence[Path]) -> dict[Path, str]:
    """By file, the deepest of its folders that no earlier file of its name is in, if their contents differ."""
    names: dict[str, list[Path]] = {}
    for path in paths:
        names.setdefault(path.name.casefold(), []).append(path)
    found: dict[Path, str] = {}
    for namesakes in names.values():
        if len(namesakes) == 1:
            continue
        contents: dict[bytes, str] = {}
        folders: set[str] = set()
        for path in dict.fromkeys(namesakes):
            own = [part for part in path.absolute().parent.parts if part not in folders]
            content = _digest(path)
            if content not in contents:
                contents[content] = (own or [path.absolute().parent.name])[-1] if contents else ""
            found[path] = contents[content]
            folders.update(path.absolute().parent.parts)
    return found


def _digest(path: Path) -> bytes:
    """Of the content of a file; of its path if it cannot be read, which is reported where it is imported."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
    except OSError:
        return str(path).encode("utf-8", "surrogateescape")


@dataclass(frozen=True)
class Asked:
    """What an import says of the books in it, and what the library has of them.

    Attributes:
        title: of the book; None as its file says it.
        edition: of its game, or the name of another game; None as its text says it.
        pages: called with how many more pages are to be read, and how many more have been.
        loaded: the entry that the library has of a type, document and slug; blocking.
        ask: gives title and edition of a book that is to be read and for which neither is given; blocking.
    """

    title: str | None = None
    edition: str | None = None
    pages: Callable[[int, int], None] = lambda *_: None
    loaded: Callable[[str, str, str], Entity | None] = lambda *_: None
    ask: Callable[[], tuple[str | None, str | None]] = lambda: (None, None)


@dataclass(frozen=True)
class TextFile:
    """A file that is being read, and the report in which a reader notes its problems.

    Attributes:
        path: of the file.
        window: its text, unpacked; bytes that are not UTF-8 are surrogates (see `json_stream.UNDECODED`).
        document: key of the document to assign all entries to; each entry's own if None.
        report: of the import.
        remembered: what objects have given in earlier imports.
        audiences: decides who may see each entry.
        all_files: of the import, for formats whose files depend on each other.
        asked: what the import says of its books.
    """

    path: Path
    window: Window
    document: str | None
    report: ImportReport
    remembered: Remembered = field(default_factory=Remembered)
    audiences: Audiences = field(default_factory=Audiences)
    all_files: ImportedFiles = field(default_factory=ImportedFiles)
    asked: Asked = field(default_factory=Asked)

    @property
    def title(self) -> str:
        """What it is called: its name without suffixes."""
        return self.path.name.removesuffix(".gz").rsplit(".", 1)[0]

    def book(self, otherwise: str) -> tuple[str, str]:
        """Key and title of the document that a file is by itself; ``otherwise`` is the key where its name has no letters."""
        folder = self.all_files.folder_of_namesake(self.path)
        title = f"{self.title} ({folder})" if folder else self.title
        return self.document or slugify(title) or otherwise, title

    def whole(self, most_chars: int) -> str | None:
        """All of its text; None, with a failure in the report, if it is longer or not UTF-8."""
        text = self.window.rest(most_chars + 1)
        if len(text) > most_chars:
            self.fail(f"it is longer than {most_chars >> 20} MB; split it")
            return None
        if undecoded := UNDECODED.search(text):
            at, byte = undecoded.start(), ord(undecoded[0]) - 0xDC00
            line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
            self.fail(not_utf8(byte), f"{self.path}:{line}:{column}")
            return None
        return text

    def fail(self, reason: str, where: str | None = None) -> None:
        """Report something that cannot be imported; ``where`` is the file by default."""
        self.report.failed.append(ImportFileError(where or str(self.path), reason))

    def warn(self, reason: str, where: str) -> None:
        """Report something that was fixed."""
        self.report.warnings.append(ImportFileError(where, reason))

    def skip(self, kind: str = "", number: int = 1) -> None:
        """Count entries without lore, by their kind if they have one."""
        what = f"{self.path.name}: {kind}" if kind else self.path.name
        self.report.skipped[what] = self.report.skipped.get(what, 0) + number

    def compare(self, texts: Iterable[Text], entities: Sequence[Entity]) -> bool:
        """Report what none of the entities took over of its texts, see `ImportReport.compare`."""
        return self.report.compare(str(self.path), texts, entities)

    def entries(self, content: Imported, separator: str) -> Iterator[Entry]:
        """The entities of all that was read in it, of which the problems are reported.

        Args:
            content: of the file.
            separator: between the path and the place of a problem.
        """
        for place, reason in content.failed:
            self.fail(reason, f"{self.path}{separator}{place}")
        for place, reason in content.warnings:
            self.warn(reason, f"{self.path}{separator}{place}")
        for kind, number in content.skipped.items():
            self.skip(kind, number)
        self.compare(content.texts, content.entities)
        yield from (Entry(self.audiences.decided(entity), str(self.path)) for entity in content.entities)
