"""How far a library covers a query: whether it is about something else altogether, and which of its words no entry has."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.folding import fold
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.explanation import OFF_TOPIC, Topic
from lorekeeper.search.retrieved import Retrieved, all_of
from lorekeeper.search.shelves import NOTES
from lorekeeper.text.keywords import content_words

SHORT_WORD = 3
"""Letters of a word that is too short to be missed."""

MAX_UNKNOWN = 3
"""Most words that a note names."""

_DEFINED = re.compile(r"\s*(?:what|who)(?:['’]s|\s+(?:is|are|was|were))\s", re.IGNORECASE)
"""How a query begins that asks what something is."""

LARGE_LIBRARY = 300
"""Fewest entries with which a query can be off-topic because its words do not occur."""


async def topic_of(
    cache: SearchCache, types: Sequence[str], text: str, retrieved: Retrieved, *, filtered: bool
) -> Topic | None:
    """Whether a text is off-topic: nothing is similar, and few of its words occur.

    None for a name, a filtered search or a small library, which never are.
    """
    if retrieved.names or filtered or retrieved.count < LARGE_LIBRARY:
        return None
    closest = max((ranked.score for ranked in retrieved.semantic.values()), default=0.0)
    if closest >= OFF_TOPIC[0][0]:
        return Topic(closest)
    words = content_words(fold(text))
    known = retrieved.occurring.intersection(words)
    if NOTES in types:
        names = {part for word in text.split() if word[:1].isupper() for part in fold(word).split()}
        known |= await _misspelt(cache, [word for word in words if word in names - known])
    share = len(known) / len(words) if words else 0.0
    return Topic(closest, share, any(closest < similarity and share <= most for similarity, most in OFF_TOPIC))


def unknown_words(text: str, retrieved: Retrieved) -> str | None:
    """Which words of a query no entry has, for a note; None if it is a name, or the library is small.

    If the query asks what something is, also that no entry has all of its words together: it may be nowhere.
    """
    if retrieved.names or retrieved.count < LARGE_LIBRARY or retrieved.has_all_words:
        return None
    words = [word for word in content_words(fold(text)) if len(word) > SHORT_WORD and word.isalpha()]
    unknown = [one_line(word, MAX_SHOWN) for word in words if word not in retrieved.occurring][:MAX_UNKNOWN]
    if unknown:
        return f"No entry has the word {' or '.join(map(repr, unknown))}."
    apart = _DEFINED.match(text) and 1 < len(words) <= MAX_UNKNOWN
    apart = apart and not any(ranked.complete for ranked in retrieved.keyword.values())
    return f"No entry has {_listed(words)} together; these are the nearest in meaning." if apart else None


def _listed(words: Sequence[str]) -> str:
    """Words in quotation marks, as a list within a sentence."""
    *first, last = (repr(one_line(word, MAX_SHOWN)) for word in words)
    return f"{', '.join(first)} and {last}"


async def _misspelt(cache: SearchCache, words: Sequence[str]) -> set[str]:
    """The names that are near to a word of a note: a keyword search of notes sets them right."""
    return {word for word in words if await cache.rank_keyword(NOTES, word, 1)}


async def occurring(cache: SearchCache, types: Sequence[str], text: str) -> frozenset[str]:
    """The content words of a text that occur in an entry of one of the types."""
    words = content_words(fold(text))
    return frozenset[str]().union(*await all_of(cache.known_words(each, words) for each in types if words))
