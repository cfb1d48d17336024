"""Searching while somebody types: the last word of a text may go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lorekeeper.cache.protocol import Documents, Ranked, SearchCache
from lorekeeper.folding import fold
from lorekeeper.search import by_name
from lorekeeper.text.keywords import STOP_WORDS
from lorekeeper.text.known import KnownNames

LEAST, MOST = 0.7, 0.98
"""Similarities of a name of which little was typed, and of one of which nearly all was: a whole name is nearer."""

MOST_BEGUN = 10
"""Most entries of a type whose names are taken to be those that somebody is typing."""


async def completed(cache: SearchCache, types: Sequence[str], text: str) -> str:
    """A text whose last word is one of the library: as it is, or the word of names that most of them have; or without it.

    It is what meaning and keywords are searched for: the beginning of a word has neither.
    """
    *whole, last = fold(text).split() or [""]
    if not last or last in STOP_WORDS or any([await cache.known_words(name, [last]) for name in types]):
        return text
    common: Counter[str] = Counter()
    for entity_type in types:
        names = KnownNames.of(await cache.names(entity_type))
        common.update({word: len(names.words[word]) for word in names.words_beginning_with(last)})
    words = [*whole, *(word for word, _ in common.most_common(1))]
    return " ".join(words) or text


async def rank(
    cache: SearchCache, entity_type: str, wordings: Sequence[str], documents: Documents = None, **filters: object
) -> list[Ranked]:
    """The entities whose names are the first of some wordings or begin so, or are one of the others, best first."""
    begun = await cache.rank_beginnings(entity_type, wordings[0], documents, **filters)
    named = await by_name.rank(cache, entity_type, list(dict.fromkeys(wordings)), documents, **filters)
    typed = [hit._replace(score=LEAST + (MOST - LEAST) * hit.score) for hit in begun[:MOST_BEGUN]]
    return by_name.best_first([*typed, *named])
