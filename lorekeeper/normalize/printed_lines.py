"""The lines of a printed page, made of stretches of type with their places."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self
from unicodedata import category

BOLD, ITALIC = 1, 2

Stretch = tuple[float, float, float, float, float, int, str]
"""Left, top, right and baseline in points, downward; size; style, `BOLD` and `ITALIC` added; text."""

_WORD_GAP, _WIDE_GAP, _COLUMN_GAP, _CELL_GAP, _SAME_LINE = 0.15, 0.5, 0.6, 1.2, 0.35
"""Gaps that make a space, a tab, another column, another cell; how far baselines of a line differ: in sizes of type."""

_ITEM = re.compile(
    r"(?:[\u2022\u25aa\u25cf\u25e6\u2023\u25a0\u2043\u27a2\uf0b7\u00b7*\u2013\u2212-]|\d{1,3}[.)]|[a-z][.)])\s*"
)
_LEADERS = re.compile(r"(?:\s?[.\u2026\u00b7_]){4,}")
_LIGATURES = str.maketrans(
    {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st"}
    | {"\ufffe": "-", "\u00ad": "-", "\u2010": "-", "\u2011": "-", "\u00a0": " ", "\u2028": " ", "\ufeff": ""}
)


@dataclass(frozen=True)
class Page:
    """A page as it was read.

    Attributes:
        number: from 0, in the file.
        label: what the file calls it, "" for nothing.
        lines: of its text, from top to bottom.
    """

    number: int
    label: str
    lines: Sequence[Line]

    @classmethod
    def of(cls, number: int, label: str, stretches: Sequence[Stretch]) -> Self:
        """A page by the stretches of type on it."""
        return cls(number, label, lines(number, stretches))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of one column, or a cell of a table.

    Attributes:
        level: number of its row on the page.
        drawn: number of its first stretch, in the order in which the page is drawn.
        lead: characters at its beginning in bold type, if not all is.
        rows: of a table that stands in its place, and then it has no text.
        left: where its column begins.
        right: where its column ends.
        column: number of the column in the book.
    """

    x0: float
    y0: float
    x1: float
    base: float
    size: float
    style: int
    text: str
    page: int
    level: int
    drawn: int = 0
    lead: int = 0
    rows: Sequence[Sequence[str]] = ()
    left: float = 0.0
    right: float = 0.0
    column: int = 0

    @property
    def type(self) -> tuple[float, int]:
        """Size and weight."""
        return round(self.size * 2) / 2, self.style & BOLD


def lines(page: int, stretches: Sequence[Stretch]) -> list[Line]:
    """The lines of a page: what stands on one level, with no wider gap than between words."""
    seen: set[tuple[str, int, int]] = set()
    own: list[Stretch] = []
    for each in stretches:
        key = each[6].strip(), round(each[0] / 2), round(each[3] / 2)
        if key[0] and key not in seen:  # type that is drawn twice to look heavier
            seen.add(key)
            own.append(each)
    _join_initials(own)
    drawn = {id(each): place for place, each in enumerate(own)}
    own.sort(key=lambda each: each[3])
    rows = [own[:1]]
    for each in own[1:]:
        row = rows[-1]
        if each[3] - row[-1][3] < 0.5 or each[3] - row[0][3] < _SAME_LINE * min(each[4], row[0][4]):
            row.append(each)
        else:
            rows.append([each])
    return [
        line for n, row in enumerate(rows) for line in _of_row(sorted(row, key=lambda each: each[0]), page, n, drawn)
    ]


def _join_initials(own: list[Stretch]) -> None:
    """Put the large letters with which texts begin right before the first of the lines that stand beside them."""
    usual = statistics.median(each[4] for each in own) if own else 0.0
    for place, (left, top, right, base, size, _, text) in enumerate(own):
        if size > 1.8 * usual and len(text.strip()) == 1 and text[0].isalpha():
            beside = [
                each
                for each in own
                if -2 < each[0] - right < 2 * usual and top - usual < each[3] < base and each[4] < size / 1.5
            ]
            if beside:
                first = min(beside, key=lambda each: each[3])
                own[place] = (left, first[1], first[0], *first[3:6], text.strip())


def _of_row(row: Sequence[Stretch], page: int, level: int, drawn: Mapping[int, int]) -> Iterator[Line]:
    """The lines and cells of a row; what is drawn in another order than it stands is parted by narrower gaps, as columns are."""
    run: list[Stretch] = []
    for each in row:
        if run:
            size, gap = max(each[4], run[-1][4]), each[0] - run[-1][2]
            is_item = len(run) == 1 and _ITEM.fullmatch(run[0][6].strip()) and gap < 3.5 * size
            is_next = drawn[id(each)] == drawn[id(run[-1])] + 1
            if gap > (_CELL_GAP if is_next else _COLUMN_GAP) * size and not is_item:
                yield _line(run, page, level, drawn[id(run[0])])
                run = []
        run.append(each)
    if run:
        yield _line(run, page, level, drawn[id(run[0])])


def _line(run: Sequence[Stretch], page: int, level: int, drawn: int) -> Line:
    text, lead, is_leading = "", 0, True
    sizes, styles = Counter[float](), Counter[int]()
    end = run[0][0]
    mark = run[0][6].strip()
    is_mark = (
        len(run) > 1
        and (mark in ("o", "\u00a7") or category(mark[:1] or "a") in ("So", "Co"))
        and run[1][0] - run[0][2] > _WIDE_GAP * run[0][4]
    )
    for place, (x0, _, x1, _, size, style, written) in enumerate(run):
        own = "\u2022 " if is_mark and not place else written.translate(_LIGATURES)
        gap = " " if text and not text.endswith(" ") and x0 - end > _WORD_GAP * size else ""
        text, end = f"{text}{gap}{own}", x1
        is_leading = is_leading and bool(style & BOLD)
        lead = len(text) if is_leading else lead
        sizes[size] += len(own)
        styles[style] += len(own.strip())
    text = _LEADERS.sub(" \u2026 ", text)
    whole = " ".join(text.split()).removesuffix(" \u2026")
    is_bold = lead >= len(text.rstrip())
    style = (BOLD if is_bold else 0) | (ITALIC if max(styles, key=lambda each: styles[each]) & ITALIC else 0)
    lead = 0 if is_bold else len(" ".join(text[:lead].split()))
    return Line(
        run[0][0],
        min(each[1] for each in run),
        max(each[2] for each in run),
        run[0][3],
        max(sizes) if whole.isupper() else max(sizes, key=lambda each: sizes[each]),  # small capitals are smaller
        style,
        whole,
        page,
        level,
        drawn,
        lead,
    )
