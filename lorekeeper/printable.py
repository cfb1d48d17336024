"""Text from outside, made safe to show: no control, escape or direction characters, no forged lines, no endless echo."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_SHOWN = 200
"""Most characters of a value that a message repeats."""

MAX_REASON = 300
"""Most characters of a reason that is passed on: it may echo what came from outside."""

_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f"
"""Marks and overrides of bidirectional text, which make a line read as another one."""

_TAGS = "\U000e0000-\U000e007f"
"""Letters that no font shows and every language model reads."""

_TABS_AND_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
_BREAK = re.compile("\r\n|[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN = re.compile(f"[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f{_DIRECTIONS}{_TAGS}]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LEFT_BY_JSON = re.compile(f"[\x7f-\x9f\u2028\u2029\ud800-\udfff{_DIRECTIONS}{_TAGS}]")


def one_line(text: str, limit: int | None = None) -> str:
    """A text as one line: line breaks and tabs become spaces, what cannot be seen is left out.

    Args:
        text: from anywhere.
        limit: most characters of it; None for all.
    """
    if limit is not None and len(text) > limit:
        text = text[: limit - 1] + "…"
    return text if text.isprintable() else _visible(_TABS_AND_BREAKS.sub(" ", text))


def lines(text: str) -> str:
    """A text with its line breaks and tabs, each break a newline, without what else cannot be seen."""
    return text if text.isprintable() else _visible(_BREAK.sub("\n", text))


def shown(value: object, limit: int = MAX_SHOWN) -> str:
    """A value for a message, quoted as Python does, at most ``limit`` characters."""
    text = repr(value[:limit] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def json_text(value: Any, indent: int | None = None) -> str:
    """A JSON document in which every character that cannot be seen is escaped, so that it can be printed as it is."""
    return _LEFT_BY_JSON.sub(_escape, json.dumps(value, ensure_ascii=False, indent=indent))


def _visible(text: str) -> str:
    return _SURROGATE.sub("\ufffd", _HIDDEN.sub("", text))


def _escape(found: re.Match[str]) -> str:
    return json.dumps(found[0])[1:-1]
