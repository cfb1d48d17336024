"""The composition root: from settings to a ready library. Import, search and upkeep run through it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lorekeeper.addresses import is_local, shown_address
from lorekeeper.cache.protocol import CacheProtocol, Identity, Progress, Statistics
from lorekeeper.embedding import EmbeddingProvider, EmbeddingService
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import ConfigError, EmbeddingError, ImportFileError, UnknownDocumentError
from lorekeeper.intake.files import Batch, Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.sync_state import Source
from lorekeeper.normalize.again import fields_again
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.pipeline import Query, Searcher
from lorekeeper.search.results import ResultPage
from lorekeeper.settings import PREFIX, Settings, load_settings
from lorekeeper.text.phrases import SHIPPED_VECTORS, STARTER

if TYPE_CHECKING:
    from lorekeeper.cache.store import Store
    from lorekeeper.cache.vectors import VectorCache
    from lorekeeper.intake.on_demand import Misses
    from lorekeeper.intake.sync import Step

logger = logging.getLogger(__name__)

VECTORS = "vectors.db"
"""The file of known vectors, beside the library: libraries of one folder share it."""

EMPTY = "The library is empty: run 'lorekeeper import PATH' or 'lorekeeper sync open5e'."

STARTED = (
    "The library was empty, so the starter compendium was loaded; 'lorekeeper sync open5e' and 'lorekeeper import PATH' bring "
    "more books."
)

IMPORT_BATCH = 512
"""Entities of one type stored in one go; when it is done they are safe."""

IMPORT_CHARS = 8 << 20
"""Text of the entities, of all types, that an import holds before it stores them."""


@lru_cache(maxsize=1)
def embedding_service(settings: Settings) -> EmbeddingService:
    """The process's one embedding service; nothing is loaded before its first use."""
    return EmbeddingService(lambda: load_provider(settings), vector_cache(settings))


def vector_cache(settings: Settings) -> VectorCache:
    """The vectors that were computed before; it opens at first use."""
    from lorekeeper.cache.vectors import VectorCache

    return VectorCache(settings.library_path.parent / VECTORS, SHIPPED_VECTORS)


def load_provider(settings: Settings) -> EmbeddingProvider:
    """The provider that the settings ask for. Blocking; EmbeddingError where it cannot be had."""
    if settings.embedding_provider == "http":
        from lorekeeper.embedding.http import HttpProvider

        require_local(settings, "embedding_url")
        return HttpProvider(settings.embedding_url or "", settings.embedding_model, settings.embedding_api_key)

    from lorekeeper.embedding.model import MINILM_SHA256, find_model

    files = find_model(settings.embedding_model, offline=settings.offline)
    known = files.sha256 == MINILM_SHA256
    if settings.embedding_provider == "onnx" or (settings.embedding_provider == "auto" and known):
        from lorekeeper.embedding.onnx import OnnxProvider

        return OnnxProvider(files)

    from lorekeeper.embedding.sentence_transformers import SentenceTransformersProvider

    return SentenceTransformersProvider(files)


def open_cache(settings: Settings, embedding: EmbeddingService) -> CacheProtocol:
    """The cache backend that the settings ask for; it opens at first use."""
    from lorekeeper.cache.async_cache import ThreadedCache

    return ThreadedCache(open_store(settings), embedding)


def open_store(settings: Settings) -> Store:
    """The store that the settings ask for; it opens at first use, and is upgraded then where it has an earlier format."""
    if settings.cache_backend == "sqlite":
        from lorekeeper.cache.sqlite.store import SqliteStore

        return SqliteStore(settings.sqlite_db_path, fields_again)

    if settings.milvus_uri:
        from lorekeeper.cache.milvus.remote import RemoteStore

        require_local(settings, "milvus_uri")
        return RemoteStore(settings.milvus_uri, settings.milvus_token, _beside(settings, ".keywords"), fields_again)
    from lorekeeper.cache.milvus.embedded import EmbeddedStore

    return EmbeddedStore(settings.milvus_db_path, _beside(settings, ".keywords"), fields_again)


def require_local(settings: Settings, name: str) -> None:
    """ConfigError where the settings forbid the network and the address in the setting of that name leads there."""
    address = getattr(settings, name)
    if settings.offline and address and not is_local(address):
        raise ConfigError(
            f"LOREKEEPER_OFFLINE is set, but {PREFIX}{name.upper()} is {shown_address(address)}, which is not on this "
            "machine; unset one of the two, or use an address like http://127.0.0.1:8080"
        )


