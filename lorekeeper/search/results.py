"""What a search returns: entries with their source, score, facts and snippet, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.entities import Entity
from lorekeeper.search.fusion import FusedHit, Retriever
from lorekeeper.text.excerpts import entity_excerpt, excerpt
from lorekeeper.text.facts import SEPARATOR, facts

Mode = Literal["structured", "semantic", "hybrid", "keyword"]

Key = tuple[str, Identity]
"""(type, identity) of an entity."""


@dataclass(frozen=True)
class Result:
    """One entry of a page.

    Attributes:
        entity: the whole entry.
        document_name: title of its source document.
        score: 0 to 1, higher is better, comparable within one query only; None in a lookup by filters alone.
        match: the retriever that contributed most; None in a lookup by filters alone.
        facts: its key facts in one line, and the other documents that have a duplicate of it.
        snippet: the text that matched, or the beginning.
        edition: code of its document's edition, "" if that is unknown.
    """

    entity: Entity
    document_name: str
    score: float | None
    match: Retriever | None
    facts: str
    snippet: str
    edition: str = ""


@dataclass(frozen=True)
class ResultPage:
    """Results, best first.

    Attributes:
        results: at most ``limit``.
        total: number of entries under the filters, or of those that were ranked.
        mode: the retrievers that were used.
        next_offset: where the next page begins, None on the last one.
        note: what the reader should know, None if there is nothing to say.
        approximate: whether the results of a lookup by name only have names like the one that was asked for.
    """

    results: list[Result]
    total: int
    mode: Mode
    next_offset: int | None = None
    note: str | None = None
    approximate: bool = False


def unranked_result(entity: Entity, titles: Mapping[str, str], match: Retriever | None) -> Result:
    """An entry of a structured lookup; ``titles`` has the title of each document by key."""
    return Result(entity, _title(entity, titles), None, match, facts(entity), entity_excerpt(entity, ""))


def ranked_result(
    entity: Entity, hit: FusedHit[Key], titles: Mapping[str, str], nearest: Ranked | None, text: str
) -> Result:
    """A hit as a result.

    Args:
        entity: the entity of the hit.
        hit: its place in the fused ranking, and its duplicates.
        titles: of the documents, by key.
        nearest: its place in the semantic ranking with the passage nearest to the query, None if it has none.
        text: the query.
    """
    elsewhere = dict.fromkeys(document for _, (document, _) in hit.duplicates if document != entity.document)
    also = [f"also in {', '.join(elsewhere)}"] if elsewhere else []
    return Result(
        entity=entity,
        document_name=_title(entity, titles),
        score=round(hit.score, 4),
        match=hit.retriever,
        facts=SEPARATOR.join([facts(entity), *also]),
        snippet=_snippet(entity, nearest, text),
    )


def _snippet(entity: Entity, nearest: Ranked | None, text: str) -> str:
    if nearest and nearest.passage:
        return excerpt(nearest.passage, nearest.section, text)
    return entity_excerpt(entity, text)


def _title(entity: Entity, titles: Mapping[str, str]) -> str:
    return titles.get(entity.document) or entity.document_name or entity.document
