"""Porter's stemmer (1980) for English words, which its author has frozen: every library and every client stems alike."""

from __future__ import annotations


def porter_stem(word: str) -> str:
    """The stem of a folded word."""
    from Stemmer import Stemmer

    return str(Stemmer("porter", 0).stemWord(word))  # a stemmer of its own: one that threads share mixes up their words
