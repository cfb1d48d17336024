"""A user's library, and what it does: import, sync, search. Its parts are put together by `composition`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from lorekeeper.audience import GAME_MASTER, Viewer
from lorekeeper.cache.async_cache import ThreadedCache
from lorekeeper.cache.formats import at_once
from lorekeeper.cache.protocol import LibraryCache, Progress, Statistics
from lorekeeper.composition import (
    embedding_of,
    marks_of,
    open5e_of,
    open_cache,
    party_of,
    path_beside,
    registry_of,
    reranker_of,
    shares_of,
    starter_record_of,
    traits_of,
)
from lorekeeper.editions import SUCCESSORS
from lorekeeper.embedding import EmbeddingService
from lorekeeper.embedding.model import default_space, known_space
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import (
    CacheError,
    ConfigError,
    EmbeddingError,
    ImportFileError,
    LoreKeeperError,
    UpgradingError,
)
from lorekeeper.intake.background import Questions, keep_fresh
from lorekeeper.intake.bundled_library import ReadyLibrary
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.starter_record import LOADED, NOT_NEEDED, StarterRecord, lacks_books
from lorekeeper.intake.sync_state import Source
from lorekeeper.party import PartyFile
from lorekeeper.search.pipeline import Searcher
from lorekeeper.search.retrieved import MINILM, Traits
from lorekeeper.settings import Settings, load_settings
from lorekeeper.system import AsyncClosing, ended, finished, share_freed_memory
from lorekeeper.text.phrases import RULES_2024
from lorekeeper.vaults.registry import Registry
from lorekeeper.vaults.vaults import Vaults
from lorekeeper.views.view import ADDED, STARTED, View

if TYPE_CHECKING:
    from lorekeeper.cache.store import Store
    from lorekeeper.intake.audiences import ListedAudience
    from lorekeeper.intake.formats.text_file import Asked
    from lorekeeper.intake.importing import Importing
    from lorekeeper.intake.imports import Agree
    from lorekeeper.intake.sync import Step
    from lorekeeper.search.rerank import Reranker
    from lorekeeper.vaults.marks import MarksFile
    from lorekeeper.vaults.shares import SharesFile
    from lorekeeper.views.view_cache import Projections

logger = logging.getLogger(__name__)


class Library(View, AsyncClosing):
    """A user's library: one cache, one embedding service, search over both. Use it as an async context manager.

    Its own methods read what the game master sees; `view` gives what another viewer sees. Closing the library closes the cache,
    the embedding service and the reranker.

    Args:
        cache: where the entries are.
        embedding: makes their vectors.
        offline: never connect to the source.
        source: an Open5e server to sync with; None for a library without one.
        edition: editions and documents that come first among entries of one name, as `editions.parse_edition` gives them.
        reranker: a server that orders the best hits of a search; None for none.
        traits: of the model that ranks by meaning.
        imports: file that remembers what imported objects gave; None for none.
        books_file: file that remembers the titles of the books, for what must not wait until the library is open.
        vaults: which folders of notes it has; None for a library without any.
        ready: the library that a new one begins as a copy of; None to begin with an empty one.
        starter: records whether the first books were ever loaded; None to load them into an empty library only.
        views: folder of what players see of it (see `views.redacted_views`); None if it has no other viewers.
        asks: who reads if nothing else identifies the viewer, for example on the command line.
        marks: the file with the user's own marks of who may see notes and parts of them; None for none.
        shares: the file with what the game master has shared of the vaults; None for none.
        party: the file with the levels of the party; None for none.
    """

    cache: LibraryCache

    def __init__(
        self,
        cache: LibraryCache,
        embedding: EmbeddingService,
        *,
        offline: bool = False,
        source: Source | None = None,
        edition: Sequence[str] = (),
        reranker: Reranker | None = None,
        traits: Traits = MINILM,
        imports: Path | None = None,
        books_file: Path | None = None,
        vaults: Registry | None = None,
        ready: ReadyLibrary | None = None,
        starter: StarterRecord | None = None,
        views: Path | None = None,
        asks: Viewer = GAME_MASTER,
        marks: MarksFile | None = None,
        shares: SharesFile | None = None,
        party: PartyFile | None = None,
    ) -> None:
        super().__init__(self, cache, cache, Searcher(cache, edition, reranker, traits), GAME_MASTER)
        self.cache = cache
        self.embedding = embedding
        self.offline = offline
        self.party = party or PartyFile()
        self.source = source
        self.reranker = reranker
        self.asks = asks
        self._views_folder = views
        self._projections: Projections | None = None
        self._views: dict[frozenset[str], View] = {}
        """By the names of their viewers, who are as many as there are people at the table."""
        self.books_file = books_file
        self.questions = Questions()
        """Those of clients, which `keep_fresh` lets go first."""
        self.vaults = Vaults(vaults, cache, embedding, self.searcher.documents.forget, marks, shares)
        self._imports = imports
        self.importing: Importing | None = None
        """The last import that was begun with `begin_import`."""
        self._filling = asyncio.Lock()
        self._ready = ready
        self._starter, self._begun = starter, False
        self._notice = ""
        """What the next answer has to say of the library's beginning."""
        self._opened = False

    @classmethod
    def from_settings(cls, settings: Settings | None = None) -> Self:
        """A library as configured; nothing is opened or loaded before it is used.

        Args:
            settings: by default those of the environment and the user's own file (see `load_settings`).

        Raises:
            ConfigError: the settings of the environment or of the file are wrong.
        """
        share_freed_memory()
        settings = settings or load_settings()[0]
        embedding = embedding_of(settings)
        return cls(
            open_cache(settings, embedding),
            embedding,
            offline=settings.offline,
            source=open5e_of(settings),
            edition=settings.house_edition,
            reranker=reranker_of(settings),
            traits=traits_of(settings),
            imports=path_beside(settings, ".imports"),
            books_file=path_beside(settings, ".books"),
            vaults=registry_of(settings),
            ready=ReadyLibrary.shipped(known_space(settings)),
            starter=starter_record_of(settings),
            views=path_beside(settings, ".views"),
            asks=settings.viewer,
            marks=marks_of(settings),
            shares=shares_of(settings),
            party=party_of(settings),
        )

    def view(self, viewer: Viewer | None = None) -> View:
        """What a viewer sees of the library: by default the viewer of the settings.

        Raises:
            ConfigError: the library has no place for what players see.
        """
        viewer = viewer or self.asks
        if viewer.sees_all:
            return self
        if viewer.names not in self._views:
            self._views[viewer.names] = self._view(viewer)
        return self._views[viewer.names]

    def _view(self, viewer: Viewer) -> View:
        from lorekeeper.views.view_cache import Projections, ViewCache

        if self._views_folder is None:
            raise ConfigError("this library has no place for what players see; open it with Library.from_settings")
        if self._projections is None:
            self._projections = Projections(self.cache, self.embedding, self._views_folder)
        cache = ViewCache(
            self._projections,
            viewer,
            changed=lambda: searcher.documents.forget(),
            stale_uris=lambda: view.stale_uris,
            unreadable_vaults=lambda: view.unreadable_vaults,
        )
        searcher = Searcher(cache, self.searcher.documents.edition, self.reranker, self.searcher.traits)
        view = View(self, self.cache, cache, searcher, viewer)
        return view

    async def import_paths(
        self,
        paths: Iterable[Path | bytes],
        *,
        document: str | None = None,
        audience: ListedAudience | None = None,
        dry_run: bool = False,
        start: Progress | None = None,
        progress: Progress | None = None,
        agree: Agree | None = None,
        asked: Asked | None = None,
    ) -> ImportReport:
        """Import files and folders. What cannot be read is reported; everything else is stored.

        Args:
            paths: files and folders of the supported formats; bytes are text that was pasted.
            document: key of the document to file everything under; each entry's own by default.
            audience: "dm" keeps everything for the game master, "players" opens what is not marked itself; by default secret
                entries stay secret.
            dry_run: read and count only.
            start: called with the bytes of the files to read; pipes count as none.
            progress: called, for each further batch, with the bytes of the files that it was read from.
            agree: called with all that was read; returns whether to store it. Without it entries are stored as they are read.
            asked: what the import says of its books.

        Raises:
            ImportFileError: a path does not exist, or the document is a vault.
        """
        from lorekeeper.intake.changes import of_vault
        from lorekeeper.intake.imports import FileImport
        from lorekeeper.intake.pasted import as_files

        vaults = await asyncio.to_thread(self.vaults.keys)
        if document is not None and document in vaults:
            raise ImportFileError(document, of_vault(document))
        report = ImportReport()
        with report.measured(self.embedding):
            files = FileImport(
                self.cache, self.cache.given, report, self._imports, vaults, dry_run=dry_run, asked=asked
            )
            try:
                async with as_files(paths, report) as on_disk:
                    await files.run(on_disk, document, audience, start, progress, agree)
            finally:
                self.cache.given.clear()
        self.searcher.documents.forget()
        return report

    def begin_import(
        self,
        path: Path,
        *,
        title: str | None = None,
        edition: str | None = None,
        audience: ListedAudience | None = None,
    ) -> Importing:
        """Begin to import a file or folder, while other work continues; the import that is under way if there is one.

        Args:
            path: of the file.
            title: of a book; None as its file says it.
            edition: of its game; None as its text says it.
            audience: as for `import_paths`.
        """
        from lorekeeper.intake.formats.text_file import Asked
        from lorekeeper.intake.importing import Importing

        if self.importing is None or self.importing.is_over:
            self.importing = begun = Importing(path.name)
            asked = Asked(title, edition, pages=partial(begun.step, "reading pages"))
            begun.task = asyncio.create_task(self._import_beside(begun, path, audience, asked))
        return self.importing

    async def _import_beside(
        self, importing: Importing, path: Path, audience: ListedAudience | None, asked: Asked
    ) -> None:
        self.embedding.watched = partial(importing.step, "embedding texts")
        try:
            importing.report = await self.import_paths([path], audience=audience, asked=asked)
        except LoreKeeperError as error:
            importing.problem = str(error)
        except Exception:
            logger.exception("the import of a file failed")
            importing.problem = "it failed; the log of the server says why"
        finally:
            self.embedding.watched = None

    async def import_documents(self, documents: Sequence[str], *, dry_run: bool = False) -> ImportReport:
        """Import the whole texts of system reference documents from the packages that bring them, without a network.

        What the library has from Open5e under the same name, alias or form stays as it is.

        Args:
            documents: their keys, of `lorekeeper.intake.superseded.DOCUMENTS`.
            dry_run: read and count only.

        Raises:
            ImportFileError: no package with such a document is installed.
        """
        from lorekeeper.intake.data_packages import INSTALL
        from lorekeeper.intake.shipped_books import import_books, lacking

        report = ImportReport()
        without = await asyncio.to_thread(lacking)
        report.warnings += [
            ImportFileError(name, f"is not installed, so that its texts are left out: {INSTALL}") for name in without
        ]
        with report.measured(self.embedding):
            for document in documents:
                if not await import_books(self.cache, report, [document], dry_run=dry_run):
                    raise ImportFileError(document, f"needs the packages {' and '.join(without)}: {INSTALL}")
        self.searcher.documents.forget()
        return report

    @property
    def ready(self) -> bool:
        """Whether the store is open and the model is loaded, so that a search need not wait for them."""
        return self._opened and self.embedding.loaded

    @property
    def store(self) -> Store:
        """The store that holds the entries, for maintenance.

        Raises:
            ConfigError: the cache is that of another package.
        """
        if self.cache.store is None:
            raise ConfigError(
                "the library is in the cache backend of another package, which maintains it; this works with milvus and sqlite"
            )
        return self.cache.store

    @property
    def activity(self) -> str:
        """What a search is probably waiting for, in words for users."""
        if self._filling.locked():
            return "loading the first books"
        return "searching" if self.embedding.loaded else "opening the library"

    async def begin(self) -> None:
        """Give the library its first books if it never had them; a new library begins as a copy of the ready one."""
        if self._begun:
            return
        async with self._filling:
            await self._copy_ready()
        try:
            with at_once():
                lacking = await self._lacking()
        except UpgradingError:
            return  # a question goes on, and the next one looks again
        async with self._filling:
            if lacking is not None and not self._begun:
                await self._load_missing(books=lacking)
            self._begun = True

    async def _copy_ready(self) -> None:
        ready, store = self._ready, self.cache.store
        self._ready = None
        if ready is not None and store is not None and await asyncio.to_thread(store.is_new):
            space = ready.space or await self._space()
            if await asyncio.to_thread(ready.copy_to, store, space):
                self._notice = STARTED
                await self._record_starter()

    async def _lacking(self) -> bool | None:
        """Whether the library is to be given all first books, or the rules of 2024 alone; None if it was given them."""
        if self._starter is None or await asyncio.to_thread(self._starter.holds):
            return None
        try:
            return await lacks_books(self.cache, *await asyncio.to_thread(self._starter.read))
        except CacheError as error:
            logger.info("whether the first books are missing is not known yet: %s", error)
            return None

    async def _load_missing(self, *, books: bool) -> None:
        """Load them; if that is not possible now, another time."""
        try:
            before = await self.cache.documents()
            await self.load_starter(books=books)
            if books and SUCCESSORS.keys().isdisjoint(before):
                self._notice = ADDED if any(before.values()) else STARTED
        except (CacheError, EmbeddingError) as error:
            logger.info("the first books are not loaded yet: %s", error)

    async def _record_starter(self, what: str = LOADED) -> None:
        if self._starter is not None:
            await asyncio.to_thread(self._starter.write, what)

    async def _space(self) -> str:
        """Fingerprint of the vectors of a new library: the default model's where there is no model now."""
        try:
            return (await self.embedding.provider_now()).fingerprint
        except EmbeddingError:
            return default_space().fingerprint

    def pop_notice(self) -> str:
        """A notice on how the library was filled, for the next answer alone, and on what is still done with it."""
        notice, self._notice = self._notice, ""
        store = self.cache.store
        return " ".join(filter(None, [notice, store.pending() if store else ""]))

    async def fill(self) -> None:
        """Load the first books into a library without entries; EmbeddingError if that is not possible."""
        async with self._filling:
            await self.load_starter()

    async def load_starter(self, *, books: bool = True, notes: bool = False, **callbacks: Any) -> ImportReport:
        """Load what a new library begins with: with its own vectors if the model is not available now.

        Args:
            books: whether to load the SRDs; else the rules of 2024 in our own words alone.
            notes: whether to load the campaign notes of the demo too; no user's library has them.
            callbacks: as for `import_paths`.
        """
        try:
            await self.embedding.provider_now()
        except EmbeddingError as error:
            logger.info("the first books are loaded without a model: %s", error)
            shipped = self.embedding.beside(default_space)
            if self.cache.store is None:
                raise
            library = Library(ThreadedCache(self.cache.store, shipped), shipped, imports=self._imports)
            try:
                report = await library._load_shipped(books=books, notes=notes, **callbacks)
            except EmbeddingError:
                raise error from None  # without the shipped vectors nothing is loaded, for want of the model
            await self._record_starter(LOADED if books else NOT_NEEDED)
            self.searcher.documents.forget()
            return report
        return await self._load_shipped(books=books, notes=notes, **callbacks)

    async def _load_shipped(
        self, *, books: bool, notes: bool, start: Progress | None = None, progress: Progress | None = None
    ) -> ImportReport:
        from lorekeeper.intake.shipped_books import import_books

        report = await self.import_paths([RULES_2024])
        with report.measured(self.embedding):
            if books and await import_books(self.cache, report, start=start, progress=progress):
                for document in SUCCESSORS:  # what libraries began with before they had these
                    await self.cache.delete_document(document)
            if notes:
                from lorekeeper.intake.changes import store_in_batches
                from lorekeeper.intake.shipped_notes import shipped_notes

                report.stored += await store_in_batches(self.cache, await asyncio.to_thread(shipped_notes))
        await self._record_starter(LOADED if books else NOT_NEEDED)
        self.searcher.documents.forget()
        return report

    async def sync(
        self, types: Sequence[str] | None = None, documents: Sequence[str] | None = None, step: Step | None = None
    ) -> ImportReport:
        """Bring the library up to date with Open5e; see `Syncer.run`.

        Args:
            types: entity types, all by default; documents are always synced.
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
        opening, loading = (
            asyncio.ensure_future(self._open(types)),
            asyncio.ensure_future(self.embedding.provider_now()),
        )
        await finished(opening, loading)

    async def _open(self, types: Iterable[str]) -> None:
        await self.begin()
        await self.cache.open(types)
        self._opened = True

    async def statistics(self) -> Statistics:
        """Counts, sizes, model."""
        return await self.cache.statistics()

    async def close(self) -> None:
        """Release everything."""
        if self.importing and self.importing.task:
            self.importing.task.cancel()
            await ended(self.importing.task)
        await self.vaults.close()
        if self._projections:
            await self._projections.close()
        await self.cache.close()
        self.embedding.close()
        if self.reranker:
            await self.reranker.close()
