"""Query expansion: abbreviations, spellings, other names and related words of a query, written out for both retrievers.

A word is expanded only if it stands alone; the query itself is always kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from lorekeeper.folding import fold
from lorekeeper.text.aliases import aliases_anywhere
from lorekeeper.text.keywords import KeywordQuery, content_words
from lorekeeper.text.thesaurus import related_words
from lorekeeper.text.vocabulary import ABBREVIATIONS, SPELLINGS


def expanded_text(query: str) -> str:
    """The text to embed: the query with its abbreviations and spellings written out behind it, in brackets."""
    written_out = _written_out(query)
    return f"{query} ({', '.join(written_out)})" if written_out else query


def spelt_out(query: str) -> str:
    """A query with its abbreviations and British spellings as books write them."""
    padded = folded = _padded(query)
    for short, full in _abbreviations(folded):
        folded = folded.replace(f" {short} ", f" {full} ")
    for british, usual in SPELLINGS.items():
        folded = folded.replace(f" {british}", f" {usual}")
    return folded.strip() if folded != padded else query


def both_ways(query: str) -> str:
    """A query, and behind it the same as `spelt_out`, if that is another text."""
    return " ".join(dict.fromkeys([query, spelt_out(query)]))


def expanded_keywords(wordings: Sequence[str]) -> KeywordQuery:
    """The words to search for: those of the wordings; as alternatives the same and the terms of the rules; related ones."""
    return KeywordQuery.joined([_expanded_keywords(wording) for wording in wordings])


def _expanded_keywords(query: str) -> KeywordQuery:
    folded = _padded(query)
    others = " ".join(_respelt(folded))
    full = {word: share for word, share in _shares(folded).items() if word not in others.split()}
    asked = KeywordQuery.of(query, " ".join([*full, others]), full)
    return replace(asked, related=tuple(word for word in related_words(asked.words) if word not in asked.alternatives))


@lru_cache(maxsize=64)
def _written_out(query: str) -> tuple[str, ...]:
    folded = _padded(query)
    return tuple(dict.fromkeys([*(full for _, full in _abbreviations(folded)), *_respelt(folded)]))


def _respelt(folded: str) -> list[str]:
    """What words and names of a query are in books."""
    terms = [usual for british, usual in SPELLINGS.items() if f" {british} " in folded]
    return terms + [alias.name for alias in aliases_anywhere(folded.strip())]


def _shares(folded: str) -> dict[str, float]:
    """The words of abbreviations that are written out, and what each counts: together as much as the abbreviation."""
    shares: dict[str, float] = {}
    for short, full in _abbreviations(folded):
        words = content_words(full)
        shares |= dict.fromkeys(words, min(1.0, len(short.split()) / len(words)))
    return shares


def _abbreviations(folded: str) -> list[tuple[str, str]]:
    """The abbreviations in a query, with what they stand for."""
    return [(short, full) for short, full in ABBREVIATIONS.items() if f" {short} " in folded]


def _padded(query: str) -> str:
    """A query folded, with a space on each side of every word."""
    return f" {fold(query)} "
