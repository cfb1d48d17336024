"""JSON documents and JSON lines from a stream of text, entry by entry; memory holds no more text than one entry needs."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TextIO

from lorekeeper.entities import refuse_constant
from lorekeeper.intake.streams import not_utf8
from lorekeeper.normalize.json_errors import wrong

MAX_ENTRY_CHARS = 4 << 20
"""Longest entry or line that is parsed, with indentation: about four times the largest that can be stored."""

MAX_CHARS = 1 << 30
"""Longest text of a file, unpacked."""

CHUNK_CHARS = 1 << 18

LINES_TRIED = 20
"""Lines among which one must be a JSON object for a text to count as JSON lines."""

NUMBER_TAIL = 3
"""Characters after a number that show whether it continues: ``1`` may be the beginning of ``1e+5``."""

TOKEN_TAIL = 12
"""Characters before the end of a text in which an error may only mean that a word or an escape is truncated."""

_BLANK = re.compile(r"[ \t\r\n]*")

UNDECODED = re.compile("[\udc80-\udcff]")
"""Bytes that are not UTF-8, as the error handler "surrogateescape" decodes them."""


class TooLongError(ValueError):
    """An entry is longer than `MAX_ENTRY_CHARS`."""

    def __init__(self) -> None:
        super().__init__(f"it is longer than {MAX_ENTRY_CHARS >> 20} MB, more than an entry may have; split it")


class UndecodedError(ValueError):
    """An entry is not UTF-8."""

    def __init__(self, byte: str) -> None:
        super().__init__(not_utf8(ord(byte) - 0xDC00))


class NotJsonError(ValueError):
    """A text is not JSON at all."""


class Window:
    """The part of a text that is being read: what precedes it is dropped, what follows is read when needed.

    Args:
        stream: the text, decoded with ``errors="surrogateescape"`` and ``newline="\\n"``.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._ended = False
        self._dropped = self._before = 0
        self._lines = 0
        self._counted = 0
        self.text = ""
        self.at = 0
        """The reader's position in ``text``."""

    def line(self) -> int:
        """Number of the reader's line, from 1."""
        self._lines += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._lines + 1

    def offset(self) -> int:
        """Characters before the reader."""
        return self._dropped + self.at

    def grow(self) -> bool:
        """Double the text in memory; whether there was more. ValueError beyond `MAX_CHARS`."""
        remaining = len(self.text) - self.at
        part = "" if self._ended else self._stream.read(max(CHUNK_CHARS, remaining))
        if not part:
            self._ended = True
            return False
        self.line()
        self._before = self._column(self.at) - 1
        self._dropped += self.at
        self.text, self.at, self._counted = self.text[self.at :] + part, 0, 0
        if self._dropped + len(self.text) > MAX_CHARS:
            raise ValueError(f"it is larger than {MAX_CHARS >> 20} MB, so the rest was not read; split it")
        return True

    def peek(self, chars: int, lines: int | None = None) -> str:
        """The following text: at least this many characters or lines, or all there is."""
        while len(self.text) - self.at < chars and (lines is None or self.text.count("\n", self.at) < lines):
            if not self.grow():
                break
        return self.text[self.at :]

    def next(self) -> str:
        """The next character that is not white space, "" at the end; the reader stays before it."""
        while True:
            blank = _BLANK.match(self.text, self.at)
            assert blank
            self.at = blank.end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.grow():
                return ""

    def take(self, expected: str) -> str:
        """Consume the next character that is not white space; ValueError if it is not one of the expected ones."""
        character = self.next()
        if not character or character not in expected:
            raise ValueError(self.invalid(self.at, "Expecting ':'" if expected == ":" else ""))
        self.at += 1
        return character

    def value(self) -> Any:
        """The next JSON value, as `json.loads` gives it; the reader is then after it.

        Raises:
            UndecodedError: it is not UTF-8; the reader is after it anyway.
            TooLongError: it is longer than `MAX_ENTRY_CHARS`.
            ValueError: it is not valid JSON.
        """
        self.next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self.text, self.at)
            except json.JSONDecodeError as error:
                if _may_be_cut(error, TOKEN_TAIL) and self._grow_for_one():
                    continue
                raise ValueError(self.invalid(error.pos, error.msg)) from error
            except (ValueError, RecursionError) as error:
                raise ValueError(_reason(error)) from error
            if len(self.text) - end < NUMBER_TAIL and self._grow_for_one():
                continue
            if end - self.at > MAX_ENTRY_CHARS:
                raise TooLongError
            start, self.at = self.at, end
            if undecoded := UNDECODED.search(self.text, start, end):
                raise UndecodedError(undecoded[0])
            return value

    def lines(self) -> Iterator[tuple[int, str | None]]:
        """(number, text) of each further line that is not blank; None in place of the text of one that is too long."""
        while self.next():
            yield self.line(), self._rest_of_line()

    def skip_line(self) -> None:
        """Skip the rest of the line without keeping it in memory."""
        while (end := self.text.find("\n", self.at)) < 0:
            self.at = len(self.text)
            if not self.grow():
                return
        self.at = end

    def rest(self, limit: int) -> str:
        """Everything that follows, up to a number of characters."""
        parts, size = [self.text[self.at :]], len(self.text) - self.at
        while size < limit and (part := self._stream.read(min(CHUNK_CHARS, limit - size))):
            parts.append(part)
            size += len(part)
        return "".join(parts)

    def invalid(self, place: int, said: str = "") -> str:
        """Why the text is no valid JSON, at a position in ``text`` after the reader; ``said`` is what Python says of it."""
        line = self.line() + self.text.count("\n", self.at, place)
        return f"invalid JSON in line {line}, column {self._column(place)}: {wrong(self.text, place, said)}"

    def _column(self, place: int) -> int:
        """Number of a position in ``text`` within its line, from 1."""
        start = self.text.rfind("\n", 0, place)
        return place - start if start >= 0 else self._before + place + 1

    def _grow_for_one(self) -> bool:
        if len(self.text) - self.at > MAX_ENTRY_CHARS:
            raise TooLongError
        return self.grow()

    def _rest_of_line(self) -> str | None:
        searched = 0
        while (end := self.text.find("\n", self.at + searched)) < 0:
            searched = len(self.text) - self.at
            if searched > MAX_ENTRY_CHARS:
                break
            if not self.grow():
                end = len(self.text)
                break
        if end < 0 or end - self.at > MAX_ENTRY_CHARS:
            self.skip_line()
            return None
        start, self.at = self.at, end
        return self.text[start:end]


