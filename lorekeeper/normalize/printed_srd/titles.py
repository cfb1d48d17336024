"""Titles of printed books: lines in title case."""

from __future__ import annotations

import re

LONGEST_TITLE = 70
SMALL = frozenset("a an and as at by de for from in into la of on or per the to vs with".split())
"""Words that have no capital in a title."""

SMALL_CAPITALS = re.compile(r"[a-z][A-Z]")
"""What text taken from small capitals has, since those of the font are other letters."""

_NUMBERED = re.compile(r"(?:[A-Z][a-z]{1,20} )?\d{1,3}: ")
"""How a title with a colon begins: "Step 1: ", "Level 3: "."""

_ENDS_TEXT = re.compile(r"[.!?:;,\u201d]$")
_DICE = re.compile(r"\dd\d")
_WORDS = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_NUMBER = r"[+\u2212-]?\d[\d,]*(?:\.\d+)?[\u00bd\u00bc\u00be]?"
VALUE = re.compile(rf"(?:\u2014|{_NUMBER}(?:[\u2013/-]{_NUMBER})?(?:d\d+)?|1?d\d{{1,3}})[*\u2020]?")
"""A number, a range, dice or a dash."""


def is_value(word: str) -> bool:
    """Whether a word is a number, a range, dice or a dash."""
    return VALUE.fullmatch(word) is not None


def is_title(text: str, longest: int = LONGEST_TITLE) -> bool:
    """Whether a text is in title case: each of its words has a capital, but the small ones."""
    words = _WORDS.findall(text)
    if not words or len(text) > longest or _ENDS_TEXT.search(text) or _DICE.search(text):
        return False
    if (":" in text or is_value(words[0])) and not _NUMBERED.match(text):
        return False
    if SMALL_CAPITALS.search(text):
        return True
    return (
        not words[0].islower()
        and all(word[0].isupper() or word[0].isdigit() or word in SMALL for word in words)
        and any(word[0].isupper() for word in words)
    )


def titled(text: str) -> str:
    """A title that was set in small capitals, with capitals at the beginnings of its words."""
    if not SMALL_CAPITALS.search(text) and not text[:1].islower():
        return text
    words = text.lower().split()
    return " ".join(
        word if place and word in SMALL else word[:1].upper() + word[1:] for place, word in enumerate(words)
    )
