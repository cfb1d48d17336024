"""The pages of a printed book, as stretches of type with their places, to Markdown.

A page says only where a stretch stands, and how large and heavy it is. What it means follows from the whole book: the size that
most of the text has is that of the text, what stands in one place on many pages is a running head, and larger or heavier lines
are headings, the largest the highest; an outline says more exactly how high. Nothing here knows of a game but the lines of stat
blocks and spells, which stay lines.
"""

from __future__ import annotations

import re
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain, groupby, pairwise

from lorekeeper.folding import fold
from lorekeeper.normalize.printed_lines import BOLD, ITALIC, Line, Page
from lorekeeper.normalize.printed_srd.layout import mended, words
from lorekeeper.normalize.printed_srd.structure import table_lines
from lorekeeper.records.printed import has_value, kind_said
from lorekeeper.system import TURNS

_LARGER = 1.1
"""A line whose type is so much larger than that of the text is a heading."""

_LONGEST_HEADING = 100
_APART = 1.55
"""Least distance of the lines of two paragraphs, in sizes of type."""

_FULL = 0.9
"""Share of its column that a line with the first word of the next one takes at least, if that had no room in it."""

_HEADING_LINES = 3
"""Most lines of a heading."""

_LEAST_TEXT = 0.05
"""Share of a book's characters that a type of text has at least."""

_EDGE_LINES = 3
"""Lines at the top and at the bottom of a page that may be running heads."""

_FEWEST_PAGES = 3
"""Pages on which a running head stands at least."""

_DENSE = 0.4
"""Share of the pages from its first to its last on which a running head stands at least: left pages have others than right ones."""

_LEAST_COLUMN = 0.2
"""Least width of a column, in widths of the page's text, and the least of its lines."""

_TITLES = 0.03
"""Lines of a page that are titles of it, and narrow the gap by their ends."""

_CROSSING = 0.15
"""Lines of a page, at most, that run across the gap between its columns."""

_TURNS = 0.5
"""Turns from one side to the other, by lines of the shorter side, from which on two sides are columns of a table."""

_HEAD_LINES = 14
"""Paragraphs below the line that says what an entry is in which its values stand."""

_DIGITS = re.compile(r"\d+")
_COUNTED = re.compile(r"(?<!\S)(?:\w{1,20} )?\S{0,9}\d\S{0,9} ")
_NUMBER = re.compile(r"\W{0,3}(?:page )?(\d{1,4})\W{0,3}", re.IGNORECASE)
_POINT = re.compile(
    r"[\u2022\u25aa\u25cf\u25e6\u2023\u25a0\u2043\u27a2\uf0b7\u00b7]\s*|[-\u2013\u2212*]\s+(?=\S)|[-\u2013\u2212](?=[^\W\d])"
)
_NUMBERED = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)]\s+(?=\S)")
_ROW_OF_CONTENTS = re.compile(r"(?<= )[.\u2026] \d{1,4}$")
_ENDS = re.compile(r"[.!?:\u201d\")\]]$")
_LABEL_ENDS = re.compile(r"[.:!?]\W{0,9}$")


@dataclass
class Printed:
    """A book as Markdown.

    Attributes:
        lines: of it.
        pages: of each line, the page on which it stands, as the book numbers it.
        numbers: of the pages of the file, what the book calls them.
    """

    lines: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)
    numbers: dict[int, str] = field(default_factory=dict)


