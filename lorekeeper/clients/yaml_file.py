"""Edits of a YAML text that change one entry of a mapping at the top level, and nothing else.

Only what such an edit needs is read: names and the indentation of the lines under them. Whatever else a text may contain,
such as brackets around everything, several documents or tabs, is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

from lorekeeper.errors import ClientFileError
from lorekeeper.printable import json_text, shown

Entry = Mapping[str, object]

_UNIT = "  "

_NAME = re.compile(
    r"""(?P<name>"[^"\\]*"|'[^']*'|[^\s#'"\[\]{}&*!|>%@`,?:-][^#:]*?)\s*:(?:\s+(?P<rest>.*?))?\s*$""", re.DOTALL
)
_GOES_ON = ("- ", "-\n", "-\r", "]", "}")
"""How a line begins that belongs to the name above it although it is not indented further."""

_KEEPS_BREAKS = re.compile(r"[|>]\d?\+\d?\s")
"""The header of a text whose value has the empty lines after it."""

_NOTHING = re.compile(r"((\{\s*\}|null|~)(?=\s|$))?\s*(#.*)?$")
"""The value of a name that has no entries."""


@dataclass(frozen=True)
class _Block:
    """A name and the lines under it: from ``start`` to before ``end``; ``rest`` is what follows the name on its line."""

    name: str
    rest: str
    indent: str
    start: int
    end: int


def find(text: str, path: Sequence[str]) -> object | None:
    """The lines of the entry at the path of two names, as one text; None if there is none.

    Raises:
        ClientFileError: the text, or the value of the outer name, is not a mapping with a line for every name.
    """
    lines = _lines(text)
    _, entry = _located(lines, path)
    return "".join(lines[entry.start : entry.end]) if entry else None


def put(text: str, path: Sequence[str], entry: Entry) -> str:
    """The text with the entry at the path of two names, where it is added or replaced.

    Raises:
        ClientFileError: as for `find`.
    """
    line_end = "\r\n" if "\r\n" in text else "\n"
    lines = _lines(text)
    outer, old = _located(lines, path)
    indent = _child_indent(lines, outer)
    added = [indent + line + line_end for line in (f"{path[1]}:", *_written(entry, _UNIT))]
    if outer is None:
        start = end = len(lines)
        added.insert(0, f"{path[0]}:{line_end}")
    else:
        start, end = (old.start, old.end) if old else (outer.end, outer.end)
        lines[outer.start] = re.sub(r":\s+(\{\s*\}|null|~)(?=\s|$)", ":", lines[outer.start], count=1)
    if start and not lines[start - 1].endswith("\n"):
        lines[start - 1] += line_end
    return "".join([*lines[:start], *added, *lines[end:]])


def take(text: str, path: Sequence[str]) -> str:
    """The text without the entry at the path of two names; unchanged if there is none.

    Raises:
        ClientFileError: as for `find`.
    """
    lines = _lines(text)
    _, entry = _located(lines, path)
    return "".join([*lines[: entry.start], *lines[entry.end :]]) if entry else text


def _lines(text: str) -> list[str]:
    """The lines with their ends; `str.splitlines` would break at separators that are content in YAML.

    Raises:
        ClientFileError: a carriage return alone ends a line, as on no system of today.
    """
    if re.search(r"\r(?!\n)", text):
        raise ClientFileError("a line ends with a carriage return alone; end it with a line feed")
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _located(lines: list[str], path: Sequence[str]) -> tuple[_Block | None, _Block | None]:
    """The block of the outer name and that of the inner one, where they exist."""
    first = 1 if lines and re.match(r"---\s*(#|$)", lines[0]) else 0
    outermost = list(_blocks(lines, first, len(lines)))
    if outermost and outermost[0].indent:
        raise ClientFileError("its outermost names are indented; move them to the beginning of their lines")
    outer = _one(outermost, path[0])
    if outer is None:
        return None, None
    if not _NOTHING.match(outer.rest):
        raise ClientFileError(f"{shown(path[0])} has its value on the same line; write it with a line for every name")
    return outer, _one(list(_blocks(lines, outer.start + 1, outer.end)), path[1])


def _one(blocks: list[_Block], name: str) -> _Block | None:
    found = [block for block in blocks if block.name == name]
    if len(found) > 1:
        raise ClientFileError(f"it has {shown(name)} twice; remove one of them")
    return found[0] if found else None


def _blocks(lines: list[str], start: int, end: int) -> Iterator[_Block]:
    """The blocks of a mapping, in order; the first of its lines says how far its names are indented."""
    content = [number for number in range(start, end) if re.match(r"\s*[^\s#]", lines[number])]
    indent = _indent(lines[content[0]]) if content else ""
    starts = [number for number in content if _begins(lines, number, indent)]
    if content and content[0] not in starts:
        _refuse(lines, content[0])
    for number, following in pairwise([*starts, end]):
        match = _NAME.match(lines[number][len(indent) :])
        if match is None:
            _refuse(lines, number)
        name = match["name"][1:-1] if match["name"][0] in "\"'" else match["name"]
        yield _Block(name, match["rest"] or "", indent, number, _end(lines, number, following, indent))


def _begins(lines: list[str], number: int, indent: str) -> bool:
    """Whether a line of content begins a block, rather than going on with the one above."""
    own = _indent(lines[number])
    if "\t" in own or len(own) < len(indent):
        _refuse(lines, number)
    return own == indent and not lines[number][len(own) :].startswith(_GOES_ON)


def _end(lines: list[str], number: int, following: int, indent: str) -> int:
    """Where a block ends: comments after it belong to it only if indented further than it, empty lines only to some texts."""
    end = following
    while end > number + 1 and not _belongs(lines[end - 1], indent):
        end -= 1
    if any(_KEEPS_BREAKS.search(line) for line in lines[number:end]):
        while end < following and not lines[end].strip():
            end += 1
    return end


def _belongs(line: str, indent: str) -> bool:
    return bool(line.strip()) and (len(_indent(line)) > len(indent) or not line.lstrip().startswith("#"))


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _child_indent(lines: list[str], outer: _Block | None) -> str:
    children = list(_blocks(lines, outer.start + 1, outer.end)) if outer else []
    return children[0].indent if children else _UNIT


def _refuse(lines: list[str], number: int) -> NoReturn:
    raise ClientFileError(f"line {number + 1} is not a name with a colon: {shown(lines[number].strip(), 60)}")


def _written(value: object, indent: str) -> Iterator[str]:
    """The lines of a mapping or list; scalars are written as in JSON, which YAML reads."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, Mapping | list) and inner:
                yield f"{indent}{name}:"
                yield from _written(inner, indent + _UNIT)
            else:
                yield f"{indent}{name}: {json_text(inner)}"
    elif isinstance(value, list):
        yield from (f"{indent}- {json_text(item)}" for item in value)
