"""Read-through for lookups: what the library does not have is fetched from Open5e, stored, and then returned.

Only what a lookup needs is stored, within seconds: embedding a whole book takes minutes. So the library may have a part of a
type, which is never mistaken for all of it: until a sync has fetched the rest, each new lookup queries the server again.
"""

from __future__ import annotations

import asyncio
import json
import shlex
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import COLLECTIONS, Entity, parse_uri
from lorekeeper.errors import CacheError, EmbeddingError, SourceError, SourceUnavailableError, UnknownDocumentError
from lorekeeper.filters import Condition, matches, parse_filters
from lorekeeper.folding import fold
from lorekeeper.intake.book_tables import count_entries
from lorekeeper.intake.freshness import failing_note
from lorekeeper.intake.open5e import Open5eClient, list_query
from lorekeeper.intake.sync import endpoints, entities_of, list_path, store_from_source
from lorekeeper.intake.sync_state import ALL, LOCK_SECONDS, Source, SyncState, encode, load_state, save, sync_lock
from lorekeeper.normalize import UnknownShapeError
from lorekeeper.normalize.open5e import Endpoint
from lorekeeper.printable import MAX_SHOWN, one_line, quantity
from lorekeeper.search.pipeline import Searcher
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage
from lorekeeper.system import all_of, in_thread

FETCH_SECONDS = 12.0
STORE_SECONDS = 12.0
"""How much longer a lookup may take, so that clients do not time out."""

CONNECT_SECONDS = 0.4
"""Longest wait for a connection: without a network, a lookup must be answered within a second."""

DOWN_SECONDS = 60.0
"""How long a server that could not be reached is not tried again."""

STORED_AT_ONCE = 16
"""Entities stored at a time: few, so that the time is checked often."""

OFFLINE, UNREACHABLE = "LOREKEEPER_OFFLINE is set", "Open5e cannot be reached"
UNREACHED = (OFFLINE, UNREACHABLE)
"""Why nothing was asked of Open5e."""

NO_FURTHER = "Open5e has no further matching entries."

ELSEWHERE = "elsewhere"
"""The documents of the lookup are not Open5e's: there is nothing to fetch or to report."""

SIZES = {"spells": 1955, "creatures": 3541, "equipment": 2889, "character_options": 363, "rules": 579}
"""How many entries of each type Open5e had in November 2026."""

SOURCES = ("open5e-v2", "open5e-v1")
"""What `SIZES` counts: the versions of Open5e's interface that entries come from."""

ALL_OF_IT = 0.9
"""Share of `SIZES` from which on a library that was imported from files, never synced, is taken to have everything."""

_NARROWED = {"level": "level", "challenge_rating": "challenge_rating", "armor_class": "armor_class"}
"""Filters of Open5e that take the same values as our fields, which reduces what has to be fetched."""

_BOUNDS = {"min": "__gte", "max": "__lte", "above": "__gte", "below": "__lte"}


@dataclass
class _Fetched:
    """What was fetched for one lookup.

    Attributes:
        by_list: entities by list.
        sent: whether any list but that of the documents was requested.
        complete: whether everything was fetched and stored in time.
        stored: number of entries stored.
        removed: uris of entries that were removed, as in `Outcome`.
        renamed: number of entries that are stored beside the library's own entries of the same key, as in `Outcome`.
    """

    by_list: dict[str, list[Entity]] = field(default_factory=dict)
    sent: bool = False
    complete: bool = True
    stored: int = 0
    removed: set[str] = field(default_factory=set)
    renamed: int = 0

    def note(self) -> str:
        """What happened, in words for the note of a page."""
        if not self.sent:
            return ELSEWHERE
        if self.complete and not self.stored:
            return NO_FURTHER
        verb = "is" if self.renamed == 1 else "are"
        renamed = (
            f" {self.renamed} of them {verb} stored next to your own entries of the same key." if self.renamed else ""
        )
        late = "" if self.complete else "; there was no time to fetch all matches"
        return f"Fetched {quantity(self.stored, 'entry')} from Open5e for this lookup{late}.{renamed}"


