"""The search pipeline: from a query to a page of results, by filters, meaning, keywords and names."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import Entity, parse_uri
from lorekeeper.errors import EmbeddingError, FilterError
from lorekeeper.filters import WHERE
from lorekeeper.measures import timed
from lorekeeper.order import BY_NAME, Order, parse_orders
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search import by_name, unfinished
from lorekeeper.search.absent import NEAREST, Absent, absent
from lorekeeper.search.asked_type import asked_type
from lorekeeper.search.coverage import occurring, topic_of, unknown_words
from lorekeeper.search.documents import DocumentRegistry, Scopes
from lorekeeper.search.editions import editions_first, with_editions
from lorekeeper.search.expansion import expanded_keywords
from lorekeeper.search.explain import Explainer, explanation_of, with_filters
from lorekeeper.search.features import with_features
from lorekeeper.search.fusion import FUSED_BY_SCORE, FusedHit, Retriever
from lorekeeper.search.grouping import ALONE, GROUPED, WINDOW, family_labels, places
from lorekeeper.search.intent import stated_conditions, type_asked_for
from lorekeeper.search.languages import foreign_note, in_language, language_of
from lorekeeper.search.mentioned import with_named
from lorekeeper.search.nothing import why_nothing
from lorekeeper.search.pages import PageCache
from lorekeeper.search.query import MAX_PHRASED, Query, check
from lorekeeper.search.raised import with_raised_notes
from lorekeeper.search.relevance import FEW, relevant
from lorekeeper.search.results import Asked, Key, Mode, Result, ResultPage, ranked_result, unranked_result
from lorekeeper.search.retrieved import Ranking, Retrieved, finished, fused, over_types
from lorekeeper.search.shelves import NOTES
from lorekeeper.search.sorting import REPEAT, SORTED, drawn_seed, order_hint, sorted_hits
from lorekeeper.search.stated_edition import with_stated_edition
from lorekeeper.search.unfinished import completed
from lorekeeper.search.values import ValueRegistry
from lorekeeper.search.wordings import by_meaning, described
from lorekeeper.text.evidence import lengths
from lorekeeper.text.names import canonical_name

if TYPE_CHECKING:
    from lorekeeper.search.rerank import Reranker

logger = logging.getLogger(__name__)

DEPTHS = tuple(factor * FUSED_BY_SCORE for factor in (1, 4, 16, 64, 256))
"""How many entries each retriever ranks: the smallest number that reaches the end of the page.

