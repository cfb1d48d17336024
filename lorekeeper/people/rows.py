"""Rows in a small private file that several processes read and change.

The file is written completely or not at all, by one process at a time, and read again when it has changed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import Field, asdict
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from filelock import FileLock, Timeout

from lorekeeper.errors import CacheError
from lorekeeper.printable import shown
from lorekeeper.regular_files import read_regular
from lorekeeper.system import PRIVATE_FILE, private_file, private_folder

FORMAT = 1

LOCK_SECONDS = 10.0
"""How long an edit of the file waits for another one."""


class Dataclass(Protocol):
    """An instance of any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


Row = TypeVar("Row", bound=Dataclass)

_Version = tuple[int, int, int]
"""What tells one state of the file from another: the time of its change, its number and its size."""


class Rows(Generic[Row]):
    """The rows of a file. All methods are blocking; reading takes microseconds.

    Args:
        file: where they are kept.
        name: what they are called there.
        row_of: reads one; ValueError, KeyError or TypeError if it cannot be.
        remedy: what to do about a file that cannot be read.
    """

    def __init__(self, file: Path, name: str, row_of: Callable[[Mapping[str, object]], Row], remedy: str) -> None:
        self.file = file
        self._name, self._row_of, self._remedy = name, row_of, remedy
        self._known: tuple[_Version, list[Row]] = (0, 0, 0), []

    def all(self) -> list[Row]:
        """All rows, in the order in which they were added; none if there is no file.

        Raises:
            CacheError: the file cannot be read.
        """
        try:
            status = self.file.stat()
            version = status.st_mtime_ns, status.st_ino, status.st_size
            if version != self._known[0]:
                self._known = version, self._read(read_regular(self.file))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CacheError(f"{self.file} cannot be read: {error}; {self._remedy}") from error
        return self._known[1]

    @contextmanager
    def edited(self) -> Iterator[list[Row]]:
        """The rows, to be changed in place; written at the end, completely or not at all.

        Raises:
            CacheError: the file cannot be read or written.
        """
        try:
            private_folder(self.file.parent)
            with FileLock(f"{self.file}.lock", timeout=LOCK_SECONDS, mode=PRIVATE_FILE):
                rows = list(self.all())
                yield rows
                self._write(rows)
        except (OSError, Timeout) as error:
            raise CacheError(f"{self.file} cannot be written: {error}; free space, or choose another folder") from error

    def _read(self, content: bytes) -> list[Row]:
        table = json.loads(content)
        if table["format"] != FORMAT:
            raise ValueError(f"its format is {shown(table['format'])}, which this version does not know")
        return [self._row_of(row) for row in table[self._name]]

    def _write(self, rows: Sequence[Row]) -> None:
        content = json.dumps({"format": FORMAT, self._name: [asdict(row) for row in rows]}, indent=1, default=str)
        with private_file(self.file.with_name(f"{self.file.name}.new")).open("w", encoding="ascii") as target:
            target.write(content)
            target.flush()
            os.fsync(target.fileno())  # what was revoked stays so after a power cut
        Path(target.name).replace(self.file)
