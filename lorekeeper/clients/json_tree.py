"""A JSON text as values with positions: comments and trailing commas are allowed, as in the files of VS Code and Zed."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple

from lorekeeper.errors import ClientFileError
from lorekeeper.printable import shown

SPACE = " \t\r\n"
"""White space of JSON."""

_STRING = r'(?P<kept>"(?:[^"\\\r\n]|\\.)*")'
_COMMENTED = re.compile(_STRING + r"|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_LENIENT = re.compile(
    _STRING + rf"|(?P<twice>[\[{{,:][{SPACE}]*,)|(?P<last>,(?=[{SPACE}]*[}}\]]))|\b(?:NaN|Infinity)\b", re.DOTALL
)
"""What `json` reads otherwise: a last comma, which it refuses, and constants that are not JSON. A comma after none stays."""

_NAME = re.compile(rf'[{SPACE}]*"')
_COMMA = re.compile(rf"[{SPACE}]*,")
_PART = re.compile(rf"{_STRING}|[\w.+-]+|.", re.DOTALL)

_WANTED = {
    "Extra data": "the end of the file",
    "Expecting value": "a value",
    "Expecting property name enclosed in double quotes": "a name in quotes",
}
"""What `json` had expected, in our words."""

_DECODER = json.JSONDecoder()


class _Text(NamedTuple):
    """A text, without its comments, and as `json` reads it: each as long as the text, with spaces for what is left out."""

    whole: str
    bare: str
    strict: str


@dataclass(frozen=True)
class Value:
    """A value of a text, and the position after it; ``data`` is what `json.loads` would make of it."""

    start: int
    end: int
    data: object


@dataclass(frozen=True)
class Member:
    """A member of an object; ``comma`` is the position of the comma after it, None if there is none."""

    name: str
    start: int
    value: Value
    comma: int | None


@dataclass(frozen=True)
class Object(Value):
    """An object."""

    _text: _Text = field(repr=False)

    @functools.cached_property
    def members(self) -> list[Member]:
        """Its members, in order."""
        members, place = [], self.start + 1
        while begun := _NAME.match(self._text.strict, place):
            name, end = _DECODER.raw_decode(self._text.strict, begun.end() - 1)
            value = _value(self._text, self._text.strict.index(":", end) + 1)
            comma = _COMMA.match(self._text.bare, value.end)
            members.append(Member(name, begun.end() - 1, value, comma.end() - 1 if comma else None))
            place = comma.end() if comma else value.end
        return members

    @property
    def inside(self) -> int:
        """The position after the last thing or comment before its closing brace."""
        return len(self._text.whole[: self.end - 1].rstrip(SPACE))

    def member(self, name: str) -> Member | None:
        """The member of that name, or None.

        Raises:
            ClientFileError: there are two, and clients differ in which they read.
        """
        found = [member for member in self.members if member.name == name]
        if len(found) > 1:
            raise ClientFileError(f"it has {shown(name)} twice; remove one of them")
        return found[0] if found else None


@functools.lru_cache(maxsize=2)
def read(text: str) -> Value:
    """The value of a JSON text.

    Raises:
        ClientFileError: it is not JSON; the message names line and column.
    """
    bare = _COMMENTED.sub(lambda match: match["kept"] or re.sub(r"[^\r\n]", " ", match[0]), text)
    strict = _LENIENT.sub(_as_json, bare)
    try:
        json.loads(strict)
    except json.JSONDecodeError as error:
        found = _PART.match(text, error.pos)
        raise ClientFileError(
            f"it is not valid JSON: line {error.lineno}, column {error.colno} has "
            f"{shown(found[0], 40) if found else 'the end of the file'} instead of "
            f"{_WANTED.get(error.msg, error.msg.removeprefix('Expecting '))}"
        ) from error
    except ValueError as error:
        raise ClientFileError(f"it is not valid JSON: {error}") from error
    except RecursionError as error:
        raise ClientFileError("its values are nested too deeply") from error
    return _value(_Text(text, bare, strict), 0)


def in_line_comment(text: str, position: int) -> bool:
    """Whether a position of a text that can be read is within a comment that reaches to the end of its line."""
    return any(
        match.start() < position <= match.end() and match[0].startswith("//") for match in _COMMENTED.finditer(text)
    )


def _as_json(match: re.Match[str]) -> str:
    if match["kept"] or match["twice"]:
        return match[0]
    return " " if match["last"] else "?" * len(match[0])


def _value(text: _Text, start: int) -> Value:
    start = len(text.strict) - len(text.strict[start:].lstrip(SPACE))
    data, end = _DECODER.raw_decode(text.strict, start)
    return Object(start, end, data, text) if isinstance(data, dict) else Value(start, end, data)
