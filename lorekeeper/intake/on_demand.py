"""Lookups that find nothing on a shelf that was never filled: what they need is fetched from Open5e, stored, and answered.

Only what a lookup asks for is stored, and that within seconds: embedding a whole book takes minutes. So what is here of a type
may be a part, and a part is never taken for the whole: until a sync has brought all of it, each new lookup asks again.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from lorekeeper.cache.protocol import CacheProtocol
from lorekeeper.entities import COLLECTIONS, Entity, fold, parse_uri
from lorekeeper.errors import CacheError, EmbeddingError, SourceError, SourceUnavailableError, UnknownDocumentError
from lorekeeper.filters import Condition, matches, parse_filters
from lorekeeper.intake.open5e import Open5eClient, list_query
from lorekeeper.intake.sync import endpoints, entities_of, list_path, one_at_a_time, store_from_source
from lorekeeper.intake.sync_state import ALL, Source, SyncState, encode, load_state, save
from lorekeeper.normalize import UnknownShapeError
from lorekeeper.normalize.open5e import Endpoint
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.pipeline import Query, Searcher
from lorekeeper.search.results import ResultPage

FETCH_SECONDS = 12.0
STORE_SECONDS = 12.0
"""What a lookup may take longer, so that no client gives up on it."""

CONNECT_SECONDS = 0.4
"""Longest wait for a connection: an answer without a network is due within a second."""

DOWN_SECONDS = 60.0
"""How long a server that could not be reached is not asked again."""

STORED_AT_ONCE = 16

ELSEWHERE = "elsewhere"
"""The documents asked for are none of Open5e's: there is nothing to fetch or to tell."""

_NARROWED = {
    "level": "level",
    "challenge_rating": "challenge_rating",
    "armor_class": "armor_class",
}
"""Filter fields that Open5e filters by under the same values, so that less has to be fetched."""

_BOUNDS = {"min": "__gte", "max": "__lte"}


@dataclass
class _Fetched:
    """What was fetched for one lookup: entities by list, whether any list was asked, and whether all came in time."""

    found: dict[str, list[Entity]] = field(default_factory=dict)
    asked: bool = False
    complete: bool = True
    stored: int = 0
    gone: set[str] = field(default_factory=set)
    """Uris of entries that were removed, as in `Outcome`."""
    apart: int = 0
    """Entities that are kept apart from the library's own entries, as in `Outcome`."""


