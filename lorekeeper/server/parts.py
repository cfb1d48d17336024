"""Parts of an entry's page: what a heading, a feature, a level, a table or a row names, and what follows a number of characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from lorekeeper.errors import NotFoundError
from lorekeeper.folding import fold
from lorekeeper.play.tables import tables_in
from lorekeeper.printable import one_line
from lorekeeper.records.notes import BETWEEN
from lorekeeper.render.note import MAX_PAGE_CHARS
from lorekeeper.render.prose import HEADING, table
from lorekeeper.render.tables import page_tables, plain
from lorekeeper.server.cutting import end_within
from lorekeeper.text.cleaning import clean, sentences
from lorekeeper.text.excerpts import snippet
from lorekeeper.text.matching import occurring, word_stems

LONG, FIRST = 7_500, 4_000
"""A page of more characters begins with its outline; so many of it are given where no part is asked for."""

BRIEF = 2_800
"""Most characters of a part that is asked for by name: with what stands around it, some 800 tokens."""

MOST_NAMED, LONGEST_NAME, MAX_OUTLINE = 60, 80, 1_500
"""Most sections that an outline names, the most characters of a name, and about the most of the outline."""

MOST_ROWS, MOST_BLOCKS = 12, 3
"""Most rows of a table, and most paragraphs, that hold the words asked for."""

MOST_AGAIN = 300
"""Most characters of a feature that comes again without saying what is new at that level."""

_NONE = ("", "-", "–", "—")
_LEVEL = re.compile(r"(?:at )?(?:level|lvl)\.? ?(\d{1,2})|(\d{1,2})(?:st|nd|rd|th)?(?: level)?", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,2}")
_OF_LEVEL = re.compile(r"level (\d{1,2})\b")
_AGAIN = re.compile(r"^\*[^*\n]*again at level ([^*\n]+)\*", re.MULTILINE)
_DETAIL = re.compile(r"\([^()]*\)")
_LABEL = re.compile(r"(?:[-*] )?\*{2,3}([^*\n]{1,100}?)[.:]?\*{2,3}")
_FENCE = re.compile(r"[ \t]{0,3}(?:```|~~~)")
_MARK = re.compile(r"\((?:secret: .*|players see this)\)")


@dataclass(frozen=True)
class Part:
    """What is given of a page.

    Attributes:
        text: the part, with the headings and the mark of secrecy that it stands under if it begins within a section.
        path: the section that was asked for, "" for the page.
        end: the characters up to here were given.
        total: how many the page or section has.
        within: the outline of a section that is not given whole.
    """

    text: str
    path: str
    end: int
    total: int
    within: str = ""


@dataclass(frozen=True)
class _Section:
    """A section: its headings, where it begins, its text up to the next heading, and its text with what is within it."""

    path: tuple[str, ...]
    start: int
    own: str
    text: str

    @property
    def name(self) -> str:
        return BETWEEN.join(map(plain, self.path))


def part(page: str, wanted: str | None = None, offset: int = 0, most: int = MAX_PAGE_CHARS) -> Part:
    """The part of a page that begins at an offset, at most so many characters, up to the end of a line.

    Raises:
        NotFoundError: no section has that heading, or it ends before the offset.
    """
    path, whole = ("", page) if wanted is None else _section(page, wanted)
    if offset >= max(len(whole), 1):
        raise NotFoundError(f"there are {len(whole):,} characters, and none from offset={offset} on")
    end = len(whole) if offset + most >= len(whole) else end_within(whole, offset, most, ("\n\n", "\n", " "))
    text = whole[offset:end].strip("\n")
    within = outline(whole) if path and end < len(whole) else ""
    return Part(f"{_standing(whole[:offset])}{text}" if offset else text, path, end, len(whole), within)


def outline(page: str) -> str:
    """The names of a page's sections in order, as a line; "" without any. Where they are many, the innermost are only counted."""
    names = {each.path: each.name for each in _sections(page) if each.path}
    depth = max(map(len, names), default=0)
    while depth > 1 and sum(len(name) + 2 for path, name in names.items() if len(path) <= depth) > MAX_OUTLINE:
        depth -= 1
    found = []
    for path, name in names.items():
        within = sum(each[: len(path)] == path and len(each) > depth for each in names) if len(path) == depth else 0
        if len(path) <= depth:
            found.append(f"{one_line(name, LONGEST_NAME)}{f' ({within} within)' if within else ''}")
    more = [f"and {len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
    return "; ".join([*found[:MOST_NAMED], *more])


def own_texts(page: str) -> Iterator[tuple[str, str]]:
    """Each heading of a page, as a path, with what stands below it up to the next one; "" for what stands below its title."""
    return ((each.name, each.own.partition("\n")[2]) for each in _sections(page))


# --- what a name is of -----------------------------------------------------------------------------------------------


def _section(page: str, wanted: str) -> tuple[str, str]:
    """The name and the text of the part of a page that is called so, or else of what has its words."""
    for reading in (_level, _named, _rows, _worded) if fold(wanted) else ():
        if found := reading(page, wanted):
            return found
    known = "; ".join(filter(None, [outline(page), *dict.fromkeys(label for label, _ in _labels(page))][:MOST_NAMED]))
    raise NotFoundError(
        f"no section is called {one_line(wanted, LONGEST_NAME)!r}; "
        + (f"the entry's sections: {known}" if known else "the entry has no sections: leave section out")
    )


def _level(page: str, wanted: str) -> tuple[str, str] | None:
    """What a class has at a level: its row, the features that come with it, and the names of those that come again."""
    match = _LEVEL.fullmatch(" ".join(wanted.split()))
    level = int(match[1] or match[2]) if match else 0
    rows = [
        list(zip(each.columns, row, strict=False))
        for each in page_tables(page)
        if fold(each.columns[0]) == "level"
        for row in each.rows
        if row and (number := _NUMBER.match(row[0])) and int(number[0]) == level
    ]
    has_feature = any(fold(name) == "features" and cell not in _NONE for row in rows for name, cell in row)
    sections = [each for each in _sections(page) if each.path]
    new = [each.text for each in sections if (at := _OF_LEVEL.match(fold(each.path[-1]))) and int(at[1]) == level]
    if not match or not (rows or new):
        return None
    texts_again = {
        each.path[-1].rpartition(": ")[2]: _of_level(each.own, level)
        for each in sections
        if (named := _AGAIN.search(each.own)) and str(level) in re.split(r"\D+", _DETAIL.sub("", named[1]))
    }
    said = [[f"{name} {cell}" for name, cell in row[1:] if cell not in _NONE] for row in rows[:1]]
    texts = [f"**Level {level}:** {'; '.join(cells)}" for cells in said]
    texts += [] if new or texts_again or has_feature else ["No feature comes with this level."]
    texts += [*new, *(f"Again at level {level}: {name}. {told}".strip() for name, told in texts_again.items())]
    return f"Level {level}", "\n\n".join(texts)


def _of_level(text: str, level: int) -> str:
    """What a feature says of a level at which it comes again: the sentences that name it, else how it begins."""
    told = [
        sentence for block in text.split("\n\n")[1:] if not _AGAIN.match(block) for sentence in sentences(clean(block))
    ]
    named = [sentence for sentence in told if re.search(rf"\b(?:level {level}|{level}(?:st|nd|rd|th))\b", sentence)]
    return " ".join(named) or snippet(" ".join(told), MOST_AGAIN)


def _named(page: str, wanted: str) -> tuple[str, str] | None:
    """What is called so: a heading or a path of headings, what begins with a name in bold, the table of a caption; else what is
    called so in part: headings before features and tables, beginnings before the rest."""
    asked, name = tuple(map(fold, wanted.split(BETWEEN.strip()))), fold(wanted)
    return (
        _sections_that(page, lambda path: path == asked)
        or _sections_that(page, lambda path: path[-len(asked) :] == asked)
        or _sections_that(page, lambda path: _OF_LEVEL.sub("", path[-1]).strip() == name)
        or _of(_labels(page), lambda label: name in (label, fold(label.partition("(")[0])))
        or _table_of(page, lambda caption: caption == name)
        or _like(page, lambda each: each.startswith(name))
        or _like(page, lambda each: f" {name} " in f" {each} ")
    )


def _like(page: str, test: Callable[[str], bool]) -> tuple[str, str] | None:
    """The headings, else the features, else the tables whose names meet a test."""
    return _sections_that(page, lambda path: test(path[-1])) or _of(_labels(page), test) or _table_of(page, test)


def _rows(page: str, wanted: str) -> tuple[str, str] | None:
    """The rows of tables that a cell names."""
    asked = fold(wanted)
    for rolled in tables_in("", page) if asked.isdecimal() else ():
        if row := next((row for row in rolled.rows if row.least <= int(asked) <= row.most), None):
            return f"{rolled.name}, {asked}".lstrip(", "), "; ".join(row.cells)
    for test in (lambda cell: cell == asked, lambda cell: f" {asked} " in f" {cell} "):
        for each in page_tables(page):
            rows = [list(row) for row in each.rows if any(test(fold(cell)) for cell in row)]
            if rows:
                return each.name or wanted, "\n".join(table([list(each.columns), *rows[:MOST_ROWS]]))
    return None


def _worded(page: str, wanted: str) -> tuple[str, str] | None:
    """The paragraphs that have most of the words asked for, and more than half of them."""
    stems = word_stems(wanted)
    blocks = list(_paragraphs(page))
    held = [len(occurring(stems, block)) for _, block in blocks]
    most = max(held, default=0)
    if not most or most * 2 <= len(stems):
        return None
    found = [each for each, number in zip(blocks, held, strict=True) if number == most][:MOST_BLOCKS]
    texts = [
        text for heading, group in groupby(found, itemgetter(0)) for text in (heading, *(text for _, text in group))
    ]
    return f"none is called {one_line(wanted, LONGEST_NAME)!r}; what has its words", "\n\n".join(filter(None, texts))


def _paragraphs(page: str) -> Iterator[tuple[str, str]]:
    """The paragraphs of a page, each with the heading that it stands under, "" for that of the page."""
    heading = ""
    for block in page.split("\n\n"):
        if match := HEADING.match(block):
            heading = match[0] if len(match[1]) > 1 else ""
        else:
            yield heading, block


def has_part(page: str, name: str) -> bool:
    """Whether a section, feature, line or row of a page is called so, but for the level before its name and brackets behind it."""
    rows = (row[0] for each in page_tables(page) for row in each.rows if row)
    names = [*(each.path[-1] for each in _sections(page) if each.path), *(label for label, _ in _labels(page)), *rows]
    plain_names = {_DETAIL.sub("", each.rpartition(": ")[2]) for each in names}
    return fold(name) in map(fold, {*names, *plain_names})


def _sections_that(page: str, test: Callable[[tuple[str, ...]], bool]) -> tuple[str, str] | None:
    """The sections whose folded path meets a test, each once."""
    chosen = [each for each in _sections(page) if each.path and test(tuple(map(fold, each.path)))]
    texts, after = [], 0
    for each in chosen:
        if each.start >= after:
            after = each.start + len(each.text)
            texts.append(f"({each.name})\n\n{each.text}" if len(chosen) > 1 else each.text)
    return (chosen[0].name, "\n\n".join(texts)) if chosen else None


def _of(named: Iterable[tuple[str, str]], test: Callable[[str], bool]) -> tuple[str, str] | None:
    """The name and texts of what is called as a test wants."""
    found = [(name, text) for name, text in named if test(fold(name))]
    return (found[0][0], "\n\n".join(text for _, text in found)) if found else None


def _table_of(page: str, test: Callable[[str], bool]) -> tuple[str, str] | None:
    """The first table whose caption meets a test."""
    found = next((each for each in page_tables(page) if each.name and test(fold(each.name))), None)
    return (found.name, "\n".join(table([list(found.columns), *map(list, found.rows)]))) if found else None


def _labels(page: str) -> Iterator[tuple[str, str]]:
    """What begins with a name in bold, up to the next such name or heading: features and lines of facts."""
    name, block = "", list[str]()
    for row in [*page.split("\n"), "# "]:
        match = _LABEL.match(row)
        if match or HEADING.match(row) or row == "# ":
            if name:
                yield name, "\n".join(block).strip()
            name, block = (match[1], []) if match else ("", [])
        block.append(row)


# --- headings --------------------------------------------------------------------------------------------------------


def _sections(page: str) -> list[_Section]:
    """The sections of a page; that of its title has no path."""
    stack: list[tuple[int, str]] = []
    begun: list[tuple[tuple[str, ...], int, int]] = []
    at, is_code = 0, False
    for row in page.split("\n"):
        is_code ^= _FENCE.match(row) is not None
        if not is_code and (match := HEADING.fullmatch(row)):
            level = len(match[1])
            stack = [each for each in stack if each[0] < level]
            if level > 1:
                stack.append((level, match[2].strip()))
            begun.append((tuple(name for _, name in stack), level, at))
        at += len(row) + 1
    found = []
    for number, (path, level, start) in enumerate(begun):
        after = begun[number + 1 :]
        own_end = after[0][2] if after else len(page)
        end = next((at for _, other, at in after if other <= level), len(page))
        found.append(_Section(path, start, page[start:own_end], page[start:end].strip("\n")))
    return found


def _standing(before: str) -> str:
    """The headings that a text stands under that follows another, and the mark of its section."""
    if not (sections := _sections(before)):
        return ""
    last = sections[-1]
    marks = [row for row in last.own.split("\n") if _MARK.fullmatch(row)]
    return "\n\n".join([f"({last.name or 'main text'}, continued)", *marks[-1:], ""])
