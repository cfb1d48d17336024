"""A text file that is being imported: the input of every format's reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.intake.audiences import Audiences
from lorekeeper.intake.json_stream import Window
from lorekeeper.intake.remembered import Digest, Remembered
from lorekeeper.intake.reports import ImportReport

MARKDOWN = (".md", ".markdown")
"""Suffixes of files that users may expect to be read; they are not supported yet."""


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


Found = Entry | Recalled
"""What is read from a file: a reader that remembers nothing gives entries only."""


class UnknownFormatError(ValueError):
    """The content of a file has no supported format."""


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
    """

    path: Path
    window: Window
    document: str | None
    report: ImportReport
    remembered: Remembered = field(default_factory=Remembered)
    audiences: Audiences = field(default_factory=Audiences)

    def fail(self, reason: str, where: str | None = None) -> None:
        """Report something that cannot be imported; ``where`` is the file by default."""
        self.report.failed.append(ImportFileError(where or str(self.path), reason))

    def warn(self, reason: str, where: str) -> None:
        """Report something that was fixed."""
        self.report.warnings.append(ImportFileError(where, reason))

    def skip(self, what: str, number: int = 1) -> None:
        """Count entries without lore."""
        self.report.skipped[what] = self.report.skipped.get(what, 0) + number
