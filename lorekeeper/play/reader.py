"""What is read of a library at the table, whoever reads it."""

from __future__ import annotations

from typing import Protocol

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import Entity
from lorekeeper.search.pipeline import Searcher
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage


class Reader(Protocol):
    """A library as one viewer sees it, which `views.view.View` is.

    Attributes:
        cache: the entries that the viewer sees.
        searcher: searches them.
    """

    cache: SearchCache
    searcher: Searcher

    async def search(self, query: Query) -> ResultPage:
        """The page of hits of a query."""
        ...

    async def entities_at(self, entity_type: str, document: str, slug: str) -> list[Entity]:
        """The entries at an address, [] for none."""
        ...

    async def refresh(self) -> str:
        """Read what has changed in folders of notes; what went wrong, or ""."""
        ...
