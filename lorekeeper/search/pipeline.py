"""The search pipeline: structured, semantic and keyword, over one type or several, from a question to a page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from lorekeeper.cache.protocol import CacheProtocol, Identity, Ranked
from lorekeeper.entities import COLLECTIONS, Entity, fold, parse_uri
from lorekeeper.errors import EmbeddingError, FilterError
from lorekeeper.filters import collection_of, require_unicode
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.documents import Scopes, Shelf
from lorekeeper.search.expansion import expanded_keywords, expanded_text
from lorekeeper.search.fusion import HEAD, Place, fuse
from lorekeeper.text.excerpts import entity_excerpt, excerpt
from lorekeeper.text.facts import facts
from lorekeeper.text.keywords import content_words
from lorekeeper.text.names import canonical_name
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import STARTER_DOCUMENT

logger = logging.getLogger(__name__)

Mode = Literal["structured", "semantic", "hybrid", "keyword"]
Match = Literal["semantic", "keyword", "name"]
Key = tuple[str, Identity]
"""(type, identity)."""

Side = dict[Key, Ranked]
"""One side's ranking, best first."""

MAX_QUERY_CHARS = 2000
MAX_LIMIT = 50

DEPTHS = (HEAD, 4 * HEAD, 16 * HEAD, 64 * HEAD, 256 * HEAD)
"""How many entries each side ranks: the smallest that holds the page. The head is always the same, so that pages fit."""

NOISE = ((0.50, 0.34), (0.45, 0.50), (0.35, 0.67), (0.32, 1.0))
"""A query is noise where its best cosine similarity is below the first number of a pair and at most the second number's
share of its words occurs on the shelf: found between nonsense and the hardest real questions."""

LITERAL_HITS = 3
"""A query is taken by its words where one of so many best keyword hits holds all that carry meaning."""

LARGE_SHELF = 300
"""Entries from which on a word that does not occur says something about a query."""

NOTHING_CLOSE = "Nothing on the shelf comes close to this query. Describe it in other words, or give its name."


@dataclass(frozen=True)
class Query:
    """One question.

    Attributes:
        types: the entity types to search.
        text: what is meant, in plain words; a ``lore://`` uri for more entries like that one; None for a structured lookup.
        filters: as `filters.parse_filters` reads them.
        documents: keys of the only documents to search; None for all.
        limit: results a page, 1 to 50.
        offset: results to pass over.
        mode: "auto" fuses all sides there are; "semantic" and "keyword" force one.
    """

    types: Sequence[str]
    text: str | None = None
    filters: Mapping[str, Any] = field(default_factory=dict)
    documents: Sequence[str] | None = None
    limit: int = 10
    offset: int = 0
    mode: Literal["auto", "semantic", "keyword"] = "auto"


@dataclass(frozen=True)
class Result:
    """One entry of a page.

    Attributes:
        entity: the whole entry.
        document_name: title of its source document.
        score: 0 to 1, higher is better, comparable within a page's query only; None where nothing was ranked.
        match: the side that placed it highest; None in a lookup by filters alone.
        facts: its key facts in one line, and the other documents that hold a variant of it.
        snippet: the text that matched, or the beginning.
    """

    entity: Entity
    document_name: str
    score: float | None
    match: Match | None
    facts: str
    snippet: str


@dataclass(frozen=True)
class Page:
    """Results, best first.

    Attributes:
        results: at most ``limit``.
        total: entries found: under the filters, or ranked.
        mode: which sides were asked.
        next_offset: where the next page begins, None on the last one.
        note: what the asker should know, None when all went as asked.
    """

    results: list[Result]
    total: int
    mode: Mode
    next_offset: int | None = None
    note: str | None = None


