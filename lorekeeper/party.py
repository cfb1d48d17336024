"""The levels of the party, as the game master gave them: a small file next to the library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.errors import CacheError
from lorekeeper.regular_files import read_regular
from lorekeeper.system import private_file, private_folder
from lorekeeper.terms import MAX_LEVEL

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
        """The levels of the characters, in the order in which they were given; () if no party is remembered.

        Raises:
            CacheError: the file cannot be read, or has something else.
        """
        if self.path is None:
            return ()
        try:
            levels = tuple(map(int, read_regular(self.path, LARGEST_BYTES).split()))
        except FileNotFoundError:
            return ()
        except (OSError, ValueError) as error:
            raise self._damaged(str(error)) from error
        if not all(1 <= level <= MAX_LEVEL for level in levels):
            raise self._damaged(f"a level is a whole number from 1 to {MAX_LEVEL}")
        return levels

    def _damaged(self, reason: str) -> CacheError:
        return CacheError(
            f"{self.path} is not the levels of a party: {reason}; 'lorekeeper party 4x3' writes it again, "
            "'lorekeeper party --forget' removes it"
        )

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
