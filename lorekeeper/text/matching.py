"""Matching: which words of a query a text has, compared by their first letters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache

from lorekeeper.folding import fold, words_apart
from lorekeeper.text.keywords import STOP_WORDS, content_words

STEM = 5
"""Letters by which words are compared."""

_STOP_STEMS = frozenset(word[:STEM] for word in STOP_WORDS)
"""With these begin words that do not count besides words that do, as "there" and "thereafter"."""


@lru_cache(maxsize=1024)
def word_stems(text: str) -> Mapping[str, int]:
    """The stems of a text's content words with their whole lengths; numbers only if it has nothing else."""
    words = content_words(fold(text))
    return {word[:STEM]: len(word) for word in words if not word.isdigit() or len(words) == 1}


def occurring(stems: Collection[str], text: str) -> list[str]:
    """Those of some stems that are among the `word_stems` of a text, in their order."""
    if not stems:
        return []
    beginnings, doubtful = _beginnings(tuple(stems))
    words = f" {words_apart(text)} "
    found = [stem for stem, beginning in beginnings if beginning in words]
    if doubtful and not doubtful.isdisjoint(found):
        own = word_stems(text)
        return [stem for stem in found if stem in own]
    return found


@lru_cache(maxsize=256)
def _beginnings(stems: tuple[str, ...]) -> tuple[Sequence[tuple[str, str]], frozenset[str]]:
    """Each stem with what a text has before and behind its words if it has the stem, and the stems of which that is not sure."""
    beginnings = [(stem, f" {stem}" if len(stem) == STEM else f" {stem} ") for stem in stems]
    return beginnings, frozenset(stem for stem in stems if stem in _STOP_STEMS or stem.isdigit())


def possible(stems: Iterable[str], text: str) -> list[str]:
    """Those of some stems whose letters are in a text: a quick look before its words are compared."""
    lowered = text.replace("'", "").lower() if text.isascii() else words_apart(text)
    return [stem for stem in stems if stem in lowered]
