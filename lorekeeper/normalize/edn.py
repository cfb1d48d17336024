"""A fault-tolerant EDN reader for OrcBrew files: text to plain values, and the place of every problem. It never raises.

Packs in circulation are damaged in many small ways, and one broken entry must not cost the others, so the reader continues
after an error, and reports which maps it affects. It keeps its own stack, so that deep nesting cannot exhaust that of the
process. The grammar is that of https://github.com/edn-format/edn; commas, no-break spaces and byte order marks are white
space. Time and memory are proportional to the length of the text, whatever it contains.
"""

from __future__ import annotations

import math
import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

MAX_DEPTH = 100
"""Most levels of lists and maps; what is nested deeper is left out."""

MAX_PROBLEMS = 1000
"""Most problems of a text that are reported with their places; the rest are counted."""

MAX_SHOWN = 40
"""Most characters of a token in a message."""

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
_LINE_END = re.compile("\n")
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


@dataclass
class _Frame:
    """A list, map or set that is being read: what it opens with, where it begins, and its items with their places."""

    bracket: str
    at: int
    is_map: bool = False
    prefix: str = ""
    items: list[Any] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    discards: int = 0
    """How many of the next items to discard."""
    broken: Problem | None = None
    """The first problem inside that makes it unusable."""


class Reading:
    """The content of a text.

    Attributes:
        text: the text itself.
        problems: the first `MAX_PROBLEMS`, in the order of their places.
        more: how many further problems there are, by their harm.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.problems: list[Problem] = []
        self.more: Counter[str] = Counter()
        self._lines = array("I", (match.end() for match in _LINE_END.finditer(text)))
        """Where each line but the first begins."""
        self._stack = [_Frame("", 0)]
        self._opened = Counter[str]()
        """Number of frames on the stack by their brackets."""
        self._warned: set[str] = set()
        """Causes that have been warned about, which is done once."""
        self._read()
        self.problems.sort(key=lambda problem: problem.at)

    @property
    def values(self) -> list[Any]:
        """The top-level values."""
        return self._stack[0].items

    def place(self, at: int) -> str:
        """``line:column`` of an offset, both from 1."""
        line = bisect_right(self._lines, at)
        return f"{line + 1}:{at - (self._lines[line - 1] if line else 0) + 1}"

    def _read(self) -> None:
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
                    self._stack[-1].discards += 1
                case "char":
                    name = token[1:]
                    is_code = len(name) == 5 and name[0] == "u"
                    self._put(chr(int(name[1:], 16)) if is_code else _CHARS.get(name, name), at)
                case _:
                    self._problem(at, "unterminated text: is a quote missing?", "map")
                    break
        if len(self._stack) > 1:
            opened = self.place(self._stack[-1].at)
            told = f"the file ends before what begins at {opened} is closed: is it truncated?"
            self._problem(len(self.text), told, "map")
        while len(self._stack) > 1:
            self._leave(len(self.text), whole=False)

    def _shallow(self) -> Iterator[tuple[str, str, int]]:
        """The tokens, without what is nested too deeply."""
        depth = 0
        for match in _TOKEN.finditer(self.text):
            kind, at = match.lastgroup or "", match.start()
            if kind == "open" and (depth or len(self._stack) > MAX_DEPTH):
                if not depth:
                    self._problem(at, f"nested more than {MAX_DEPTH} levels deep: left out", "map")
                    yield "atom", "nil", at
                depth += 1
            elif depth and kind == "close":
                depth -= 1
            elif kind == "bad" or not (depth or kind == "space"):
                yield kind, match[0], at

    def _problem(self, at: int, reason: str, harm: str) -> None:
        problem, frame = Problem(at, reason, harm), self._stack[-1]
        if harm == "map":
            frame.broken = frame.broken or problem
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more[harm] += 1

    def _once(self, what: str, at: int, reason: str) -> None:
        """Warn once in a text, however often the cause occurs."""
        if what not in self._warned:
            self._problem(at, reason, "none")
        if len(self._warned) < MAX_PROBLEMS:
            self._warned.add(what)

    # --- values ------------------------------------------------------------------------------------------------------

    def _put(self, value: Any, at: int) -> None:
        """Add a finished value to the list or map around it, unless it is discarded."""
        frame = self._stack[-1]
        if frame.discards:
            frame.discards -= 1
        else:
            frame.items.append(value)
            frame.places.append(at)

    def _string(self, token: str, at: int) -> str:
        def unescaped(match: re.Match[str]) -> str:
            code, letter = match[1], match[2]
            if code:
                return chr(int(code, 16))
            if letter not in _ESCAPES and letter not in '"\\':
                self._problem(at + 1 + match.start(), f"\\{letter} is not an EDN escape", "none")
            return _ESCAPES.get(letter, letter)

        text = _ESCAPE.sub(unescaped, token[1:-1])
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if "\\" in token else text

    def _atom(self, token: str, at: int) -> None:
        value: Any = None
        if token in _CONSTANTS:
            value = _CONSTANTS[token]
        elif token.startswith("##"):
            self._problem(at, f"{token[:MAX_SHOWN]} is not a number: left out", "none")
        elif token.startswith("#"):
            return  # a tag: the value after it is read as it is
        elif _KEYWORD.fullmatch(token):
            value = Keyword(token.lstrip(":"))
            if value[:1].isdigit():
                reason = f"the keyword {token[:MAX_SHOWN]} begins with a digit, which other programs reject"
                self._once(token[:MAX_SHOWN], at, reason)
        elif (value := _number(token)) is None:
            reason = f"{token[:MAX_SHOWN]} is not an EDN value: is a quote missing, or not straight?"
            self._problem(at, reason, "map")
            value = token
        self._put(value, at)

    # --- lists and maps ----------------------------------------------------------------------------------------------

    def _open(self, token: str, at: int) -> None:
        has_prefix, bracket = token.startswith("#:"), token[-1]
        is_set = token.startswith("#") and not has_prefix
        if is_set and len(token) > len("#{"):
            self._once("#{", at, "there is white space between the # and the { of a set: read as a set, here and below")
        prefix = token.strip("#:{ ,\n\r\t") if has_prefix else ""
        self._stack.append(_Frame(bracket, at, bracket == "{" and not is_set, prefix))
        self._opened[bracket] += 1

    def _close(self, bracket: str, at: int) -> None:
        if not self._opened[bracket]:
            self._problem(at, f"unmatched {self.text[at]}: is there one too many?", "value")
            return
        inner = self._stack[-1]
        if inner.bracket != bracket:
            told = f"{self.text[at]} does not close the {self.text[inner.at]} at {self.place(inner.at)}"
            self._problem(at, told, "map")
        while self._stack[-1].bracket != bracket:
            self._leave(at, whole=False)
        self._leave(at + 1, whole=True)

    def _leave(self, end: int, *, whole: bool) -> None:
        """Finish the innermost list or map, with as much of it as there is."""
        frame = self._stack[-1]
        value = self._map(frame, end, whole) if frame.is_map else frame.items
        self._stack.pop()
        self._opened[frame.bracket] -= 1
        around = self._stack[-1]
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


def read(text: str) -> Reading:
    """Read all values of a text."""
    return Reading(text)


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
