"""Parts of an entry's page: a section by its heading, and what follows a number of characters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lorekeeper.errors import NotFoundError
from lorekeeper.folding import fold
from lorekeeper.printable import one_line
from lorekeeper.render.note import MAX_PAGE_CHARS
from lorekeeper.render.prose import HEADING
from lorekeeper.server.cutting import end_within
from lorekeeper.text.notes import BETWEEN

LONG = 20_000
"""A page of more characters begins with its outline."""

MOST_NAMED, LONGEST_NAME = 60, 80
"""Most sections that an outline names, and the most characters of a name."""

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
    """

    text: str
    path: str
    end: int
    total: int


@dataclass(frozen=True)
class _Section:
    path: tuple[str, ...]
    level: int
    start: int


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
    return Part(f"{_standing(whole[:offset])}{text}" if offset else text, path, end, len(whole))


def outline(page: str) -> str:
    """The names of a page's sections in order, as a line; "" without any."""
    found = list(dict.fromkeys(_name(each) for each in _sections(page) if each.path))
    more = [f"and {len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
    return "; ".join([*(one_line(name, LONGEST_NAME) for name in found[:MOST_NAMED]), *more])


def _section(page: str, wanted: str) -> tuple[str, str]:
    """The name and the text of the sections that a heading names: by its path, the heading, or a part of it."""
    found = [each for each in _sections(page) if each.path]
    asked = tuple(fold(each) for each in wanted.split(BETWEEN.strip()))
    folded = [tuple(map(fold, each.path)) for each in found]
    tests = (
        lambda path: path == asked,
        lambda path: path[-len(asked) :] == asked,
        lambda path: len(asked) == 1 and path[-1].startswith(asked[0]),
        lambda path: len(asked) == 1 and f" {asked[0]} " in f" {path[-1]} ",
    )
    chosen = next((hits for test in tests if (hits := [n for n, path in enumerate(folded) if test(path)])), [])
    if not chosen or not any(asked):
        known = outline(page)
        raise NotFoundError(
            f"no section is called {one_line(wanted, LONGEST_NAME)!r}; "
            + (f"the entry's sections: {known}" if known else "the entry has no sections: leave section out")
        )
    texts, after = [], 0
    for n in chosen:
        if found[n].start >= after:
            after = next((each.start for each in found[n + 1 :] if each.level <= found[n].level), len(page))
            text = page[found[n].start : after].strip("\n")
            texts.append(f"({_name(found[n])})\n\n{text}" if len(chosen) > 1 else text)
    return _name(found[chosen[0]]), "\n\n".join(texts)


def _sections(page: str) -> Iterator[_Section]:
    """The sections of a page; that of its title has no path."""
    stack: list[tuple[int, str]] = []
    at, is_code = 0, False
    for row in page.split("\n"):
        is_code ^= _FENCE.match(row) is not None
        if not is_code and (match := HEADING.fullmatch(row)):
            level = len(match[1])
            stack = [each for each in stack if each[0] < level]
            if level > 1:
                stack.append((level, match[2].strip()))
            yield _Section(tuple(name for _, name in stack), level, at)
        at += len(row) + 1


def _name(section: _Section) -> str:
    return BETWEEN.join(section.path)


def _standing(before: str) -> str:
    """The headings that a text stands under that follows another, and the mark of its section."""
    sections = list(_sections(before))
    if not sections:
        return ""
    last = sections[-1]
    marks = [row for row in before[last.start :].split("\n") if _MARK.fullmatch(row)]
    return "\n\n".join([f"({_name(last) or 'main text'}, continued)", *marks[-1:], ""])
