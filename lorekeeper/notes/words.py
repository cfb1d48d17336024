"""The words of ``words.tsv``: what a note is, when it was, and whether it is open or done, in all languages together."""

from __future__ import annotations

from functools import cache
from pathlib import Path

WORDS = Path(__file__).with_name("words.tsv")


@cache
def rows() -> tuple[tuple[str, str, str], ...]:
    """Language, what is said, and the words for it."""
    lines = (line.split("\t") for line in WORDS.read_text("utf-8").splitlines() if not line.startswith("#"))
    return tuple((language, what, words) for language, what, words in lines if language != "language")


def listed(what: str) -> tuple[str, ...]:
    """The texts of all languages that have commas between them, each once."""
    texts = (text.strip() for _, each, words in rows() if each == what for text in words.split(","))
    return tuple(dict.fromkeys(texts))


def alternatives(what: str) -> str:
    """The alternatives of all languages, as one regular expression."""
    return "|".join(words for _, each, words in rows() if each == what)


def kinds() -> dict[str, str]:
    """Our kind for each word; the words of an earlier language come before those of a later one."""
    found: dict[str, str] = {}
    for _, what, words in rows():
        if what.startswith("kind "):
            for word in words.split("|"):
                found.setdefault(word, what.removeprefix("kind "))
    return found
