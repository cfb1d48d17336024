"""Answers over MCP that are too long for a model's context: cut, with a sentence that says how to read on.

Only the end of a text is cut, at the end of a line, and every mark of secrecy stands before what it marks: what is left of a secret
stays marked. The page and the REST interface have every entry whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from lorekeeper.printable import one_line

MAX_CHARS = 100_000
"""Most characters of an answer's text: about 25,000 tokens. JSON for programs is whole."""

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
    kept = text[: end_within(text, 0, MAX_CHARS)].rstrip()
    headings = [
        line.strip().lstrip("#").strip() for line in text[len(kept) :].splitlines() if line.lstrip().startswith("#")
    ]
    named = "; ".join(one_line(heading, MAX_HEADING) for heading in headings[:MAX_HEADINGS])
    more = "; ..." if len(headings) > MAX_HEADINGS else ""
    left_out = f" Left out, among others: {named}{more}." if named else ""
    said = f"This answer was cut here: it has {len(text):,} characters, and at most {MAX_CHARS:,} are sent."
    return f"{kept}\n\n{said}{left_out} {HOW}"


def end_within(text: str, start: int, most: int, marks: Sequence[str] = ("\n", " ")) -> int:
    """Where a part of a text that begins at ``start`` ends: at the first of the marks that is in its second half."""
    ends = (text.rfind(mark, start + most // 2, start + most) for mark in marks)
    return next((end for end in ends if end > start), start + most)
