"""Printed pages as paragraphs: without running heads and page numbers, lines joined, words mended that a line's end split.

Pages are text as programs take it out of a PDF, a column after the other. Two habits of such text are understood. In one, a line
that the paragraph goes on after ends with a space. In the other, a gap between words has a tab, so that a space without one is
none, and titles, which are set in another font, have no tabs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lorekeeper.folding import fold
from lorekeeper.normalize.printed_srd.tables import Table
from lorekeeper.normalize.printed_srd.titles import SMALL, SMALL_CAPITALS, is_title
from lorekeeper.records.printed import CREATURE, kind_said

_HEAD_LINES = 3
"""Most lines of a running head."""

_NARROW = 38
"""Characters of a line that had room for the next word, in a page of two columns."""

_BULLET = "\u2022"
_ENDS = re.compile(r"(?:[.!?\u201d]|[^A-Z]\))$")
_IN_NAME = rf"(?:[A-Z][\w\u2019-]*|\d\w*|{'|'.join(sorted(SMALL))})"
_TABLE_NAMED = re.compile(rf"\b[Tt]he ({_IN_NAME}(?: {_IN_NAME}){{0,7}}) table\b")
"""How a text names a table, by its caption."""

_DIGITS = re.compile(r"\d+")
_GAP = re.compile(r"\s+")
CELL_GAP = "\u2003"
"""Between two cells of a row."""

_DASH = re.compile(r"\w\u2014$")
_HYPHENS = re.compile(r"[\u00ad\u2010\u2011]+|-[\u00ad\u2010\u2011]+")
_OPEN = re.compile(r"[ -]$|\w\u2014$")
"""How a line ends that the paragraph goes on after."""

_SPLIT = re.compile(r"(?P<space> ?)-$")
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*|\d+")
_BEFORE_MARK = re.compile(r"(?<=[\w)\u2019\u201d]) +(?=[,.;:!?)\u2019\u201d](?!\d?\d?d\d))")
_AFTER_MARK = re.compile(
    r"(?<=[(\u201c\u2018]) +|(?<=:/) (?=/)|(?<=\d) (?=,\d{3}\b|\u2013\d)|(?<=,\d) (?=\d\d\b)|(?<=,\d\d) (?=\d\b)"
    r"|(?<=\d,) (?=\d\d \d\b|\d \d\d\b)|(?<=, \d\d) (?=\d\b)|(?<=, \d) (?=\d\d\b)"
)
_TAIL = re.compile(r"(?<![\w'\u2019-])([^\W\d_]{3,}) ([b-hj-z]|[b-hj-z][^\W\d_])(?![\w'\u2019-])")
"""A word and what may be its last letters, kept apart by the way they were set."""


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, a title, a point of a list or a row of a table: nothing says which.

    Attributes:
        text: in one line.
        page: number of the page on which it begins.
        is_indented: whether its first line is.
        is_point: whether it begins with a bullet, which the text does not have.
        is_title: whether it is set in another font than the text of the page, in pages that show it.
        is_open: whether its last line ended as one does that goes on.
        is_apart: whether it stands amid a paragraph that goes on behind it, as a box or a table does.
        is_row: whether it is a row of a table, whose cells it keeps apart.
        lines: of the page that it takes.
    """

    text: str
    page: int
    is_indented: bool = False
    is_point: bool = False
    is_title: bool = False
    is_open: bool = False
    is_apart: bool = False
    is_row: bool = False
    lines: int = 1

    @property
    def is_small(self) -> bool:
        """Whether it is set in small capitals."""
        return SMALL_CAPITALS.search(self.text) is not None and len(self.text) <= _NARROW


def is_box(line: str) -> bool:
    """Whether a line says that what it stands in is a creature, whose lines are set apart."""
    return kind_said(line) == CREATURE


def _is_kind(line: str) -> bool:
    """Whether a line says what an entry is, to its end: it is a whole paragraph."""
    is_whole = line.count("(") == line.count(")") and not line.endswith((",", "-"))
    return is_whole and bool(kind_said(line))


def paragraphs(pages: Sequence[str], tables: Mapping[int, Sequence[Table]]) -> list[Paragraph]:
    """The paragraphs of the pages of a book, in their order.

    Args:
        pages: their texts.
        tables: by the numbers of their pages.
    """
    heads = _running_heads(pages)
    read = [[*_lines(_without_head(page, heads), number)] for number, page in enumerate(pages, 1)]
    known = words(line.text for page in read for line in page)
    _read_tables(read, tables, known)
    lines = [line for page, before in zip(read, [[], *read], strict=False) for line in _in_order(page, before)]
    return [replace(each, text=_set(each.text, known)) for each in _joined(lines, known)]


