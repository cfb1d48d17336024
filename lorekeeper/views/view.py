"""What one viewer reads of a library: search, dossiers, single entries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from lorekeeper.audience import Viewer
from lorekeeper.cache.protocol import SearchCache
from lorekeeper.cache.snapshot import apart as apart
from lorekeeper.cache.snapshot import in_snapshot, once, outside, renew
from lorekeeper.editions import REFERENCES, SUCCESSORS
from lorekeeper.embedding import EmbeddingService
from lorekeeper.entities import Entity
from lorekeeper.errors import EmbeddingError, UnknownDocumentError
from lorekeeper.folding import fold
from lorekeeper.intake.sync_state import Source
from lorekeeper.party import PartyFile
from lorekeeper.search.doubt import NONE_AT_ALL
from lorekeeper.search.fusion import CAMPAIGN, NOTES
from lorekeeper.search.pipeline import Searcher
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage
from lorekeeper.vaults.vaults import EVERY_VAULT, Vaults

if TYPE_CHECKING:
    from lorekeeper.intake.misses import MissNotingSearcher
    from lorekeeper.search.dossier.lines import Dossier

T = TypeVar("T")

EMPTY = "The library is empty: run 'lorekeeper import PATH' or 'lorekeeper sync open5e'."

STARTED = (
    "The library was empty, so its first books were loaded, the SRDs 5.1 and 5.2; 'lorekeeper sync open5e' and "
    "'lorekeeper import PATH' add more books."
)

ADDED = (
    "The library had no rules yet, so its first books were loaded, the SRDs 5.1 and 5.2; 'lorekeeper sync open5e' and "
    "'lorekeeper import PATH' add more books."
)


class MaintainedLibrary(Protocol):
    """What a view has the library do before it is read."""

    @property
    def embedding(self) -> EmbeddingService:
        """Makes the vectors of queries."""
        ...

    @property
    def vaults(self) -> Vaults:
        """The folders of notes."""
        ...

    @property
    def source(self) -> Source | None:
        """An Open5e server."""
        ...

    @property
    def offline(self) -> bool:
        """Whether it must not be asked."""
        ...

    @property
    def party(self) -> PartyFile:
        """The levels of the party, if they are remembered."""
        ...

    async def begin(self) -> None:
        """Give the library its first books if it never had them."""
        ...

    async def fill(self) -> None:
        """Load the first books into a library without entries; EmbeddingError if that is not possible."""
        ...

    def pop_notice(self) -> str:
        """A notice on how the library was filled, for the next answer alone."""
        ...


class View:
    """What one viewer reads of a library.

    Args:
        library: brings itself up to date before it is read.
        stored: where the library's own entries are, whoever reads.
        cache: what the viewer sees of them.
        searcher: searches it.
        viewer: who reads.
    """

    def __init__(
        self, library: MaintainedLibrary, stored: SearchCache, cache: SearchCache, searcher: Searcher, viewer: Viewer
    ) -> None:
        self.viewer = viewer
        self.cache = cache
        self.searcher = searcher
        self.stale_uris: frozenset[str] = frozenset()
        """Uris of the entries that this viewer does without, since their files have changed."""
        self.unreadable_vaults: frozenset[str] = frozenset() if viewer.sees_all else frozenset({EVERY_VAULT})
        """Keys of the vaults of which this viewer sees nothing, since they were not read with the marks that hold now."""
        self._library, self._stored = library, stored
        self._noting: MissNotingSearcher | None = None

    def remembered_party(self) -> tuple[int, ...]:
        """The levels of the party as the game master told them; () if nobody did. Blocking."""
        return self._library.party.levels()

    async def search(self, query: Query) -> ResultPage:
        """`Searcher.search`; what a sync would bring is said, if there is a source (see `MissNotingSearcher`).

        Notes that were saved before are in the answer, or it says that they are still being read.
        """
        behind = await self.refresh()
        page = await self._search(query)
        lacking = self._said_of(behind, query.types, query.documents)
        lacking = "" if lacking and query.text and await self._is_answered_by_books(page) else lacking
        said = page.note or ""
        if lacking and said.startswith(NONE_AT_ALL):
            said = ""
        note = " ".join(filter(None, [said, lacking]))
        return replace(page, note=note or None)

    async def _is_answered_by_books(self, page: ResultPage) -> bool:
        """Whether the first result is a sure one of a book, and of each vault with changes some notes were read before."""
        first = page.results[0] if page.results else None
        if first is None or not first.sure or first.entity.type in CAMPAIGN:
            return False
        return self._library.vaults.behind <= (await self.cache.documents([NOTES])).keys()

    def _said_of(self, behind: str, types: Sequence[str], documents: Sequence[str] | None) -> str:
        """What is to be said where entries of some types and documents may not be in the library yet; "" otherwise."""
        return behind if self.viewer.sees_all and self._library.vaults.concern(types, documents) else ""

    async def unread_note(self, entity_type: str, document: str) -> str:
        """The same of one entry that is not there."""
        return self._said_of(await self.refresh(), [entity_type], [document])

    async def refresh(self) -> str:
        """Give a new library its first books, and bring it in step with what was saved before; what is not in it yet, as a note.

        The note is for the game master.
        A player does without the entries of files that could not be read in time, and of vaults that were not read with the
        marks that hold now: they may be secret.
        """
        return await once(self, lambda: asyncio.ensure_future(outside(self._refresh)))

    async def _refresh(self) -> str:
        await self._library.begin()
        behind = await self._library.vaults.fresh()
        if not self.viewer.sees_all:
            self.stale_uris = await self._library.vaults.unread() if behind else frozenset()
            self.unreadable_vaults = await self._library.vaults.unreadable()
        return behind

    async def reading(self, answer: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What a coroutine function returns that reads one snapshot, with what was saved before it began (see `refresh`)."""
        behind = asyncio.ensure_future(self.refresh())
        await behind  # what has ended may be awaited in the thread of the snapshot as well
        return await in_snapshot(self.cache, answer, {self: behind})

    async def topic(self, topic: str, types: Sequence[str] | None = None, limit: int = 10) -> Dossier:
        """What the library has on a person, place or theme: see `search.dossier.gather.gather`.

        Args:
            topic: words, or a ``lore://`` uri.
            types: only entries of these types, all by default.
            limit: most lines of a part.
        """
        from lorekeeper.search.dossier.about import Sources
        from lorekeeper.search.dossier.gather import gather

        sources = Sources.of(self.cache, self.searcher.documents, self.search, self.entities_at, types)
        return await gather(sources, topic, limit)

    async def entities_at(self, entity_type: str, document: str, slug: str) -> list[Entity]:
        """The entry of that identity, or what has taken its place since; [] if there is none."""
        await self.refresh()
        entity = await self.cache.get_entity(entity_type, document, slug)
        if entity is None and document in SUCCESSORS:
            document = SUCCESSORS[document]
            entity = await self.cache.get_entity(entity_type, document, slug)
        if entity is None and document in REFERENCES:
            entity = await self._in_place_of(entity_type, document, slug)
        return [] if entity is None else [entity]

    async def _in_place_of(self, entity_type: str, document: str, slug: str) -> Entity | None:
        """What has taken the place of an entry of the first books, or of what a table is from."""
        from lorekeeper.intake.shipped_books import shipped_entry
        from lorekeeper.intake.superseded import SHARED, Known, of_open5e
        from lorekeeper.normalize.book_tables import entry_of

        shipped = await outside(lambda: asyncio.to_thread(shipped_entry, entity_type, document, slug))
        gone = shipped or Entity(entity_type, slug, fold(slug), "", document, "", {})
        there = await self.cache.get_entities(entity_type, [document, SHARED])
        place = Known(of_open5e(there) or there, document).place(gone)
        owner = entry_of(gone)
        if place or not owner:
            return place
        return next(iter(await self.entities_at(owner[0], *owner[1])), None)

    async def _search(self, query: Query) -> ResultPage:
        page = await self._answer(query)
        if page.total or self.unreadable_vaults or any((await self.cache.documents()).values()):
            notice = self._library.pop_notice()
            return replace(page, note=" ".join(filter(None, [page.note, notice]))) if notice else page
        try:
            await outside(self._library.fill)
            renew()
        except EmbeddingError as error:
            return replace(page, note=f"{EMPTY} The first books could not be loaded: {error}")
        self.searcher.documents.forget()
        missing = page.note if query.text is None else None
        with suppress(UnknownDocumentError):
            page = await self.searcher.search(query)
        return replace(page, note=" ".join(dict.fromkeys(filter(None, [missing, page.note, STARTED]))))

    async def _answer(self, query: Query) -> ResultPage:
        source = self._library.source
        if source is None or (query.text is not None and not source.was_synced):
            return await self.searcher.search(query)
        if self._noting is None:
            from lorekeeper.intake.misses import MissNotingSearcher

            self._noting = MissNotingSearcher(self.searcher, self._stored, source, offline=self._library.offline)
        return await self._noting.search(query)
