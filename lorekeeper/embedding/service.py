"""The embedding service: a lazily loaded provider, batches, a thread, and a small cache for queries."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast

import numpy as np

from lorekeeper.embedding.fetching import ModelPendingError
from lorekeeper.embedding.protocol import SLICE, EmbeddingProvider, Vectors, are_units, at_once, check_finite
from lorekeeper.errors import ConfigError, EmbeddingError
from lorekeeper.measures import counted, timed
from lorekeeper.printable import MAX_REASON, one_line
from lorekeeper.system import TURNS, return_memory

if TYPE_CHECKING:
    from lorekeeper.entities import Entity

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)

PENDING_SECONDS = 0.5
"""Between two looks for a model that is being downloaded."""

QUERIES_KEPT = 512
"""Queries whose vectors are cached."""


class EmbeddingCache(Protocol):
    """Vectors computed before, by model and text. Blocking; never raises: what is not cached is computed."""

    def get(self, model: str, texts: Sequence[str], dimension: int) -> dict[str, Vectors]:
        """The cached vectors by text, each of shape (dimension,) float32 and length 1; ``model`` is a fingerprint."""
        ...

    def put(self, model: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Cache vectors of shape (len(texts), dimension) float32."""
        ...

    def close(self) -> None:
        """Close its file."""
        ...


Model = str | EmbeddingProvider | Callable[[], EmbeddingProvider]
"""What embeds texts: the name or folder of a model, a provider, or a function that makes one."""


class _OfClassToo(Generic[R]):
    """A method that can be called on the class too, for a service of the default model."""

    def __init__(self, method: Callable[[EmbeddingService], R]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, service: EmbeddingService | None, _owner: type[EmbeddingService]) -> Callable[..., R]:
        return self if service is None else partial(self._method, service)

    def __call__(self, service: EmbeddingService | None = None) -> R:
        return self._method(EmbeddingService() if service is None else service)


