"""A fault-tolerant EDN reader for OrcBrew files: text to plain values, and the place of every problem. It never raises.

Packs in circulation are damaged in many small ways, and one broken entry must not cost the others, so the reader continues
after an error, and reports which maps it affects. It keeps its own stack, so that deep nesting cannot exhaust that of the
process. The grammar is that of https://github.com/edn-format/edn; commas, no-break spaces and byte order marks are white
space. Time and memory are proportional to the length of the text, whatever it contains.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

MAX_DEPTH = 100
"""Most levels of lists and maps; what is nested deeper is left out."""

MAX_PROBLEMS = 1000
"""Most problems of a text that are reported with their places; the rest are counted."""

MAX_SHOWN = 40
"""Most characters of a token in a message."""

_BLOCK = 1 << 10
"""Characters between two offsets whose line numbers are stored."""

# The quantifiers after "#:" and "#" are possessive, and their characters are those of an atom: what is not a map or set is
# matched once more as an atom, and not once more from each of its characters.
_TOKEN = re.compile(
    r"""(?P<space>[\s,\u200b\ufeff]+|;[^\n]*)
      | (?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")
      | (?P<open>\#:{1,2}[^\s,;"{}\[\]()\\\u200b\ufeff]*+[\s,]*+\{|\#[\s,]*+\{|\{|\[|\()
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
        end: offset after its end.
        whole: whether its end was found.
        broken: the first problem inside that makes it unusable, if any.
    """

    __slots__ = ("at", "broken", "end", "whole")

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = self.end = at
        self.whole = True
        self.broken: Problem | None = None


@dataclass(frozen=True)
class Problem:
    """A problem in a text.

    Attributes:
        at: offset in the text.
        reason: in one sentence.
        harm: "none" if it was fixed, "value" if a value was lost, "map" if the map around it is unusable.
    """

    at: int
    reason: str
    harm: str


class Lines:
    """Line numbers of a text, counted once per block, so that a place is found in constant time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks = [(1, 0)]
        """For the beginning of every block: (number of its line, offset at which that line begins)."""
        for start, end in pairwise([*range(0, len(text), _BLOCK), len(text)]):
            line, begins = self._blocks[-1]
            self._blocks.append((line + text.count("\n", start, end), max(begins, text.rfind("\n", start, end) + 1)))

    def place(self, at: int) -> str:
        """``line:column`` of an offset, both from 1."""
        line, begins = self._blocks[at // _BLOCK]
        start = at // _BLOCK * _BLOCK
        begins = max(begins, self._text.rfind("\n", start, at) + 1)
        return f"{line + self._text.count(chr(10), start, at)}:{at - begins + 1}"


@dataclass(frozen=True)
class Reading:
    """The content of a text.

    Attributes:
        text: the text itself.
        values: its top-level values.
        problems: the first `MAX_PROBLEMS`, in the order of their places.
        more: how many further problems there are, by their harm.
        lines: of the text.
    """

    text: str
    values: list[Any]
    problems: list[Problem]
    more: Counter[str]
    lines: Lines

    def place(self, at: int) -> str:
        """``line:column`` of an offset, both from 1."""
        return self.lines.place(at)


@dataclass
class _Frame:
    """A list, map or set that is being read: its bracket, where it begins, and its items with their places."""

    bracket: str
    at: int
    prefix: str = ""
    items: list[Any] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    discards: int = 0
    """How many of the next items to discard."""
    broken: Problem | None = None
    """The first problem inside that makes it unusable."""


def read(text: str) -> Reading:
    """Read all values of a text."""
    reader = _Reader(text)
    reader.read()
    problems = sorted(reader.problems, key=lambda p: p.at)
    return Reading(text, reader.stack[0].items, problems, reader.more, reader.lines)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = Lines(text)
        self.problems: list[Problem] = []
        self.more: Counter[str] = Counter()
        self.stack = [_Frame("", 0)]
        self.opened = Counter[str]()
        """Number of frames on the stack by the bracket that they close with."""
        self.warned: set[str] = set()
        """Causes that have been warned about, which is done once."""

    def read(self) -> None:
        for kind, token, at in self._shallow():
            match kind:
                case "string":
                    self._put(self._string(token, at), at)
                case "atom":
                    self._atom(token, at)
                case "open":
                    self._open(token, at)
                case "close":
                    self._close(_CLOSES[token], at)
                case "discard":
                    self.stack[-1].discards += 1
                case "char":
                    self._put(_character(token), at)
                case _:
                    self._problem(at, "unterminated text: is a quote missing?", "map")
                    break
        self._end()

    def _end(self) -> None:
        """Close what is still open at the end of the text."""
        if len(self.stack) > 1:
            opened = self.lines.place(self.stack[-1].at)
            self._problem(
                len(self.text), f"the file ends before what begins at {opened} is closed: is it truncated?", "map"
            )
        while len(self.stack) > 1:
            self._leave(len(self.text), whole=False)

    def _tokens(self) -> Iterator[tuple[str, str, int]]:
        for match in _TOKEN.finditer(self.text):
            if match.lastgroup != "space":
                yield match.lastgroup or "", match[0], match.start()

    def _shallow(self) -> Iterator[tuple[str, str, int]]:
        """The tokens, without what is nested too deeply."""
        depth = 0
        for kind, token, at in self._tokens():
            if kind == "open" and (depth or len(self.stack) > MAX_DEPTH):
                if not depth:
                    self._problem(at, f"nested more than {MAX_DEPTH} levels deep: left out", "map")
                    yield "atom", "nil", at
                depth += 1
            elif not depth:
                yield kind, token, at
            elif kind == "close":
                depth -= 1
            elif kind == "bad":
                yield kind, token, at

    def _problem(self, at: int, reason: str, harm: str) -> None:
        problem, frame = Problem(at, reason, harm), self.stack[-1]
        if harm == "map":
            frame.broken = frame.broken or problem
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more[harm] += 1

    def _once(self, what: str, at: int, reason: str) -> None:
        """Warn once in a text, however often the cause occurs."""
        if what not in self.warned:
            self._problem(at, reason, "none")
        if len(self.warned) < MAX_PROBLEMS:
            self.warned.add(what)

    # --- values ------------------------------------------------------------------------------------------------------

    def _put(self, value: Any, at: int) -> None:
        """Add a finished value to the list or map around it, unless it is discarded."""
        frame = self.stack[-1]
        if frame.discards:
            frame.discards -= 1
        else:
            frame.items.append(value)
            frame.places.append(at)

    def _string(self, token: str, at: int) -> str:
        if "\\" not in token:
            return token[1:-1]

        def unescaped(match: re.Match[str]) -> str:
            code, letter = match[1], match[2]
            if code:
                return chr(int(code, 16))
            if letter not in _ESCAPES and letter not in '"\\':
                self._problem(at + 1 + match.start(), f"\\{letter} is not an EDN escape", "none")
            return _ESCAPES.get(letter, letter)

        text = _ESCAPE.sub(unescaped, token[1:-1])
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

    def _atom(self, token: str, at: int) -> None:
        if token in _CONSTANTS:
            self._put(_CONSTANTS[token], at)
        elif token.startswith("##"):
            self._problem(at, f"{token[:MAX_SHOWN]} is not a number: left out", "none")
            self._put(None, at)
        elif token.startswith("#"):
            return  # a tag: the value after it is read as it is
        elif _KEYWORD.fullmatch(token):
            if token.lstrip(":")[:1].isdigit():
                reason = f"the keyword {token[:MAX_SHOWN]} begins with a digit, which other programs reject"
                self._once(token[:MAX_SHOWN], at, reason)
            self._put(Keyword(token.lstrip(":")), at)
        else:
            number = _number(token)
            if number is None:
                reason = f"{token[:MAX_SHOWN]} is not an EDN value: is a quote missing, or not straight?"
                self._problem(at, reason, "map")
            self._put(token if number is None else number, at)

    # --- lists and maps ----------------------------------------------------------------------------------------------

    def _open(self, token: str, at: int) -> None:
        prefix = token.strip("#:{ ,\n\r\t") if token.startswith("#:") else ""
        is_set = token.startswith("#") and not token.startswith("#:")
        if is_set and len(token) > len("#{"):
            self._once("#{", at, "there is white space between the # and the { of a set: read as a set, here and below")
        bracket = "#" if is_set else token[-1]
        self.stack.append(_Frame(bracket, at, prefix))
        self.opened[_closed_as(bracket)] += 1

    def _close(self, bracket: str, at: int) -> None:
        if not self.opened[bracket]:
            self._problem(at, f"unmatched {self.text[at]}: is there one too many?", "value")
            return
        inner = self.stack[-1]
        if _closed_as(inner.bracket) != bracket:
            opened = self.lines.place(inner.at)
            self._problem(at, f"{self.text[at]} does not close the {self.text[inner.at]} at {opened}", "map")
        while _closed_as(self.stack[-1].bracket) != bracket:
            self._leave(at, whole=False)
        self._leave(at + 1, whole=True)

    def _leave(self, end: int, *, whole: bool) -> None:
        """Finish the innermost list or map, with as much of it as there is."""
        frame = self.stack[-1]
        value = self._map(frame, end, whole) if frame.bracket == "{" else frame.items
        self.stack.pop()
        self.opened[_closed_as(frame.bracket)] -= 1
        around = self.stack[-1]
        around.broken = around.broken or frame.broken
        self._put(value, frame.at)

    def _map(self, frame: _Frame, end: int, whole: bool) -> Map:
        entries = Map(frame.at)
        entries.end, entries.whole = end, whole
        if len(frame.items) % 2 and whole and frame.broken is None:
            lone = _key_without_value(frame.items)
            self._problem(frame.places[lone], f"a key without a value: {_shown(frame.items[lone])}", "map")
        for place, key, value in zip(frame.places[::2], frame.items[::2], frame.items[1::2], strict=False):
            name = self._key(key, frame.prefix, place)
            if name is None:
                continue
            if name in entries:
                self._problem(place, f"duplicate key {name[:MAX_SHOWN]}: only the last was stored", "value")
            entries[name] = value
        entries.broken = frame.broken
        return entries

    def _key(self, key: object, prefix: str, place: int) -> str | None:
        """The text of a map's key, after the prefix of the map; None if it cannot be a key."""
        if key is None:
            self._problem(place, "nil as a key: left out", "none")
            return None
        if isinstance(key, (dict, list)):
            # its text would grow with every level of maps that are keys of maps
            self._problem(place, f"{_shown(key)} as a key: left out with its value", "value")
            return None
        if isinstance(key, Keyword):
            return Keyword(f"{prefix}/{key}") if prefix and "/" not in key else key
        return str(key)


def _closed_as(bracket: str) -> str:
    """The bracket that decides what closes a frame: sets close like maps."""
    return "{" if bracket == "#" else bracket


def _shown(value: object) -> str:
    """A value for a message."""
    if isinstance(value, dict):
        return "a map"
    return "a list" if isinstance(value, list) else str(value)[:MAX_SHOWN]


def _key_without_value(items: list[Any]) -> int:
    """Which key has no value in a map of an odd number of items: the key before the first one that is not a keyword."""
    last = len(items) - 1
    if not isinstance(items[0], Keyword):
        return last
    misplaced = next((i for i in range(0, len(items), 2) if not isinstance(items[i], Keyword)), None)
    return last if misplaced is None else max(misplaced - 2, 0)


def _character(token: str) -> str:
    """The character of a token such as ``\\a`` or ``\\newline``."""
    name = token[1:]
    if len(name) == 5 and name[0] == "u":
        return chr(int(name[1:], 16))
    return _CHARS.get(name, name)


def _number(token: str) -> int | float | None:
    """The number of a token; None if it is not one, or cannot be stored."""
    match = _NUMBER.fullmatch(token)
    if match is None:
        return None
    integer, ratio = match[1], match[2]
    try:
        if integer:
            return int(integer)
        value = float(Fraction(ratio)) if ratio else float(token.rstrip("M"))
    except (ArithmeticError, ValueError):
        return None
    return value if math.isfinite(value) else None
