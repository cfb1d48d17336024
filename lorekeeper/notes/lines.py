"""The part of a line in which marks are looked for."""

from __future__ import annotations

BEGINNING, END = 400, 100
"""Characters of a line in which marks stand: nobody writes one in the midst of a longer line, and long ones take long to search."""


def marked(line: str) -> str:
    """What of a line, heading or key may be a mark: all of it, or its first 400 and its last 100 characters."""
    return line if len(line) <= BEGINNING + END else f"{line[:BEGINNING]}\n{line[-END:]}"
