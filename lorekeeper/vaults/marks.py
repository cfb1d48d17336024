"""The file with a user's own marks, LOREKEEPER_MARKS: read whenever somebody asks, as notes are."""

from __future__ import annotations

import threading
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
        self._lock = threading.Lock()
        self._content: bytes | None = None
        self._marks: OwnMarks | None = None

    def current(self) -> OwnMarks:
        """The marks as they are now; ConfigError if the file is missing, cannot be read, or holds something else."""
        from lorekeeper.notes.marks import BUILT_IN, read_marks

        if self.path is None:
            return BUILT_IN
        try:
            content = read_regular(self.path, LARGEST_BYTES)
            with self._lock:
                if self._marks is None or content != self._content:
                    self._marks = read_marks(content.decode("utf-8-sig"))
                    self._content = content
                return self._marks
        except (OSError, ValueError) as error:
            reason = (
                "is not UTF-8" if isinstance(error, UnicodeDecodeError) else getattr(error, "strerror", None) or error
            )
            raise ConfigError(
                f"LOREKEEPER_MARKS is {shown(str(self.path))}, which cannot be used: {reason}; until it is fixed, players "
                "see nothing of the vaults"
            ) from error
