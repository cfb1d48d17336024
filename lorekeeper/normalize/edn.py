"""EDN as OrcBrew files hold it: text to plain values, with the place of everything that is wrong. Nothing raises.

The packs that people pass around are damaged in many small ways, and one broken entry must not cost the others. So this
reader goes on behind an error, and says which maps it touched. It keeps its own stack: no depth of nesting ends the
process. The grammar is that of https://github.com/edn-format/edn; commas, no-break spaces and byte order marks are space.
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

MAX_DEPTH = 100
"""Levels of lists and maps; what is nested deeper is left out."""

_TOKEN = re.compile(
    r"""(?P<space>[\s,\u200b\ufeff]+|;[^\n]*)
      | (?P<string>"[^"\\]*(?:\\.[^"\\]*)*")
      | (?P<open>\#:{1,2}[^\s,{}\[\]()"]*[\s,]*\{|\#?\{|\[|\()
      | (?P<close>[}\])])
      | (?P<discard>\#_)
      | (?P<char>\\(?:newline|return|space|tab|formfeed|backspace|u[0-9a-fA-F]{4}|.))
      | (?P<atom>[^\s,;"{}\[\]()\\\u200b\ufeff]+)
      | (?P<bad>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPES = {"t": "\t", "r": "\r", "n": "\n", "b": "\b", "f": "\f"}
_CHARS = {"newline": "\n", "return": "\r", "space": " ", "tab": "\t", "formfeed": "\f", "backspace": "\b"}
_NUMBER = re.compile(
    r"([+-]?\d{1,4000})N?|[+-]?\d{1,400}(?:\.\d{0,400})?(?:[eE][+-]?\d{1,4})?M?|([+-]?\d{1,400}/\d{1,400})"
)
_KEYWORD = re.compile(r":{1,2}[^:@`~^“”‘’]+(?:[:][^@`~^“”‘’]*)?")
_CONSTANTS = {"nil": None, "true": True, "false": False}
_CLOSES = {"}": "{", "]": "[", ")": "("}


class Keyword(str):
    """A keyword, without its colon."""

    __slots__ = ()


class Map(dict[str, Any]):
    """A map with text keys.

    Attributes:
        at: offset of its beginning in the text.
        end: offset behind its end.
        whole: whether its end was found.
    """

    __slots__ = ("at", "end", "whole")

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = self.end = at
        self.whole = True


@dataclass(frozen=True)
class Problem:
    """Something wrong.

    Attributes:
        at: offset in the text.
        reason: in one sentence.
        harm: "none" where it was put right, "value" where a value was lost, "map" where the map around it means nothing.
    """

    at: int
    reason: str
    harm: str


@dataclass(frozen=True)
class Reading:
    """What a text holds: its top-level values, and the problems in the order of their places."""

    text: str
    values: list[Any]
    problems: list[Problem]

    @cached_property
    def _lines(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self.text))]

    def place(self, at: int) -> str:
        """``line:column`` of an offset, both from 1."""
        line = bisect.bisect_right(self._lines, at)
        return f"{line}:{at - self._lines[line - 1] + 1}"


@dataclass
class _Frame:
    """A list or map that is being read: its bracket, where it begins, and its items with their places."""

    bracket: str
    at: int
    prefix: str = ""
    items: list[Any] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Tags and discards that stand before the next item."""


def read(text: str) -> Reading:
    """Read all values of a text."""
    reader = _Reader(text)
    reader.read()
    return Reading(text, reader.stack[0].items, sorted(reader.problems, key=lambda p: p.at))


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.problems: list[Problem] = []
        self.stack = [_Frame("", 0)]

    def read(self) -> None:
        for kind, token, at in self._shallow():
            if kind == "string":
                self._put(self._string(token, at), at)
            elif kind == "atom":
                self._atom(token, at)
            elif kind == "open":
                self._open(token, at)
            elif kind == "close":
                self._close(_CLOSES[token], at)
            elif kind == "discard":
                self.stack[-1].waiting.append("_")
            elif kind == "char":
                name = token[1:]
                self._put(chr(int(name[1:], 16)) if len(name) == 5 and name[0] == "u" else _CHARS.get(name, name), at)
            else:
                self._problem(at, "a text begins here that has no end: is a quote missing?", "map")
                break
        if len(self.stack) > 1:
            reader = Reading(self.text, [], [])
            opened = reader.place(self.stack[-1].at)
            self._problem(len(self.text), f"the file ends within what begins at {opened}: is it cut off?", "map")
        while len(self.stack) > 1:
            self._leave(len(self.text), whole=False)

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        for match in _TOKEN.finditer(self.text):
            if match.lastgroup != "space":
                yield match.lastgroup or "", match[0], match.start()

    def _shallow(self) -> Iterator[tuple[str, str, int]]:
        """The tokens without what is nested too deeply."""
        depth = 0
        for kind, token, at in self._tokens():
            if kind == "open" and (depth or len(self.stack) > MAX_DEPTH):
                if not depth:
                    self._problem(at, f"nested more than {MAX_DEPTH} deep: what is inside is left out", "map")
                    yield "atom", "nil", at
                depth += 1
            elif not depth:
                yield kind, token, at
            elif kind == "close":
                depth -= 1
            elif kind == "bad":
                yield kind, token, at

    def _problem(self, at: int, reason: str, harm: str) -> None:
        self.problems.append(Problem(at, reason, harm))

    # --- values ------------------------------------------------------------------------------------------------------

    def _put(self, value: Any, at: int) -> None:
        """A finished value goes into the list around it, through the tags before it."""
        frame = self.stack[-1]
        if not frame.waiting:
            frame.items.append(value)
            frame.places.append(at)
        elif "_" in frame.waiting:
            while frame.waiting.pop() != "_":
                pass
        else:
            frame.waiting.clear()
            self._put(value, at)

    def _string(self, token: str, at: int) -> str:
        if "\\" not in token:
            return token[1:-1]

        def plain(match: re.Match[str]) -> str:
            code, sign = match[1], match[2]
            if not code and sign not in _ESCAPES and sign not in '"\\':
                self._problem(at + 1 + match.start(), f"\\{sign} is no escape of EDN", "none")
            return chr(int(code, 16)) if code else _ESCAPES.get(sign, sign)

        whole = _ESCAPE.sub(plain, token[1:-1])
        return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _atom(self, token: str, at: int) -> None:
        if token in _CONSTANTS:
            self._put(_CONSTANTS[token], at)
        elif token.startswith("##"):
            self._problem(at, f"{token} is no number: left out", "none")
            self._put(None, at)
        elif token.startswith("#"):
            self.stack[-1].waiting.append(token)
        elif _KEYWORD.fullmatch(token):
            if token.lstrip(":")[:1].isdigit():
                self._problem(at, f"the keyword {token} begins with a digit, which other programs refuse", "none")
            self._put(Keyword(token.lstrip(":")), at)
        else:
            number = _number(token)
            if number is None:
                self._problem(at, f"{token[:40]} is no EDN value: is a quote missing, or not straight?", "map")
            self._put(token if number is None else number, at)

    # --- lists and maps ----------------------------------------------------------------------------------------------

    def _open(self, sign: str, at: int) -> None:
        prefix = sign.strip("#:{ ,\n\r\t") if sign.startswith("#:") else ""
        self.stack.append(_Frame("#" if sign == "#{" else sign[-1], at, prefix))

    def _close(self, bracket: str, at: int) -> None:
        fits = [frame.bracket.replace("#", "{") == bracket for frame in self.stack]
        if not any(fits):
            self._problem(at, f"{self.text[at]} closes nothing: is there one too many?", "value")
            return
        if not fits[-1]:
            opened = Reading(self.text, [], []).place(self.stack[-1].at)
            self._problem(at, f"{self.text[at]} does not close the {self.text[self.stack[-1].at]} of {opened}", "map")
        while self.stack[-1].bracket.replace("#", "{") != bracket:
            self._leave(at, whole=False)
        self._leave(at + 1, whole=True)

    def _leave(self, end: int, *, whole: bool) -> None:
        """The innermost list or map is done, or as much of it as there is."""
        frame = self.stack.pop()
        value = self._map(frame, end, whole) if frame.bracket == "{" else frame.items
        self._put(value, frame.at)

    def _map(self, frame: _Frame, end: int, whole: bool) -> Map:
        found = Map(frame.at)
        found.end, found.whole = end, whole
        told = bool(self.problems) and self.problems[-1].at > frame.at and self.problems[-1].harm == "map"
        if len(frame.items) % 2 and whole and not told:
            lonely = _lonely(frame.items)
            self._problem(frame.places[lonely], f"a key without a value: {str(frame.items[lonely])[:40]}", "map")
        for place, key, value in zip(frame.places[::2], frame.items[::2], frame.items[1::2], strict=False):
            if key is None:
                self._problem(place, "nil stands for a key: left out", "none")
                continue
            name = f"{frame.prefix}/{key}" if frame.prefix and isinstance(key, Keyword) and "/" not in key else key
            if not isinstance(name, str):
                name = str(name)
            if name in found:
                self._problem(place, f"the key {name[:40]} stands twice: only the last is kept", "value")
            found[Keyword(name) if isinstance(key, Keyword) else name] = value
        return found


def _lonely(items: list[Any]) -> int:
    """Which key has no value in a map of an odd number of items: the one before what stands for a key and is none."""
    if not isinstance(items[0], Keyword):
        return len(items) - 1
    odd = next((i for i in range(0, len(items), 2) if not isinstance(items[i], Keyword)), None)
    return len(items) - 1 if odd is None else max(odd - 2, 0)


def _number(token: str) -> int | float | None:
    """The number that a token is; None where it is none, or none that can be kept."""
    match = _NUMBER.fullmatch(token)
    if match is None:
        return None
    try:
        value = int(match[1]) if match[1] else float(Fraction(match[2])) if match[2] else float(token.rstrip("M"))
    except (ArithmeticError, ValueError):
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None
