"""What a lookup without a result says of Open5e: which entries the library may lack, and the command that brings them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.cache.snapshot import apart
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import UnknownDocumentError
from lorekeeper.folding import fold
from lorekeeper.intake.book_tables import count_entries
from lorekeeper.intake.freshness import failing_note
from lorekeeper.intake.sync import endpoints
from lorekeeper.intake.sync_state import Source, SyncState
from lorekeeper.normalize.open5e import Endpoint
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.pipeline import Searcher
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage

SIZES = {"spells": 1955, "creatures": 3541, "equipment": 2889, "character_options": 363, "rules": 579}
"""How many entries of each type Open5e had in November 2026."""

SOURCES = ("open5e-v2", "open5e-v1")
"""What `SIZES` counts: the versions of Open5e's interface that entries come from."""

ALL_OF_IT = 0.9
"""Share of `SIZES` from which on a library that was imported from files, never synced, is taken to have everything."""

EVER = 1.0
"""A moment before every sync, in seconds since 1970."""


class MissNotingSearcher:
    """A searcher whose pages say what a sync would bring, and that entries are old which could not be read again.

    Args:
        searcher: answers from the library.
        cache: the library's.
        source: the server that a sync reads.
        offline: whether nothing may be synced.
    """

    def __init__(self, searcher: Searcher, cache: SearchCache, source: Source, *, offline: bool) -> None:
        self._searcher, self._cache, self._source, self._offline = searcher, cache, source, offline

    async def search(self, query: Query) -> ResultPage:
        """As `Searcher.search`; nothing is asked of the server."""
        state = await apart(_state, self._source)
        try:
            page = await self._searcher.search(query)
        except UnknownDocumentError as error:
            if not self._may_lack(query, state):
                raise
            raise UnknownDocumentError(f"{error}. {self._advice(query)}") from error
        notes = [page.note, failing_note(state, query.types, self._source.days)]
        if self._may_lack(query, state) and not query.documents and await self._is_miss(query, page, state):
            notes.append(self._advice(query))
        return replace(page, note=" ".join(filter(None, notes)) or None)

    def _may_lack(self, query: Query, state: SyncState) -> bool:
        """Whether a lookup is of what Open5e has, and the library never got all of that."""
        if query.text is None and query.similar_to is None and endpoints(query.types):  # it has no notes
            return not all(state.of(each.name).is_whole(query.documents, EVER) for each in _lists(query))
        return False

    async def _is_miss(self, query: Query, page: ResultPage, state: SyncState) -> bool:
        """Whether a page lacks what was asked for, though it can exist, and the library has not everything."""
        if page.total and (page.read_as is not None or not page.approximate):
            return False
        query = query.resolved()
        if any([await self._searcher.explainer.cannot_exist(each, query.filters) for each in query.types]):
            return False
        if any(state.of(each.name).whole for each in _lists(query)):
            return True
        counts = {each: await count_entries(self._cache, each, SOURCES) for each in query.types if each in SIZES}
        return not counts or any(number < ALL_OF_IT * SIZES[each] for each, number in counts.items())

    def _advice(self, query: Query) -> str:
        """What is missing, and the command that brings it."""
        at_source = {endpoint.type for endpoint in endpoints(query.types)}
        asked = [each for each in query.types if each in at_source]
        everything = at_source >= SIZES.keys()
        types = [word for each in asked for word in ("--type", each) if not everything]
        documents = [word for each in query.documents or [] for word in ("--document", shlex.quote(each))]
        command = one_line(" ".join(["lorekeeper sync open5e", *types, *documents]), MAX_SHOWN)
        run = "LOREKEEPER_OFFLINE is set: unset it and run" if self._offline else "Run"
        lacking = "of Open5e" if everything else ", ".join(asked).replace("_", " ")
        return f"The library may not have all {lacking}. {run} '{command}' to fetch the rest."


def _state(source: Source) -> SyncState:
    """The library's sync state; read again when its file has changed."""
    try:
        status = source.state_path.stat()
    except OSError:
        return source.known()
    return _read(source, (status.st_mtime_ns, status.st_size, status.st_ino))


@lru_cache(1)
def _read(source: Source, _: object) -> SyncState:
    return source.known()


def _lists(query: Query) -> Sequence[Endpoint]:
    """The lists that may have matches for a query: if it names a kind, only lists of that kind."""
    kind = query.filters.get("kind")
    lists = endpoints([each for each in query.types if each in COLLECTIONS])
    return [e for e in lists if not isinstance(kind, str) or callable(e.kind) or fold(e.kind) == fold(kind)]