@dataclass(frozen=True)
class _Request:
    """A request for one list: its first query, and which entries count."""

    list: Endpoint
    query: str
    conditions: Sequence[Condition] = ()
    documents: Sequence[str] | None = None


class ReadThroughSearcher:
    """A searcher that fetches what a structured lookup needs, if the library was not synced recently.

    Args:
        searcher: answers from the library.
        cache: the library's.
        source: the server to fetch from.
        offline: never fetch; only say what is missing.
    """

    def __init__(self, searcher: Searcher, cache: SearchCache, source: Source, *, offline: bool) -> None:
        self._searcher = searcher
        self._cache = cache
        self._source = source
        self._offline = offline
        self._fetching = asyncio.Lock()
        self._down = -DOWN_SECONDS
        self._latest: tuple[object, SyncState] | None = None
        """Version of the state's file, and the state."""

    @property
    def fetching(self) -> bool:
        """Whether entries are being fetched from the source."""
        return self._fetching.locked()

    async def search(self, query: Query) -> ResultPage:
        """As `Searcher.search`; the note says what was fetched, or what is missing and which command fetches it.

        It also says that entries are old if they cannot be brought up to date. A source that fails raises no error.
        """
        page = await self._search(query)
        note = failing_note(await self._state(), query.types, self._source.days)
        return replace(page, note=" ".join(filter(None, [page.note, note]))) if note else page

    async def _search(self, query: Query) -> ResultPage:
        if query.text is not None or query.similar_to is not None or not endpoints(query.types):  # it has no notes
            return await self._searcher.search(query)
        query = query.resolved()
        page, unknown = await self._answer(query)
        state = await self._state()
        partial = any(key.startswith(f'["{t}"') for key in state.asked for t in query.types)
        if (page and page.total and not page.approximate and not partial) or await self._is_complete(query, state):
            return _page(page, unknown)
        if page and time.time() - state.asked.get(_key(query), 0.0) < self._source.days * 86400:
            return page
        if page and (await self._has_everything(query, state) or await self._cannot_exist(query)):
            return page
        why = self._obstacle()
        if why is None:
            async with self._fetching:
                why = await self._fetch(query)
            self._searcher.documents.forget()
            page, unknown = await self._answer(query)
        return self._noted(query, state, why, page, unknown)

    def _noted(
        self, query: Query, state: SyncState, why: str, page: ResultPage | None, unknown: UnknownDocumentError | None
    ) -> ResultPage:
        """The answer, with what happened and what is missing if a sync would add it."""
        if why == ELSEWHERE or (page and why in UNREACHED and (_is_understood(page) or _was_complete(query, state))):
            return _page(page, unknown)
        note = why if why == NO_FURTHER else _advice(query, why)
        if unknown:
            raise UnknownDocumentError(f"{unknown}. {note}") from unknown
        page = _page(page, None)
        return replace(page, note=" ".join(filter(None, [page.note, note])))

    async def _answer(self, query: Query) -> tuple[ResultPage | None, UnknownDocumentError | None]:
        try:
            return await self._searcher.search(query), None
        except UnknownDocumentError as error:
            return None, error

    def _obstacle(self) -> str | None:
        if self._offline:
            return OFFLINE
        if time.monotonic() - self._down < DOWN_SECONDS:
            return UNREACHABLE
        return None

    # --- what the library has ----------------------------------------------------------------------------------------

    async def _state(self) -> SyncState:
        """The library's sync state; read again when its file has changed."""
        path = self._source.state_path

        def file_version() -> object:
            try:
                status = path.stat()
            except OSError:
                return None
            return status.st_mtime_ns, status.st_size, status.st_ino

        version = await asyncio.to_thread(file_version)
        if self._latest is None or self._latest[0] != version:
            self._latest = version, await asyncio.to_thread(load_state, path, self._source.base_url)
        return self._latest[1]

    async def _is_complete(self, query: Query, state: SyncState) -> bool:
        """Whether the library recently got everything from Open5e that a query may match."""
        names = [e.name for e in _lists(query)]
        if not state.is_recent(names, query.documents, self._source.days):
            return False
        filled = any(state.lists[name].seen for name in names)
        return not filled or any([await self._cache.count_entities(t) for t in query.types])

    async def _has_everything(self, query: Query, state: SyncState) -> bool:
        """Whether a library that was never synced holds as many of its source's entries as there are."""
        if any(state.lists[e.name].whole for e in _lists(query) if e.name in state.lists):
            return False
        counts = {t: await count_entries(self._cache, t, SOURCES) for t in query.types if t in SIZES}
        return bool(counts) and all(number >= ALL_OF_IT * SIZES[t] for t, number in counts.items())

    async def _cannot_exist(self, query: Query) -> bool:
        """Whether a filter asks for what the rules of the game do not have, so that no source has it."""
        return any([await self._searcher.explainer.cannot_exist(t, query.filters) for t in query.types])

    # --- fetching ----------------------------------------------------------------------------------------------------

    async def _fetch(self, query: Query) -> str:
        """Fetch and store what may match a query; returns what happened, in words for the note."""
        path = self._source.state_path
        try:
            async with in_thread(sync_lock(path, LOCK_SECONDS)):
                state = await asyncio.to_thread(load_state, path, self._source.base_url)
                fetched = await self._fetched(query, state)
                await self._store(fetched)
                self._remember(query, state, fetched)
                await asyncio.to_thread(save, path, encode(state))
        except SourceUnavailableError:
            self._down = time.monotonic()
            return UNREACHABLE
        except (SourceError, EmbeddingError, CacheError) as error:
            return f"Nothing could be fetched from Open5e ({error})."
        return fetched.note()

    async def _fetched(self, query: Query, state: SyncState) -> _Fetched:
        """What Open5e has for a query, as far as it arrives in time; the documents first if they are missing."""
        fetched = _Fetched()
        async with Open5eClient(self._source.base_url, connect_seconds=CONNECT_SECONDS, retry_connect=False) as client:
            try:
                async with asyncio.timeout(FETCH_SECONDS):
                    if not state.is_recent(["documents"], None, self._source.days):
                        (documents,) = endpoints(["documents"])
                        await _read(client, _Request(documents, list_query(None, 2)), fetched)
                    requests = _requests(query, _document_keys(fetched, state))
                    fetched.sent = bool(requests)
                    await all_of(_read(client, request, fetched) for request in requests)
            except TimeoutError as error:
                if not client.reached:
                    raise SourceUnavailableError("no answer in time") from error
                fetched.complete = False
        return fetched

    async def _store(self, fetched: _Fetched) -> None:
        """Store what is new, a few entries at a time, while there is time; the documents first."""
        until = time.monotonic() + STORE_SECONDS
        for name in sorted(fetched.by_list, key=lambda name: name != "documents"):
            entities = fetched.by_list[name]
            current: list[Entity] = []
            for start in range(0, len(entities), STORED_AT_ONCE):
                if time.monotonic() > until:
                    fetched.complete = False
                    break
                part = entities[start : start + STORED_AT_ONCE]
                outcome = await store_from_source(self._cache, part[0].type, part)
                current += outcome.stored + outcome.unchanged
                fetched.removed |= set(outcome.removed)
                if name != "documents":
                    fetched.stored += len(part)
                    fetched.renamed += len(outcome.clashes)
            fetched.by_list[name] = current

    def _remember(self, query: Query, state: SyncState, fetched: _Fetched) -> None:
        """Record what was fetched, and which lists are complete; a part of a type is recorded by the query."""
        now = time.time()
        for name, entities in fetched.by_list.items():
            state.of(name).seen |= {e.uri for e in entities}
            state.of(name).seen -= fetched.removed
        if "documents" in fetched.by_list and fetched.complete:
            state.of("documents").whole[ALL] = now
        if fetched.complete and not query.filters:
            for endpoint in _lists(query):
                state.of(endpoint.name).whole.update(dict.fromkeys(query.documents or [ALL], now))
        else:
            state.asked[_key(query)] = now if fetched.complete else 0.0