class Searcher:
    """Asks a cache and makes pages of what it answers."""

    def __init__(self, cache: CacheProtocol) -> None:
        self._cache = cache
        self.shelf = Shelf(cache)

    async def search(self, query: Query) -> Page:
        """Answer one question.

        Raises:
            FilterError: an empty or overlong text, an unknown type, field or document, a limit out of range.
            EmbeddingError: only where ``mode`` forces the semantic side; "auto" falls back and says so in the note.
            CacheError: the library cannot be read.
        """
        _check(query)
        if query.text is not None and query.text.strip().startswith("lore://"):
            return await self._similar(query, query.text.strip())
        scopes = await self.shelf.scopes(query.types, query.documents)
        return await (
            self._structured(query, scopes) if query.text is None else self._ranked(query, query.text, scopes)
        )

    async def _structured(self, query: Query, scopes: Scopes) -> Page:
        names = await self.shelf.names()
        results: list[Result] = []
        total, skip = 0, query.offset
        for entity_type in query.types:
            documents = scopes[entity_type]
            count = await self._cache.count_entities(entity_type, documents, **query.filters)
            missing = query.limit - len(results)
            if missing and skip < count:
                found = await self._cache.get_entities(
                    entity_type, documents, limit=missing, offset=skip, **query.filters
                )
                by_name: Match | None = "name" if query.filters.get("name") else None
                results += [_result(e, names, None, by_name) for e in found]
            skip = max(skip - count, 0)
            total += count
        return Page(results, total, "structured", _next(query, len(results), total))

    async def _ranked(self, query: Query, text: str, scopes: Scopes) -> Page:
        depth = next(d for d in DEPTHS if d >= query.offset + query.limit or d == DEPTHS[-1])
        (semantic, missing), keyword, names, count = await _together(
            self._meaning(query, text, depth, scopes),
            self._words(query, text, depth, scopes),
            self._names(query, text, scopes),
            self._count(query, scopes),
        )
        note = missing and f"Searched by keywords and filters only, since meaning could not be: {missing}"
        mode: Mode = (
            "keyword" if note or query.mode == "keyword" else "semantic" if query.mode == "semantic" else "hybrid"
        )
        if mode == "hybrid" and not names and not query.filters and await self._is_noise(query, text, semantic, count):
            return Page([], 0, mode, note=NOTHING_CLOSE)
        ages, named = await self.shelf.ages(), names | keyword | semantic
        order = fuse(
            *([(key, place.score) for key, place in side.items()] for side in (semantic, keyword, names)),
            literal=any(place.complete for place in list(keyword.values())[:LITERAL_HITS]),
            group=lambda key: (key[0], canonical_name(named[key].name)),
            preference=lambda key: _newest_first(key, query.documents, ages),
        )
        total = len(order) if mode == "keyword" else max(count, len(order))
        chosen = order[query.offset : query.offset + query.limit]
        results = await self._load(chosen, semantic, text)
        return Page(results, total, mode, _next(query, len(chosen), total), note)

    async def _similar(self, query: Query, uri: str) -> Page:
        """More like one entry: what is nearest in meaning to how it begins, itself and its variants left out."""
        try:
            entity_type, document, slug = parse_uri(uri)
        except ValueError as error:
            raise FilterError(str(error)) from error
        entity = await self._cache.get_entity(entity_type, document, slug)
        if entity is None:
            raise FilterError(f"there is no {one_line(uri, MAX_SHOWN)} in the library; take uris from search results")
        like = replace(query, text=passages(entity)[0].text[:MAX_QUERY_CHARS], mode="semantic", limit=query.limit + 1)
        scopes = await self.shelf.scopes(query.types, query.documents)
        page = await self._ranked(like, like.text or entity.name, scopes)
        own = entity_type, canonical_name(entity.name)
        results = [r for r in page.results if (r.entity.type, canonical_name(r.entity.name)) != own][: query.limit]
        note = f"Entries like {entity.name} ({names_of(entity)})."
        return Page(results, page.total, page.mode, _next(query, len(results), page.total), note)

    async def _meaning(self, query: Query, text: str, depth: int, scopes: Scopes) -> tuple[Side, str | None]:
        """The semantic side; the reason in words where there are no embeddings and the query can do without."""
        if query.mode == "keyword":
            return {}, None
        try:
            return await self._side(self._cache.rank_semantic, query, expanded_text(text), scopes, depth), None
        except EmbeddingError as error:
            if query.mode == "semantic":
                raise
            logger.warning("no semantic search: %s", error)
            return {}, str(error)

    async def _words(self, query: Query, text: str, depth: int, scopes: Scopes) -> Side:
        if query.mode == "semantic":
            return {}
        return await self._side(self._cache.rank_keyword, query, expanded_keywords(text), scopes, depth)

    async def _names(self, query: Query, text: str, scopes: Scopes) -> Side:
        return {} if query.mode == "semantic" else await self._side(self._cache.rank_names, query, text, scopes, None)

    async def _side(self, ask: Any, query: Query, text: Any, scopes: Scopes, depth: int | None) -> Side:
        """One side's ranking over all types, best first."""
        size = () if depth is None else (depth,)
        rankings = await _together(*(ask(t, text, *size, scopes[t], **query.filters) for t in query.types))
        places = [((t, r.identity), r) for t, ranking in zip(query.types, rankings, strict=True) for r in ranking]
        places.sort(key=lambda place: (-place[1].score, place[0]))
        return dict(places[:depth])

    async def _count(self, query: Query, scopes: Scopes) -> int:
        if not query.filters:
            return await self.shelf.count(scopes)
        return sum([await self._cache.count_entities(t, scopes[t], **query.filters) for t in query.types])

    async def _is_noise(self, query: Query, text: str, semantic: Side, count: int) -> bool:
        """Whether a text has nothing to do with the shelf: little similarity, and most of its words are unknown there."""
        closest = max((place.score for place in semantic.values()), default=0.0)
        if closest >= NOISE[0][0] or count < LARGE_SHELF:
            return False
        words = content_words(fold(text))
        known = set[str]().union(*[await self._cache.known_words(t, words) for t in query.types])
        share = len(known) / len(words) if words else 0.0
        return any(closest < similarity and share <= most for similarity, most in NOISE)

    async def _load(self, chosen: Sequence[Place[Key]], semantic: Side, text: str) -> list[Result]:
        names = await self.shelf.names()
        keys = [place.key for place in chosen]
        entities: dict[Key, Entity] = {}
        for entity_type in dict.fromkeys(t for t, _ in keys):
            wanted = [identity for t, identity in keys if t == entity_type]
            entities |= {(entity_type, e.identity): e for e in await self._cache.load(entity_type, wanted)}
        results = []
        for place, key in zip(chosen, keys, strict=True):
            if key in entities:
                also = tuple(dict.fromkeys(document for _, (document, _) in place.variants if document != key[1][0]))
                shown = (semantic[key].passage, semantic[key].section) if key in semantic else ("", "")
                results.append(_result(entities[key], names, place.score, place.side, *shown, text, also))
        return results