class Misses:
    """A searcher that fetches what a structured lookup needs where the library was never filled, or long ago.

    Args:
        searcher: answers from the library.
        cache: the library's.
        source: where to fetch from.
        offline: never fetch; only say what is missing.
    """

    def __init__(self, searcher: Searcher, cache: CacheProtocol, source: Source, *, offline: bool) -> None:
        self._searcher = searcher
        self._cache = cache
        self._source = source
        self._offline = offline
        self._one = asyncio.Lock()
        self._down = -DOWN_SECONDS
        self._read: tuple[object, SyncState] | None = None

    async def search(self, query: Query) -> ResultPage:
        """As `Searcher.search`; the note says what was fetched, or what is missing and which command brings it.

        Never raises because of the source: without it, the answer is what the library has.
        """
        if query.text is not None:
            return await self._searcher.search(query)
        page, unknown = await self._answer(query)
        state = await self._state()
        partial = any(key.startswith(f'["{t}"') for key in state.asked for t in query.types)
        if (page and page.total and not partial) or await self._is_whole(query, state):
            return _page(page, unknown)
        if page and time.time() - state.asked.get(_key(query), 0.0) < self._source.days * 86400:
            return page
        why = self._obstacle()
        if why is None:
            async with self._one:
                why = await self._fetch(query)
            self._searcher.documents.forget()
            page, unknown = await self._answer(query)
        if why == ELSEWHERE:
            return _page(page, unknown)
        if unknown:
            raise UnknownDocumentError(f"{unknown}. {self._missing(query, why)}") from unknown
        page = _page(page, None)
        return replace(page, note=" ".join([*([page.note] if page.note else []), self._missing(query, why)]))

    async def _answer(self, query: Query) -> tuple[ResultPage | None, UnknownDocumentError | None]:
        try:
            return await self._searcher.search(query), None
        except UnknownDocumentError as error:
            return None, error

    def _obstacle(self) -> str | None:
        if self._offline:
            return "LOREKEEPER_OFFLINE is set"
        if time.monotonic() - self._down < DOWN_SECONDS:
            return "Open5e cannot be reached"
        return None

    def _missing(self, query: Query, why: str) -> str:
        """The note: what happened, and the command that brings all of it."""
        types = [word for t in query.types for word in ("--type", t)]
        documents = [word for d in query.documents or [] for word in ("--document", d)]
        command = one_line(" ".join(["lorekeeper sync open5e", *types, *documents]), MAX_SHOWN)
        what = ", ".join(query.types).replace("_", " ")
        return f"{why if why.endswith('.') else f'{why}: not all {what} are here.'} '{command}' brings all."

    # --- what is known -----------------------------------------------------------------------------------------------

    async def _state(self) -> SyncState:
        """The library's sync state; read again when its file has changed."""
        path = self._source.state_path

        def look() -> object:
            try:
                seen = path.stat()
            except OSError:
                return None
            return seen.st_mtime_ns, seen.st_size, seen.st_ino

        version = await asyncio.to_thread(look)
        if self._read is None or self._read[0] != version:
            self._read = version, await asyncio.to_thread(load_state, path, self._source.base_url)
        return self._read[1]

    async def _is_whole(self, query: Query, state: SyncState) -> bool:
        """Whether the library has all that Open5e has of what a query asks for, and not from long ago."""
        names = [e.name for e in _lists(query)]
        if not state.fresh(names, query.documents, self._source.days):
            return False
        seen = any(state.lists[name].seen for name in names)
        return not seen or any([await self._cache.count_entities(t) for t in query.types])

    # --- fetching ----------------------------------------------------------------------------------------------------

    async def _fetch(self, query: Query) -> str:
        """Fetch and store what a query asks for; what happened, in words for the note."""
        try:
            with one_at_a_time(self._source.state_path):
                state = await asyncio.to_thread(load_state, self._source.state_path, self._source.base_url)
                fetched = await self._fetched(query, state)
                await self._store(fetched)
                self._remember(query, state, fetched)
                await asyncio.to_thread(save, self._source.state_path, encode(state))
        except SourceUnavailableError:
            self._down = time.monotonic()
            return "Open5e cannot be reached"
        except (SourceError, EmbeddingError, CacheError) as error:
            return f"Nothing could be fetched from Open5e ({error})."
        if not fetched.asked:
            return ELSEWHERE
        apart = f" {fetched.apart} of them kept apart from your own entries of the same key." if fetched.apart else ""
        if not fetched.complete:
            return (
                f"Fetched {fetched.stored} entries from Open5e for this lookup, and not all that fit, for lack of time."
                f"{apart}"
            )
        if not fetched.stored:
            return "Open5e was asked and has nothing more that fits."
        return f"Fetched {fetched.stored} entries from Open5e for this lookup.{apart}"

    async def _fetched(self, query: Query, state: SyncState) -> _Fetched:
        """What Open5e has of what a query asks for, as far as it comes in time; the documents too where they are not here."""
        fetched = _Fetched()
        conditions = {t: parse_filters(t, query.filters) for t in query.types}
        async with Open5eClient(self._source.base_url, connect_seconds=CONNECT_SECONDS, patient=False) as client:
            try:
                async with asyncio.timeout(FETCH_SECONDS):
                    if not state.fresh(["documents"], None, self._source.days):
                        (listed,) = endpoints(["documents"])
                        await self._read_list(client, listed, list_query(None, 2), (), None, fetched)
                    known = {e.document for e in fetched.found.get("documents", [])}
                    known |= {parse_uri(uri)[1] for uri in state.of("documents").seen}
                    reading = []
                    for listed in _lists(query):
                        wanted = query.documents
                        if wanted is not None and listed.version == 2:
                            wanted = [key for key in wanted if key in known]
                        if wanted is None or wanted:
                            fetched.asked = True
                            own = conditions[listed.type or ""]
                            first = list_query(wanted, listed.version, **_narrowed(own, listed))
                            reading.append(self._read_list(client, listed, first, own, wanted, fetched))
                    await asyncio.gather(*reading)
            except TimeoutError as error:
                if not client.reached:
                    raise SourceUnavailableError("no answer in time") from error
                fetched.complete = False
        return fetched

    async def _read_list(
        self,
        client: Open5eClient,
        listed: Endpoint,
        first: str,
        conditions: Sequence[Condition],
        documents: Sequence[str] | None,
        fetched: _Fetched,
    ) -> None:
        """The entries of one list that hold under the conditions: servers pass over filters that they do not know."""
        found = fetched.found.setdefault(listed.name, [])
        async with aclosing(client.pages(list_path(listed), first)) as pages:
            async for page in pages:
                for obj in page.objects:
                    try:
                        entities = entities_of(obj, listed)
                    except UnknownShapeError:
                        continue
                    inside = [e for e in entities if documents is None or e.document in documents]
                    found += [e for e in inside if matches(e, conditions)]

    async def _store(self, fetched: _Fetched) -> None:
        """Store what is new, a few at a time, while there is time; the documents first."""
        until = time.monotonic() + STORE_SECONDS
        for name in sorted(fetched.found, key=lambda name: name != "documents"):
            entities = fetched.found[name]
            kept: list[Entity] = []
            for start in range(0, len(entities), STORED_AT_ONCE):
                if time.monotonic() > until:
                    fetched.complete = False
                    break
                part = entities[start : start + STORED_AT_ONCE]
                outcome = await store_from_source(self._cache, part[0].type, part)
                kept += outcome.stored + outcome.unchanged
                fetched.gone |= set(outcome.removed)
                if name != "documents":
                    fetched.stored += len(part)
                    fetched.apart += len(outcome.clashes)
            fetched.found[name] = kept

    def _remember(self, query: Query, state: SyncState, fetched: _Fetched) -> None:
        """Note what came, and what was whole. What is there of a type in part is marked by what was asked for it."""
        now = time.time()
        for name, entities in fetched.found.items():
            state.of(name).seen |= {e.uri for e in entities}
            state.of(name).seen -= fetched.gone
        if "documents" in fetched.found and fetched.complete:
            state.of("documents").whole[ALL] = now
        if fetched.complete and not query.filters:
            for listed in _lists(query):
                state.of(listed.name).whole.update(dict.fromkeys(query.documents or [ALL], now))
        else:
            state.asked[_key(query)] = now if fetched.complete else 0.0


