"""The documents of a library: their titles and dates, and which of them a query searches."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.editions import DOCUMENTS, LABELS, REFERENCES, Book, edition_label, edition_of, in_order, with_twins
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError, UnknownDocumentError
from lorekeeper.filters import unknown_name
from lorekeeper.folding import fold
from lorekeeper.order import BOOK, EDITION, NEWEST
from lorekeeper.printable import shown
from lorekeeper.text.phrases import STARTER_2024_DOCUMENT, STARTER_DOCUMENT

logger = logging.getLogger(__name__)

NEARLY_ALL = 0.9
"""Share of the starter's entries of a type that an SRD needs to hide them: a part of an SRD hides nothing."""

STAND_INS = {STARTER_DOCUMENT: REFERENCES, STARTER_2024_DOCUMENT: ("srd-2024",)}
"""The documents of the starter, and the books that hide them. The rules of 2024 are in no other book: nothing hides them."""

MAX_AGE_SECONDS = 10.0
"""How long the list of documents is used before it is read again."""

Scopes = dict[str, list[str] | None]
"""Keys of the documents to search, by entity type; None for all."""


@dataclass
class _Snapshot:
    """A snapshot of the documents.

    Attributes:
        taken_at: when, on the monotonic clock.
        titles: by key, of documents that have a record.
        books: by key, of documents that have a record.
        counts: number of entries by entity type and document; a type is counted when it is first needed.
    """

    taken_at: float
    titles: dict[str, str]
    books: dict[str, Book]
    counts: dict[str, dict[str, int]] = field(default_factory=dict)


