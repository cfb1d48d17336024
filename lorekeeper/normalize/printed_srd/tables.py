"""Tables of printed pages. Their text has lost where a cell ends, so it is listed how many words each cell has.

A table begins with the titles of its columns, and its rows begin and end where lines do. What a column or a page cuts goes on below
the same titles, or at once on the next page. A table that stands beside its other half has its titles twice.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, groupby, pairwise
from pathlib import Path

TABLES = Path(__file__).with_name("tables.tsv")

_RULE = re.compile("\u2014{2,} ?")
"""A line that is drawn beside the title of several columns."""


@dataclass(frozen=True)
class Table:
    """A table on a page.

    Attributes:
        titles: of its columns.
        rows: how many words each of its cells has.
        sign: "+" if it is the rest of one before, "-" if its titles do not stand there again either.
    """

    titles: tuple[str, ...]
    rows: list[list[int]]
    sign: str

    def find(
        self, lines: Sequence[str], start: int, mend: Callable[[str, str], str]
    ) -> tuple[range, list[list[str]]] | None:
        """The lines of the table and its rows in cells; None if the page has not such lines.

        Args:
            lines: of the page.
            start: the first that may be of it.
            mend: joins two lines of a cell.
        """
        words = [(number, word) for number, line in enumerate(lines) for word in line.split()]
        place_of = {number: place for place, (number, _) in reversed([*enumerate(words)])}
        lines_at = {place_of[number]: number for number in sorted(place_of)} | {len(words): len(lines)}
        titles = " ".join(() if self.sign == "-" else self.titles).split()
        for at, first in lines_at.items():
            begin = at + len(titles)
            ends = [*accumulate(map(sum, self.rows), initial=begin)]
            is_here = [word for _, word in words[at:begin]] == titles and lines_at.keys() >= set(ends)
            if first >= start and is_here:
                rows = (_cells(words[end:], counts, mend) for end, counts in zip(ends, self.rows, strict=False))
                return range(first, lines_at[ends[-1]]), self._whole([*rows])
        return None

    def _whole(self, rows: list[list[str]]) -> list[list[str]]:
        """All rows, without the titles that stand there again; halves that stand side by side one below the other."""
        titles, half = [*self.titles], len(self.titles) // 2
        if half and titles == titles[:half] * 2:
            titles, rows = titles[:half], [*(row[:half] for row in rows), *(row[half:] for row in rows if row[half:])]
        return [[_RULE.sub("", title) for title in titles], *(row for row in rows if row != titles)]


def _cells(words: Sequence[tuple[int, str]], counts: Sequence[int], mend: Callable[[str, str], str]) -> list[str]:
    """The words of a row, each with the number of its line, in cells with so many."""
    cells = (
        groupby(words[begin:end], key=lambda each: each[0]) for begin, end in pairwise(accumulate(counts, initial=0))
    )
    return [reduce(mend, (" ".join(word for _, word in part) for _, part in cell)) for cell in cells]


def listed(edition: str, folder: Path) -> Mapping[int, Sequence[Table]]:
    """The tables of an edition in their order, by their pages: those that a folder lists, if it has a list of its own."""
    own = folder / TABLES.name
    found: defaultdict[int, list[Table]] = defaultdict(list)
    for line in (own if own.is_file() else TABLES).read_text("utf-8").splitlines():
        if line.startswith(f"{edition}\t"):
            _, page, sign, titles, rows = line.split("\t")
            whole = [row for run in rows.split() for row in _run(run)]
            found[int(page)].append(Table(tuple(titles.split(" | ")), whole, sign))
    return found


def _run(text: str) -> list[list[int]]:
    """Rows whose cells have as many words: "1+2" is one of two cells, "1+2*3" are three."""
    row, _, times = text.partition("*")
    return [[int(count) for count in row.split("+")]] * int(times or 1)
