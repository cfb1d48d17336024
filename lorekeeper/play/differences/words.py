"""Words as they are compared, and the sentences of a text. Everything takes time linear in the length of the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_SAME_SIGNS = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "−": "-", "–": "-", "—": "-", "‑": "-", "‐": "-", "⁄": "/"})
"""Characters that are written for others of the keyboard, one for one: places in the text stay the same."""

_MINUS = r"(?:(?<![\w.)])-|(?<=\d )-[ ]?|(?<=d\d)-|(?<=d\d\d)-)"
"""A minus: before a number on its own, or behind dice ("-1", "2d6 - 1"). The hyphen of "5-6" and "15-foot" is none."""

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:(?:st|nd|rd|th)\b|(?:d\d+)?(?:/\d+)*)"

_WORD = re.compile(rf"{_MINUS}?{_NUMBER}|[^\W\d_]+(?:'[^\W\d_]+)*")
"""A number with its sign, or a word with its apostrophes."""

FRACTIONS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅛": "1/8", "⅓": "1/3", "⅔": "2/3"}

_EMPHASIS = re.compile(r"\*+|`+|(?<!\w)_+|_+(?!\w)|\\(?=[#|\[\]*_])")

_END = re.compile(r"[.!?][\"'”’)*_]{0,3}\s+(?=[\"'“‘(*_]{0,3}[A-Z0-9])")
"""From the last character of a sentence to the next one."""

_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:vs|e\.g|i\.e|cf|no|St|Dr|Mr|Mrs)\.\s+$")
_UNIT = re.compile(r"\b(?:ft|lb|lbs|in|mi)\.\s+$")
_LETTER = re.compile(r"[^\W\d_]")


class Word(NamedTuple):
    """A word of a text.

    Attributes:
        key: its comparable form: without case, apostrophes, and separators of thousands.
        start: where it begins in the text.
        end: behind its last character.
    """

    key: str
    start: int
    end: int


def words(text: str) -> list[Word]:
    """The words of a text in order. Punctuation is none; a number and its minus are."""
    found = _WORD.finditer(text.translate(_SAME_SIGNS))
    return [Word(_key(match[0]), match.start(), match.end()) for match in found]


def keys(text: str) -> tuple[str, ...]:
    """The comparable forms of a text's words: two texts with equal keys say the same."""
    return tuple(word.key for word in words(text))


def _key(word: str) -> str:
    if word.isascii() and word.isalpha():
        return word.lower()
    return FRACTIONS.get(word) or word.casefold().replace("'", "").replace(",", "").replace(" ", "")


def plain(markdown: str) -> str:
    """A line of Markdown without the marks of emphasis and code."""
    return _EMPHASIS.sub("", markdown).strip()


def sentences(text: str) -> Iterator[str]:
    """The sentences of a paragraph. "reach 5 ft. 7 (1d8 + 3) damage" and "e.g. Fire" stay together."""
    start = 0
    for match in _END.finditer(text):
        if _ends(text, start, match.end()):
            yield text[start : match.end()].strip()
            start = match.end()
    if text[start:].strip():
        yield text[start:].strip()


def _ends(text: str, start: int, end: int) -> bool:
    """Whether a sentence that begins at ``start`` ends before ``end``: no number of a list, and no abbreviation."""
    tail = text[max(start, end - 12) : end]
    if not _LETTER.search(text, start, min(end, start + 12)) or _ABBREVIATION.search(tail):
        return False
    return not (_UNIT.search(tail) and text[end : end + 1].isdigit())
