"""Searching while somebody types: the last word of a text may go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from lorekeeper.cache.protocol import Documents, Ranked, SearchCache
from lorekeeper.entities import uri_of
from lorekeeper.folding import fold
from lorekeeper.search import by_name
from lorekeeper.search.documents import DocumentRegistry
from lorekeeper.search.grouping import ALONE
from lorekeeper.search.query import Query
from lorekeeper.search.results import Key
from lorekeeper.text.keywords import STOP_WORDS
from lorekeeper.text.name_list import NameList
from lorekeeper.text.names import canonical_name

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
        names = NameList.of(await cache.names(entity_type))
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


async def begun(cache: SearchCache, documents: DocumentRegistry, query: Query, first: str = "") -> list[list[Key]]:
    """The entries whose names a text begins, best first; the versions of one entry together, the preferred one first.

    Args:
        cache: has the names.
        documents: of the same cache.
        query: its text is what was typed so far; types, filters and documents narrow the search.
        first: uri of the entry that led the list at the key before: it still does if the text begins its name too.
    """
    query, text = query.resolved(), fold(query.text or "")
    scopes, order = await documents.scopes(query.types, query.documents), await documents.order(query.edition)
    places = {key: place for place, key in enumerate(order)}
    groups: dict[Key | tuple[str, str], list[tuple[float, int, str, Key]]] = {}
    for entity_type in query.types:
        for hit in await cache.rank_beginnings(entity_type, text, scopes[entity_type], **query.filters):
            key: Key = (entity_type, hit.identity)
            group = key if entity_type in ALONE else (entity_type, canonical_name(hit.name))
            entry = (-hit.score, places.get(hit.identity[0], len(places)), fold(hit.name), key)
            groups.setdefault(group, []).append(entry)
    ranked = sorted((sorted(group, key=lambda each: each[1:3]) for group in groups.values()), key=_place)
    stays = [
        group
        for group in ranked
        if group[0][2].startswith(text) and any(uri_of(kind, *identity) == first for *_, (kind, identity) in group)
    ]
    others = (group for group in ranked if group not in stays)
    return [[key for *_, key in group] for group in (*stays, *others)]


def _place(group: Sequence[tuple[float, int, str, Key]]) -> tuple[float, int, str]:
    return min(score for score, _, _, _ in group), group[0][1], group[0][2]
