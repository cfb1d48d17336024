"""Rows of a printed table, whose cells only spaces part, in cells: as far as the rows themselves say where one ends."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lorekeeper.normalize.printed_srd.titles import VALUE, is_value

_UNITS = "CP|SP|EP|GP|PP|XP|lb\\.|feet|foot|ft\\.|miles?|days?|hours?|minutes?|gallons?|pounds?"
_VALUES = re.compile(rf"{VALUE.pattern}(?: (?:{_UNITS}))?(?= |$)")
_LAST = re.compile(rf"(?:^| ){VALUE.pattern}(?: (?:{_UNITS}))?$")
_RANGE = re.compile(r"(?<=\d) (?=\u2013\d)")


def split(lines: Sequence[str]) -> list[list[str]]:
    """Rows in cells, the head first; each row in one cell if it cannot be said where its cells end."""
    lines = [_RANGE.sub("", line) for line in lines]
    head, rows = lines[0], [line for line in lines[1:] if line != lines[0]]
    words = head.split()
    half = len(words) // 2
    if len(words) % 2 == 0 and words[:half] == words[half:]:
        return _doubled(words[:half], rows) or [[line] for line in lines]
    cells = _columns(words, rows)
    return cells or [[head], *([row] for row in rows)]


def _columns(head: Sequence[str], rows: Sequence[str]) -> list[list[str]]:
    """Rows with a value in front, values at the end, or both, and a text between; [] for others."""
    parted = [_parted(row) for row in rows]
    if not parted:
        return []
    behind = min(len(values) for _, _, values in parted)
    has_first = all(first for first, _, _ in parted)
    has_text = any(text or len(values) > behind for _, text, values in parted)
    width = has_first + has_text + behind
    titles = _titles(head, width, in_front=has_first)
    if width < 2 or not titles:
        return []
    found = [titles]
    for first, text, values in parted:
        more = len(values) - behind
        middle = " ".join(filter(None, [text, *values[:more]]))
        middle = middle if has_first else " ".join(filter(None, [first, middle]))
        found.append([*([first] if has_first else []), *([middle] if has_text else []), *values[more:]])
    return found


def _parted(row: str) -> tuple[str, str, list[str]]:
    """The value at the beginning of a row, the text, and the values at its end."""
    first, rest = "", row
    if match := _VALUES.match(row):
        first, rest = match[0], row[match.end() :].strip()
    values: list[str] = []
    while found := _LAST.search(rest):
        values.insert(0, found[0].strip())
        rest = rest[: found.start()]
    return first, rest, values


def _titles(head: Sequence[str], width: int, *, in_front: bool) -> list[str]:
    """The titles of the columns: a word each, or all that is left for the only one that can have several."""
    if len(head) == width:
        return list(head)
    if len(head) < width:
        return []
    if in_front and is_value(head[0]) and width == 2:
        return [head[0], " ".join(head[1:])]
    return []


def _doubled(head: Sequence[str], rows: Sequence[str]) -> list[list[str]]:
    """Two tables side by side, of a value and a text each, as one below the other."""
    left, right = [], []
    for row in rows:
        parts = re.split(r" (?=(?:\d[\d,]*(?:\u2013\d+)?) \S)", row, maxsplit=1)
        cells = [part.split(" ", 1) for part in parts]
        if any(len(cell) != 2 or not is_value(cell[0]) for cell in cells):
            return []
        left.append(cells[0])
        right += cells[1:]
    titles = [head[0], " ".join(head[1:])]
    return [titles, *left, *right] if len(titles) == 2 and titles[1] else []