def table_names(texts: Iterable[str]) -> set[str]:
    """The captions of tables that texts name, folded."""
    return {fold(name) for text in texts for name in _TABLE_NAMED.findall(text)}


# --- heads ------------------------------------------------------------------------------------------------------------


def _shape(line: str) -> str:
    return _DIGITS.sub("0", "".join(line.split()))


def _running_heads(pages: Sequence[str]) -> set[str]:
    """What stands at the top of many pages, apart from its numbers."""
    tops = Counter(_shape(line) for page in pages for line in page.split("\n")[:_HEAD_LINES])
    return {shape for shape, count in tops.items() if count > max(1, len(pages) // 5)}


def _without_head(page: str, heads: set[str]) -> Iterator[str]:
    lines = page.split("\n")
    for place, line in enumerate(lines):
        if place >= _HEAD_LINES or _shape(line) not in heads:
            yield from lines[place:]
            return


# --- lines ------------------------------------------------------------------------------------------------------------


def _lines(page: Iterable[str], number: int) -> Iterator[Paragraph]:
    """The lines of a page that have a text."""
    raw_lines = [line.replace("\r", "").replace("\u00a0", " ") for line in page]
    has_tabs = sum("\t" in line for line in raw_lines) * 2 > len(raw_lines)
    for raw in raw_lines:
        line = raw.replace("\t", " ")
        if has_tabs and "\t" in raw:
            line = _GAP.sub(_gap, _HYPHENS.sub("-", raw))
        text = line.strip(" ")
        if text:
            is_point = text.startswith(_BULLET)
            yield Paragraph(
                text.removeprefix(_BULLET).strip(),
                number,
                is_indented=line.startswith(" "),
                is_point=is_point,
                is_title=has_tabs and "\t" not in raw and raw.endswith(" ") and text[0].isupper(),
                is_open=_OPEN.search(line) is not None,
            )


def _read_tables(pages: Sequence[list[Paragraph]], tables: Mapping[int, Sequence[Table]], known: Counter[str]) -> None:
    """Make rows of the lines of tables, in place. What goes on elsewhere stands behind what it goes on from."""
    ends: dict[tuple[str, ...], tuple[list[Paragraph], Paragraph]] = {}
    for number, page in enumerate(pages, 1):
        start = 0
        for table in tables.get(number, ()):
            found = table.find([line.text for line in page], start, partial(mended, known=known))
            if found is None or (table.sign and table.titles not in ends):
                continue
            place, rows = found
            start = place.start
            made = [replace(page[start], text=CELL_GAP.join(cells), is_row=True, is_open=False) for cells in rows]
            del page[start : place.stop]
            home = page
            if table.sign:
                home, last = ends[table.titles]
                home[(at := home.index(last) + 1) : at] = made[1:]
            else:
                page[start:start] = made
                start += len(made)
            if start and home is page and is_title(page[place.start - 1].text):
                page[place.start - 1] = replace(page[place.start - 1], is_open=False)
            ends[table.titles] = home, made[-1]


def _gap(found: re.Match[str]) -> str:
    """What a gap is in a line with tabs: a space, if it has one, or stands between two numbers."""
    around = found.string[found.start() - 1 : found.start()] + found.string[found.end() : found.end() + 1]
    return " " if "\t" in found[0] or (len(around) == 2 and around.isdigit()) else ""


def words(lines: Iterable[str]) -> Counter[str]:
    """How often each word stands in lines, whole: the last of a line that is split is none, nor is the first of the next."""
    found: Counter[str] = Counter()
    split = False
    for line in lines:
        words = _WORD.findall(line.casefold())
        found.update(words[1 if split else 0 : len(words) - 1 if (split := line.endswith("-")) else None])
    return found


def _in_order(page: Sequence[Paragraph], before: Sequence[Paragraph]) -> list[Paragraph]:
    """The lines of a page. A box is written behind the other column at times, with what stands below it.

    Then the page ends within a sentence which goes on where a line begins in the midst of one.
    """
    box = next((place for place in range(len(page) - 1) if is_box(page[place + 1].text)), 0)
    if not box or not page[-1].is_open or _ENDS.search(page[-1].text):
        return list(page)
    for place in range(box):
        last = page[place - 1] if place else next(iter(before[-1:]), None)
        is_ended = last and (not last.is_open or (_ENDS.search(last.text) and len(last.text) < _NARROW))
        if is_ended and page[place].text[0].islower() and not page[place].is_indented:
            return [*page[:place], *page[box:], *page[place:box]]
    return list(page)


def _joined(lines: Sequence[Paragraph], known: Counter[str]) -> list[Paragraph]:
    """Lines as paragraphs. One that something set apart cuts goes on with the line that begins within a sentence."""
    found: list[Paragraph] = []
    last, cut, on_page = "", -1, 0
    kinds = [_is_kind(line.text) for line in lines]
    for place, line in enumerate(lines):
        is_caption = is_title(line.text) and any(each.is_row for each in lines[place + 1 : place + 2])
        is_apart = line.is_small or (is_caption and not line.is_row and not last.endswith(":"))
        is_head = line.text[0].isupper() and any(kinds[place : place + 2])
        if found and _is_kind(found[-1].text) and not line.text.startswith("("):
            found[-1] = replace(found[-1], is_open=False)
        if found and _goes_on(found[-1], last, line) and not (is_apart or is_head):
            found[-1] = _longer(found[-1], line, known)
        elif cut >= 0 and _begins_within(line.text, found[cut].text) and line.page == on_page + 1:
            apart = [replace(each, is_apart=True) for each in found[cut + 1 :]]
            found[cut + 1 :] = []
            found[cut] = _longer(found[cut], line, known)
            found[cut:cut] = apart
            cut = -1
        else:
            if is_apart and found and found[-1].is_open and _goes_on(found[-1], last, line):
                cut, on_page = len(found) - 1, lines[place - 1].page
            found.append(line)
        last = line.text
    return found


def _begins_within(line: str, cut: str) -> bool:
    """Whether a line begins within a sentence, as its first letter or a quotation mark of a cut paragraph shows."""
    return line[0].islower() or (cut.rfind("\u201c") > cut.rfind("\u201d") and "\u201d" in line.partition("\u201c")[0])


def _longer(before: Paragraph, line: Paragraph, known: Counter[str]) -> Paragraph:
    text = mended(before.text, line.text, known)
    return replace(before, text=text, is_open=line.is_open, lines=before.lines + 1)


def _goes_on(before: Paragraph, last: str, line: Paragraph) -> bool:
    """Whether a line belongs to the paragraph before, whose last line had no room for more, or ends within a sentence."""
    if line.is_indented or line.is_point or line.is_row or before.is_row:
        return False
    if line.is_title or before.is_title:
        return line.is_title and before.is_title and last.rpartition(" ")[2] in SMALL
    if not before.is_open:
        return before.is_point and line.text[0].islower() and not _ENDS.search(last)
    return not _ENDS.search(last) or not (len(last) < _NARROW or (is_title(line.text, _NARROW) and not line.is_open))


def mended(before: str, after: str, known: Counter[str]) -> str:
    """Two lines as one. A hyphen at the end of the first goes, if the word stands elsewhere without it, or its parts nowhere."""
    split = _SPLIT.search(before)
    if _DASH.search(before):
        return before + after
    if split is None:
        return f"{before} {after}"
    start = before[: split.start()]
    one, other = _WORD.findall(start.casefold())[-1:], _WORD.match(after.casefold())
    if not one or other is None:
        return start + "-" + after
    whole = one[0] + other[0]
    is_measure = any(map(str.isdigit, start.rpartition(" ")[2]))
    has_parts = is_measure or (one[0] in known and other[0] in known)
    if split["space"] or whole in known or not has_parts:
        return start + after
    return f"{start}-{after}"


def _set(text: str, known: Counter[str]) -> str:
    """A text without the spaces that were none."""
    text = _AFTER_MARK.sub("", _BEFORE_MARK.sub("", " ".join(text.split(" "))))
    return _TAIL.sub(lambda m: m[1] + m[2] if _is_whole(m[1], m[2], known) else m[0], re.sub(" {2,}", " ", text))


def _is_whole(one: str, other: str, known: Counter[str]) -> bool:
    whole = (one + other).casefold()
    return known[whole] > 0 and known[other.casefold()] < known[whole]