def printed_book(pages: Sequence[Page], outline: Sequence[tuple[str, int, int]]) -> Printed:
    """The Markdown of a book.

    Args:
        pages: in their order.
        outline: titles with their depths and pages, both from 0.
    """
    lines = [page.lines for page in pages]
    heads = _running_heads(lines)
    shifts = Counter(int(number[1]) - line.page for line in heads if (number := _NUMBER.fullmatch(line.text)))
    shift, times = max(shifts.items(), key=lambda item: item[1], default=(1, 0))
    is_most = times > max(shifts.total() / 2, len(pages) / 3)  # a sheet has the numbers of two pages
    numbers = _numbers(pages, shift if is_most else 1)
    texts = [[line for line in own if line not in heads] for own in lines]
    kinds = Counter[tuple[float, int]]()
    for line in chain.from_iterable(texts):
        kinds[line.type] += len(line.text)
    body = max(kinds, key=lambda kind: kinds[kind], default=(10.0, 0))[0]
    found: list[Line] = []
    for place, column in enumerate(column for own in texts for column in _columns(own, body)):
        left, right = _edges_of(column)
        found += _with_tables([replace(line, left=left, right=right, column=place) for line in column])
    return _Setter(body, found, outline, numbers).printed()


# --- running heads -------------------------------------------------------------------------------------------------


def _running_heads(pages: Sequence[Sequence[Line]]) -> set[Line]:
    """The lines at the top and the bottom of pages that stand in one place on most pages of a part of the book.

    What they say is the same but for numbers, or repeats a heading; larger type with a number of its own is a heading.
    """
    sizes = Counter(line.type[0] for page in pages for line in page)
    usual = max(sizes, key=lambda size: sizes[size], default=10.0) * _LARGER
    titles = {_COUNTED.sub("", fold(line.text), 1) for page in pages for line in page if line.size > usual}
    found = set[Line]()
    for _ in range(_EDGE_LINES):
        places: defaultdict[tuple[str, int], set[Line]] = defaultdict(set)
        for page in pages:
            for line in _edges([line for line in page if line not in found and not kind_said(line.text)]):
                whole = fold(line.text) or line.text
                shape = _DIGITS.sub("0", whole) if line.size <= usual or _NUMBER.fullmatch(whole) else whole
                is_title = line.size <= usual and _COUNTED.sub("", whole, 1) in titles
                for place in (round(line.base / 4), round(line.base / 4) + 1):
                    places[shape, place].add(line)
                    places["", place] |= {line} if is_title else set()
        heads = {line for lines in places.values() if _is_dense({line.page for line in lines}) for line in lines}
        if not heads:
            break
        found |= heads
    return found


def _is_dense(pages: set[int]) -> bool:
    return len(pages) >= _FEWEST_PAGES and len(pages) > _DENSE * (max(pages) - min(pages))


def _edges(page: Sequence[Line]) -> list[Line]:
    """The first and the last line of a page, with what stands on one level."""
    return [line for line in page if line.level in (page[0].level, page[-1].level)]


def _numbers(pages: Sequence[Page], shift: int) -> dict[int, str]:
    """What the book calls each page: as the file labels it, else as is printed on most, else its place in the file."""
    if len({page.label for page in pages if page.label}) > len(pages) / 2 and any(
        page.label != str(page.number + 1) for page in pages
    ):
        return {page.number: page.label or str(page.number + 1) for page in pages}
    return {
        page.number: str(page.number + shift) if page.number + shift > 0 else f"0-{page.number + 1}" for page in pages
    }


# --- columns ---------------------------------------------------------------------------------------------------------


def _columns(lines: Sequence[Line], body: float, depth: int = 0) -> Iterator[list[Line]]:
    """The columns of a page in the order of reading; what runs across them stands alone, between those above and below."""
    gap = _gap(lines, body) if depth < 3 else None
    if gap is None:
        if lines:
            yield sorted(lines, key=lambda line: (line.base, line.x0))
        return
    for is_across, group in groupby(sorted(lines, key=lambda line: line.base), lambda line: line.x0 < gap < line.x1):
        own = list(group)
        sides = [[line for line in own if (line.x1 <= gap) is side] for side in (True, False)]
        if is_across or _is_table(*sides):
            yield sorted(own, key=lambda line: (line.base, line.x0))
            continue
        for side in sides:
            yield from _columns(side, body, depth + 1)


