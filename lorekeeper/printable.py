"""Text from outside, made safe to store and to show: no control or invisible characters, no forged lines, no long echo."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

MAX_SHOWN = 200
"""Most characters of a value that a message repeats."""

MAX_REASON = 300
"""Most characters of a reason that is passed on: it may repeat text from outside."""

FORBIDDEN = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069"
"""Control characters, line separators and bidirectional overrides, as a range of a regular expression's set.

No name, title, kind or key of an entry has any: they could forge a line, or the end of one, wherever it is shown.
"""

_INVISIBLE = FORBIDDEN + r"\u061c\u200e\u200f\u206a-\u206f\U000e0000-\U000e007f"
"""These, and what only has to go when a text is shown: directional marks, and tags, which no font shows and every language
model reads."""

_CONTROL = re.compile(f"[{FORBIDDEN}]")
_HIDDEN = re.compile(rf"(?![\t\n])[{_INVISIBLE}]")
_LEFT_BY_JSON = re.compile(rf"(?![\x00-\x1f])[{_INVISIBLE}\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")

_BREAK = re.compile("\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_TABS_AND_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
_SPACED_BREAK = re.compile(r"\s*[\t-\r\x1c-\x1f\x85\u2028\u2029]\s*")


def has_controls(text: str) -> bool:
    """Whether a text contains control characters, line breaks included, or bidirectional overrides."""
    return _CONTROL.search(text) is not None


def without_controls(text: str) -> str:
    """A text for a name or title: line breaks and tabs become spaces, other `FORBIDDEN` characters are removed."""
    return _CONTROL.sub("", _SPACED_BREAK.sub(" ", text)) if has_controls(text) else text


def one_line(text: str, limit: int | None = None) -> str:
    """A text as one line: line breaks and tabs become spaces, invisible characters are removed.

    Args:
        text: from anywhere.
        limit: most characters of it; None for all.
    """
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return text if text.isprintable() else _visible(_TABS_AND_BREAKS.sub(" ", text))


def shortened(text: str, limit: int) -> str:
    """The beginning of a text that fits, whole words and an ellipsis; all of it if it fits."""
    if len(text) <= limit:
        return text
    end = text.rfind(" ", 0, max(limit - 1, 1))
    return f"{text[:end].rstrip(' ,;:·')} …" if end > 0 else "…"


def counted(numbers: Mapping[str, int]) -> str:
    """Numbers of things by their names, without those of which there is none: "3 spells, 12 rules"."""
    return ", ".join(f"{number:,} {name}" for name, number in numbers.items() if number)


def quantity(number: int, noun: str) -> str:
    """A number of things that are counted: "1 entry", "1,200 entries"."""
    if number == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("y") else f"{number:,} {noun}{ending}"


def lines(text: str) -> str:
    """A text with its line breaks and tabs, each break a newline, without other invisible characters."""
    return text if text.isprintable() else _visible(_BREAK.sub("\n", text))


def shown(value: object, limit: int = MAX_SHOWN) -> str:
    """A value for a message, quoted as Python does, at most ``limit`` characters."""
    text = repr(value[:limit] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def json_text(value: Any, indent: int | str | None = None) -> str:
    """A JSON document in which every invisible character is escaped, so that it can be printed as it is."""
    return _LEFT_BY_JSON.sub(_escape, json.dumps(value, ensure_ascii=False, indent=indent))


def _visible(text: str) -> str:
    return _SURROGATE.sub("\ufffd", _HIDDEN.sub("", text))


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]
