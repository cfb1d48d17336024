"""Pages that were searched for a moment ago: at a table the same is asked by several people, and page after page."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import SEARCHED
from lorekeeper.errors import CacheError
from lorekeeper.order import RANDOM
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage

KEPT = 128
"""Most pages that are kept."""

KEPT_SECONDS = 60.0
"""How long a page is kept: filters may be relative to the time, as in "changed within 7 days"."""


class PageCache:
    """Pages by what was asked, kept as long as the library does not change.

    Args:
        cache: the library's entries; it says when they have changed.
        enabled: whether pages are kept; not where others have a say in them, such as a reranker.
    """

    def __init__(self, cache: SearchCache, *, enabled: bool = True) -> None:
        self._cache, self._enabled = cache, enabled
        self._pages: OrderedDict[str, tuple[object, float, ResultPage]] = OrderedDict()

    async def page(self, query: Query, search: Callable[[Query], Awaitable[ResultPage]]) -> ResultPage:
        """The page of a query: as it was if nothing has changed since, else as ``search`` makes it."""
        versions = await self._versions(query) if self._enabled and _is_repeatable(query) else None
        if versions is None:
            return await search(query)
        key, now = json.dumps(vars(query), sort_keys=True, default=repr), time.monotonic()
        known = self._pages.get(key)
        if known and known[0] == versions and now - known[1] < KEPT_SECONDS:
            self._pages.move_to_end(key)
            return known[2]
        page = await search(query)
        if _is_complete(query, page):
            self._pages[key] = versions, now, page
            while len(self._pages) > KEPT:
                self._pages.popitem(last=False)
        return page

    async def _versions(self, query: Query) -> object | None:
        """A value that changes whenever an entry does that the page may have; None if that cannot be said."""
        with suppress(CacheError):
            ranked = (
                SEARCHED if query.text is not None and query.unsure_limit is not None else ()
            )  # what is nearer may be of another type
            return await self._cache.versions([*dict.fromkeys([*query.types, *ranked]), "documents"])
        return None


def _is_repeatable(query: Query) -> bool:
    """Whether the same question has the same answer as long as the entries of its types do not change."""
    is_drawn = query.order is not None and RANDOM in query.order.casefold() and query.seed is None
    is_like_another = query.similar_to is not None or any("lore://" in wording for wording in query.wordings)
    return not (query.explain or is_drawn or is_like_another)


def _is_complete(query: Query, page: ResultPage) -> bool:
    """Whether a page was made by all that it was to be made by: without a model it would be other than with it."""
    return query.text is None or query.mode == "keyword" or bool(query.phrases) or page.mode != "keyword"
