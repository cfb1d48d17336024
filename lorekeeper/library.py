"""A user's library, and what it does: import, sync, search. Its parts are put together by `composition`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from lorekeeper.cache.async_cache import ThreadedCache
from lorekeeper.cache.protocol import Progress, Statistics
from lorekeeper.composition import embedding_of, open5e_of, open_cache, path_beside, registry_of, reranker_of
from lorekeeper.embedding import EmbeddingService
from lorekeeper.embedding.model import default_space, known_space
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError, ConfigError, EmbeddingError, UnknownDocumentError
from lorekeeper.intake.background import Questions, keep_fresh
from lorekeeper.intake.ready import ReadyLibrary
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.sync_state import Source
from lorekeeper.search.pipeline import Searcher
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage
from lorekeeper.settings import Settings, load_settings
from lorekeeper.system import AsyncClosing
from lorekeeper.text.phrases import STARTER
from lorekeeper.vaults.registry import Registry
from lorekeeper.vaults.vaults import Vaults

if TYPE_CHECKING:
    from lorekeeper.intake.on_demand import ReadThroughSearcher
    from lorekeeper.intake.sync import Step
    from lorekeeper.search.dossier.lines import Dossier
    from lorekeeper.search.rerank import Reranker

logger = logging.getLogger(__name__)

EMPTY = "The library is empty: run 'lorekeeper import PATH' or 'lorekeeper sync open5e'."

STARTED = (
    "The library was empty, so the starter compendium was loaded; 'lorekeeper sync open5e' and 'lorekeeper import PATH' bring "
    "more books."
)


class Library(AsyncClosing):
    """A user's library: one cache, one embedding service, search over both. Use it as an async context manager.

    It owns both, and the reranker: they are closed with it.

    Args:
        cache: where the entries are.
        embedding: makes their vectors.
        offline: never connect to the source.
        source: an Open5e server to sync with; None for a library without one.
        edition: editions and documents that come first among entries of one name, as `editions.parse_edition` gives them.
        reranker: a server whose order of the best hits of a search is used; None for none.
        imports: file that remembers what imported objects gave; None for none.
        books_file: file that remembers the titles of the books, for what must not wait until the library is open.
        vaults: which folders of notes it has; None for a library without any.
        ready: what it is a copy of at first if it does not exist yet; None for an empty one.
    """

    def __init__(
        self,
        cache: ThreadedCache,
        embedding: EmbeddingService,
        *,
        offline: bool = False,
        source: Source | None = None,
        edition: Sequence[str] = (),
        reranker: Reranker | None = None,
        imports: Path | None = None,
        books_file: Path | None = None,
        vaults: Registry | None = None,
        ready: ReadyLibrary | None = None,
    ) -> None:
        self.cache = cache
        self.embedding = embedding
        self.offline = offline
        self.source = source
        self.reranker = reranker
        self.searcher = Searcher(cache, edition, reranker)
        self.books_file = books_file
        self.questions = Questions()
        """Those of clients, which `keep_fresh` lets go first."""
        self.vaults = Vaults(vaults, cache, embedding, self.searcher.documents.forget)
        self._imports = imports
        self._filling = asyncio.Lock()
        self._ready = ready
        self._note = ""
        """What the next answer has to say of the library's beginning."""
        self._read_through: ReadThroughSearcher | None = None
        self._renewing = asyncio.Lock()
        self._renewed: set[str] = set()
        """Types without entries that earlier versions stored otherwise."""

    @classmethod
    def from_settings(cls, settings: Settings | None = None) -> Self:
        """A library as configured; nothing is opened or loaded before it is used.

        Args:
            settings: by default those of the environment and the user's own file (see `load_settings`).

        Raises:
            ConfigError: the settings of the environment or of the file are wrong.
        """
        settings = settings or load_settings()[0]
        embedding = embedding_of(settings)
        return cls(
            open_cache(settings, embedding),
            embedding,
            offline=settings.offline,
            source=open5e_of(settings),
            edition=settings.house_edition,
            reranker=reranker_of(settings),
            imports=path_beside(settings, ".imports"),
            books_file=path_beside(settings, ".books"),
            vaults=registry_of(settings),
            ready=ReadyLibrary.shipped(known_space(settings)),
        )

    async def import_paths(
        self,
        paths: Iterable[Path],
        *,
        document: str | None = None,
        dry_run: bool = False,
        start: Progress | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import files and folders. What cannot be read is reported; everything else is stored.

        Args:
            paths: files or folders of Open5e JSON, JSON lines (also .gz), OrcBrew packs, or our own JSON.
            document: key of the document to file everything under; each entry's own by default.
            dry_run: read and count only.
            start: called with the bytes of the files to read; pipes count as none.
            progress: called, for each further batch, with the bytes of the files that it was read from.

        Raises:
            ImportFileError: a path does not exist.
        """
        from lorekeeper.intake.imports import FileImport

        if not dry_run:
            await self._renew()
        report = ImportReport()
        with report.measured(self.embedding):
            files = FileImport(self.cache, report, self._imports, dry_run=dry_run)
            await files.run(list(paths), document, start, progress)
        self.searcher.documents.forget()
        return report

    @property
    def activity(self) -> str:
        """What a search is probably waiting for, for people."""
        if self._filling.locked():
            return "loading the starter compendium"
        if self._read_through and self._read_through.fetching:
            return "fetching from Open5e"
        return "searching" if self.embedding.loaded else "opening the library"

    async def search(self, query: Query) -> ResultPage:
        """`Searcher.search`; what is missing is fetched from the source, if there is one (see `ReadThroughSearcher`).

        Notes that were saved before are in the answer, or it says that they are still being read. An empty library loads the
        starter compendium first, so that it has an answer.
        """
        await self.begin()
        behind = await self.vaults.fresh()
        page = await self._search(query)
        return replace(page, note=" ".join(filter(None, [page.note, behind]))) if behind else page

    async def _search(self, query: Query) -> ResultPage:
        if self.embedding.loaded:
            await self._renew(query.types)
        page = await self._answer(query)
        if page.total or any((await self.cache.documents()).values()):
            note, self._note = self._note, ""
            return replace(page, note=" ".join(filter(None, [page.note, note]))) if note else page
        async with self._filling:
            try:
                await self.load_starter()
            except EmbeddingError as error:
                return replace(page, note=f"{EMPTY} The starter compendium could not be loaded: {error}")
        missing = page.note if query.text is None else None
        with suppress(UnknownDocumentError):
            page = await self.searcher.search(query)
        return replace(page, note=" ".join(dict.fromkeys(filter(None, [missing, page.note, STARTED]))))

    async def begin(self) -> None:
        """Let a library that does not exist yet begin as a copy of the ready one, if there is one."""
        if self._ready is None:
            return
        async with self._filling:
            ready, store = self._ready, self.cache.store
            if ready is not None and await asyncio.to_thread(store.is_new):
                space = ready.space or await self._space()
                if await asyncio.to_thread(ready.copy_to, store, space):
                    self._note = STARTED
                    self._renewed |= set(COLLECTIONS)  # this version has made it
            self._ready = None

    async def _space(self) -> str:
        """Fingerprint of the vectors of a new library: the default model's where there is no model now."""
        try:
            return (await self.embedding.provider_now()).fingerprint
        except EmbeddingError:
            return default_space().fingerprint

    async def _answer(self, query: Query) -> ResultPage:
        if self.source is None or (query.text is not None and not await self._was_synced()):
            return await self.searcher.search(query)
        if self._read_through is None:
            from lorekeeper.intake.on_demand import ReadThroughSearcher

            self._read_through = ReadThroughSearcher(self.searcher, self.cache, self.source, offline=self.offline)
        return await self._read_through.search(query)

    async def _was_synced(self) -> bool:
        """Whether entries may be old. Where words are searched, nothing else is asked of the source."""
        return self.source is not None and await asyncio.to_thread(self.source.state_path.exists)

    async def topic(self, topic: str, types: Sequence[str] | None = None, limit: int = 10) -> Dossier:
        """What the library has on a person, place or theme: see `search.dossier.gather.gather`.

        Args:
            topic: words, or a ``lore://`` uri.
            types: only entries of these types, all by default.
            limit: most lines of a part.
        """
        from lorekeeper.search.dossier.gather import gather
        from lorekeeper.search.dossier.sources import TYPES, Sources

        if self.embedding.loaded:
            await self._renew(TYPES if types is None else types)
        sources = Sources.of(self.cache, self.searcher.documents, self.search, self.entities_at, types)
        return await gather(sources, topic, limit)

    async def entities_at(self, entity_type: str, document: str, slug: str) -> list[Entity]:
        """The entry of that identity; if there is none, the entries that earlier versions stored under it as one.

        They come in the order of the preferred editions. [] if there are none either.
        """
        await self.vaults.fresh()
        entity = await self.cache.get_entity(entity_type, document, slug)
        if entity is not None:
            return [entity]
        from lorekeeper.normalize.renewed import later_identities

        present = await self.cache.documents([entity_type])
        order = [key for key in await self.searcher.documents.order() if key in present]
        later = later_identities((document, slug), list(dict.fromkeys([*order, *present])))
        return await self.cache.load(entity_type, later) if later else []

    async def load_starter(self, *, notes: bool = False, **callbacks: Any) -> ImportReport:
        """Load the starter compendium that ships with the package: with its own vectors if the model is not to be had now.

        Args:
            notes: whether the campaign notes of the demo come along; no library of a user's has them.
            callbacks: as for `import_paths`.
        """
        try:
            await self.embedding.provider_now()
        except EmbeddingError as error:
            logger.info("the starter compendium is loaded without a model: %s", error)
            shipped = self.embedding.beside(default_space)
            library = Library(ThreadedCache(self.cache.store, shipped), shipped, imports=self._imports)
            try:
                report = await library._load_shipped(notes=notes, **callbacks)
            except EmbeddingError:
                raise error from None  # without the shipped vectors nothing is loaded, for want of the model
            self.searcher.documents.forget()
            return report
        return await self._load_shipped(notes=notes, **callbacks)

    async def _load_shipped(self, *, notes: bool, **callbacks: Any) -> ImportReport:
        report = await self.import_paths([STARTER], **callbacks)
        if notes:
            from lorekeeper.intake.changes import store_in_batches
            from lorekeeper.intake.shipped_notes import shipped_notes

            with report.measured(self.embedding):
                report.stored += await store_in_batches(self.cache, await asyncio.to_thread(shipped_notes))
            self.searcher.documents.forget()
        return report

    async def sync(
        self, types: Sequence[str] | None = None, documents: Sequence[str] | None = None, step: Step | None = None
    ) -> ImportReport:
        """Bring the library up to date with Open5e; see `Syncer.run`.

        Args:
            types: entity types, all by default; the documents always come along.
            documents: keys of the documents to sync, all by default.
            step: called with the progress.

        Raises:
            ConfigError: the library is offline.
            SourceUnavailableError: the server cannot be reached at all.
        """
        if self.offline or self.source is None:
            raise ConfigError("LOREKEEPER_OFFLINE is set, so nothing can be synced; unset it for this command")
        from lorekeeper.intake.open5e import Open5eClient
        from lorekeeper.intake.sync import Syncer

        await self._renew()
        report = ImportReport()
        with report.measured(self.embedding):
            async with Open5eClient(self.source.base_url) as client:
                syncer = Syncer(self.cache, client, self.source.state_path, report, step)
                await syncer.run(list(COLLECTIONS) if types is None else types, documents)
        self.searcher.documents.forget()
        return report

    async def keep_fresh(self) -> None:
        """See `intake.background.keep_fresh`; returns at once if the settings forbid it."""
        if self.source and self.source.background and not self.offline:
            await keep_fresh(self.cache, self.source, self.questions, self.embedding.embed)

    async def reindex(self, progress: Progress | None = None) -> int:
        """Embed everything again with the current model; returns how many entities."""
        return await self.cache.reindex(progress)

    async def check_model(self) -> None:
        """EmbeddingError if the library's vectors were made with another model than the current one."""
        for entity_type in COLLECTIONS:
            await self.cache.rank_semantic(entity_type, "check", 1)

    async def open(self, types: Iterable[str] = COLLECTIONS) -> None:
        """Open the store with these types, and load the model, at the same time; else each is opened at first use.

        Raises:
            LoreKeeperError: one of them cannot be opened; the other is.
        """
        types = list(types)
        opened = await asyncio.gather(self._open(types), self.embedding.provider_now(), return_exceptions=True)
        for failure in opened:
            if isinstance(failure, BaseException):
                raise failure
        await self._renew(types)

    async def _open(self, types: Iterable[str]) -> None:
        await self.begin()
        await self.cache.open(types)

    async def _renew(self, types: Iterable[str] = COLLECTIONS) -> None:
        """Renew what earlier versions stored otherwise (see `intake.renewal`); if that is not possible now, another time."""
        async with self._renewing:
            waiting = [name for name in types if name in COLLECTIONS and name not in self._renewed]
            if not waiting:
                return
            from lorekeeper.intake.renewal import renew

            try:
                if await renew(self.cache, self.source, waiting):
                    self.searcher.documents.forget()
            except (CacheError, EmbeddingError) as error:
                logger.info("entries of an earlier version are not renewed yet: %s", error)
                return
            self._renewed |= set(waiting)

    async def statistics(self) -> Statistics:
        """Counts, sizes, model."""
        return await self.cache.statistics()

    async def close(self) -> None:
        """Release everything."""
        await self.vaults.close()
        await self.cache.close()
        self.embedding.close()
        if self.reranker:
            await self.reranker.close()