def _gap(lines: Sequence[Line], body: float) -> float | None:
    """The middle of the gap between two columns, that fewest lines run across; None if the lines are one column."""
    if len(lines) < 6:
        return None
    left, right = _edges_of(lines)
    start, end = int(left), int(right) + 1
    covered = [0] * (end - start + 1)
    for line in lines:
        for x in range(int(line.x0) - start, min(int(line.x1) + 1, end) - start):
            covered[x] += 1
    inner = range(int((end - start) * _LEAST_COLUMN), int((end - start) * (1 - _LEAST_COLUMN)) + 1)
    lowest = min(covered[x] for x in inner)
    found: list[tuple[float, float]] = []
    """Width of the narrower side, and the middle of a gap: columns are about as wide as each other."""
    for is_gap, group in groupby(inner, lambda x: covered[x] <= lowest + len(lines) * _TITLES):
        own = list(group)
        middle = start + (own[0] + own[-1]) / 2
        sides = [line for line in lines if line.x1 <= middle], [line for line in lines if line.x0 >= middle]
        if is_gap and min(map(len, sides)) >= 3 and len(own) >= body * 0.7:
            found.append((min(map(_width, sides)), middle))
    return max(found)[1] if found and lowest <= len(lines) * _CROSSING else None


def _edges_of(lines: Sequence[Line]) -> tuple[float, float]:
    """Where the leftmost of lines begins, and the rightmost ends."""
    return min((line.x0 for line in lines), default=0), max((line.x1 for line in lines), default=0)


def _width(lines: Sequence[Line]) -> float:
    left, right = _edges_of(lines)
    return right - left


def _is_table(left: Sequence[Line], right: Sequence[Line]) -> bool:
    """Whether two sides are columns of a table, which is drawn row by row, and not of the text, which are drawn one by one."""
    order = sorted([*((line.drawn, 0) for line in left), *((line.drawn, 1) for line in right)])
    turns = sum(one[1] != other[1] for one, other in pairwise(order))
    return turns > max(2, min(len(left), len(right)) * _TURNS)


def _with_tables(column: Sequence[Line]) -> Iterator[Line]:
    """The lines of a column, and its tables."""
    cells = [list(row) for _, row in groupby(column, lambda line: line.level)]
    at = 0
    while at < len(cells):
        end = _table_end(cells, at)
        table = _table(cells[at:end]) if end > at else []
        if table:
            yield replace(cells[at][0], text="", rows=table)
            at = end
        else:
            yield _one(cells[at])
            at += 1


def _one(cells: Sequence[Line]) -> Line:
    """What stands on one level as one line."""
    first, *others = cells
    is_bold = all(each.style & BOLD for each in others) and len(others) < 2 - (not _COUNTED.match(f"{first.text} "))
    style = first.style if is_bold else first.style & ITALIC
    lead = len(first.text) if others and first.style & BOLD and style != first.style else first.lead
    text, size = " ".join(each.text for each in cells), min(each.size for each in cells)
    return replace(first, text=text, size=size, x1=cells[-1].x1, style=style, lead=lead)


def _table_end(rows: Sequence[Sequence[Line]], start: int) -> int:
    """The row behind the table that begins with one; the row itself if none does."""
    if len(rows[start]) < 2:
        return start
    end = last = start + 1
    starts = {round(cell.x0) for cell in rows[start]}
    while end < len(rows):
        row, above = rows[end], rows[end - 1]
        is_near = row[0].base - above[0].base < 3.2 * row[0].size
        if not is_near or (len(row) == 1 and not any(abs(row[0].x0 - x) < 4 for x in starts)):
            break
        if len(row) > 1:
            starts |= {round(cell.x0) for cell in row}
            last = end + 1
        elif row[0].x0 - row[0].left < row[0].size and row[0].x1 - row[0].x0 > 0.7 * (row[0].right - row[0].left):
            break
        end += 1
    while last < end and rows[last][0].x0 - rows[last][0].left > rows[last][0].size:
        last += 1
    return last if sum(len(row) > 1 for row in rows[start:last]) > 1 else start


