"""What is wrong with a text that is no valid JSON, in words of people who edit it by hand: what stands where the error is."""

from __future__ import annotations

import json
import re

AROUND = 200
"""Characters before and after an error that are looked at."""

_SAID = {
    "Invalid control character": "a line break, tab or other control character within a text; write \\n or \\t in its place",
    "Invalid \\": "a backslash within a text that means nothing; write two",
    "Unterminated string": "a text without its closing quotation mark",
    "Expecting ':'": "a colon is missing after a key",
    "Extra data": "text after its end",
}
"""What Python says beyond the place of an error, by how it begins."""

_STANDS = {
    r"\Z": "it ends in the middle; copy or download it again, whole",
    r"(?<=,)(?P<at>[\]}])": "a comma too many before the closing bracket {at}",
    r", ?(?P<at>[\]}])": "a comma too many before the closing bracket {at}",
    r"(?<=[,\[{]),": "a comma too many",
    r"(?P<at>[“”„‟‘’‚‛«»])": "the typographic quotation mark {at}; JSON has only straight ones",
    r"(?P<at>['`])": "the quotation mark {at}; JSON has only double ones",
    r"#|//|/\*": "a comment, which JSON does not have; remove it",
    r"(?P<at>True|False|None)\b": "{at} of Python; JSON has true, false and null",
    r"(?<=[\w\"}\]])(?P<at>.)": "a comma is missing before {at}, or a text before it has a quotation mark without a backslash",
    r"(?P<at>[^\W\d]\w{0,30})": "the word {at} without quotation marks",
    r"(?P<at>.)": "the character {at}, which is not expected there",
}
"""What is wrong, by what stands at the place of an error, without blanks around that; the first that matches counts."""

_WRONG = {re.compile(sign, re.DOTALL): told for sign, told in _STANDS.items()}
_BLANK = re.compile(r"\s+")


def invalid(error: json.JSONDecodeError) -> str:
    """Why a text is no valid JSON, with line and column."""
    return f"invalid JSON in line {error.lineno}, column {error.colno}: {wrong(error.doc, error.pos, error.msg)}"


def wrong(text: str, at: int, said: str = "") -> str:
    """What is wrong in a text at a position; ``said`` is what Python says of it."""
    before, rest = text[max(0, at - AROUND) : at].rstrip(), _BLANK.sub(" ", text[at : at + AROUND]).strip()
    known = next((told for begin, told in _SAID.items() if said.startswith(begin)), "")
    if known and rest:
        return known
    found = ((sign.match(before + rest, len(before)), told) for sign, told in _WRONG.items())
    return next(told.format(**match.groupdict()) for match, told in found if match)
