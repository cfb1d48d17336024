"""Tables that are rolled on: in the text of any entry, or as entries of their own, and what a roll on one gives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NotRequired, TypedDict

from lorekeeper.entities import Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.folding import fold
from lorekeeper.play.dice import Dice, dice_in, dice_of
from lorekeeper.play.rows import Row, gaps, separated
from lorekeeper.printable import shown
from lorekeeper.render.pages import markdown
from lorekeeper.render.prose import table as markdown_table
from lorekeeper.render.tables import PageTable, page_tables, plain

MOST_AGAIN = 1_000
"""Most throws for a number that a row has."""

HUNDRED = 100
"""What "00" means on two ten-sided dice."""

_RANGE = re.compile(
    r"(\d{1,6})(?: ?(?:[-–—−]|to|bis) ?(\d{1,6}))?(?: ?(?P<up>\+|or (?:more|higher))| ?(?P<down>or (?:less|lower)))?",
    re.IGNORECASE,
)
_ENDING = re.compile(r"(?:^\(|\b)(?:roll(?:ed)?|result|die|dice)\b\)?", re.IGNORECASE)

_DETAIL = re.compile(r"\s*\(([^()]{1,40})\)\s*$")
"""What the dice of a column are for: "1d100 (13-Card Deck)"."""


@dataclass(frozen=True)
class Table:
    """A table that can be rolled on.

    Attributes:
        name: its caption, or the heading that it stands under; else the name of its entry.
        dice: what is thrown.
        columns: headings of the columns behind that of the numbers.
        rows: in order.
        is_even: the book names no dice, as for a deck of cards: each row is as likely as another.
    """

    name: str
    dice: Dice
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    is_even: bool = False

    @property
    def gaps(self) -> str:
        """What to know of numbers that the dice can give and no row has: "no row for 65, 81"; "" if each has one."""
        found = gaps(self.rows, self.dice)
        return f"no row for {', '.join(_range_text(*each) for each in found)}" if found else ""

    @property
    def title(self) -> str:
        """Name and dice, with what is missing: "Trinkets (1d100; no row for 65, 81)"."""
        return f"{self.name} ({'; '.join(filter(None, (str(self.dice), self.gaps)))})"

    def roll(self, random: Random) -> Rolled:
        """Throw the dice until a row has the number, and then those that the row asks for."""
        missed: list[int] = []
        number = self.dice.roll(random)
        while (row := self._row(number)) is None and len(missed) < MOST_AGAIN and self._within_reach:
            missed.append(number)
            number = self.dice.roll(random)
        cells = row.cells if row else ()
        further = [(written, dice.roll(random)) for cell in cells for written, dice in dice_in(cell)]
        return Rolled(self, number, row, tuple(further), tuple(missed))

    def _row(self, number: int) -> Row | None:
        return next((row for row in self.rows if row.least <= number <= row.most), None)

    @property
    def _within_reach(self) -> bool:
        """Whether the dice can give a number that a row has."""
        return any(row.least <= self.dice.most and row.most >= self.dice.least for row in self.rows)


@dataclass(frozen=True)
class Rolled:
    """What a roll on a table has given.

    Attributes:
        table: that was rolled on.
        number: that came.
        row: that it hit; None only if the dice cannot give a number that a row has.
        further: the dice that the row asks for, as written, and what came.
        missed: numbers that came before and that no row has.
    """

    table: Table
    number: int
    row: Row | None
    further: tuple[tuple[str, int], ...]
    missed: tuple[int, ...] = ()

    @property
    def again(self) -> str:
        """That the dice were thrown again, and after which numbers; "" if they were not."""
        if not self.missed:
            return ""
        numbers = ", ".join(map(str, self.missed))
        return f"the table has no row for {numbers}, so the dice were rolled again"

    @property
    def text(self) -> str:
        """What the row says, a column each, with its headings if there are several."""
        if self.row is None:
            return f"the table has no row for this number, nor for any other of {self.table.dice}; choose one"
        columns, cells = self.table.columns, self.row.cells
        if len(cells) == 1:
            return cells[0]
        named = zip((*columns, *[""] * len(cells)), cells, strict=False)
        return "; ".join(f"{column}: {cell}" if column else cell for column, cell in named if cell)

    def line(self) -> str:
        """The roll in one line, for people and models."""
        further = "".join(f" [{written}: {number}]" for written, number in self.further)
        again = f" ({self.again})" if self.again else ""
        thrown = (
            f"row {self.number} of {len(self.table.rows)}"
            if self.table.is_even
            else f"{self.table.dice}: {self.number}"
        )
        return f"{self.table.name}, {thrown}{again}. {self.text}{further}"

    def content(self) -> dict[str, object]:
        """``{"table", "dice", "number", "result", "cells", "further"}``, and "missed" if the dice were thrown again."""
        cells = self.row.cells if self.row else ()
        return {
            "table": self.table.name,
            "dice": str(self.table.dice),
            "number": self.number,
            "result": self.text,
            "cells": dict(zip(self.table.columns, cells, strict=False)),
            "further": [{"dice": written, "number": number} for written, number in self.further],
            **({"missed": list(self.missed)} if self.missed else {}),
        }


def tables_of(entity: Entity, page: str | None = None) -> list[Table]:
    """The tables of an entry that can be rolled on, in order: one that it is itself, or those in its text.

    Args:
        entity: has them.
        page: as `render.pages.markdown` has made it; None to make it here.
    """
    own = _own_table(entity)
    text = markdown(entity) if page is None and own is None else page or ""
    return [own] if own else told_apart([*tables_in(entity.name, text), *numbered_texts(entity.name, text)])


def told_apart(tables: Sequence[Table]) -> list[Table]:
    """Tables whose names differ as far as their columns do: of several under one heading, "Acolyte: Ideal"."""
    numbers = Counter(table.name for table in tables)
    return [
        replace(table, name=f"{table.name}: {table.columns[0]}")
        if numbers[table.name] > 1 and len(table.columns) == 1 and table.columns[0]
        else table
        for table in tables
    ]


def chosen(entity: Entity, name: str | None = None) -> list[Table]:
    """The tables of an entry to roll on: all of them, or the one of a name.

    Args:
        entity: has them.
        name: of one table, or a part of it, or its number from 1 on.

    Raises:
        NotFoundError: it has none, or none of that name.
    """
    tables = tables_of(entity)
    even = list(_even_tables(entity)) if name is not None or not tables else []
    if name is None and not tables:
        tables = [table for table in even if _CARDS.search(f"{table.name} {' '.join(table.columns)}")]
    elif not any(fold(name or "") in fold(table.name) for table in tables):
        tables = [*tables, *even]
    if not tables:
        raise NotFoundError(
            f"{shown(entity.name)} has no table to roll on: a table needs dice such as d100 above its first column, or "
            "'roll a d6' before texts with the numbers of that die"
        )
    if name is None:
        return tables
    wanted = fold(name)
    numbered = [tables[int(name) - 1]] if name.isdecimal() and 1 <= int(name[:4]) <= len(tables) else []
    found = [table for table in tables if fold(table.name) == wanted] or numbered
    found = found or [table for table in tables if wanted and wanted in fold(table.name)]
    if not found:
        known = "; ".join(table.name for table in tables)
        raise NotFoundError(f"{shown(entity.name)} has no table {shown(name)}; it has: {known}")
    return found[:1]


def _even_tables(entity: Entity) -> Iterator[Table]:
    """The tables of an entry without dice, to draw from: each row is as likely as another."""
    for each in page_tables(markdown(entity)):
        if dice_heading(each.columns[0]) is None:
            rows = tuple(Row(number, number, row) for number, row in enumerate(each.rows, 1))
            yield Table(each.name or entity.name, Dice(1, len(rows)), each.columns, rows, is_even=True)


_CARDS = re.compile(r"\b(?:cards?|deck)\b", re.IGNORECASE)
"""What the name or the columns of a table say that one draws from."""


# --- tables as entries -----------------------------------------------------------------------------------------------


def _own_table(entity: Entity) -> Table | None:
    """The table that an entry is, from ``{"columns", "rows", "dice", "ranges"}``."""
    told = entity.data.get("table")
    if not isinstance(told, Mapping):
        return None
    rows, ranges = _lists(told.get("rows")), _lists(told.get("ranges"))
    columns = told.get("columns")
    headings = tuple(map(str, columns)) if isinstance(columns, list) else ()
    numbers = [found for found in map(_numbers, ranges) if found]
    if not rows or len(numbers) != len(rows):
        return None
    dice = dice_of(str(told.get("dice") or "")) or Dice(1, max(most for _, most in numbers))
    first = 1 if headings and dice_heading(headings[0]) else 0  # a column of the numbers themselves says nothing
    listed = [Row(*found, tuple(map(str, row[first:]))) for found, row in zip(numbers, rows, strict=True)]
    return Table(entity.name, dice, headings[first:], separated(listed, dice))


class TableData(TypedDict):
    """A table as the data of an entry have it: cells by row, and if it is rolled on, the least and the most that hit each row."""

    columns: list[str]
    rows: list[list[str]]
    dice: NotRequired[str]
    ranges: NotRequired[list[list[int]]]


def as_data(table: Table) -> TableData:
    """A table for an entry of its own, with a first column of the numbers; `tables_of` reads it back."""
    rows, ranges = [list(row.cells) for row in table.rows], [[row.least, row.most] for row in table.rows]
    return numbered({"columns": list(table.columns), "rows": rows, "dice": str(table.dice), "ranges": ranges})


def numbered(data: TableData) -> TableData:
    """A table that is rolled on, with a first column of the numbers."""
    rows = [[_range_text(*ends), *row] for ends, row in zip(data["ranges"], data["rows"], strict=True)]
    return {**data, "columns": [data.get("dice") or "Roll", *data["columns"]], "rows": rows}


def _range_text(least: int, most: int) -> str:
    return str(least) if least == most else f"{least}–{most}"


def as_markdown(data: TableData) -> str:
    """A table as Markdown, "" without cells."""
    return "\n".join(markdown_table([data["columns"], *data["rows"]]))


def _lists(value: object) -> list[list[object]]:
    return [row for row in value if isinstance(row, list)] if isinstance(value, list) else []


def _numbers(found: Sequence[object]) -> tuple[int, int] | None:
    if len(found) != 2 or not all(isinstance(number, int) for number in found):
        return None
    least, most = (int(str(number)) for number in found)
    return (least, most) if least <= most else None


# --- tables in texts -------------------------------------------------------------------------------------------------


def tables_in(name: str, page: str) -> Iterator[Table]:
    """The tables of a page whose first column is headed by dice, in order.

    Args:
        name: of those without a caption or heading.
        page: as `render.prose.prose` or `render.pages.markdown` makes it.
    """
    for table in page_tables(page):
        headed = {n: dice for n, heading in enumerate(table.columns) if (dice := dice_heading(heading))}
        for place, dice in headed.items() if 0 in headed else ():
            others = [
                n for n in range(len(table.columns)) if n not in headed or (place == 0 and n and not _rolled(table, n))
            ]
            read = [(numbers_of(row[place], dice), row) for row in table.rows if len(row) > place]
            if place and not _rolled(table, place):
                continue
            cells = [Row(*found, tuple(row[n] for n in others if n < len(row))) for found, row in read if found]
            rows = separated(cells, dice)
            which = f": {detail[1]}" if len(headed) > 1 and (detail := _DETAIL.search(table.columns[place])) else ""
            if rows:
                yield Table(f"{table.name or name}{which}", dice, tuple(table.columns[n] for n in others), rows)


def _rolled(table: PageTable, place: int) -> bool:
    """Whether a column that is headed by dice has numbers of them, or nothing, in each row."""
    dice = dice_heading(table.columns[place])
    cells = [row[place] for row in table.rows if len(row) > place]
    return dice is not None and all(cell in NO_NUMBER or numbers_of(cell, dice) for cell in cells)


NO_NUMBER = ("", "-", "–", "—", "−")
"""Cells of rows that no number of the dice hits."""

_THROWN = re.compile(r"\b(?:1 ?)?[dw] ?(\d{1,3})\b", re.IGNORECASE)
_LABEL = re.compile(r"\*\*([^*]{1,60}?)[.:]?\*\*")
_NUMBERS = r"\d{1,3}(?: ?[-–—] ?\d{1,3})?"
_NUMBERED = re.compile(
    rf"(?:^(?:\*\*)?(?P<item>{_NUMBERS})(?:[.):]|\*\*)|(?<!\S)\*\*(?P<bold>{_NUMBERS})[.:]?\*\*)[ \t]+(?=\S)",
    re.MULTILINE,
)


def numbered_texts(name: str, page: str) -> Iterator[Table]:
    """What a page has of tables without cells: "roll a d6", and then a numbered text for each number of that die.

    Args:
        name: of those that no label stands before.
        page: as of `tables_in`.
    """
    found = list(_NUMBERED.finditer(page))
    at = 0
    while at < len(found):
        before = page[: found[at].start()].rstrip().rpartition("\n")[2]
        thrown = list(_THROWN.finditer(before))
        dice = Dice(1, int(thrown[-1][1])) if thrown else None
        rows = _run(page, found, at, dice) if dice and not before.startswith(("|", "#")) else []
        if dice and rows:
            label = _LABEL.match(before)
            yield Table(label[1] if label else name, dice, ("",), tuple(rows))
        at += len(rows) or 1


def _run(page: str, found: Sequence[re.Match[str]], first: int, dice: Dice) -> list[Row]:
    """The rows from a numbered text on; none unless there is one for each number of the dice."""
    rows, least = list[Row](), 1
    for match, following in zip(found[first:], [*found[first + 1 :], None], strict=True):
        numbers = numbers_of(match["item"] or match["bold"], dice)
        if numbers is None or numbers[0] != least:
            return []
        end = page.find("\n", match.end())
        end = min(len(page) if end < 0 else end, following.start() if following else len(page))
        rows.append(Row(*numbers, (plain(page[match.end() : end]),)))
        least = numbers[1] + 1
        if least > dice.most:
            return rows if least == dice.most + 1 else []
    return []


def dice_heading(heading: str) -> Dice | None:
    """The dice that head a column: d100, Roll 1d6, d8 result."""
    return dice_of(_ENDING.sub("", _DETAIL.sub("", heading)).strip(" :"))


def numbers_of(text: str, dice: Dice) -> tuple[int, int] | None:
    """The numbers that hit a row: 7, 01–20, 96-00 of a hundred, 20+, 3 or lower."""
    match = _RANGE.fullmatch(text.strip().rstrip(".)"))
    if not match:
        return None
    least, most = (shown_as(int(part), dice) for part in (match[1], match[2] or match[1]))
    if match["up"]:
        most = max(most, dice.most)
    elif match["down"]:
        least = min(least, dice.least)
    return (least, most) if least <= most else None


def shown_as(number: int, dice: Dice) -> int:
    """What dice show as a number: 0 and 00 are the highest one, as on dice with ten sides."""
    return dice.most if number == 0 and dice.most in (10, HUNDRED) else number
