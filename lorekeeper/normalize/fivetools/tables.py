"""Tables, and what a die must show for each row of one that is rolled on.

The shape that is kept: ``{"columns": ["d100", "Omen"], "rows": [["01-10", "Silence"], ...]}``, and for a table that is rolled on
``"dice": "1d100"`` and ``"ranges": [[1, 10], ...]``, the lowest and highest result of each row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lorekeeper.normalize.fivetools.values import at, listed, mapping, number
from lorekeeper.render.tables import plain
from lorekeeper.rolling.dice import Dice
from lorekeeper.rolling.tables import TableData, dice_heading, numbers_of, shown_as

Object = Mapping[str, object]
Line = Callable[[object], str]


def table_of(entry: Object, line: Line) -> TableData:
    """The regular shape of a table; ``line`` writes the entries of a cell in one line."""
    labels = entry.get("colLabels") or _label_rows(entry)
    columns = [line(label) for label in listed(labels)]
    raw = [_cells(row) for row in listed(entry, "rows")]
    rows = [[_cell(cell, line) for cell in row] for row in raw if row]
    found: TableData = {"columns": columns, "rows": rows}
    dice = dice_heading(plain(columns[0])) if columns else None
    if dice and (ranges := _ranges(dice, raw, rows)):
        found["dice"], found["ranges"] = str(dice), ranges
    return found


def _label_rows(entry: Object) -> object:
    """The last row of labels, where a table has several."""
    rows = listed(entry, "colLabelRows")
    return rows[-1] if rows else None


def _cells(row: object) -> list[object]:
    """The cells of a row, which may be an object with a style of its own."""
    nested = at(row, "row")
    return listed(nested if nested is not None else row)


def _cell(cell: object, line: Line) -> str:
    found = mapping(cell)
    if found.get("type") != "cell":
        return line(cell)
    return line(found["entry"]) if found.get("entry") is not None else _roll_words(mapping(found, "roll"))


def _roll_words(roll: Object) -> str:
    """ "01-10", "00" or "5" of the roll of a cell."""
    width = 2 if roll.get("pad") is True else 1
    ends = dict.fromkeys(number(roll.get(key)) for key in ("exact", "min", "max"))
    return "–".join(f"{int(end):0{width}d}" for end in ends if end is not None)


def _ranges(dice: Dice, raw: list[list[object]], rows: list[list[str]]) -> list[list[int]]:
    """What must be rolled for each row; [] if a row does not say it."""
    cells = (each[0] for each in raw if each)
    found = [_range(mapping(cell, "roll"), row[0], dice) for cell, row in zip(cells, rows, strict=True)]
    return [list(ends) for ends in found if ends] if all(found) else []


def _range(roll: Object, words: str, dice: Dice) -> tuple[int, ...] | None:
    if not roll:
        return numbers_of(plain(words), dice)
    exact = number(roll, "exact")
    low, high = (exact if exact is not None else number(roll.get(key)) for key in ("min", "max"))
    ends = (dice.least if low is None else low, dice.most if high is None else high)
    return tuple(shown_as(int(end), dice) for end in ends)