def _table(rows: Sequence[Sequence[Line]]) -> list[list[str]]:
    """The rows of a table with as many cells each; a line below a cell that goes on is part of it. [] if it has one column."""
    spans: list[list[float]] = []
    for cell in sorted((cell for row in rows if len(row) > 1 for cell in row), key=lambda cell: cell.x0):
        if spans and cell.x0 < spans[-1][1] + 1:
            spans[-1][1] = max(spans[-1][1], cell.x1)
        else:
            spans.append([cell.x0, cell.x1])
    found: list[list[str]] = []
    for row in rows:
        own = [""] * len(spans)
        for cell in row:
            place = max((n for n, span in enumerate(spans) if span[0] <= cell.x0 + 1), default=0)
            own[place] = f"{own[place]} {cell.text}".strip()
        if found and not own[0] and sum(map(bool, own)) < len(own):
            found[-1] = [f"{above}\n{more}".strip() for above, more in zip(found[-1], own, strict=True)]
        else:
            found.append(own)
    return found if len(spans) > 1 else []


# --- headings and paragraphs -----------------------------------------------------------------------------------------


class _Setter:
    """Makes paragraphs and headings of lines, in Markdown."""

    def __init__(
        self,
        body: float,
        lines: Sequence[Line],
        outline: Sequence[tuple[str, int, int]],
        numbers: dict[int, str],
    ) -> None:
        self._body, self._lines, self._numbers = body, lines, numbers
        self._mended = partial(mended, known=words(line.text for line in self._lines))
        near = [
            (one, other)
            for one, other in pairwise(self._lines)
            if one.column == other.column and 0 < other.base - one.base < 1.5 * one.size
        ]
        self._within = {id(other) for one, other in near if other.x0 > one.x1}
        """Lines that begin right of the end of the line above."""
        self._within |= {
            id(other)
            for one, other in near
            if other.style == BOLD | ITALIC and one.style in (0, BOLD) and (one.style or one.size > other.size)
        }
        self._named = {
            id(one)
            for one, other in pairwise(self._lines)
            if one.column == other.column
            and 0 < other.base - one.base < 3 * one.size
            and one.size >= other.size
            and kind_said(other.text)
        }
        """Lines right above those that say what an entry is."""
        self._below = {
            id(one): other.type[0] for one, other in near if other.x1 - other.x0 > (other.right - other.left) / 2
        }
        """By line, the size of the text right below it."""
        self._outlined = {(_squeezed(title), page): (depth, title) for title, depth, page in outline}
        self._running, self._texts = self._running_on()
        self._levels = self._heading_levels()
        self._book = Printed(numbers=numbers)
        self._text: list[Line] = []
        self._joined, self._turns = "", list[tuple[int, int]]()
        self._in_head = 0

    def printed(self) -> Printed:
        """The book."""
        for line in self._lines:
            if line.rows:
                self._flush()
                rows = [[reduce(self._mended, cell.split("\n")) for cell in row] for row in line.rows]
                self._emit("\n".join(table_lines(rows)), line.page)
            elif line.text:
                self._add(line)
        self._flush()
        self._book.lines = list(_filled(self._book.lines))
        return self._book

    def _heading_levels(self) -> dict[tuple[float, int], int]:
        """By type of a heading, its level: as the outline says of most of that type, else below those of larger type."""
        depths: defaultdict[tuple[float, int], list[int | None]] = defaultdict(list)
        for line in self._lines:
            if line.text and self._looks_like_heading(line):
                depths[line.type].append(self._told(line.text, line.page)[0])
        found: dict[tuple[float, int], int] = {}
        deepest = 0
        for kind in sorted(depths, reverse=True):
            told = [depth for depth in depths[kind] if depth is not None]
            level = statistics.mode(told) + 1 if told else deepest + 1
            found[kind] = min(level, 6)
            deepest = max(deepest, found[kind])
        return found

    def _running_on(self) -> tuple[set[int], set[tuple[float, int]]]:
        """Lines of more than `_HEADING_LINES` in turn, and the types in which most lines go on: they are texts, however large."""
        runs: list[list[Line]] = []
        going, whole = Counter[tuple[float, int]](), Counter[tuple[float, int]]()
        for line in self._lines:
            last = runs[-1][-1] if runs else None
            whole[line.type] += len(line.text)
            is_next = last and line.text and line.column == last.column and line.type == last.type
            if last and is_next and 0 < line.base - last.base < 1.7 * line.size:
                runs[-1].append(line)
                going[last.type] += len(last.text) if last.x1 > last.right - 0.15 * (last.right - last.left) else 0
            else:
                runs.append([line])
        least = whole.total() * _LEAST_TEXT
        texts = {kind for kind, chars in going.items() if whole[kind] > least and chars > 0.4 * whole[kind]}
        return {id(line) for run in runs if len(run) > _HEADING_LINES for line in run}, texts

    def _told(self, text: str, page: int) -> tuple[int | None, str]:
        """Depth and title of what the outline has of a page, with or without the number before it; None and "" of nothing."""
        number, _, name = text.partition(" ")
        names = map(_squeezed, [text, name] if any(map(str.isdigit, number)) else [text])
        return next((self._outlined[own, page] for own in names if (own, page) in self._outlined), (None, ""))

    def _looks_like_heading(self, line: Line) -> bool:
        if sum(map(str.isalpha, line.text)) < 2 or len(line.text) > _LONGEST_HEADING or line.text[-1] in ".;":
            return False
        if id(line) in self._named:
            return True
        if (
            id(line) in self._within
            or id(line) in self._running
            or _ROW_OF_CONTENTS.search(line.text)
            or (line.type in self._texts and not line.style & BOLD)
        ):
            return False
        if line.size > self._body * _LARGER:
            return True
        is_short = line.x1 - line.x0 < 0.9 * max(line.right - line.left, 1)
        return (
            bool(line.style & BOLD)
            and is_short
            and line.text[-1] != ","
            and next(filter(str.isalpha, line.text)).isupper()
            and line.type[0] >= min(self._body, self._below.get(id(line), self._body))
        )

    def _level(self, line: Line) -> int:
        """Of a heading; 0 for a line of text."""
        depth = self._told(line.text, line.page)[0]
        if depth is not None:
            return min(depth + 1, 6)
        if not self._looks_like_heading(line) or kind_said(line.text) or (self._in_head and has_value(line.text)):
            return 0
        return self._levels.get(line.type, 6)

    def _add(self, line: Line) -> None:
        level = self._level(line)
        last = self._text[-1] if self._text else None
        if last and not self._goes_on(last, line, level):
            self._flush()
        if not self._text:
            self._joined = line.text
        else:
            before = len(self._joined)
            self._joined = self._mended(self._joined, line.text)
            if line.page != self._text[-1].page:
                self._turns.append((max(self._joined.find(" ", before - 1), 0), line.page))
        self._text.append(line)

    def _goes_on(self, last: Line, line: Line, level: int) -> bool:
        """Whether a line belongs to the paragraph, or the heading, whose last line is given."""
        first, is_heading = self._text[0], self._level(last)
        is_next = line.column == last.column
        gap = line.base - last.base
        if level or is_heading:
            is_alike = line.type == last.type or last.text.endswith("-")
            is_near = is_alike and is_next and 0 < gap < 1.7 * line.size
            return bool(level and is_heading and is_near and _is_full(last, line))
        if kind_said(last.text) and not _is_open(last.text, line.text):
            return False
        if _POINT.match(line.text) or kind_said(line.text):
            return False
        is_value = has_value(first.text)
        if (self._in_head or is_value) and has_value(line.text):
            return False
        if line.lead and (
            self._in_head or first.lead or first.style & BOLD or _LABEL_ENDS.search(line.text[: line.lead])
        ):
            return False
        if not is_next:
            is_open = not _ENDS.search(last.text)
            return (
                is_open
                and abs(line.size - last.size) < 1
                and (
                    line.text[0].islower()
                    or last.text.endswith("-")
                    or (last.x1 > last.right - 0.1 * (last.right - last.left) and line.x0 - line.left < line.size / 2)
                )
            )
        if gap > _APART * line.size or abs(line.size - last.size) > 1.5 or gap < 0:
            return False
        if _POINT.match(first.text) or _NUMBERED.match(first.text):
            return line.x0 > first.x0 + 2
        is_indented = line.x0 > last.x0 + 0.8 * line.size and not ((first.lead or is_value) and last is first)
        is_told = bool(_ENDS.search(last.text)) or (self._in_head and is_value)
        is_ended = is_told and last.x1 < last.right - 0.12 * (last.right - last.left)
        return not is_indented and not (is_ended and not line.text[0].islower())

    def _flush(self) -> None:
        """Write the paragraph or heading that was collected."""
        if not self._text:
            return
        first, text = self._text[0], " ".join(self._joined.split())
        level = self._level(first)
        if level:
            told = self._told(text, first.page)[1]
            self._emit(f"{'#' * level} {told if _squeezed(told) == _squeezed(text) else text.rstrip(' :')}", first.page)
        else:
            if point := _POINT.match(text):
                marked = f"- {text[point.end() :]}"
            else:
                self._in_head = _HEAD_LINES if kind_said(text) else max(self._in_head - 1, 0)
                marked = _marked(text, first)
            shift = len(marked) - len(text)
            at, page = 0, first.page
            for turn, following in [*self._turns, (len(text), page)]:
                self._emit(marked[at : turn + shift].strip(), page, ends=turn == len(text))
                at, page = turn + shift, following
        self._text, self._turns = [], []

    def _emit(self, markdown: str, page: int, *, ends: bool = True) -> None:
        """Write Markdown, and a blank line where it ends."""
        if markdown.startswith("#"):
            time.sleep(TURNS.left)
        for line in (*markdown.split("\n"), *([""] if ends else [])):
            self._book.lines.append(line)
            self._book.pages.append(self._numbers[page])


