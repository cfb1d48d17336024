"""The stemmers of the Snowball project: Porter's (1980) for English, which its author has frozen, and those of other languages."""

from __future__ import annotations

CYRILLIC = "russian"
"""The language by whose stemmer words in Cyrillic letters are stemmed."""


def porter_stem(word: str) -> str:
    """The stem of a folded word, by which every library and every client stems alike."""
    return stem_of("porter", word)


def stem_of(language: str, word: str) -> str:
    """The stem of a folded word of a language, by its English name in small letters."""
    from Stemmer import Stemmer

    return str(Stemmer(language, 0).stemWord(word))  # a stemmer of its own: one that threads share mixes up their words


def is_cyrillic(word: str) -> bool:
    """Whether a word begins with a Cyrillic letter."""
    return "\u0400" <= word[:1] <= "\u04ff"
