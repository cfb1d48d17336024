"""Pages of results: the head of a ranking or a list by filters, with the entries, and what is to be said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lorekeeper.cache.protocol import Documents, SearchCache
from lorekeeper.editions import with_twins
from lorekeeper.entities import NAME, Entity
from lorekeeper.filters import WHERE, parse_filters
from lorekeeper.folding import fold
from lorekeeper.measures import timed
from lorekeeper.order import BY_NAME, Order, parse_orders
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search import by_name
from lorekeeper.search.documents import DocumentRegistry, Scopes, with_editions
from lorekeeper.search.doubt import CLOSED, NEAREST, doubted, is_closed, no_entry, why_nothing
from lorekeeper.search.expansion import both_ways
from lorekeeper.search.explain import Explainer, explanation_of, with_filters
from lorekeeper.search.fusion import CAMPAIGN, NOTES, FusedHit, Retriever
from lorekeeper.search.grouping import GROUPED, WINDOW, places
from lorekeeper.search.languages import IN_OTHER, MOST_NOTES, asks_of_notes, in_language, language_of_notes, telling
from lorekeeper.search.linker import asked_about
from lorekeeper.search.query import Query
from lorekeeper.search.results import Asked, Key, Result, ResultPage, ranked_result, unranked_result, words_of
from lorekeeper.search.retrieved import Traits
from lorekeeper.search.sorting import REPEAT, order_gap
from lorekeeper.search.state import Search
from lorekeeper.search.versions import Elsewhere, elsewhere, namesakes
from lorekeeper.text.evidence import lengths, read
from lorekeeper.text.names import base_name
from lorekeeper.text.stems import stems

UNNAMED = "{} is called '{}'; {}."

SHORT_PAGE = 5
"""Most results of a page for a name that no book has."""

SURE_FEW = 3
"""Most sure hits of a ranking whose order is sure."""

UNAVAILABLE = "Semantic search is unavailable, so only keywords and filters were used: {}"


class Pages:
    """Makes the pages of searches of a cache.

    Args:
        cache: the library's entries.
        documents: what is known of its documents.
        explainer: says which filter left a page empty.
        traits: of the model that ranks by meaning.
    """

    def __init__(self, cache: SearchCache, documents: DocumentRegistry, explainer: Explainer, traits: Traits) -> None:
        self._cache = cache
        self._documents = documents
        self._explainer = explainer
        self._traits = traits

    async def show(self, search: Search) -> str | None:
        """The page: the hits with their entries, and what is to be said of them."""
        query, found = search.query, search.found
        if search.page is None:
            search.page = await self._ranked_page(search)
        is_hopeless = search.doubt is not None and search.doubt.is_hopeless
        if search.language is not None and (search.page.results or not is_hopeless):
            search.page, said = in_language(
                search.page, search.language, query.types, understood=self._traits.multilingual
            )
            search.notes = [*said, *search.notes] if search.page.results else said
        elif search.language is None and query.mode == "auto" and not (search.like or query.offset):
            await self._add_notes_in_another(search, search.page)
        if query.explain:
            explanation = explanation_of(search.page, search.wordings, found, search.doubt)
            search.page = replace(search.page, explanation=explanation)
        return None

    async def _add_notes_in_another(self, search: Search, page: ResultPage) -> None:
        """Behind what books are sure of, the nearest notes in another language."""
        near = [FusedHit(key, 0.0, "semantic", sure=False) for key in search.found.semantic if key[0] == NOTES][
            :MOST_NOTES
        ]
        if not near or not asks_of_notes(search.text, page.results):
            return
        if language := language_of_notes((await self.entities(near)).values()):
            added = await self._results(search, near)
            sure = [each for each in page.results if each.sure]
            unsure = [each for each in page.results if not each.sure]
            search.page = replace(page, results=[*sure, *added, *unsure], total=page.total + len(added))
            search.note(IN_OTHER.format(language))

    async def _ranked_page(self, search: Search) -> ResultPage:
        query, found, missing = search.query, search.found, search.missing
        counted = not (search.like or query.order) and (search.whole or search.mode == "semantic")
        total = max(found.count, len(search.hits)) if counted else len(search.hits)
        limit = query.limit
        if missing:  # what is nearest in meaning to a name that no book has is seldom what was asked for
            limit = min(limit, SHORT_PAGE)
        elif query.unsure_limit and self._is_unsure(search):
            limit = query.unsure_limit
        shown = search.hits[query.offset : query.offset + limit]
        results = await self._results(search, shown)
        if missing:
            search.note(missing.note, NEAREST if results else None)
        elif shown and not query.filters.get(NAME.name):  # which leaves nothing to doubt
            if search.language is None and not any(hit.sure for hit in search.hits):
                search.note(doubted(query.types, query.documents, search.wordings, found))
            elif search.hits[0].sure:
                search.note(self._unnamed(search, results))
        search.note(UNAVAILABLE.format(found.unavailable) if found.unavailable else None)
        following = query.following(len(shown), total)
        return ResultPage(results, total, search.mode, following, found=tuple(hit.key for hit in search.hits))

    def _unnamed(self, search: Search, results: Sequence[Result]) -> str | None:
        """That nothing is called what a question is about, where texts of books at most mention it."""
        is_plain = len(search.wordings) == 1 and search.query.mode == "auto" and search.found.asked is None
        words = asked_about(search.wordings[0]) if is_plain else []
        sure = [each for each in results if each.sure]
        if not words or not sure or sure[0].entity.type in CAMPAIGN:
            return None
        asked = stems(" ".join(words))
        called = [stems(fold(f"{each.entity.name} {each.section}")) for each in sure]
        if asked & called[0] or any(asked <= own for own in called):
            return None
        name = one_line(" ".join(words), MAX_SHOWN)
        having = (asked <= stems(fold(words_of(each.entity, read(each.entity)))) for each in sure)
        said = "these mention it" if all(having) else "these are the nearest in meaning"
        closed = f" {CLOSED.format('It')}" if is_closed(fold(name)) else ""
        return f"{UNNAMED.format(no_entry(search.query.types), name, said)}{closed}"

    def _is_unsure(self, search: Search) -> bool:
        """Whether many hits of a question in words are about as good: then whoever asked chooses better than the ranking."""
        if search.query.mode != "auto" or search.query.order or search.whole:
            return False
        return search.is_doubtful or (
            sum(hit.sure for hit in search.hits) > SURE_FEW and search.hits[0].retriever != "name"
        )

    async def _results(self, search: Search, hits: Sequence[FusedHit[Key]]) -> list[Result]:
        """The hits with their entities; those that no longer exist are left out."""
        others = [FusedHit(key, 0.0, "name") for hit in hits for key in hit.duplicates]
        titles, entities = await self._documents.titles(), await self.entities([*hits, *others])
        duplicates = {hit.key: [entities[key] for key in hit.duplicates if key in entities] for hit in hits}
        own = {hit.key: entities[hit.key] for hit in hits if hit.key in entities}
        found, editions = await self._elsewhere(search, own, duplicates)
        wordings = [] if search.like else [telling(both_ways(wording)) for wording in search.wordings]
        asked = Asked(wordings, await self._fields(search.query))
        return [
            ranked_result(
                entities[hit.key],
                hit,
                titles,
                search.found.all_ranked,
                asked,
                length,
                [each for each in duplicates[hit.key] if editions[each.document] == editions[hit.key[1][0]]],
                found[hit.key].also,
                found[hit.key].differing,
                first=hit is hits[0],
            )
            for hit, length in zip(hits, lengths(len(hits)), strict=True)
            if hit.key in entities
        ]

    async def _elsewhere(
        self, search: Search, entities: Mapping[Key, Entity], duplicates: Mapping[Key, Sequence[Entity]]
    ) -> tuple[dict[Key, Elsewhere], dict[str, str]]:
        """What other documents have of some entries, by key, and the editions of all of these documents.

        Args:
            search: the search that found them.
            entities: the entries, by key.
            duplicates: those that share their places; of notes and characters, these are all there is elsewhere.
        """
        names = {(type_, base_name(each.name)) for (type_, _), each in entities.items() if type_ not in CAMPAIGN}
        known = await namesakes(self._cache, names, search.scopes)
        others = {key: known.get(key, duplicates.get(key, ())) for key in entities}
        documents = {each.document for group in (*others.values(), *duplicates.values()) for each in group}
        documents |= {identity[0] for _, identity in entities}
        editions = {key: await self._documents.edition_of(key) for key in documents}
        order = await self._documents.order(search.query.edition)
        return {key: elsewhere(entity, others[key], editions, order) for key, entity in entities.items()}, editions

    async def list_entries(self, search: Search) -> str | None:
        """The entries under the filters, type after type; variants of one thing share a place (`grouping.places`)."""
        query, scopes = search.query, search.scopes
        named = await by_name.understand(self._cache, query.types, query.filters, scopes)
        total, others, rows = await self._rows(query, named.lookups, scopes)
        shown, used = places(rows, query.limit)
        titles = await self._documents.titles()
        asked = Asked(fields=await self._fields(query))
        match: Retriever | None = "name" if query.filters.get("name") else None
        differing = await self._not_listed(search, rows) if match else {}
        results = [
            unranked_result(
                place.entity,
                titles,
                match,
                asked,
                place.variants,
                length,
                differing.get((place.entity.type, place.entity.identity), {}),
            )
            for place, length in zip(shown, lengths(len(shown)), strict=True)
        ]
        following = query.following(used, total)
        search.note(named.note)
        search.page = ResultPage(
            results,
            total,
            "structured",
            following,
            approximate=named.approximate,
            read_as=named.name or search.name,
            others=others,
        )
        return None

    async def _not_listed(self, search: Search, rows: Sequence[Entity]) -> dict[Key, Mapping[str, str]]:
        """What other editions have of entries that a name has found, where it has not found that too."""
        listed = {(entity.type, entity.identity): entity for entity in rows}
        uris = {entity.uri for entity in rows}
        found, _ = await self._elsewhere(search, listed, {})
        return {
            key: {label: uri for label, uri in each.differing.items() if uri not in uris} for key, each in found.items()
        }

    async def _rows(
        self, query: Query, lookups: Sequence[tuple[str, by_name.Filters]], scopes: Scopes
    ) -> tuple[int, int, list[Entity]]:
        """The number of entries under the filters, that of other editions than is asked for, and those that may be on the page."""
        orders = await self.orders(query) or dict.fromkeys(query.types, BY_NAME)
        preferred = await self.preferred(query)
        entities: list[Entity] = []
        total, others, skip = 0, 0, query.offset
        parts = [
            (place, entity_type, scope, filters)
            for entity_type, filters in lookups
            for place, scope in enumerate(await self._edition_first(query, entity_type, scopes[entity_type]))
        ]
        for place, entity_type, scope, filters in sorted(parts, key=lambda part: part[0]):
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
            total, others = total + count, others + count * place
        return total, others, entities

    async def _edition_first(self, query: Query, entity_type: str, scope: Documents) -> Sequence[Documents]:
        """The documents of a list by filters: in two parts if those of an edition that is asked for come first.

        Names come in the order in which they are like the one that is asked for, and a list that is sorted in its own.
        """
        own = await self.of_edition(query, [entity_type])
        if not own or query.order or query.filters.get(NAME.name):
            return [scope]
        counts = await self._documents.editions([entity_type])
        keys = [key for books in counts.values() for key in books if scope is None or key in scope]
        parts = [key for key in keys if key in own], [key for key in keys if key not in own]
        return [part for part in parts if part] or [scope]

    async def say_editions(self, search: Search) -> str | None:
        """Of which edition each result is, and what the wanted one lacks."""
        query, page = search.asked, search.page
        if page is None:
            return None
        asked = query.edition is not None and query.counted
        search.page, said = await with_editions(self._documents, self.edition(query), page, asked=asked)
        search.note(*said)
        return " ".join(said) or None

    async def say_filters(self, search: Search) -> str | None:
        """Which filter left the page empty, and how to go on."""
        query, page = search.asked, search.page
        if page is None:
            return None
        filters, types = query.filters, query.types
        if (
            page.total and search.whole and WHERE in search.query.filters
        ):  # what the question set leaves out entries too
            filters, types = {**filters, WHERE: search.query.filters[WHERE]}, search.query.types
        if filters and not query.offset:
            page = search.page = await with_filters(page, self._explainer, query, search.scopes)
            if len(types) == 1:
                search.note(*await self._explainer.explained(page, types[0], filters, search.scopes))
            else:
                search.note(*await self._explainer.unknown(query.types, query.filters))
        if nothing := await why_nothing(self._documents, query, page):
            search.notes = [nothing]
        else:
            search.note(order_gap(query, page))
            search.note(REPEAT.format(query.seed) if search.drawn and page.results else None)
        return None

    async def of_edition(self, query: Query, types: Sequence[str]) -> frozenset[str]:
        """Keys of the documents of the edition that a query asks for; none if it asks for none."""
        wanted = with_twins(query.edition or ())
        counts = await self._documents.editions(types) if wanted else {}
        return frozenset(
            key for edition, books in counts.items() for key in books if edition in wanted or key in wanted
        )

    async def preferred(self, query: Query) -> list[str]:
        """Keys of documents in the order in which they are preferred: without an edition, that of the query's documents."""
        order = await self._documents.order(query.edition)
        asked_for = (query.documents or ()) if query.edition is None else ()
        return list(dict.fromkeys([*asked_for, *order]))

    def edition(self, query: Query) -> Sequence[str]:
        """The editions and documents that come first: those of the query, else the library's own, unless it names documents."""
        own = self._documents.edition if query.documents is None else ()
        return own if query.edition is None else query.edition

    async def orders(self, query: Query) -> dict[str, Order] | None:
        """The order that a query asks for, by type; None for that of the search itself."""
        documents = await self._documents.arranged() if query.order else {}
        return parse_orders(query.types, query.order, seed=query.seed, documents=documents)

    async def _fields(self, query: Query) -> set[str]:
        """Names of the fields that the filters and the order are about, whose values each result shows."""
        orders = await self.orders(query) or {}
        filtered = {condition.field.name for condition in parse_filters(query.types[0], query.filters)}
        return filtered.union(*(order.fields for order in orders.values() if order.field))

    async def entities(self, hits: Sequence[FusedHit[Key]]) -> dict[Key, Entity]:
        """The entities of hits, as far as they still exist."""
        entities: dict[Key, Entity] = {}
        keys = [hit.key for hit in hits]
        for entity_type in dict.fromkeys(key[0] for key in keys):
            with timed("load"):
                loaded = await self._cache.load(
                    entity_type, [identity for name, identity in keys if name == entity_type]
                )
            entities |= {(entity_type, entity.identity): entity for entity in loaded}
        return entities
