"""EDN as OrcBrew files hold it: text to plain values, with the place of everything that is wrong. Nothing raises.

The packs that people pass around are damaged in many small ways, and one broken entry must not cost the others. So this
reader goes on behind an error, and says which maps it touched. It keeps its own stack: no depth of nesting ends the
process. The grammar is that of https://github.com/edn-format/edn; commas, no-break spaces and byte order marks are space.
It takes time and memory proportional to the length of the text, whatever the text is.
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
"""Levels of lists and maps; what is nested deeper is left out."""

MAX_PROBLEMS = 1000
"""Problems of a text that are kept with their places; the rest are counted."""

MAX_SHOWN = 40
"""Characters of a wrong token in a message."""

_BLOCK = 1 << 10
"""Characters between two places whose line numbers are known."""

# The quantifiers behind "#:" and "#" are possessive, and their characters are those of an atom: what is no map or set is
# looked at once more as an atom, and not once more by each of its characters.
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
        end: offset behind its end.
        whole: whether its end was found.
        broken: a problem inside that makes it meaningless, None where there is none.
    """

    __slots__ = ("at", "broken", "end", "whole")

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = self.end = at
        self.whole = True
        self.broken: Problem | None = None


@dataclass(frozen=True)
class Problem:
    """Something wrong.

    Attributes:
        at: offset in the text.
        reason: in one sentence.
        harm: "none" where it was corrected, "value" where a value was lost, "map" where the map around it means nothing.
    """

    at: int
    reason: str
    harm: str


class Lines:
    """Where the lines of a text begin: counted once for every block of it, so that a place is found in constant time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._blocks = [(1, 0)]
        """Of the beginning of every block: the number of the line it is in, and the offset at which that line begins."""
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
    """What a text holds.

    Attributes:
        text: the text itself.
        values: its top-level values.
        problems: the first `MAX_PROBLEMS` in the order of their places.
        more: how many problems there are beyond those, by their harm.
        lines: where its lines begin.
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
    """A list or map that is being read: its bracket, where it begins, and its items with their places."""

    bracket: str
    at: int
    prefix: str = ""
    items: list[Any] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    discards: int = 0
    """How many of the next items are discarded."""
    broken: Problem | None = None
    """The first problem inside that makes it meaningless."""


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
        """How many frames of the stack have each bracket that can be closed."""
        self.said: set[str] = set()
        """What is said once, however often it occurs."""

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
                self.stack[-1].discards += 1
            elif kind == "char":
                name = token[1:]
                self._put(chr(int(name[1:], 16)) if len(name) == 5 and name[0] == "u" else _CHARS.get(name, name), at)
            else:
                self._problem(at, "a text begins here that has no end: is a quote missing?", "map")
                break
        if len(self.stack) > 1:
            opened = self.lines.place(self.stack[-1].at)
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
        problem, frame = Problem(at, reason, harm), self.stack[-1]
        if harm == "map":
            frame.broken = frame.broken or problem
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more[harm] += 1

    def _once(self, what: str, at: int, reason: str) -> None:
        """A warning that is given once in a text, however often its cause occurs."""
        if what not in self.said:
            self._problem(at, reason, "none")
        if len(self.said) < MAX_PROBLEMS:
            self.said.add(what)

    # --- values ------------------------------------------------------------------------------------------------------

    def _put(self, value: Any, at: int) -> None:
        """A finished value goes into the list around it, where it is not discarded. Tags are passed over."""
        frame = self.stack[-1]
        if frame.discards:
            frame.discards -= 1
        else:
            frame.items.append(value)
            frame.places.append(at)

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
            self._problem(at, f"{token[:MAX_SHOWN]} is no number: left out", "none")
            self._put(None, at)
        elif token.startswith("#"):
            return  # a tag: the value it stands before is read as it is
        elif _KEYWORD.fullmatch(token):
            if token.lstrip(":")[:1].isdigit():
                reason = f"the keyword {token[:MAX_SHOWN]} begins with a digit, which other programs refuse"
                self._once(token[:MAX_SHOWN], at, reason)
            self._put(Keyword(token.lstrip(":")), at)
        else:
            number = _number(token)
            if number is None:
                reason = f"{token[:MAX_SHOWN]} is no EDN value: is a quote missing, or not straight?"
                self._problem(at, reason, "map")
            self._put(token if number is None else number, at)

    # --- lists and maps ----------------------------------------------------------------------------------------------

    def _open(self, sign: str, at: int) -> None:
        prefix = sign.strip("#:{ ,\n\r\t") if sign.startswith("#:") else ""
        is_set = sign.startswith("#") and not sign.startswith("#:")
        if is_set and sign != "#{":
            self._once(
                "#{", at, "white space stands between the # and the { of a set: here and below it is read as a set"
            )
        bracket = "#" if is_set else sign[-1]
        self.stack.append(_Frame(bracket, at, prefix))
        self.opened[_closed_as(bracket)] += 1

    def _close(self, bracket: str, at: int) -> None:
        if not self.opened[bracket]:
            self._problem(at, f"{self.text[at]} closes nothing: is there one too many?", "value")
            return
        inner = self.stack[-1]
        if _closed_as(inner.bracket) != bracket:
            opened = self.lines.place(inner.at)
            self._problem(at, f"{self.text[at]} does not close the {self.text[inner.at]} of {opened}", "map")
        while _closed_as(self.stack[-1].bracket) != bracket:
            self._leave(at, whole=False)
        self._leave(at + 1, whole=True)

    def _leave(self, end: int, *, whole: bool) -> None:
        """The innermost list or map is done, or as much of it as there is."""
        frame = self.stack[-1]
        value = self._map(frame, end, whole) if frame.bracket == "{" else frame.items
        self.stack.pop()
        self.opened[_closed_as(frame.bracket)] -= 1
        around = self.stack[-1]
        around.broken = around.broken or frame.broken
        self._put(value, frame.at)

    def _map(self, frame: _Frame, end: int, whole: bool) -> Map:
        found = Map(frame.at)
        found.end, found.whole = end, whole
        if len(frame.items) % 2 and whole and frame.broken is None:
            lonely = _lonely(frame.items)
            self._problem(frame.places[lonely], f"a key without a value: {_shown(frame.items[lonely])}", "map")
        for place, key, value in zip(frame.places[::2], frame.items[::2], frame.items[1::2], strict=False):
            if key is None:
                self._problem(place, "nil stands for a key: left out", "none")
                continue
            if isinstance(key, (dict, list)):
                # its text would be a name, and grow with every level of maps that are keys of maps
                self._problem(place, f"{_shown(key)} stands for a key: left out with its value", "value")
                continue
            name = f"{frame.prefix}/{key}" if frame.prefix and isinstance(key, Keyword) and "/" not in key else key
            if not isinstance(name, str):
                name = str(name)
            if name in found:
                reason = f"the key {name[:MAX_SHOWN]} stands twice: only the last is kept"
                self._problem(place, reason, "value")
            found[Keyword(name) if isinstance(key, Keyword) else name] = value
        found.broken = frame.broken
        return found


def _closed_as(bracket: str) -> str:
    """The bracket of a frame without telling sets from maps, as what closes it does not."""
    return "{" if bracket == "#" else bracket


def _shown(value: object) -> str:
    """A value for a message."""
    return "a map" if isinstance(value, dict) else "a list" if isinstance(value, list) else str(value)[:MAX_SHOWN]


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