class DocumentRegistry:
    """Looks documents up in a cache, and keeps a snapshot of them for `MAX_AGE_SECONDS`."""

    def __init__(self, cache: SearchCache, edition: Sequence[str] = ()) -> None:
        self._cache = cache
        self.edition = tuple(edition)
        """The editions and documents that come first, in order, unless a query says otherwise."""
        self._current: _Snapshot | None = None
        self._lock = asyncio.Lock()

    def forget(self) -> None:
        """Drop the snapshot; call it after writing."""
        self._current = None

    async def titles(self) -> dict[str, str]:
        """Titles of the documents by key."""
        return (await self._snapshot()).titles

    async def titled(self) -> dict[str, str]:
        """Titles of all documents by key, also of those that have entries but no record: these are titled by their keys."""
        counts = (await self._snapshot(list(COLLECTIONS))).counts
        keys = sorted({key for by_document in counts.values() for key in by_document})
        return {**{key: key for key in keys}, **await self.titles()}

    async def edition_of(self, key: str) -> str:
        """The code of a document's edition, "" if it is unknown."""
        book = (await self._snapshot()).books.get(key)
        return book.edition if book else edition_of(key, None)

    async def order(self, edition: Sequence[str] | None = None) -> list[str]:
        """Keys of documents in the order in which they are preferred (`editions.in_order`); others come after them.

        Args:
            edition: what comes first instead of the library's own edition, as `editions.parse_edition` gives it.
        """
        wanted = self.edition if edition is None else edition
        without_record = {key: Book(key, edition_of(key, None)) for key in [*wanted, *DOCUMENTS]}
        books = without_record | (await self._snapshot()).books
        return in_order(books.values(), wanted)

    async def require_edition(self, edition: Sequence[str]) -> None:
        """UnknownDocumentError if one of these is neither an edition nor a document of the library."""
        await self._check([name for name in edition if name not in LABELS], [*LABELS], "edition or document")

    async def editions(self, types: Sequence[str]) -> dict[str, Counter[str]]:
        """Number of entries of these types by edition and document; documents of unknown edition are under ""."""
        counts = (await self._snapshot(types)).counts
        editions: dict[str, Counter[str]] = {}
        for key, number in (item for entity_type in types for item in counts[entity_type].items()):
            editions.setdefault(await self.edition_of(key), Counter())[key] += number
        return editions

    async def newest_first(self) -> list[str]:
        """Keys of the documents that have a record, the latest publication first."""
        books = (await self._snapshot()).books
        return sorted(sorted(books), key=lambda key: books[key].published, reverse=True)

    async def arranged(self) -> dict[str, list[str]]:
        """Keys of the documents as the orders of `order.BY_DOCUMENT` put them: by date, by title, by edition and title."""
        titles = await self.titled()
        by_title = sorted(titles, key=lambda key: (fold(titles[key]), key))
        editions = {key: edition_label(await self.edition_of(key)) for key in by_title}
        by_edition = sorted(by_title, key=lambda key: (not editions[key], editions[key]))
        return {NEWEST: await self.newest_first(), BOOK: by_title, EDITION: by_edition}

    async def scopes(self, types: Sequence[str], documents: Sequence[str] | None) -> Scopes:
        """The documents to search: those given with their twins, else all but a starter whose entries an SRD has in full.

        The parts of one book (`editions.TWINS`) are searched together, whichever of them is given.

        Raises:
            UnknownDocumentError: there is no such document.
            CacheError: a type cannot be read.
        """
        if documents is not None:
            await self._check(documents)
            return {entity_type: with_twins(documents) for entity_type in types}
        counts = (await self._snapshot(types)).counts
        return {entity_type: _without_starter(counts[entity_type]) for entity_type in types}

    async def count(self, scopes: Scopes) -> int:
        """Number of entries within scopes, at most `MAX_AGE_SECONDS` old if another process writes."""
        counts = (await self._snapshot(list(scopes))).counts
        return sum(
            number
            for entity_type, documents in scopes.items()
            for key, number in counts[entity_type].items()
            if documents is None or key in documents
        )

    async def _check(self, documents: Sequence[str], others: Sequence[str] = (), what: str = "document") -> None:
        """UnknownDocumentError for a document without record and entries; an empty library accepts all."""
        if (await self.titles()).keys() >= set(documents):
            return
        self.forget()
        counts = await self._cache.documents()
        keys = counts.keys() | (await self.titles()).keys()
        unknown = [key for key in documents if keys.isdisjoint(with_twins([key]))]
        if unknown and keys:
            message = unknown_name(unknown[0], [*others, *sorted(keys)], what)
            titles = await self.titles()
            key = next((key for key in sorted(titles) if fold(titles[key]) == fold(unknown[0])), None)
            raise UnknownDocumentError(f"{message}. {shown(unknown[0])} is the title of {key}" if key else message)

    async def _snapshot(self, types: Sequence[str] = ()) -> _Snapshot:
        """The current snapshot, or a new one, with the counts of these types."""
        async with self._lock:  # several retrievers call this concurrently
            snapshot = self._current
            if snapshot is None or time.monotonic() - snapshot.taken_at > MAX_AGE_SECONDS:
                snapshot = self._current = await self._taken()
            for entity_type in types:
                if entity_type not in snapshot.counts:
                    counts = await self._cache.documents([entity_type])
                    snapshot.counts[entity_type] = {key: by_type[entity_type] for key, by_type in counts.items()}
            return snapshot

    async def _taken(self) -> _Snapshot:
        try:
            records = await self._cache.get_entities("documents")
        except CacheError as error:
            logger.warning("the titles of documents are not available: %s", error)
            records = []
        return _Snapshot(
            taken_at=time.monotonic(),
            titles={record.document: str(record.data.get("display_name") or record.name) for record in records},
            books={record.document: _book(record) for record in records},
        )


def _book(record: Entity) -> Book:
    system = record.fields.get("game_system")
    return Book(
        key=record.document,
        edition=edition_of(record.document, str(system) if system else None),
        published=str(record.data.get("publication_date") or ""),
        last=record.document in STAND_INS,
    )


def _without_starter(counts: dict[str, int]) -> list[str] | None:
    """The documents of a type without those of the starter that an SRD has all entries of; None for all documents."""
    hidden = {
        key
        for key, books in STAND_INS.items()
        if 0 < NEARLY_ALL * counts.get(key, 0) <= max(counts.get(book, 0) for book in books)
    }
    return [key for key in counts if key not in hidden] if hidden else None
