"""The levels of the party, as the game master told them once: a small file beside the library."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.errors import CacheError
from lorekeeper.regular_files import read_regular
from lorekeeper.system import private_file, private_folder

LARGEST_BYTES = 1_000
"""Largest file that is read."""


@dataclass(frozen=True)
class PartyFile:
    """The file. Blocking; reading takes microseconds.

    Attributes:
        path: of the file; None for a library that remembers no party.
    """

    path: Path | None = None

    def levels(self) -> tuple[int, ...]:
        """The levels of the characters, in the order in which they were told; () if no party is remembered."""
        with contextlib.suppress(OSError, ValueError):
            if self.path is not None:
                return tuple(map(int, read_regular(self.path, LARGEST_BYTES).split()))
        return ()

    def remember(self, levels: Sequence[int]) -> None:
        """Replace the levels, or forget them if there are none; CacheError if the file cannot be written."""
        if self.path is None:
            return
        try:
            if levels:
                private_folder(self.path.parent)
                private_file(self.path).write_text(f"{' '.join(map(str, levels))}\n", "ascii")
            else:
                self.path.unlink(missing_ok=True)
        except OSError as error:
            raise CacheError(f"{self.path} cannot be written: {error}; free space, or choose another folder") from error
