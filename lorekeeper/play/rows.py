"""Rows of a table that is rolled on, and which numbers of the dice no row has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from lorekeeper.play.dice import Dice

MOST_NUMBERS = 10_000
"""Numbers of dice beyond which gaps are not looked for."""

_WITHIN = re.compile(r"(?<=[.!?;:”\"]) (\d{1,5})(?: ?[-–—−] ?(\d{1,5}))?[.:)]? (?=[A-Z“\"])")
"""A range between two sentences: "You cast slow. 06-10 You cast faerie fire."."""


@dataclass(frozen=True)
class Row:
    """A row of a table.

    Attributes:
        least: smallest number that hits it.
        most: largest one.
        cells: what it says, by column.
    """

    least: int
    most: int
    cells: tuple[str, ...]


def separated(rows: Sequence[Row], dice: Dice) -> tuple[Row, ...]:
    """Rows of which each has one range: a row whose last cell has the range that is missing behind it is taken for two."""
    result: list[Row] = []
    ends = [*(row.least for row in rows), dice.most + 1][1:]
    for row, end in zip(rows, ends, strict=True):
        result += _separated(row, end)
    return tuple(result)


def _separated(row: Row, end: int) -> Iterator[Row]:
    """A row, and those that its last cell holds of the numbers before ``end``."""
    while row.cells and row.most + 1 < end:
        match = next((m for m in _WITHIN.finditer(row.cells[-1]) if int(m[1]) == row.most + 1), None)
        most = int(match[2] or match[1]) if match else 0
        if match is None or not row.most < most < end:
            break
        before, after = row.cells[-1][: match.start()], row.cells[-1][match.end() :]
        yield replace(row, cells=(*row.cells[:-1], before))
        row = Row(row.most + 1, most, (*[""] * (len(row.cells) - 1), after))
    yield row


def gaps(rows: Sequence[Row], dice: Dice) -> list[tuple[int, int]]:
    """The ranges of numbers that the dice can give and no row has; [] for dice with very many."""
    if dice.most - dice.least > MOST_NUMBERS:
        return []
    had = {number for row in rows for number in range(max(row.least, dice.least), min(row.most, dice.most) + 1)}
    found: list[tuple[int, int]] = []
    for number in range(dice.least, dice.most + 1, dice.factor):
        if number in had:
            continue
        follows = found and found[-1][1] == number - dice.factor
        found[-1:] = [(found[-1][0], number)] if follows else [*found[-1:], (number, number)]
    return found