def _page(page: ResultPage | None, unknown: UnknownDocumentError | None) -> ResultPage:
    if page is None:
        assert unknown is not None
        raise unknown
    return page


def _key(query: Query) -> str:
    """What a query asks for, whatever page of it. It begins with the type."""
    filters = {name: value for name, value in query.filters.items() if value is not None}
    return json.dumps([*query.types, sorted(query.documents or []), filters], sort_keys=True, default=str)


def _lists(query: Query) -> list[Endpoint]:
    """The lists that may hold what a query asks for: where it names a kind, those of that kind."""
    kind = query.filters.get("kind")
    found = endpoints([t for t in query.types if t in COLLECTIONS])
    return [e for e in found if not isinstance(kind, str) or callable(e.kind) or fold(e.kind) == fold(kind)]


def _narrowed(conditions: Sequence[Condition], listed: Endpoint) -> dict[str, str]:
    """Filters for the server, as far as it surely understands them as we do: numbers, and the longest word of a name."""
    narrowed: dict[str, str] = {}
    for condition in conditions:
        name = condition.field.name
        if condition.op == "name":
            word = max(str(condition.values[0]).split(), key=len, default="")
            if word.isascii() and word.isalnum():
                narrowed["name__icontains"] = word
        elif name in _NARROWED and listed.version == 2 and len(condition.values) == 1:
            number = condition.values[0]
            scaled = number / 1000 if name == "challenge_rating" and isinstance(number, int) else number
            narrowed[_NARROWED[name] + _BOUNDS.get(condition.op, "")] = (
                f"{scaled:g}" if isinstance(scaled, float) else str(scaled)
            )
    return narrowed
