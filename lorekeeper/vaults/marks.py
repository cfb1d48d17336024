"""The file with a user's own marks, LOREKEEPER_MARKS: read whenever somebody asks, as notes are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lorekeeper.errors import ConfigError
from lorekeeper.printable import shown
from lorekeeper.regular_files import read_regular

if TYPE_CHECKING:
    from lorekeeper.notes.marks import OwnMarks

LARGEST_BYTES = 1 << 18
"""How much of a file is read; what is larger is refused."""


class MarksFile:
    """The file. Blocking, and safe to use from several threads.

    Args:
        path: of the file; None for none.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path

    def current(self) -> OwnMarks:
        """The marks as they are now; ConfigError if the file is missing, cannot be read, or holds something else."""
        from lorekeeper.notes.marks import BUILT_IN, read_marks

        if self.path is None:
            return BUILT_IN
        try:
            return read_marks(read_regular(self.path, LARGEST_BYTES).decode("utf-8-sig"))
        except (OSError, ValueError) as error:
            reason = (
                "is not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or error
            )
            raise ConfigError(
                f"LOREKEEPER_MARKS is {shown(str(self.path))}, which cannot be used: {reason}; until it is fixed, players "
                "see nothing of the vaults"
            ) from error