async def store_in_batches(
    cache: CacheProtocol, by_type: Mapping[str, Sequence[Entity]], progress: Progress | None = None
) -> int:
    """Store entities by type, `IMPORT_BATCH` at a time; returns how many."""
    stored = 0
    for entity_type, entities in by_type.items():
        for first in range(0, len(entities), IMPORT_BATCH):
            stored += await cache.store_entities(entities[first : first + IMPORT_BATCH], entity_type, progress)
    return stored


class Intake:
    """What an import has come to so far, against what the cache held before it.

    Entities wait until there are `IMPORT_BATCH` of their type, or until they have `IMPORT_CHARS` of text together.

    Args:
        cache: what is imported into.
        report: its ``stored`` and ``unchanged`` are kept up, and its ``oddities`` name entries that another one replaced.
    """

    def __init__(self, cache: CacheProtocol, report: ImportReport) -> None:
        self._cache, self._report = cache, report
        self._held: dict[str, dict[Identity, str]] = {}
        self._seen: dict[tuple[str, Identity], tuple[str, str]] = {}
        """Content hash and place of the last entry of each type and identity."""
        self._waiting: dict[str, dict[Identity, Entity]] = {}
        self._chars = 0

    async def add(self, batch: Batch) -> None:
        """Compare entities with what is there before them: with the cache and with earlier ones of the import."""
        for entity, where in batch.found:
            if entity.type not in self._held:
                self._held[entity.type] = await self._cache.content_hashes(entity.type)
            held = self._held[entity.type].get(entity.identity)
            key = entity.type, entity.identity
            last, place = self._seen.get(key, (None, ""))
            if last is not None:
                self._count(last == held, -1)
                if last != entity.content_hash:
                    clash = f"{one_line(entity.uri, MAX_SHOWN)} is in {place} too, with other content; this one, the last, is kept"
                    self._report.oddities.append(ImportFileError(where, clash))
            self._count(entity.content_hash == held, 1)
            self._seen[key] = entity.content_hash, where
            if entity.content_hash != (held if last is None else last):
                self._waiting.setdefault(entity.type, {})[entity.identity] = entity
        self._chars += batch.chars

    def due(self, *, all: bool = False) -> dict[str, list[Entity]]:  # noqa: A002
        """The changed entities that need not wait any longer, by type; they are given once."""
        if all or self._chars > IMPORT_CHARS:
            taken, self._waiting, self._chars = self._waiting, {}, 0
        else:
            full = [entity_type for entity_type, found in self._waiting.items() if len(found) >= IMPORT_BATCH]
            taken = {entity_type: self._waiting.pop(entity_type) for entity_type in full}
        return {entity_type: list(found.values()) for entity_type, found in taken.items()}

    def _count(self, unchanged: bool, number: int) -> None:
        if unchanged:
            self._report.unchanged += number
        else:
            self._report.stored += number


def open5e_of(settings: Settings) -> Source:
    """The Open5e server that the settings name, and where it is noted what the library has from it."""
    return Source(settings.open5e_base_url, _beside(settings, ".sync"), settings.cache_ttl_days)


def _beside(settings: Settings, ending: str) -> Path:
    """A file that belongs to the library in force, and stands beside it."""
    path, name = settings.library_path, settings.library_path.name
    if settings.cache_backend == "milvus" and settings.milvus_uri:
        name = f"server-{hashlib.blake2b(settings.milvus_uri.encode(), digest_size=6).hexdigest()}"
    return path.with_name(name + ending)


