"""Edits of a JSON text that change one entry and nothing else: comments, indentation, line ends and order stay as they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from lorekeeper.clients.json_tree import SPACE, Member, Object, Value, in_line_comment, read
from lorekeeper.errors import ClientFileError
from lorekeeper.printable import json_text, shown

Entry = Mapping[str, object]

_UNIT = "  "
"""Indentation of a text that has none."""

_LINE_END = re.compile(r"[ \t]*[\r\n]")


def find(text: str, path: Sequence[str]) -> object | None:
    """The value at the path of names; None if there is none.

    Raises:
        ClientFileError: the text is not JSON, or something on the path is not an object.
    """
    member = _member(text, path)
    return member.value.data if member else None


def put(text: str, path: Sequence[str], entry: Entry) -> str:
    """The text with the entry at the path of names, where it is added or replaced; objects on the way are created.

    Raises:
        ClientFileError: as for `find`.
    """
    if not text.strip(SPACE):
        return text + json_text(_nested(path, entry), _UNIT) + "\n"
    parent, depth = _deepest(text, path)
    member = parent.member(path[depth]) if depth < len(path) else None
    if member is None:
        return _added(text, parent, path[depth], _nested(path[depth + 1 :], entry))
    if member.value.data == entry:
        return text
    return _replaced(text, member, entry)


def take(text: str, path: Sequence[str]) -> str:
    """The text without what is at the path of names; unchanged if there is nothing.

    Raises:
        ClientFileError: as for `find`.
    """
    if not text.strip(SPACE) or not _member(text, path):
        return text
    parent, _ = _deepest(text, path)
    position = next(i for i, member in enumerate(parent.members) if member.name == path[-1])
    return _removed(text, parent, position)


def _nested(path: Sequence[str], entry: Entry) -> Entry:
    for name in reversed(path):
        entry = {name: entry}
    return entry


def _member(text: str, path: Sequence[str]) -> Member | None:
    if not text.strip(SPACE):
        return None
    parent, depth = _deepest(text, path)
    return parent.member(path[-1]) if depth == len(path) - 1 else None


def _deepest(text: str, path: Sequence[str]) -> tuple[Object, int]:
    """The last object that exists on the way to the last name of a path, and how many names lead to it."""
    parent = _object(read(text), "its whole content")
    for depth, name in enumerate(path[:-1]):
        member = parent.member(name)
        if member is None:
            return parent, depth
        parent = _object(member.value, shown(name))
    return parent, len(path) - 1


def _object(value: Value, what: str) -> Object:
    if not isinstance(value, Object):
        raise ClientFileError(f"{what} is not an object in braces, so there is no place for a server")
    return value


def _added(text: str, parent: Object, name: str, value: Entry) -> str:
    """The text with one more member at the end of an object, laid out as the members before it."""
    break_ = "\r\n" if "\r\n" in text else "\n"
    first, last = (parent.members[0], parent.members[-1]) if parent.members else (None, None)
    if first and last and not _spread(text, parent, first):
        comma = last.value.end if last.comma is None else None
        return _inserted(text, comma, parent.inside, f" {_written(name, value)}{'' if comma else ','}")
    indent = _indent(text, first.start) if first else _indent(text, parent.start) + _unit(text)
    member = f"{break_}{indent}{_written(name, value, _unit(text), break_ + indent)}"
    if first and last:
        comma = last.value.end if last.comma is None else None
        return _inserted(text, comma, parent.inside, member + ("" if comma else ","))
    closing = "" if "\n" in text[parent.inside : parent.end] else break_ + _indent(text, parent.start)
    return _inserted(text, None, parent.inside, member + closing)


def _inserted(text: str, comma: int | None, position: int, addition: str) -> str:
    """The text with the addition at a position, and a comma at another one before it."""
    if comma is None:
        return text[:position] + addition + text[position:]
    return f"{text[:comma]},{text[comma:position]}{addition}{text[position:]}"


def _replaced(text: str, member: Member, entry: Entry) -> str:
    break_ = "\r\n" if "\r\n" in text else "\n"
    old = text[member.value.start : member.value.end]
    new = _dumped(entry)
    if "\n" in old or not isinstance(member.value, Object):
        new = _dumped(entry, _unit(text), break_ + _indent(text, member.start))
    return text[: member.value.start] + new + text[member.value.end :]


def _removed(text: str, parent: Object, position: int) -> str:
    """The text without one member, its white space before it, and one comma."""
    member = parent.members[position]
    before = parent.members[position - 1] if position else None
    start = len(text[: member.start].rstrip(SPACE))
    end = member.value.end if member.comma is None else member.comma + 1
    if not _LINE_END.match(text, end) and in_line_comment(text, start):
        start = member.start  # what follows would become a part of the comment
    if member.comma is None and before and before.comma is not None:
        return text[: before.comma] + text[before.comma + 1 : start] + text[end:]
    return text[:start] + text[end:]


def _spread(text: str, parent: Object, first: Member) -> bool:
    """Whether the members of an object are on lines of their own; after a comment they have to be."""
    lines = text[parent.start : first.start] + text[parent.inside : parent.end]
    return "\n" in lines or in_line_comment(text, parent.inside)


def _indent(text: str, position: int) -> str:
    """The white space at the beginning of the line with that position."""
    line = text[text.rfind("\n", 0, position) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """The indentation of the text's outermost members."""
    root = read(text)
    first = root.members[0] if isinstance(root, Object) and root.members else None
    return (_indent(text, first.start) if first else "") or _UNIT


def _written(name: str, value: Entry, unit: str | None = None, line_start: str = "\n") -> str:
    return f"{json.dumps(name)}: {_dumped(value, unit, line_start)}"


def _dumped(value: Entry, unit: str | None = None, line_start: str = "\n") -> str:
    """A value as JSON; with a unit of indentation on several lines, each of which begins with ``line_start``."""
    return json_text(value, unit).replace("\n", line_start)
