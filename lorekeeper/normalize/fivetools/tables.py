"""Tables, and what a die must show for each row of one that is rolled on.

The shape that is kept: ``{"columns": ["d100", "Omen"], "rows": [["01-10", "Silence"], ...]}``, and for a table that is rolled on
``"dice": "1d100"`` and ``"ranges": [[1, 10], ...]``, the lowest and highest result of each row.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypedDict

from lorekeeper.normalize.fivetools.values import listed, mapping, number

Object = Mapping[str, object]
Line = Callable[[object], str]


class Table(TypedDict, total=False):
    """The shape that is kept of a table; what only a table that is rolled on has may be missing."""

    columns: list[str]
    rows: list[list[str]]
    dice: str
    ranges: list[list[int]]


_DICE = re.compile(r"(\d{0,2})d(\d{1,4})")
_RANGE = re.compile(
    r"(\d{1,4})\s*(?:(?:[-–—−]|to)\s*(\d{1,4})|(\+|or (?:more|higher))|(or (?:less|lower)))?", re.IGNORECASE
)


def table_of(entry: Object, line: Line) -> Table:
    """The regular shape of a table; ``line`` writes the entries of a cell in one line."""
    labels = entry.get("colLabels") or _label_rows(entry)
    columns = [line(label) for label in listed(labels)]
    raw = [_cells(row) for row in listed(entry.get("rows"))]
    rows = [[_cell(cell, line) for cell in row] for row in raw if row]
    found: Table = {"columns": columns, "rows": rows}
    if (dice := dice_of(columns[0] if columns else "")) and (ranges := _ranges(dice, raw, rows)):
        found["dice"], found["ranges"] = dice, ranges
    return found


def _label_rows(entry: Object) -> object:
    """The last row of labels, where a table has several."""
    rows = listed(entry.get("colLabelRows"))
    return rows[-1] if rows else None


def _cells(row: object) -> list[object]:
    """The cells of a row, which may be an object with a style of its own."""
    nested = mapping(row).get("row")
    return listed(nested if nested is not None else row)


def _cell(cell: object, line: Line) -> str:
    found = mapping(cell)
    if found.get("type") != "cell":
        return line(cell)
    return line(found["entry"]) if found.get("entry") is not None else _roll_words(mapping(found.get("roll")))


def _roll_words(roll: Object) -> str:
    """ "01-10", "00" or "5" of the roll of a cell."""
    width = 2 if roll.get("pad") is True else 1
    ends = dict.fromkeys(number(roll.get(key)) for key in ("exact", "min", "max"))
    return "–".join(f"{int(end):0{width}d}" for end in ends if end is not None)


def dice_of(label: str) -> str:
    """The dice that the label of a column names, as "1d100"; "" if it names something else."""
    match = _DICE.fullmatch(label.strip().lower().strip("*"))
    return f"{int(match[1] or 1) or 1}d{int(match[2])}" if match and int(match[2]) else ""


def _ranges(dice: str, raw: list[list[object]], rows: list[list[str]]) -> list[list[int]]:
    """What must be rolled for each row; [] if a row does not say it."""
    count, faces = map(int, dice.split("d"))
    found = [
        _range(mapping(mapping(cells[0]).get("roll")), row[0], count, count * faces) for cells, row in _pairs(raw, rows)
    ]
    return [ends for ends in found if ends] if found and all(found) else []


def _pairs(raw: list[list[object]], rows: list[list[str]]) -> list[tuple[list[object], list[str]]]:
    return list(zip([cells for cells in raw if cells], rows, strict=True))


def _range(roll: Object, words: str, lowest: int, highest: int) -> list[int]:
    if roll:
        exact = number(roll.get("exact"))
        low, high = (exact if exact is not None else number(roll.get(key)) for key in ("min", "max"))
        low = lowest if low is None else low
        return [_shown(int(end), highest) for end in (low, highest if high is None else high)]
    match = _RANGE.fullmatch(words.strip().strip("*"))
    if match is None:
        return []
    first = _shown(int(match[1]), highest)
    if match[3]:
        return [first, max(first, highest)]
    if match[4]:
        return [min(lowest, first), first]
    return [first, _shown(int(match[2]), highest) if match[2] else first]


def _shown(end: int, highest: int) -> int:
    """What a die shows: "00" is the highest result of percentile dice, and 0 that of a ten-sided die."""
    return highest if end == 0 and highest in (10, 100) else end


def markdown(table: Table) -> str:
    """A table as Markdown."""
    columns, rows = table["columns"], table["rows"]
    width = max(map(len, (columns, *rows)))
    if not width:
        return ""
    return "\n".join([_row(columns, width), "|" + "---|" * width, *(_row(row, width) for row in rows)])


def _row(cells: list[str], width: int) -> str:
    full = [cell.replace("|", "\\|") for cell in [*cells, *[""] * (width - len(cells))]]
    return f"| {' | '.join(full)} |"