def _was_complete(query: Query, state: SyncState) -> bool:
    """Whether everything that a query may match was ever read from Open5e."""
    return state.is_recent([e.name for e in _lists(query)], query.documents, time.time() / 86400)


def _is_understood(page: ResultPage) -> bool:
    """Whether a page has the one entry whose name is certainly meant."""
    return page.total > 0 and page.read_as is not None


def _page(page: ResultPage | None, unknown: UnknownDocumentError | None) -> ResultPage:
    if page is None:
        assert unknown is not None
        raise unknown
    return page


def _advice(query: Query, why: str) -> str:
    """The note: what happened, and the command that fetches the rest."""
    at_source = {endpoint.type for endpoint in endpoints(query.types)}
    asked = [t for t in query.types if t in at_source]
    types = [word for t in asked for word in ("--type", t)]
    documents = [word for d in query.documents or [] for word in ("--document", shlex.quote(d))]
    command = one_line(" ".join(["lorekeeper sync open5e", *types, *documents]), MAX_SHOWN)
    what = ", ".join(asked).replace("_", " ")
    sentence = why if why.endswith(".") else f"{why}: the library may not have all {what}."
    run = "Unset it and run" if why == OFFLINE else "Run"
    return f"{sentence} {run} '{command}' to fetch the rest."