class Library:
    """A user's shelf: one cache, one embedding service, search over both. Use it as an async context manager.

    Args:
        cache: where the entries are.
        embedding: makes their vectors.
        offline: never ask the source.
        source: an Open5e server to sync with; None for a library that has nothing to do with one.
    """

    def __init__(
        self, cache: CacheProtocol, embedding: EmbeddingService, *, offline: bool = False, source: Source | None = None
    ) -> None:
        self.cache = cache
        self.embedding = embedding
        self.offline = offline
        self.source = source
        self.searcher = Searcher(cache)
        self._filling = asyncio.Lock()
        self._misses: Misses | None = None

    @classmethod
    def from_settings(cls, settings: Settings | None = None) -> Self:
        """A library as configured; nothing is opened or loaded before it is used.

        Args:
            settings: by default those of the environment and the user's own file (see `load_settings`).

        Raises:
            ConfigError: the settings of the environment or of the file are wrong.
        """
        settings = settings or load_settings()[0]
        embedding = embedding_service(settings)
        cache = open_cache(settings, embedding)
        return cls(cache, embedding, offline=settings.offline, source=open5e_of(settings))

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
            paths: files or folders of Open5e JSON, JSON lines (also .gz), or our own JSON.
            document: key of the document to file everything under; each entry's own by default.
            dry_run: read and count only.
            start: told the bytes of the files to read; pipes count as none.
            progress: told, of each further batch, the bytes of the files that it was read from.

        Raises:
            ImportFileError: a path does not exist.
        """
        began, before = time.monotonic(), self.embedding.computed
        report = ImportReport()
        reader = await asyncio.to_thread(Reader, list(paths), document, report)
        if start:
            start(reader.size)
        taken = Intake(self.cache, report)
        async with aclosing(reader.batches()) as batches:
            async for batch in batches:
                await taken.add(batch)
                due = taken.due()
                if not dry_run:
                    await store_in_batches(self.cache, due)
                if progress:
                    progress(batch.size)
        if not dry_run:
            await store_in_batches(self.cache, taken.due(all=True))
        self.searcher.documents.forget()
        report.embedded = self.embedding.computed - before
        report.seconds = time.monotonic() - began
        return report

    async def search(self, query: Query) -> ResultPage:
        """`Searcher.search`; what is missing is fetched from the source where there is one (see `Misses`).

        A library without any entry takes in the starter compendium, so that it has an answer.
        """
        page = await self._answer(query)
        if page.total or any((await self.cache.documents()).values()):
            return page
        async with self._filling:
            try:
                await self.load_starter()
            except EmbeddingError as error:
                return replace(page, note=f"{EMPTY} The starter compendium could not be loaded: {error}")
        missing = page.note if query.text is None else None
        with suppress(UnknownDocumentError):
            page = await self.searcher.search(query)
        return replace(page, note=" ".join(dict.fromkeys(filter(None, [missing, page.note, STARTED]))))

    async def _answer(self, query: Query) -> ResultPage:
        if self.source is None:
            return await self.searcher.search(query)
        if self._misses is None:
            from lorekeeper.intake.on_demand import Misses

            self._misses = Misses(self.searcher, self.cache, self.source, offline=self.offline)
        return await self._misses.search(query)

    async def load_starter(self, **callbacks: Any) -> ImportReport:
        """Load the starter compendium that ships with the package."""
        return await self.import_paths([STARTER], **callbacks)

    async def sync(
        self, types: Sequence[str] | None = None, documents: Sequence[str] | None = None, step: Step | None = None
    ) -> ImportReport:
        """Bring the library up to date with Open5e; see `Syncer.run`.

        Args:
            types: entity types, all by default; the documents always come along.
            documents: keys of the only documents wanted, all by default.
            step: told of the progress.

        Raises:
            ConfigError: the library is offline.
            SourceUnavailableError: the server cannot be reached at all.
        """
        if self.offline or self.source is None:
            raise ConfigError("LOREKEEPER_OFFLINE is set, so nothing can be synced; unset it for this command")
        from lorekeeper.intake.open5e import Open5eClient
        from lorekeeper.intake.sync import Syncer

        began, before, report = time.monotonic(), self.embedding.computed, ImportReport()
        async with Open5eClient(self.source.base_url) as client:
            syncer = Syncer(self.cache, client, self.source.state_path, report, step)
            await syncer.run(list(COLLECTIONS) if types is None else types, documents)
        self.searcher.documents.forget()
        report.embedded = self.embedding.computed - before
        report.seconds = time.monotonic() - began
        return report

    async def reindex(self, progress: Progress | None = None) -> int:
        """Embed everything again with the current model; returns how many entities."""
        return await self.cache.reindex(progress)

    async def check_model(self) -> None:
        """EmbeddingError where the library's vectors were made with another model than the one in force."""
        for entity_type in COLLECTIONS:
            await self.cache.rank_semantic(entity_type, "check", 1)

    async def open(self, types: Iterable[str] = COLLECTIONS) -> None:
        """Open the store with these types, and load the model, at the same time; else each is opened at first use.

        Raises:
            LoreKeeperError: one of them cannot be had; the other is there.
        """
        opened = await asyncio.gather(self.cache.open(types), self.embedding.provider(), return_exceptions=True)
        for failure in opened:
            if isinstance(failure, BaseException):
                raise failure

    async def statistics(self) -> Statistics:
        """Counts, sizes, model."""
        return await self.cache.statistics()

    async def close(self) -> None:
        """Let go of everything."""
        await self.cache.close()
        self.embedding.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
