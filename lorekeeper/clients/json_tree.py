"""A JSON text as a tree with positions: comments and trailing commas are allowed, as in the files of VS Code and Zed."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

from lorekeeper.errors import ClientFileError
from lorekeeper.printable import shown

SPACE = " \t\r\n"
"""White space of JSON."""

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<comment>//[^\r\n]*|/\*.*?\*/)
      | (?P<string>"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*")
      | (?P<mark>[{}\[\],:])
      | (?P<plain>[\w.+-]+)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """A part of the text that is not white space; ``end`` is the position after it."""

    kind: str
    text: str
    start: int
    end: int


@dataclass
class Value:
    """A value of the text, and the position after it; ``data`` is what `json.loads` would make of it."""

    start: int
    end: int
    data: object


@dataclass
class Member:
    """A member of an object; ``comma`` is the position of the comma after it, None if there is none."""

    name: str
    start: int
    value: Value
    comma: int | None = None


@dataclass
class Object(Value):
    """An object; ``inside`` is the position after the last token or comment before its closing brace."""

    members: list[Member] = field(default_factory=list)
    inside: int = 0

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
    """The tree of a JSON text; it is kept for the next call, so it must not be changed.

    Raises:
        ClientFileError: it is not JSON; the message names line and column.
    """
    try:
        return _Reader(text).document()
    except RecursionError as error:
        raise ClientFileError("its values are nested too deeply") from error


def in_line_comment(text: str, position: int) -> bool:
    """Whether a position of a text that can be read is within a comment that reaches to the end of its line."""
    return any(
        match.start() < position <= match.end() and match[0].startswith("//")
        for match in _TOKEN.finditer(text)
        if match.lastgroup == "comment"
    )


class _Reader:
    """Reads a text from its beginning to its end, one token ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._all_tokens()
        self._seen = 0
        self._next = next(self._tokens)

    def document(self) -> Value:
        value = self._value()
        if self._next.kind != "end":
            self._refuse("the end of the file")
        return value

    def _all_tokens(self) -> Iterator[Token]:
        position = 0
        while position < len(self._text):
            match = _TOKEN.match(self._text, position)
            if match is None:
                yield Token("unknown", self._text[position], position, position + 1)
                return
            position = match.end()
            if match.lastgroup == "comment":
                self._seen = position
            elif match.lastgroup != "space":
                yield Token(str(match.lastgroup), match[0], match.start(), position)
        yield Token("end", "", position, position)

    def _take(self, *texts: str) -> Token:
        """The next token; with ``texts``, it must be one of them."""
        token = self._next
        if texts and token.text not in texts:
            self._refuse(" or ".join(map(repr, texts)))
        self._seen = token.end
        if token.kind != "end":
            self._next = next(self._tokens)
        return token

    def _value(self) -> Value:
        token = self._next
        if token.text == "{":
            return self._object()
        if token.text == "[":
            return self._array()
        if token.kind not in ("string", "plain"):
            self._refuse("a value")
        self._take()
        return Value(token.start, token.end, self._loaded(token))

    def _object(self) -> Object:
        found = Object(self._take().start, 0, {})
        while self._next.text != "}":
            if self._next.kind != "string":
                self._refuse("a name in quotes")
            name = self._take()
            self._take(":")
            member = Member(str(self._loaded(name)), name.start, self._value())
            found.members.append(member)
            if self._next.text == "}":
                break
            member.comma = self._take(",").start
        found.inside = self._seen
        found.end = self._take("}").end
        found.data = {member.name: member.value.data for member in found.members}
        return found

    def _array(self) -> Value:
        start, items = self._take().start, list[object]()
        while self._next.text != "]":
            items.append(self._value().data)
            if self._next.text == "]":
                break
            self._take(",")
        return Value(start, self._take("]").end, items)

    def _loaded(self, token: Token) -> object:
        try:
            return json.loads(token.text, parse_constant=self._no_constant)
        except ValueError:
            self._refuse("a value", token)

    def _no_constant(self, name: str) -> NoReturn:
        raise ValueError(name)

    def _refuse(self, wanted: str, token: Token | None = None) -> NoReturn:
        found = token or self._next
        before = self._text[: found.start]
        line, column = before.count("\n") + 1, found.start - before.rfind("\n")
        what = shown(found.text, 40) if found.text else "the end of the file"
        raise ClientFileError(f"it is not valid JSON: line {line}, column {column} has {what} instead of {wanted}")