def entries(where: str, window: Window, *, pages: bool = True) -> Iterator[tuple[str, Any]]:
    """(where, value) of each entry of a JSON document (an object, a list, an API page) or of JSON lines.

    Instead of an entry that cannot be read, or of the rest of the text, the value is a ValueError that says why.

    Args:
        where: the file, for places.
        window: its text.
        pages: whether an object with a list of "results" is an API page, which stands for the elements of that list.
    """
    if not window.next():
        yield where, ValueError("the file is empty")
    elif _is_lines(window):
        yield from _of_lines(where, window)
    else:
        yield from _of_document(where, window, _PARTS if pages else {**_PARTS, "{": _whole})


def _is_lines(window: Window) -> bool:
    """Whether one of a text's lines is an object, and its beginning is not one JSON document, whole or truncated."""
    beginning = window.peek(MAX_ENTRY_CHARS, LINES_TRIED + 1)
    lines = [line for line in beginning.split("\n") if line.strip()][:LINES_TRIED]
    tried = "\n".join(lines).rstrip()
    try:
        _, end = _DECODER.raw_decode(tried)
        document = end == len(tried)
    except json.JSONDecodeError as error:
        document = _may_be_cut(error, TOKEN_TAIL if len(beginning) >= MAX_ENTRY_CHARS else 0)
    except (ValueError, RecursionError):
        document = False
    return not document and len(lines) > 1 and any(isinstance(_parsed(line), dict) for line in lines)


def _of_lines(where: str, window: Window) -> Iterator[tuple[str, Any]]:
    for number, line in window.lines():
        yield f"{where}:{number}", TooLongError() if line is None else _parsed(line)