def _filled(lines: Sequence[str]) -> list[str]:
    """Lines in which a heading right above another of its level is of a higher one."""
    found: list[str] = []
    below = 1
    for line in reversed(lines):
        level = len(line) - len(line.lstrip("#"))
        found.append(line[1:] if level > 2 and level == below else line)
        below = level if line else below
    return found[::-1]


def _is_full(line: Line, below: Line) -> bool:
    """Whether the first word of the line below would have had no room behind a line."""
    word = (below.x1 - below.x0) * len(below.text.split()[0]) / len(below.text)
    return line.x1 - line.x0 + word > _FULL * (line.right - line.left)


def _is_open(text: str, below: str) -> bool:
    """Whether the line that says what an entry is goes on in the line below."""
    return below[:1].islower() or text.count("(") > text.count(")")


def _squeezed(text: str) -> str:
    """A title without spaces, as letters that are set apart have too many of them."""
    return fold(text).replace(" ", "")


def _marked(text: str, first: Line) -> str:
    """A paragraph with the label in bold type at its beginning."""
    if first.style & BOLD and first.lead == 0 and first.text == text:
        return f"**{text}**"
    if not first.lead:
        return f"\\{text}" if text[0] in "#>|" else text
    mark = "***" if first.style & ITALIC or (first.lead > 2 and _LABEL_ENDS.search(text[: first.lead])) else "**"
    label, rest = text[: first.lead].strip(), text[first.lead :].strip()
    return f"{mark}{label}{mark} {rest}"