class EmbeddingService:
    """Embeds texts off the event loop, in one thread, with a provider that is loaded at first use.

    All services of a process that name the same model share it. ``encode`` and ``encode_batch`` block; their counterparts in
    programs with an event loop are ``await embed(texts)`` and ``await embed_query(text)``, which return NumPy arrays.

    Args:
        model: the name of a model, or the path of its folder; by default that of LOREKEEPER_EMBEDDING_MODEL. Or a provider, or
            a function that makes one, which is called in the service's thread, once unless it fails.
        cache: vectors computed before; None to compute all. Vectors of queries are not stored there.
        retry_seconds: how long a failure to load the provider is repeated before the next attempt.
        notice_seconds: after how long a wait for the model is logged as a warning.
    """

    def __init__(
        self,
        model: Model | None = None,
        cache: EmbeddingCache | None = None,
        *,
        retry_seconds: float = 60.0,
        notice_seconds: float = 5.0,
    ) -> None:
        self._load = _loader(model)
        self._name = model if isinstance(model, str) else "the embedding model"
        self._cache = cache
        self._retry_seconds = retry_seconds
        self._notice_seconds = notice_seconds
        self._provider: EmbeddingProvider | None = None
        self._failure: tuple[float, EmbeddingError] | None = None
        self._loading = threading.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="lorekeeper-embedding")
        self._queries: OrderedDict[str, tuple[Future[Vectors], int]] = OrderedDict()
        """The batch of each query, and its row there."""
        self.computed = 0
        """Texts embedded so far, without those whose vectors were cached."""

        self.watched: Callable[[int, int], None] | None = None
        """Called with the number of further texts to compute, and of further ones that are done."""

        self._pending: set[Future[Any]] = set()

    @property
    def waiting(self) -> int:
        """Calls of the model or the cache that are under way, or wait for the thread."""
        return len(self._pending)

    @property
    def loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._provider is not None

    def dimension_of(self, fingerprint: str) -> int | None:
        """Dimension of a model's vectors; None unless it is the loaded one."""
        return self._provider.dimension if self._provider and self._provider.fingerprint == fingerprint else None

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of the loaded model, None before it is."""
        return self._provider.fingerprint if self._provider else None

    async def provider(self) -> EmbeddingProvider:
        """The provider, loaded if need be; EmbeddingError if it cannot be. Waits while its model is being downloaded."""
        while True:
            with suppress(ModelPendingError):
                return await self.provider_now()
            await asyncio.sleep(PENDING_SECONDS)

    async def provider_now(self) -> EmbeddingProvider:
        """The provider, as `provider`; ModelPendingError while its model is being downloaded."""
        return await self._run(self._ready)

    @_OfClassToo
    def get_model(self) -> EmbeddingProvider:
        """The model, loaded if need be; the same one for all services of the process that name it. Blocking.

        Raises:
            EmbeddingError: it cannot be loaded.
        """
        return self._submit(self._ready).result()

    def encode(self, text: str) -> list[float]:
        """The vector of a passage: ``dimension`` numbers, of length 1. Blocking.

        Raises:
            EmbeddingError: the model cannot be loaded, or fails.
        """
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[float]]:
        """The vectors of passages, in the order of the texts. Blocking; see `encode`."""
        return [
            row for part in batched(texts, SLICE) for row in self._submit(self._embed_slice, part).result().tolist()
        ]

    def get_searchable_text(self, entity: Mapping[str, Any] | Entity, entity_type: str) -> str:
        """The text of an entity that is searched by meaning: its name, then its prose, section by section.

        An entity with hardly any prose has its kind and key facts instead, which is logged as a warning: often its text is
        under a key that the type does not know. What is embedded is this text in passages of about 120 word pieces.

        Args:
            entity: as it is stored.
            entity_type: a type of `COLLECTIONS`, or one that a cache of this process was given.

        Raises:
            FilterError: there is no such type.
        """
        from lorekeeper.text.searchable import searchable_text

        return searchable_text(entity, entity_type)

    def beside(self, load: Callable[[], EmbeddingProvider]) -> EmbeddingService:
        """A service with another provider, on the same cache of vectors."""
        return EmbeddingService(load, self._cache)

    async def embed(self, texts: Sequence[str], progress: Callable[[int], None] | None = None) -> Vectors:
        """Vectors of passages, shape (len(texts), dimension), float32, of length 1, in the order of the texts.

        Equal texts are embedded once. Texts with cached vectors are not embedded again. ``progress`` is called with the number of
        further texts that are done.

        Raises:
            EmbeddingError: the model cannot be loaded, or fails.
        """
        provider = await self.provider()
        vectors: dict[str, Vectors] = {}
        if self._cache:
            vectors = await self._run(self._cache.get, provider.fingerprint, list(set(texts)), provider.dimension)
        if vectors and progress:
            progress(len(vectors))
        missing = sorted(set(texts) - vectors.keys(), key=len)
        if self.watched and missing:
            self.watched(len(missing), 0)
        for part in batched(missing, SLICE):
            for own in batched(part, at_once(provider)):
                await asyncio.sleep(TURNS.left)
                vectors |= zip(own, await self._run(self._embed_slice, own), strict=True)
            if self._cache:
                await self._run(self._cache.put, provider.fingerprint, part, np.stack([vectors[text] for text in part]))
            if progress:
                progress(len(part))
            if self.watched:
                self.watched(0, len(part))
        return np.stack([vectors[t] for t in texts]) if texts else np.empty((0, provider.dimension), dtype=np.float32)

    async def file_under(self, texts: Mapping[str, str]) -> None:
        """Give new texts the cached vectors of texts of the same meaning: the keys are the new ones, the values the cached ones.

        A text that has a vector already is unchanged; a text whose source is not cached gets none.

        Raises:
            EmbeddingError: the model cannot be loaded.
        """
        cache = self._cache
        if cache is None or not texts:
            return
        provider = await self.provider()
        model, dimension = provider.fingerprint, provider.dimension
        known = await self._run(cache.get, model, list({*texts, *texts.values()}), dimension)
        new = [text for text, source in texts.items() if text not in known and source in known]
        if new:
            await self._run(cache.put, model, new, np.stack([known[texts[text]] for text in new]))

    async def embed_query(self, query: str) -> Vectors:
        """Vector of one query, shape (dimension,); see `embed_queries`."""
        vector: Vectors = (await self.embed_queries([query]))[0]
        return vector

    async def embed_queries(self, queries: Sequence[str], *, again: bool = False) -> Vectors:
        """Vectors of queries, shape (len(queries), dimension), computed in one batch.

        The latest ones are cached, and concurrent calls share one computation.

        Args:
            queries: the texts.
            again: whether the same search has asked for them before; they then do not count as cached queries.
        """
        missing = [query for query in dict.fromkeys(queries) if query not in self._queries]
        counted("query_embedded", len(missing))
        known = sum(query in self._queries and self._queries[query][0].done() for query in set(queries))
        counted("query_cached", 0 if again else known)
        TURNS.asked()
        if missing:
            batch = self._submit(self._embed_slice, missing, queries=True)
            self._queries |= {query: (batch, row) for row, query in enumerate(missing)}
        wanted = [self._queries[query] for query in queries]
        for query in queries:
            self._queries.move_to_end(query)
        while len(self._queries) > max(QUERIES_KEPT, len(wanted)):
            self._queries.popitem(last=False)
        try:
            with timed("embedding") if missing else nullcontext():
                computed = [(await _result(batch))[row] for batch, row in wanted]
        except BaseException:
            for query in queries:
                self._queries.pop(query, None)
            raise
        return np.stack(computed)

    def close(self) -> None:
        """End the thread and close the embedding cache. A service that is used again starts them again."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        self._queries.clear()
        if self._cache:
            self._cache.close()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="lorekeeper-embedding")

    async def _run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.wrap_future(self._submit(function, *args, **kwargs))

    def _submit(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        call = self._worker.submit(function, *args, **kwargs)
        self._pending.add(call)
        call.add_done_callback(self._pending.discard)
        return call

    def _ready(self) -> EmbeddingProvider:
        with self._loading:
            if self._failure and time.monotonic() - self._failure[0] < self._retry_seconds:
                raise self._failure[1]
            if self._provider is None:
                try:
                    with self._noticed():
                        self._provider = self._load()
                    return_memory()
                except (ModelPendingError, ConfigError):
                    raise
                except Exception as error:  # whatever a provider of somebody else's raises
                    failure = _wrapped(error, f"{self._name} cannot be loaded")
                    self._failure = time.monotonic(), failure
                    raise failure from failure.__cause__
                logger.info("embedding provider %s, %s", self._provider.name, self._provider.fingerprint)
            return self._provider

    @contextmanager
    def _noticed(self) -> Iterator[None]:
        """Log a warning if what happens within takes long, so that nobody waits without knowing for what."""
        timer = threading.Timer(
            self._notice_seconds, logger.warning, ["loading %s; the first use waits for it", self._name]
        )
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _embed_slice(self, texts: list[str], *, queries: bool = False) -> Vectors:
        provider = self._ready()
        try:
            given = provider.embed_queries(texts) if queries else provider.embed(texts)
            vectors: Vectors = np.asarray(given, dtype=np.float32)
        except Exception as error:
            failure = _wrapped(error, f"the embedding model {provider.fingerprint} failed")
            raise failure from failure.__cause__
        self.computed += len(texts)
        if not check_finite(vectors):
            raise EmbeddingError(
                f"the model {provider.fingerprint} computed vectors with NaN; its files may be damaged"
            )
        if vectors.shape != (len(texts), provider.dimension) or not are_units(vectors):
            raise EmbeddingError(
                f"the model {provider.fingerprint} computed vectors of shape {vectors.shape} for {len(texts)} texts, not "
                f"{provider.dimension} numbers of length 1 for each; its files may be damaged"
            )
        return vectors


def batched(texts: Sequence[str], size: int) -> Iterator[list[str]]:
    """Texts in runs of a size."""
    return (list(texts[start : start + size]) for start in range(0, len(texts), size))


def _loader(model: Model | None) -> Callable[[], EmbeddingProvider]:
    """What loads a model."""
    if model is None or isinstance(model, str):
        from lorekeeper.embedding.configured import shared_provider

        return partial(shared_provider, model)
    if isinstance(model, type) or not hasattr(model, "embed"):
        return cast(Callable[[], EmbeddingProvider], model)
    provider = cast(EmbeddingProvider, model)
    return lambda: provider


def _wrapped(error: Exception, what: str) -> EmbeddingError:
    """An error of a provider as one of ours, with its cause."""
    if isinstance(error, EmbeddingError):
        return error
    wrapped = EmbeddingError(
        f"{what}: {type(error).__name__}: {one_line(str(error), MAX_REASON)}. Check the provider, or set "
        "LOREKEEPER_EMBEDDING_MODEL to another model"
    )
    wrapped.__cause__ = error
    return wrapped


async def _result(call: Future[Vectors]) -> Vectors:
    """What a call of the thread returns, without a turn of the event loop if it has done so; it goes on if who waits does not."""
    if call.done() and not call.cancelled():
        return call.result()
    return await asyncio.shield(asyncio.wrap_future(call))
