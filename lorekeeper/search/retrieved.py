"""What the retrievers found for one query, before it is fused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from lorekeeper.cache.protocol import Ranked
from lorekeeper.search.fusion import FUSED_BY_SCORE
from lorekeeper.search.relevance import CLOSE
from lorekeeper.search.results import Key

Ranking = dict[Key, Ranked]
"""The ranking of one retriever over all types, best first."""


@dataclass(frozen=True)
class Retrieved:
    """What the retrievers found for one query.

    Attributes:
        semantic: by cosine similarity.
        keyword: by BM25.
        names: by similarity of the name.
        count: number of entries under the filters.
        unavailable: why there was no semantic search, None if there was or none was asked for.
        reworded: whether the query has several wordings.
    """

    semantic: Ranking
    keyword: Ranking
    names: Ranking
    count: int
    unavailable: str | None
    reworded: bool = False

    @cached_property
    def all_ranked(self) -> Ranking:
        """The place of every entry in any of the rankings, if possible in the semantic one, which has passages."""
        return self.names | self.keyword | self.semantic

    @property
    def heads(self) -> list[Key]:
        """The entries that are fused by their scores."""
        rankings = (list(ranking)[:FUSED_BY_SCORE] for ranking in (self.semantic, self.keyword))
        return list(dict.fromkeys([key for ranking in rankings for key in ranking] + list(self.names)))

    def is_close(self, key: Key) -> bool:
        """Whether an entry is close to the query in meaning, or has all its words."""
        meant, worded = self.semantic.get(key), self.keyword.get(key)
        return bool((meant and meant.score >= CLOSE) or (worded and worded.complete))

    def is_lexical(self, best: int) -> bool:
        """Whether the query asks for its very words: it has one wording, and one of so many best hits has all its words."""
        return not self.reworded and self.has_all_words(best)

    def has_all_words(self, best: int) -> bool:
        """Whether one of so many best keyword hits has all words of the query."""
        return any(ranked.complete for ranked in list(self.keyword.values())[:best])


async def over_types(
    types: Sequence[str], rank: Callable[[str], Awaitable[list[Ranked]]], depth: int | None = None
) -> Ranking:
    """One retriever's ranking over several types, best first."""
    tasks = [asyncio.ensure_future(rank(entity_type)) for entity_type in types]
    await finished(*tasks)
    ranking = [((t, ranked.identity), ranked) for t, task in zip(types, tasks, strict=True) for ranked in task.result()]
    ranking.sort(key=lambda item: (-item[1].score, item[0]))
    return dict(ranking[:depth])


async def finished(*tasks: asyncio.Task[object]) -> None:
    """Wait for all tasks, then raise the first error: no task may continue while its caller closes the library."""
    await asyncio.gather(*tasks, return_exceptions=True)
    for task in tasks:
        task.result()