def _of_document(where: str, window: Window, parts: Mapping[str, Part]) -> Iterator[tuple[str, Any]]:
    number = 0
    try:
        for place, value in parts.get(window.next(), _single)(where, window):
            yield place, value
            number += 1
        if window.next():
            raise ValueError(window.invalid(window.at, "Extra data"))
    except TooLongError as error:
        if window.line() > 1 or "\n" in window.text:
            yield where, _stopped(error, number)
            return
        window.skip_line()  # a single line may be one of many
        yield f"{where}:1", error
        yield from _of_lines(where, window)
    except ValueError as error:
        yield where, _stopped(error, number)


def _stopped(error: ValueError, number: int) -> ValueError:
    """An error that ends the reading of a text after a number of entries."""
    return ValueError(f"{error}; the {number:,} entries before it were read, the rest was not") if number else error


def _single(where: str, window: Window) -> Iterator[tuple[str, Any]]:
    """The one value of a document that is neither an object nor a list."""
    if window.peek(2).startswith(("//", "/*")):
        raise ValueError(window.invalid(window.at))
    try:
        value = window.value()
    except UndecodedError:
        raise
    except ValueError as error:
        undecoded = UNDECODED.search(window.text)
        raise (UndecodedError(undecoded[0]) if undecoded else NotJsonError(str(error))) from error
    if window.next():
        raise NotJsonError("it begins with a number")
    yield where, value


def _whole(where: str, window: Window) -> Iterator[tuple[str, Any]]:
    """An object, whatever keys it has."""
    yield where, window.value()


def _elements(where: str, window: Window) -> Iterator[tuple[str, Any]]:
    """The elements of a list."""
    window.take("[")
    if window.next() == "]":
        window.take("]")
        return
    for number in itertools.count():
        value: Any
        try:
            value = window.value()
        except UndecodedError as error:
            value = error
        yield f"{where}[{number}]", value
        if window.take(",]") == "]":
            return


def _object(where: str, window: Window) -> Iterator[tuple[str, Any]]:
    """An object; for an API page, which is an object with a list of "results", the elements of that list."""
    value: dict[str, Any] = {}
    chars, page = 0, False
    window.take("{")
    closed = window.next() == "}"
    if closed:
        window.take("}")
    while not closed:
        start = window.offset()
        key = window.value()
        if not isinstance(key, str):
            raise ValueError(f"invalid JSON in line {window.line()}: a key is not a text in quotation marks")
        window.take(":")
        if key == "results" and window.next() == "[":
            page = True
            yield from _elements(where, window)
        else:
            value[key] = window.value()
            chars += window.offset() - start
        if chars > MAX_ENTRY_CHARS:
            raise TooLongError
        closed = window.take(",}") == "}"
    if not page:
        yield where, value


Part = Callable[[str, Window], Iterator[tuple[str, Any]]]
"""Reads the entries of a document that begins with a certain character."""

_PARTS: dict[str, Part] = {"[": _elements, "{": _object}


_DECODER = json.JSONDecoder(parse_constant=refuse_constant)


def _may_be_cut(error: json.JSONDecodeError, tail: int) -> bool:
    """Whether an error may only mean that the text ends inside a value; ``tail`` is 0 for a text that ends with a line."""
    at_end = error.pos >= len(error.doc) - tail
    return at_end or (tail > 0 and error.msg.startswith("Unterminated string"))


def _parsed(line: str) -> Any:
    """The value of a line, or a ValueError that says why it is invalid."""
    if undecoded := UNDECODED.search(line):
        return UndecodedError(undecoded[0])
    try:
        return _DECODER.decode(line)
    except json.JSONDecodeError as error:
        return ValueError(f"invalid JSON in column {error.colno}: {wrong(line, error.pos, error.msg)}")
    except (ValueError, RecursionError) as error:
        return ValueError(_reason(error))


def _reason(error: Exception) -> str:
    return f"invalid JSON: {'it is nested too deeply' if isinstance(error, RecursionError) else error}"