def names_of(entity: Entity) -> str:
    """Where an entry is from, for a note."""
    return entity.document_name or entity.document


async def _together(*asked: Awaitable[Any]) -> list[Any]:
    """Await all; the first error is raised when every one has ended, so that none works on behind a closed library."""
    answers = await asyncio.gather(*asked, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return answers


def _newest_first(key: Key, asked: Sequence[str] | None, ages: Mapping[str, int]) -> tuple[bool, int, int]:
    """Which of several variants stands for all: the document asked for first, else the newest; the starter's comes last."""
    document = key[1][0]
    place = list(asked).index(document) if asked and document in asked else 0
    return document == STARTER_DOCUMENT, place, ages.get(document, len(ages))


def _check(query: Query) -> None:
    for entity_type in query.types:
        collection_of(entity_type)
    if not query.types:
        raise FilterError(f"no type to search; known: {', '.join(COLLECTIONS)}")
    if query.text is not None and not query.text.strip():
        raise FilterError("the query is empty; say in a few words what you are looking for")
    for what, text in [("the query", query.text or ""), *(("documents", key) for key in query.documents or ())]:
        require_unicode(what, text)
    if query.text is not None and len(query.text) > MAX_QUERY_CHARS:
        raise FilterError(
            f"the query has {len(query.text):,} characters, at most {MAX_QUERY_CHARS:,} are read; ask in a sentence or two"
        )
    if not 1 <= query.limit <= MAX_LIMIT:
        raise FilterError(f"limit must be 1 to {MAX_LIMIT}, not {query.limit}")
    if query.offset < 0:
        raise FilterError(f"offset must be 0 or more, not {query.offset}")


def _next(query: Query, shown: int, total: int) -> int | None:
    following = query.offset + shown
    return following if shown and following < total else None


def _result(
    entity: Entity,
    names: Mapping[str, str],
    score: float | None,
    match: Match | None,
    passage: str = "",
    section: str = "",
    text: str = "",
    also_in: tuple[str, ...] = (),
) -> Result:
    return Result(
        entity=entity,
        document_name=names.get(entity.document) or entity.document_name or entity.document,
        score=None if score is None else round(score, 4),
        match=match,
        facts=" · ".join([facts(entity), *([f"also in {', '.join(also_in)}"] if also_in else [])]),
        snippet=excerpt(passage, section, text) if passage else entity_excerpt(entity, text),
    )
