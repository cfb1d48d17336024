"""Answers over MCP that are too long for a model's context: cut, with a sentence that says how to read on.

Only the end of a text is cut, at the end of a line, and every mark of secrecy stands before what it marks: what is left of a secret
stays marked. The page and the REST interface have every entry whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from lorekeeper.printable import one_line

MAX_CHARS = 100_000
"""Most characters of an answer's text, and of its structured content as JSON: about 25,000 tokens each."""

_TEXTS = (20_000, 5_000, 1_000, 200)
"""Longest texts within structured content, in the order in which they are tried."""

_ITEMS = (1_000, 200, 50, 20, 8)
"""Most items of its lists, if shorter texts are not enough."""

_LEAST_KEYS = 50
"""No object is cut to fewer keys: those that a tool declares are all there."""

MAX_HEADINGS, MAX_HEADING = 10, 60
"""Most headings that are named of what is left out, and the longest."""

HOW = (
    "To read on, call get_entity for one entry, with section (a heading) or offset (characters to skip), or search with "
    "search_lore for words of the part you need. The page of 'lorekeeper serve --transport http' and its REST interface have "
    "every entry whole."
)


def cut_text(text: str) -> str:
    """A text of at most about `MAX_CHARS` characters, with `HOW` at its end if it was longer."""
    if len(text) <= MAX_CHARS:
        return text
    kept = _to_line_end(text, MAX_CHARS)
    headings = [
        line.strip().lstrip("#").strip() for line in text[len(kept) :].splitlines() if line.lstrip().startswith("#")
    ]
    named = "; ".join(one_line(heading, MAX_HEADING) for heading in headings[:MAX_HEADINGS])
    more = "; ..." if len(headings) > MAX_HEADINGS else ""
    left_out = f" Left out, among others: {named}{more}." if named else ""
    return f"{kept}\n\n{cut_note(len(text))}{left_out} {HOW}"


def cut_note(chars: int) -> str:
    """What is said of an answer of that length."""
    return f"This answer was cut here: it has {chars:,} characters, and at most {MAX_CHARS:,} are sent."


def cut_content(content: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Structured content of at most `MAX_CHARS` characters as JSON, which says so in ``note``, if its schema has one."""
    chars = _chars(content)
    if chars <= MAX_CHARS:
        return content
    for longest, most in (*((length, max(_ITEMS)) for length in _TEXTS), *((min(_TEXTS), number) for number in _ITEMS)):
        cut = _cut(content, longest, most)
        if _chars(cut) <= MAX_CHARS:
            break
    if "note" in schema.get("properties", {}):
        said = f"{cut_note(chars).replace(' here', '')} {HOW}"
        cut["note"] = f"{content['note']} {said}" if content.get("note") else said
    return dict(cut)


def _cut(value: Any, longest: int, most: int) -> Any:
    if isinstance(value, str):
        return (
            value
            if len(value) <= longest
            else f"{_to_line_end(value, longest)} [cut: it has {len(value):,} characters]"
        )
    if isinstance(value, list):
        return [_cut(each, longest, most) for each in value[:most]]
    if isinstance(value, dict):
        return {key: _cut(each, longest, most) for key, each in list(value.items())[: max(most, _LEAST_KEYS)]}
    return value


def _to_line_end(text: str, most: int) -> str:
    """The beginning of a text up to the end of a line, or of a word; at least half of what may be left."""
    return text[: end_within(text, 0, most)].rstrip()


def end_within(text: str, start: int, most: int, marks: Sequence[str] = ("\n", " ")) -> int:
    """Where a part of a text that begins at ``start`` ends: at the first of the marks that is in its second half."""
    ends = (text.rfind(mark, start + most // 2, start + most) for mark in marks)
    return next((end for end in ends if end > start), start + most)


def _chars(content: object) -> int:
    return len(json.dumps(content, ensure_ascii=False))
