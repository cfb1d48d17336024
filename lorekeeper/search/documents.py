"""The documents of a library: their titles and dates, and which of them a question is about."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from lorekeeper.cache.protocol import CacheProtocol
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError, UnknownDocumentError
from lorekeeper.filters import unknown_name
from lorekeeper.text.phrases import STARTER_DOCUMENT

logger = logging.getLogger(__name__)

SRD_DOCUMENTS = frozenset({"srd-2014", "srd-2024", "srd", "wotc-srd"})
"""Documents that hold in full what the starter compendium describes; where they are, the starter's entries are hidden."""

NEARLY_ALL = 0.9
"""Share of the starter's entries of a type that an SRD needs to hide them: one that is here in part hides nothing."""

SECONDS = 10.0
"""How long the list of documents is relied on."""

Scopes = dict[str, list[str] | None]
"""Keys of the documents to search, by entity type; None for all."""


@dataclass
class _Seen:
    """What was read of the documents, and when.

    Attributes:
        names: titles by key, of documents that are described.
        ages: 0 for the latest publication date, 1 for the one before and so on, by key; those without a date are oldest.
        held: number of entries by entity type and document; types are counted when they are asked for.
    """

    read: float
    names: dict[str, str]
    ages: dict[str, int]
    held: dict[str, dict[str, int]] = field(default_factory=dict)


class Shelf:
    """Looks documents up in a cache, and remembers them for a while."""

    def __init__(self, cache: CacheProtocol) -> None:
        self._cache = cache
        self._seen: _Seen | None = None
        self._reading = asyncio.Lock()

    def forget(self) -> None:
        """Drop what was remembered; call it after writing."""
        self._seen = None

    async def names(self) -> dict[str, str]:
        """Titles of the documents by key."""
        return (await self._known(())).names

    async def ages(self) -> dict[str, int]:
        """The documents by key, in order of age: 0 for the latest publication date, 1 for the one before and so on."""
        return (await self._known(())).ages

    async def scopes(self, types: Sequence[str], documents: Sequence[str] | None) -> Scopes:
        """The documents to search: those asked for, else all but a starter whose entries an SRD has in full.

        Raises:
            UnknownDocumentError: there is no such document.
            CacheError: a type cannot be read.
        """
        if documents is not None:
            await self._check(documents)
            return {entity_type: list(documents) for entity_type in types}
        held = (await self._known(types)).held
        return {entity_type: _without_double(held[entity_type]) for entity_type in types}

    async def count(self, scopes: Scopes) -> int:
        """Number of entries within scopes, as of `SECONDS` ago at most where another process writes."""
        held = (await self._known(list(scopes))).held
        return sum(
            number
            for entity_type, documents in scopes.items()
            for key, number in held[entity_type].items()
            if documents is None or key in documents
        )

    async def _check(self, documents: Sequence[str]) -> None:
        known = set((await self._known(())).names)
        if known.issuperset(documents):
            return
        self.forget()
        counts = await self._cache.documents()
        known = counts.keys() | (await self._known(())).names.keys()
        unknown = [key for key in documents if key not in known]
        if unknown and known:
            raise UnknownDocumentError(unknown_name(unknown[0], sorted(known), "document"))

    async def _known(self, types: Sequence[str]) -> _Seen:
        async with self._reading:  # several sides of a search ask at once
            seen = self._seen
            if seen is None or time.monotonic() - seen.read > SECONDS:
                seen = self._seen = await self._described()
            for entity_type in types:
                if entity_type not in seen.held:
                    counts = await self._cache.documents([entity_type])
                    seen.held[entity_type] = {key: own[entity_type] for key, own in counts.items()}
            return seen

    async def _described(self) -> _Seen:
        try:
            described = await self._cache.get_entities("documents")
        except CacheError as error:
            logger.warning("titles of documents are not known: %s", error)
            described = []
        dates = sorted({_date(e) for e in described}, reverse=True)
        return _Seen(
            read=time.monotonic(),
            names={e.document: str(e.data.get("display_name") or e.name) for e in described},
            ages={e.document: dates.index(_date(e)) for e in described},
        )


def _date(document: Entity) -> str:
    return str(document.data.get("publication_date") or "")


def _without_double(held: dict[str, int]) -> list[str] | None:
    """The documents of a type but a starter that an SRD makes needless; None where all are to be searched."""
    largest = max((number for key, number in held.items() if key in SRD_DOCUMENTS), default=0)
    hidden = 0 < NEARLY_ALL * held.get(STARTER_DOCUMENT, 0) <= largest
    return [key for key in held if key != STARTER_DOCUMENT] if hidden else None