The head is always the same, so that pages join without overlap or gap."""

STATED = "Read from the query: where='{}'. Say it in other words to search by meaning alone."

NOTHING_CLOSE = "Nothing in the library is close to this query. Rephrase it, or give the name of the entry."


class Searcher:
    """Searches a cache, and makes pages of results.

    Args:
        cache: the library's entries.
        edition: editions and documents that come first among entries of one name, as `editions.parse_edition` gives them.
        reranker: a server whose order of the best hits is used; None for none.
    """

    def __init__(self, cache: SearchCache, edition: Sequence[str] = (), reranker: Reranker | None = None) -> None:
        self._cache = cache
        self._reranker = reranker
        self.documents = DocumentRegistry(cache, edition)
        self.values = ValueRegistry(cache)
        self.explainer = Explainer(cache, self.values)
        self._pages = PageCache(cache, enabled=reranker is None)

    @property
    def cache(self) -> SearchCache:
        """What it searches."""
        return self._cache

    async def search(self, query: Query) -> ResultPage:
        """The page of results that a query asks for.

        Raises:
            FilterError: an empty or overlong text, an unknown type, field, order or document, a limit out of range.
            EmbeddingError: only if ``mode`` is "semantic"; "auto" falls back to keywords and says so in the note.
            CacheError: the library cannot be read.
        """
        check(query)
        return await with_stated_edition(query, lambda asked: self._pages.page(asked, self._search))

    async def _search(self, query: Query) -> ResultPage:
        if query.edition is not None:
            await self.documents.require_edition(query.edition)
        seed = query.seed if query.seed is not None else drawn_seed(query.order)
        drawn, query = seed != query.seed, replace(query.resolved(), seed=seed)
        asked = query.edition is not None and query.counted
        page = await with_editions(self.documents, self._edition(query), await self._page(query), asked=asked)
        if query.filters and not query.offset:
            scopes = await self.documents.scopes(query.types, query.documents)
            page = await with_filters(page, self.explainer, query, scopes)
            if len(query.types) == 1:
                page = await self.explainer.explained(page, query.types[0], query.filters, scopes)
        drew = REPEAT.format(seed) if drawn and page.results else None
        nothing = await why_nothing(self.documents, query, page)
        notes = [nothing] if nothing else [page.note, order_hint(query, page), drew]
        return replace(page, note=" ".join(filter(None, notes)) or None)

    def _edition(self, query: Query) -> Sequence[str]:
        """The editions and documents that come first: those of the query, else the library's own, unless it names documents."""
        own = self.documents.edition if query.documents is None else ()
        return own if query.edition is None else query.edition

    async def _page(self, query: Query) -> ResultPage:
        if query.similar_to is not None:
            return await self._similar(query, query.similar_to.strip())
        if query.text is None:
            return await self._structured(query)
        if query.text.strip().startswith("lore://"):
            return await self._similar(replace(query, text=None), query.text.strip())
        if query.phrases:
            return await self._ranked(replace(query, mode="keyword"), query.wordings, whole=True)
        if query.unfinished:
            return await self._ranked(query, [await completed(self._cache, query.types, query.text), *query.also])
        return await self._stated(query) or await self._ranked(query, query.wordings)

    # --- kinds of search ---------------------------------------------------------------------------------------------

    async def _structured(self, query: Query) -> ResultPage:
        """The entries under the filters, type after type; variants of one thing share a place (`grouping.places`)."""
        scopes = await self.documents.scopes(query.types, query.documents)
        named = await by_name.understand(self._cache, query.types, query.filters, scopes)
        total, rows = await self._rows(query, named.lookups, scopes)
        shown, used = places(rows, query.limit)
        titles = await self.documents.titles()
        match: Retriever | None = "name" if query.filters.get("name") else None
        asked = Asked(fields=query.filtered_fields)
        results = [
            unranked_result(place.entity, titles, match, asked, place.variants, length)
            for place, length in zip(shown, lengths(len(shown)), strict=True)
        ]
        following = query.following(used, total)
        return ResultPage(results, total, "structured", following, named.note, approximate=named.approximate)

    async def _rows(
        self, query: Query, lookups: Sequence[tuple[str, by_name.Filters]], scopes: Scopes
    ) -> tuple[int, list[Entity]]:
        """The number of entries under the filters, and those from the offset on that may be on the page."""
        orders = await self._orders(query) or dict.fromkeys(query.types, BY_NAME)
        preferred = await self._preferred(query)
        entities: list[Entity] = []
        total, skip = 0, query.offset
        for entity_type, filters in lookups:
            scope = scopes[entity_type]
            count = await self._cache.count_entities(entity_type, scope, **filters)
            missing = (query.limit - len(entities)) * (WINDOW if entity_type in GROUPED else 1)
            if missing > 0 and skip < count:
                entities += await self._cache.get_entities(
                    entity_type,
                    scope,
                    limit=missing,
                    offset=skip,
                    order=orders[entity_type],
                    prefer=preferred,
                    **filters,
                )
            skip = max(skip - count, 0)
            total += count
        return total, entities

    async def _stated(self, query: Query) -> ResultPage | None:
        """The entries that meet what the text states about them; None if it states nothing, or none does.

        Several wordings state nothing: they are words to search for, written by somebody who knows of the filters.
        """
        text = "" if query.also else query.text or ""
        entity_type = type_asked_for(query.types, text) if text and query.mode == "auto" else None
        tests = stated_conditions(entity_type, text) if entity_type else ""
        if not entity_type or not tests:
            return None
        query = replace(query, types=[entity_type])
        where = " ".join(str(part) for part in (query.filters.get(WHERE), tests) if part)
        page = await self._ranked(replace(query, filters={**query.filters, WHERE: where}), [text], whole=True)
        note = " ".join(filter(None, [STATED.format(tests), page.note]))
        return replace(page, note=note) if page.total else None

    async def _ranked(
        self, query: Query, wordings: Sequence[str], *, like: Entity | None = None, whole: bool = False
    ) -> ResultPage:
        """The entries nearest to a query under the filters: those that are relevant, or all if only meaning counts.

        If its wordings are the texts of an entry, its duplicates and itself are left out.
        """
        scopes = await self.documents.scopes(query.types, query.documents)
        filters, note = await by_name.narrowed(self._cache, query.types, query.filters, scopes)
        query = replace(query, filters=filters)
        texts = await by_meaning(self._cache, query.types, wordings)
        retrieved = await self._retrieve(query, wordings, texts, scopes)
        if not like:
            retrieved = await retrieved.compared(self._cache, texts)
        text, filtered = " ".join(wordings), bool(query.filters)
        hybrid = _mode(query, retrieved) == "hybrid"
        topic = await topic_of(self._cache, query.types, text, retrieved, filtered=filtered) if hybrid else None
        missing = await self._missing(query, wordings, retrieved)
        language = None
        if hybrid and not (like or missing):
            language = language_of(text, retrieved.occurring, retrieved.count)
        if missing and (missing.game or (topic and topic.off)):
            page = ResultPage([], 0, _mode(query, retrieved), note=missing.note)
        elif topic and topic.off:
            page = ResultPage([], 0, "hybrid", note=NOTHING_CLOSE if language is None else foreign_note(query.types))
        else:
            page = await self._relevant(
                query, wordings, retrieved, note, missing, like=like, whole=whole, is_english=language is None
            )
            page = page if language is None else in_language(page, language, query.types)
        if not query.explain:
            return page
        return replace(page, explanation=explanation_of(page, wordings, retrieved, topic))

    async def _relevant(
        self,
        query: Query,
        wordings: Sequence[str],
        retrieved: Retrieved,
        note: str | None,
        missing: Absent | None,
        *,
        like: Entity | None,
        whole: bool,
        is_english: bool,
    ) -> ResultPage:
        """The page of those hits that answer the query; ``note`` comes before what else its note says."""
        mode = _mode(query, retrieved)
        hits = await self._hits(query, retrieved, like, whole=whole)
        hits, unused = await self._reranked(query, "; ".join(wordings), retrieved, hits)
        if query.mode == "auto" and not (query.order or like):
            hits = await editions_first(self.documents, self._edition(query), hits)
        counted = not (like or query.order) and (whole or mode == "semantic")
        total = max(retrieved.count, len(hits)) if counted else len(hits)
        shown = hits[query.offset : query.offset + query.limit]
        is_plain = is_english and bool(shown) and query.mode == "auto" and len(wordings) == 1 and not (like or missing)
        results = await self._results(query, shown, retrieved, [] if like else wordings)
        unknown = await unknown_words(self._cache, query.types, wordings[0], retrieved) if is_plain else None
        absent_note = missing.note if missing else None
        notes = [note, unused, absent_note, NEAREST if absent_note and results else None, unknown]
        if retrieved.unavailable:
            notes.append(
                f"Semantic search is unavailable, so only keywords and filters were used: {retrieved.unavailable}"
            )
        following = query.following(len(shown), total)
        said = " ".join(filter(None, notes)) or None
        return ResultPage(results, total, mode, following, said, found=tuple(hit.key for hit in hits))

    async def _orders(self, query: Query) -> dict[str, Order] | None:
        """The order that a query asks for, by type; None for that of the search itself."""
        newest = await self.documents.newest_first() if query.order else []
        return parse_orders(query.types, query.order, seed=query.seed, newest=newest)

    async def _hits(
        self, query: Query, retrieved: Retrieved, like: Entity | None, *, whole: bool
    ) -> list[FusedHit[Key]]:
        """The fused ranking: its relevant hits, or all of it if only meaning counts."""
        preferred = await self._preferred(query)
        if query.mode == "semantic" and like is None:
            return await self._sorted(query, fused(retrieved, preferred, {}, tail=True))
        labels = await family_labels(retrieved.heads, self._cache.load)
        few = whole or retrieved.count <= FEW
        ranking = fused(retrieved, preferred, labels, query.wordings, tail=few)
        left_out = {key for hit in ranking for key in hit.duplicates if key in labels}  # variants
        if like:
            own = like.type, canonical_name(like.name)
            same = {k for k, ranked in retrieved.all_ranked.items() if (k[0], canonical_name(ranked.name)) == own}
            left_out |= {(like.type, like.identity)} if like.type in ALONE else same
        others = [hit for hit in ranking if hit.key not in left_out]
        return await self._sorted(
            query, relevant(others, retrieved.is_close, everything=few, reworded=retrieved.reworded)
        )

    async def _reranked(
        self, query: Query, text: str, retrieved: Retrieved, hits: list[FusedHit[Key]]
    ) -> tuple[list[FusedHit[Key]], str | None]:
        """Hits in the reranker's order, if there is one and nothing else decides the order; and a note if it failed."""
        if self._reranker is None or query.mode != "auto" or query.order:
            return hits, None
        return await self._reranker.reordered(text, hits, retrieved.all_ranked, self._of_hits)

    async def _sorted(self, query: Query, hits: list[FusedHit[Key]]) -> list[FusedHit[Key]]:
        """Hits in the order that a query asks for, if it asks for one: then only the most relevant ones."""
        orders = await self._orders(query)
        return sorted_hits(hits[:SORTED], await self._of_hits(hits[:SORTED]), orders) if orders else hits

    async def _similar(self, query: Query, uri: str) -> ResultPage:
        """The entries nearest in meaning to another, and to the query's words if it has any, without that one itself."""
        try:
            entity_type, document, slug = parse_uri(uri)
        except ValueError as error:
            raise FilterError(str(error)) from error
        entity = await self._cache.get_entity(entity_type, document, slug)
        if entity is None:
            raise FilterError(f"there is no {one_line(uri, MAX_SHOWN)} in the library; take uris from search results")
        page = await self._ranked(replace(query, mode="semantic"), [*query.wordings, *described(entity)], like=entity)
        return replace(page, note=f"Entries like {entity.name} ({entity.document_name or entity.document}).")

    async def _preferred(self, query: Query) -> list[str]:
        """Keys of documents in the order in which they are preferred: without an edition, that of the query's documents."""
        order = await self.documents.order(query.edition)
        asked_for = (query.documents or ()) if query.edition is None else ()
        return list(dict.fromkeys([*asked_for, *order]))

    # --- retrieval ---------------------------------------------------------------------------------------------------

    async def _retrieve(self, query: Query, wordings: Sequence[str], texts: Sequence[str], scopes: Scopes) -> Retrieved:
        """All retrievers of the mode, concurrently; ``texts`` are what is searched for by meaning, as `by_meaning` gives them."""
        depth = next(d for d in DEPTHS if d >= query.offset + query.limit or d == DEPTHS[-1])
        semantic = asyncio.ensure_future(self._semantic(query, texts, scopes, depth))
        keyword = asyncio.ensure_future(self._keyword(query, wordings, scopes, depth))
        names = asyncio.ensure_future(self._names(query, wordings, scopes))
        count = asyncio.ensure_future(self._count(query, scopes))
        text = "" if query.mode == "semantic" else " ".join(wordings)
        known = asyncio.ensure_future(occurring(self._cache, query.types, text))
        await finished(semantic, keyword, names, count, known)
        ranking, unavailable = semantic.result()
        found = ranking, keyword.result(), names.result(), count.result()
        asked = asked_type(query.types if query.mode == "auto" else (), wordings)
        retrieved = Retrieved(*found, unavailable, len(wordings) > 1, asked=asked, occurring=known.result())
        retrieved = with_named(with_features(retrieved, wordings), wordings) if query.mode == "auto" else retrieved
        if query.phrases:
            return retrieved.with_phrases(query.phrases)
        if NOTES not in scopes:
            return retrieved
        with timed("keyword"):
            return await with_raised_notes(self._cache, retrieved, wordings)

    async def _semantic(
        self, query: Query, texts: Sequence[str], scopes: Scopes, depth: int
    ) -> tuple[Ranking, str | None]:
        """The ranking by meaning; without embeddings an empty one and the reason, if the mode allows that."""
        if query.mode == "keyword":
            return {}, None
        rank = self._cache.rank_semantic
        try:
            with timed("semantic"):
                return await over_types(
                    query.types, lambda name: rank(name, texts, depth, scopes[name], **query.filters), depth
                ), None
        except EmbeddingError as error:
            if query.mode == "semantic":
                raise
            logger.info("semantic search is unavailable: %s", error)  # the note of the page says so
            return {}, str(error)

    async def _keyword(self, query: Query, wordings: Sequence[str], scopes: Scopes, depth: int) -> Ranking:
        if query.mode == "semantic":
            return {}
        rank, words = self._cache.rank_keyword, expanded_keywords(wordings)
        if query.phrases:
            words, depth = replace(words, phrases=tuple(query.phrases)), MAX_PHRASED
        with timed("keyword"):
            return await over_types(
                query.types, lambda name: rank(name, words, depth, scopes[name], **query.filters), depth
            )

    async def _names(self, query: Query, wordings: Sequence[str], scopes: Scopes) -> Ranking:
        if query.mode == "semantic":
            return {}
        rank, asked, typed = by_name.rank, wordings, None
        if query.unfinished and query.text is not None:
            rank, asked, typed = unfinished.rank, [query.text, *wordings], query.text
        with timed("names"):
            ranking = await over_types(
                query.types, lambda name: rank(self._cache, name, asked, scopes[name], **query.filters)
            )
            return await by_name.certain(self._cache, query.types, [typed] if typed else wordings, ranking, typed)

    async def _count(self, query: Query, scopes: Scopes) -> int:
        if not query.filters:
            return await self.documents.count(scopes)
        return sum([await self._cache.count_entities(t, scopes[t], **query.filters) for t in query.types])

    async def _missing(self, query: Query, wordings: Sequence[str], retrieved: Retrieved) -> Absent | None:
        """What a query names that the library does not have."""
        if query.mode != "auto":
            return None
        names = [ranked.name for ranked in retrieved.all_ranked.values()]
        names += (await self.documents.titles()).values()
        return next((missing for wording in wordings if (missing := absent(wording, names, retrieved.occurring))), None)

    async def _results(
        self, query: Query, hits: Sequence[FusedHit[Key]], retrieved: Retrieved, wordings: Sequence[str]
    ) -> list[Result]:
        """The hits with their entities; those that no longer exist are left out."""
        titles, entities = await self.documents.titles(), await self._of_hits(hits)
        variants = await self._entities([key for hit in hits for key in hit.duplicates if key[0] in GROUPED])
        asked = Asked(wordings, query.filtered_fields)
        return [
            ranked_result(
                entities[hit.key],
                hit,
                titles,
                retrieved.all_ranked,
                asked,
                length,
                [variants[key] for key in hit.duplicates if key in variants],
            )
            for hit, length in zip(hits, lengths(len(hits)), strict=True)
            if hit.key in entities
        ]

    async def _of_hits(self, hits: Sequence[FusedHit[Key]]) -> dict[Key, Entity]:
        """The entities of hits, as far as they still exist."""
        return await self._entities([hit.key for hit in hits])

    async def _entities(self, keys: Sequence[Key]) -> dict[Key, Entity]:
        """The entities of some keys, as far as they still exist."""
        entities: dict[Key, Entity] = {}
        for entity_type in dict.fromkeys(key[0] for key in keys):
            with timed("load"):
                loaded = await self._cache.load(
                    entity_type, [identity for name, identity in keys if name == entity_type]
                )
            entities |= {(entity_type, entity.identity): entity for entity in loaded}
        return entities


def _mode(query: Query, retrieved: Retrieved) -> Mode:
    if query.mode == "keyword" or retrieved.unavailable:
        return "keyword"
    return "semantic" if query.mode == "semantic" else "hybrid"
