"""How much a file may give beyond its own size: by copies, versions, templates, and texts that are inserted in many places."""

from __future__ import annotations

from collections.abc import Mapping

from lorekeeper.errors import FilterError

FREE_CHARS = 1 << 26
"""What every file may give beyond its own size, in characters."""

MAX_GROWTH = 4
"""How many times its own size a file may give beyond that."""


class Allowance:
    """What a file may still give.

    Args:
        size: of the file, as `size_of` counts.
    """

    def __init__(self, size: int) -> None:
        self._most = self._left = FREE_CHARS + MAX_GROWTH * size

    def take(self, chars: int) -> None:
        """Use some of it; FilterError if it is used up."""
        self._left -= chars
        if self._left < 0:
            raise FilterError(
                f"the copies, versions and inserted texts of this file have more than {self._most:,} characters; divide the file"
            )


def size_of(value: object) -> int:
    """The characters of all texts in a value, and one for each value in it, to any depth."""
    size, values = 0, [value]
    while values:
        each = values.pop()
        size += 1
        if isinstance(each, str):
            size += len(each)
        elif isinstance(each, Mapping):
            size += sum(map(len, each))
            values += each.values()
        elif isinstance(each, list):
            values += each
    return size
