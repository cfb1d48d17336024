"""Names by the stems of their words, and with misspelt words set right: "goblins" is Goblin, "red dragn" is "red dragon".

All texts are folded. The stemmer is Porter's (1980), for English.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from lorekeeper.text.keywords import content_words
from lorekeeper.text.names import nearest

BEGINNING = 3
"""Letters at the beginning of a stem, without its last one, that all words of the stem have: few names are then stemmed."""

_PLURALS = {"wolves": "wolf", "elves": "elf", "dwarves": "dwarf", "thieves": "thief", "knives": "knife", "men": "man"}
"""Endings of plurals that the stemmer does not know."""


def names_of_stems(text: str, names: Iterable[str]) -> tuple[list[str], list[str]]:
    """The names that have the stems of a text's words: those with no other words, and those with others besides."""
    wanted = stems(text)
    candidates = list(names) if wanted else []
    for stem in wanted:
        beginning = stem[:-1][:BEGINNING]
        candidates = [name for name in candidates if beginning in name]
    found = [(name, stems(name)) for name in candidates]
    return [name for name, own in found if own == wanted], [name for name, own in found if own > wanted]


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The stems of the content words of a text."""
    return frozenset(map(_stem, content_words(text)))


def corrected(text: str, names: Sequence[str]) -> str | None:
    """A text with each word that is in none of the names replaced by the nearest one that is; None if there is none."""
    known = sorted({word for name in names for word in name.split()})
    words = text.split()
    for position, word in enumerate(words):
        if word not in known:
            similar = nearest(word, known)
            if not similar:
                return None
            words[position] = similar[0][0]
    return " ".join(words)


def names_with_words(text: str, names: Iterable[str]) -> list[str]:
    """The names that have every word of a text."""
    wanted = set(text.split())
    return [name for name in names if wanted <= set(name.split())]


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    from snowballstemmer.porter_stemmer import PorterStemmer

    singular = next((word.removesuffix(end) + one for end, one in _PLURALS.items() if word.endswith(end)), word)
    return str(PorterStemmer().stemWord(singular))  # a stemmer of its own: one that threads share mixes up their words
