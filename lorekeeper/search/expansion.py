"""Query expansion: abbreviations, spellings, players' words and names of a query, written out for both retrievers.

A word is expanded only if it stands alone; the query itself is always kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from lorekeeper.folding import fold
from lorekeeper.text.aliases import aliases_anywhere
from lorekeeper.text.keywords import KeywordQuery
from lorekeeper.text.thesaurus import related_words
from lorekeeper.text.vocabulary import ABBREVIATIONS, SPELLINGS, SYNONYMS


def expanded_text(query: str) -> str:
    """The text to embed: the query with its abbreviations and spellings written out behind it, in brackets."""
    written_out = _written_out(query)
    return f"{query} ({', '.join(written_out)})" if written_out else query


def expanded_keywords(wordings: Sequence[str]) -> KeywordQuery:
    """The words to search for: those of the wordings; as alternatives the same and the terms of the rules; related ones."""
    return KeywordQuery.joined([_expanded_keywords(wording) for wording in wordings])


def _expanded_keywords(query: str) -> KeywordQuery:
    synonyms = [SYNONYMS[word] for word in fold(query).split() if word in SYNONYMS]
    asked = KeywordQuery.of(query, " ".join([*_written_out(query), *synonyms]))
    return replace(asked, related=tuple(word for word in related_words(asked.words) if word not in asked.alternatives))


@lru_cache(maxsize=64)
def _written_out(query: str) -> tuple[str, ...]:
    folded = f" {fold(query)} "
    terms = [full for short, full in ABBREVIATIONS.items() if f" {short} " in folded]
    terms += [usual for british, usual in SPELLINGS.items() if f" {british} " in folded]
    terms += [alias.name for alias in aliases_anywhere(folded.strip())]
    return tuple(dict.fromkeys(terms))