def _key(query: Query) -> str:
    """A key for a query, the same for all its pages. It begins with the type."""
    filters = {name: value for name, value in query.filters.items() if value is not None}
    return json.dumps([*query.types, sorted(query.documents or []), filters], sort_keys=True, default=str)


# --- the server ------------------------------------------------------------------------------------------------------


def _lists(query: Query) -> list[Endpoint]:
    """The lists that may have matches for a query: if it names a kind, only lists of that kind."""
    kind = query.filters.get("kind")
    lists = endpoints([t for t in query.types if t in COLLECTIONS])
    return [e for e in lists if not isinstance(kind, str) or callable(e.kind) or fold(e.kind) == fold(kind)]


def _document_keys(fetched: _Fetched, state: SyncState) -> set[str]:
    """Keys of the server's documents."""
    keys = {e.document for e in fetched.by_list.get("documents", [])}
    return keys | {parse_uri(uri)[1] for uri in state.of("documents").seen}


def _requests(query: Query, known_documents: set[str]) -> list[_Request]:
    """The requests for a query; none for a list that has none of the query's documents."""
    conditions = {t: parse_filters(t, query.filters) for t in query.types}
    requests = []
    for endpoint in _lists(query):
        documents = query.documents
        if documents is not None and endpoint.version == 2:
            documents = [key for key in documents if key in known_documents]
        if documents is None or documents:
            tests = conditions[endpoint.type or ""]
            first = list_query(documents, endpoint.version, shared=endpoint.shared, **_narrowed(tests, endpoint))
            requests.append(_Request(endpoint, first, tests, documents))
    return requests


async def _read(client: Open5eClient, request: _Request, fetched: _Fetched) -> None:
    """Read one list, page by page. Its entries are filtered here too: servers ignore filters that they do not support."""
    matching = fetched.by_list.setdefault(request.list.name, [])
    async with aclosing(client.pages(list_path(request.list), request.query)) as pages:
        async for page in pages:
            for obj in page.objects:
                matching += _matching(obj, request)


def _matching(obj: Any, request: _Request) -> list[Entity]:
    try:
        entities = entities_of(obj, request.list)
    except UnknownShapeError:
        return []
    inside = [e for e in entities if request.documents is None or e.document in request.documents]
    return [e for e in inside if matches(e, request.conditions)]


def _narrowed(conditions: Sequence[Condition], endpoint: Endpoint) -> dict[str, str]:
    """Filters for the server, if it certainly reads them as we do: numbers, and the longest word of a name."""
    narrowed: dict[str, str] = {}
    for condition in conditions:
        name = condition.field.name
        if condition.negate or condition.absent or condition.op == "outside":
            continue
        if condition.op == "name":
            word = max(str(condition.values[0]).split(), key=len, default="")
            if word.isascii() and word.isalnum():
                narrowed["name__icontains"] = word
        elif name in _NARROWED and endpoint.version == 2 and len(condition.values) == 1:
            number = condition.values[0]
            scaled = number / 1000 if name == "challenge_rating" and isinstance(number, int) else number
            text = f"{scaled:g}" if isinstance(scaled, float) else str(scaled)
            narrowed[_NARROWED[name] + _BOUNDS.get(condition.op, "")] = text
    return narrowed
