"""Aliases that entries have of their own, as notes do: they are names, in lookups by name and in ranked searches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

from lorekeeper.cache.protocol import Documents, Ranked, SearchCache
from lorekeeper.entities import ALIASES, COLLECTIONS, NAME
from lorekeeper.filters import MAX_VALUES, WHERE
from lorekeeper.folding import fold
from lorekeeper.text.similar import SimilarTexts
from lorekeeper.where import MAX_LENGTH

Filters = Mapping[str, object]

SIMILARITY = 0.99
"""Share of its similarity that an alias keeps: an entry that is itself called so is nearer."""

MAX_ALIASES = 20
"""Most similar aliases whose entries are ranked."""


@dataclass(frozen=True)
class Aliases:
    """The aliases of a type.

    Attributes:
        names: those of the entries themselves, as the cache gave them: the same list until the type changes.
        folded: the aliases, folded, in order.
    """

    names: Sequence[str] = ()
    folded: Sequence[str] = ()

    @cached_property
    def _spelt(self) -> SimilarTexts:
        return SimilarTexts.of(self.folded)

    def similar(self, text: str, limit: int) -> list[tuple[str, float]]:
        """The aliases most similar to a folded text, and their similarity."""
        return [(self.folded[place], similarity) for place, similarity in self._spelt.like(text, limit)]


_KNOWN: WeakKeyDictionary[SearchCache, dict[str, Aliases]] = WeakKeyDictionary()
"""The aliases of the types of each cache, as they were last read: counting them reads the whole table."""


def has_aliases(entity_type: str) -> bool:
    """Whether entries of a type have aliases of their own."""
    return ALIASES in COLLECTIONS[entity_type].filters


async def known_aliases(cache: SearchCache, entity_type: str) -> Aliases:
    """All aliases of a type; none of a type that has none."""
    if not has_aliases(entity_type):
        return Aliases()
    names, of_cache = await cache.names(entity_type), _KNOWN.setdefault(cache, {})
    known = of_cache.get(entity_type)
    if known is None or known.names is not names:
        folded = sorted(map(str, (await cache.count_values(entity_type, ALIASES)).counts))
        known = of_cache[entity_type] = Aliases(names, folded)
    return known


async def called(
    cache: SearchCache, types: Sequence[str], wanted: str, filters: Filters
) -> list[tuple[str, dict[str, Any]]]:
    """Filters for the entries of which an alias, but not the name, contains a folded text: those called so come first."""
    found: list[tuple[str, dict[str, Any]]] = []
    for entity_type in types:
        known = () if ALIASES in filters else (await known_aliases(cache, entity_type)).folded
        others = [alias for alias in known if wanted in alias and alias != wanted]
        found += _lookups(entity_type, filters, wanted, [wanted] if wanted in known else [], others)
    return found


def _lookups(
    entity_type: str, filters: Filters, wanted: str, whole: list[str], others: list[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Filters for aliases that are a text, then for others that contain it; no entry meets two of them."""
    remaining = {key: value for key, value in filters.items() if key != NAME.name}
    excluded = [f'-name:"{wanted}"']
    for aliases in (whole, others[:MAX_VALUES]):
        tests = " ".join([*([str(filters[WHERE])] if filters.get(WHERE) else []), *excluded])
        if aliases and len(tests) <= MAX_LENGTH:
            yield entity_type, {**remaining, ALIASES: aliases, WHERE: tests}
        excluded += [f'-{ALIASES}:"{alias}"' for alias in aliases]


async def ranked(
    cache: SearchCache, entity_type: str, wordings: Sequence[str], documents: Documents, filters: Filters
) -> list[Ranked]:
    """The entries of which an alias is similar to one of the wordings of a query, with that similarity."""
    known = Aliases() if ALIASES in filters else await known_aliases(cache, entity_type)
    best: dict[str, float] = {}
    for wording in map(fold, wordings):
        for alias, similarity in known.similar(wording, MAX_ALIASES):
            best[alias] = max(best.get(alias, 0.0), similarity)
    if not best:
        return []
    asked: dict[str, Any] = {**filters, ALIASES: list(best)[:MAX_VALUES]}
    hits = []
    for entity in await cache.get_entities(entity_type, documents, limit=MAX_VALUES, **asked):
        own = entity.fields.get(ALIASES)
        score = max((best.get(alias, 0.0) for alias in own), default=0.0) if isinstance(own, tuple) else 0.0
        hits.append(Ranked(entity.identity, entity.name, score * SIMILARITY))
    return hits


async def nearest_alias(
    cache: SearchCache, entity_type: str, wanted: str, documents: Documents, filters: Filters
) -> tuple[float, list[str], str] | None:
    """The alias nearest to a folded text: its similarity, the folded names of its entries, and itself; None for none."""
    known = Aliases() if ALIASES in filters else await known_aliases(cache, entity_type)
    close = known.similar(wanted, 1)
    if not close:
        return None
    (alias, similarity), *_ = close
    asked: dict[str, Any] = {**filters, ALIASES: alias}
    entities = await cache.get_entities(entity_type, documents, limit=MAX_VALUES, **asked)
    names = list(dict.fromkeys(fold(entity.name) for entity in entities))
    return (similarity * SIMILARITY, names, alias) if names else None
