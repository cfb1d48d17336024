"""A search: one object that goes through a list of stages, from the query to a page of results.

Tools, REST, the page and the command line all ask here. A stage reads what those before it have found, and may add to the notes,
which the page gives in that order. `Query.explain` lists the stages and what each of them changed.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.cache.snapshot import in_snapshot
from lorekeeper.editions import edition_label
from lorekeeper.entities import NAME, Entity, parse_uri
from lorekeeper.errors import EmbeddingError, FilterError
from lorekeeper.filters import WHERE
from lorekeeper.folding import fold
from lorekeeper.measures import timed
from lorekeeper.printable import MAX_SHOWN, one_line, quantity
from lorekeeper.search import by_name
from lorekeeper.search.documents import (
    BOOK_IN_NAME,
    READ_AS,
    STATED_IN_NAME,
    DocumentRegistry,
    Scopes,
    editions_first,
    readings,
    stated_edition,
)
from lorekeeper.search.doubt import Absent, absent, answers, doubt_of, is_certain, names_a_note, nothing, word_counts
from lorekeeper.search.expansion import expanded_keywords, expanded_text, spelt_out
from lorekeeper.search.explain import Explainer, ValueRegistry
from lorekeeper.search.explanation import Stage
from lorekeeper.search.feedback import with_feedback
from lorekeeper.search.fusion import FEW, FUSED_BY_SCORE, NOTES, FusedHit, corpus_name, relevant
from lorekeeper.search.grouping import family_labels
from lorekeeper.search.intent import asked_type, field_of, stated_conditions, type_asked_for
from lorekeeper.search.languages import foreign_note, function_words, language_of, telling
from lorekeeper.search.linker import OPTIONS, is_about_one, with_features, with_linked, without_asking
from lorekeeper.search.pages import Pages
from lorekeeper.search.party import CHARACTERS, age
from lorekeeper.search.query import MAX_PHRASED, Query, check
from lorekeeper.search.results import Key, ResultPage, described
from lorekeeper.search.retrieved import MINILM, Ranking, Retrieved, Traits, collapsed, fused, like_another, over_types
from lorekeeper.search.sessions import plans_behind
from lorekeeper.search.sorting import SORTED, drawn_seed, sorted_hits
from lorekeeper.search.state import Search
from lorekeeper.search.values import VALUED, known_values, linked
from lorekeeper.search.versions import ALONE, place_labels
from lorekeeper.system import finished
from lorekeeper.text.evidence import asks_for_a_figure
from lorekeeper.text.name_list import NameList
from lorekeeper.text.names import canonical_name

if TYPE_CHECKING:
    from lorekeeper.search.rerank import Reranker

logger = logging.getLogger(__name__)

DEPTHS = tuple(factor * FUSED_BY_SCORE for factor in (1, 4, 16, 64, 256))
"""How many entries each retriever ranks: the smallest number that reaches the end of the page.

The head is always the same, so that pages join without overlap or gap."""

UNMET = "Nothing is known to meet where='{}', which your question asks for."

STATED = "Your question set the filter where='{}'. Rephrase it to search by meaning alone."

NOTHING_CLOSE = "{} is close to this query. Rephrase it, in English for the books, or give the name of the entry."

RESPELT = "'{}' was read as '{}'."

ANSWERING = 10
"""Hits of a doubted ranking that are looked at for one with all words of the query."""


Run = Callable[[Search], Awaitable[str | None]]
"""What a stage does; returns what it changed in a few words, None for nothing."""


class Searcher:
    """Searches a cache, and makes pages of results.

    Args:
        cache: the library's entries.
        edition: editions and documents that come first among entries of one name, as `editions.parse_edition` gives them.
        reranker: a server whose order of the best hits is used; None for none.
        traits: of the model that ranks by meaning.
    """

    def __init__(
        self,
        cache: SearchCache,
        edition: Sequence[str] = (),
        reranker: Reranker | None = None,
        traits: Traits = MINILM,
    ) -> None:
        self._cache = cache
        self._reranker = reranker
        self.traits = traits
        self.documents = DocumentRegistry(cache, edition)
        self.values = ValueRegistry(cache)
        self.explainer = Explainer(cache, self.values)
        self._pages = Pages(cache, self.documents, self.explainer, traits)
        self._listed: Sequence[Run] = (self._pages.list_entries, self._pages.say_editions, self._pages.say_filters)
        self._ranked: Sequence[Run] = (
            self._word,
            self._respell,
            self._filter_names,
            self._read_conditions,
            self._retrieve,
            self._raise,
            self._compare_phrases,
            self._cover,
            self._fuse,
            self._keep_relevant,
            self._order,
            self._doubt,
            self._pages.show,
            self._pages.say_editions,
            self._pages.say_filters,
        )

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
        return await in_snapshot(self._cache, partial(self._search, query))

    async def _search(self, query: Query) -> ResultPage:
        search = Search(query, query)
        await self._run(search, (self._read_edition, self._read_name, self._resolve))
        is_listed = search.query.text is None and search.query.similar_to is None
        await self._run(search, self._listed if is_listed else self._ranked)
        page = search.page or ResultPage([], 0, search.mode)
        page = replace(page, note=" ".join([*search.read, *search.notes]) or None)
        if page.explanation:
            page = replace(page, explanation=replace(page.explanation, stages=tuple(search.stages)))
        return page

    async def _run(self, search: Search, stages: Sequence[Run]) -> None:
        for stage in stages:
            changed = await stage(search)
            if changed and search.query.explain:
                search.stages.append(Stage(stage.__name__.strip("_").replace("_", " "), changed))

    # --- reading the query -------------------------------------------------------------------------------------------

    async def _read_edition(self, search: Search) -> str | None:
        """The edition that the text names at an end, without these words."""
        search.query, said, search.compared = stated_edition(search.query)
        search.read += [said] if said else []
        return said

    async def _read_name(self, search: Search) -> str | None:
        """The filter ``name`` without the book or edition that it states, and without brackets, if the library has it only so."""
        query, name = search.query, search.query.filters.get(NAME.name)
        if not isinstance(name, str) or await by_name.is_known(self._cache, query.types, name):
            return None
        if found := await self.documents.behind(name):
            search.name = fold(found[0])
            search.query = replace(query, filters={**query.filters, NAME.name: found[0]})
            if query.documents is not None:
                return f"the name as '{found[0]}'"
            search.query = replace(search.query, documents=found[1])
            search.read += [BOOK_IN_NAME.format(",".join(found[1]))]
            return search.read[-1]
        for meant, edition in readings(name):
            if await by_name.is_known(self._cache, query.types, meant):
                search.query = replace(query, filters={**query.filters, NAME.name: meant})
                search.name = fold(meant)
                search.read += [READ_AS.format(one_line(meant, MAX_SHOWN))] if edition is None else []
                if edition is None or query.edition is not None:
                    return f"the name as '{meant}'"
                search.query = replace(search.query, edition=edition)
                search.read += [STATED_IN_NAME.format(edition_label(edition[0]))]
                return search.read[-1]
        return None

    async def _resolve(self, search: Search) -> str | None:
        """The filters with ``where``, the types that have them, and the seed of a random order."""
        query = search.query
        if query.edition is not None:
            await self.documents.require_edition(query.edition)
        seed = query.seed if query.seed is not None else drawn_seed(query.order)
        search.query = search.asked = replace(query.resolved(), seed=seed)
        search.drawn = seed != query.seed
        search.scopes = await self.documents.scopes(search.query.types, query.documents)
        left_out = [name for name in query.types if name not in search.query.types]
        return f"only {', '.join(search.query.types)} have these filters" if left_out else None

    async def _word(self, search: Search) -> str | None:
        """What is searched for: wordings, the texts of an entry that others are to be like, or a word that is being typed."""
        query = search.query
        text = (query.text or "").strip()
        uri = (query.similar_to or (text if text.startswith("lore://") else "")).strip()
        search.wordings = query.wordings
        if uri:
            search.like = await self._entry(uri)
            others = [] if query.similar_to is None else query.wordings
            search.query = replace(query, mode="semantic", text=None if query.similar_to is None else query.text)
            search.wordings = [*others, *described(search.like)]
            search.note(f"Entries like {search.like.name} ({search.like.document_name or search.like.document}).")
            return f"{quantity(len(search.wordings), 'text')} of {search.like.name}"
        if query.phrases:
            search.query, search.whole = replace(query, mode="keyword"), True
            return "keywords alone: the query has phrases"
        if query.unfinished and query.text:
            whole = await by_name.completed(self._cache, query.types, query.text)
            search.wordings = list(dict.fromkeys([whole, *query.also]))
            return f"completed to '{whole}'" if whole != query.text else None
        return None

    async def _respell(self, search: Search) -> str | None:
        """The wordings of a plain question, with words of names in the place of those that are misspelt."""
        if search.query.mode != "auto" or search.query.unfinished or search.like:
            return None
        meant = await by_name.respelt(self._cache, search.query.types, search.text)
        if not meant:
            return None
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, meant))})\b", re.IGNORECASE)
        search.wordings = [pattern.sub(lambda found: meant[fold(found[0])], wording) for wording in search.wordings]
        search.note(*(RESPELT.format(one_line(word, MAX_SHOWN), near) for word, near in meant.items()))
        return ", ".join(meant.values())

    async def _entry(self, uri: str) -> Entity:
        try:
            entity_type, document, slug = parse_uri(uri)
        except ValueError as error:
            raise FilterError(str(error)) from error
        entity = await self._cache.get_entity(entity_type, document, slug)
        if entity is None:
            raise FilterError(f"there is no {one_line(uri, MAX_SHOWN)} in the library; take an address from an answer")
        return entity

    async def _filter_names(self, search: Search) -> str | None:
        """The filter ``name`` as the names of the library that it means."""
        named = await by_name.understand(self._cache, search.query.types, search.query.filters, search.scopes)
        if named.ranked is None:
            return None
        search.query = replace(search.query, filters=named.ranked)
        search.note(named.note)
        return named.note

    async def _read_conditions(self, search: Search) -> str | None:
        """What the text states about the entries, as a filter, if any entry meets it.

        Several wordings state nothing: they are words to search for, written by somebody who knows of the filters. Nor does a
        question about one entry: "is fireball a cleric spell" is answered by what fireball is; nor, asked of all types, one about a
        figure: "how much XP is a CR 5" is answered by a table.
        """
        query, text = search.query, search.query.text or ""
        plain = query.mode == "auto" and not (query.also or query.phrases or query.unfinished or search.like)
        if not plain:
            return None
        entity_type = type_asked_for(query.types, text)
        stated = stated_conditions(entity_type, text) if entity_type else ""
        entity_type, tests = await self._valued(query, entity_type, stated)
        if tests == stated and len(query.types) > 1 and asks_for_a_figure(text):
            return None
        if not entity_type or not tests or is_about_one(text, NameList.of(await self._cache.names(entity_type))):
            return None
        where = " ".join(str(part) for part in (query.filters.get(WHERE), tests) if part)
        narrowed = replace(query, types=[entity_type], filters={**query.filters, WHERE: where})
        if not await self._count(narrowed, search.scopes):
            search.note(UNMET.format(tests))
            return None
        search.query, search.whole = narrowed, True
        search.notes.insert(0, STATED.format(tests))
        return f"where='{tests}'"

    async def _valued(self, query: Query, asked: str | None, tests: str) -> tuple[str | None, str]:
        """What a question sets of a type, with the values that it names if it says nothing else.

        Of the type that it asks for one is enough; of another there are two, and no other type that has them. What a class has at a
        level is asked of the class.
        """
        text, found = query.text or "", dict[str, str]()
        for name in [asked] if asked else [name for name in query.types if name in VALUED]:
            named, is_whole = linked(await known_values(self._cache, name), name, text)
            own = [test for test in named if field_of(test) not in map(field_of, tests.split())]
            telling = own if asked else [test for test in own if not test.startswith("classes:")]
            if is_whole and len(telling) > (not asked) and not await by_name.is_called(self._cache, name, text):
                found[name] = " ".join([*filter(None, [tests]), *own])
        return next(iter(found.items())) if len(found) == 1 else (asked, tests)

    # --- retrieval ---------------------------------------------------------------------------------------------------

    async def _retrieve(self, search: Search) -> str:
        """The rankings by meaning, keywords and names, concurrently."""
        query, wordings, scopes = search.query, search.wordings, search.scopes
        search.texts = [expanded_text(wording) for wording in wordings]
        end = query.offset + max(query.limit, query.unsure_limit or 0)
        depth = next(d for d in DEPTHS if d >= end or d == DEPTHS[-1])
        semantic = asyncio.ensure_future(self._semantic(query, search.texts, scopes, depth))
        keyword = asyncio.ensure_future(self._keyword(query, wordings, scopes, depth))
        names = asyncio.ensure_future(self._names(query, wordings, scopes))
        sizes = asyncio.ensure_future(self._sizes(query, scopes))
        text = "" if query.mode == "semantic" else f"{search.text} {' '.join(map(spelt_out, wordings))}"
        known = asyncio.ensure_future(word_counts(self._cache, query.types, text))
        await finished(semantic, keyword, names, sizes, known)
        ranking, unavailable = semantic.result()
        found = ranking, keyword.result(), names.result(), sum(sizes.result().values())
        asked = asked_type(query.types if query.mode == "auto" else (), wordings)
        search.found = Retrieved(
            *found, unavailable, len(wordings) > 1, asked=asked, counted=known.result(), sizes=sizes.result()
        )
        preferred = f"; {asked.name} preferred" if asked else ""
        return f"{len(ranking)} by meaning, {len(found[1])} by keywords, {len(found[2])} by name{preferred}"

    async def _semantic(
        self, query: Query, texts: Sequence[str], scopes: Scopes, depth: int
    ) -> tuple[Ranking, str | None]:
        """The ranking by meaning; without embeddings an empty one and the reason, if the mode allows that."""
        if query.mode == "keyword":
            return {}, None
        try:
            with timed("semantic"):
                return await self._by_meaning(query, texts, scopes, depth), None
        except EmbeddingError as error:
            if query.mode == "semantic":
                raise
            logger.info("semantic search is unavailable: %s", error)  # the note of the page says so
            return {}, str(error)

    async def _by_meaning(self, query: Query, texts: Sequence[str], scopes: Scopes, depth: int) -> Ranking:
        rank = self._cache.rank_semantic
        ranking = await over_types(
            query.types, lambda name: rank(name, texts, depth, scopes[name], **query.filters), depth
        )
        if self.traits.unrelated:
            scaled = self.traits.scaled
            ranking = {key: hit._replace(score=scaled(hit.score)) for key, hit in ranking.items()}
        return ranking

    async def _keyword(self, query: Query, wordings: Sequence[str], scopes: Scopes, depth: int) -> Ranking:
        if query.mode == "semantic":
            return {}
        rank, words = self._cache.rank_keyword, expanded_keywords([*map(telling, wordings)])
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
            rank, asked, typed = by_name.rank_typed, [query.text, *wordings], query.text
        with timed("names"):
            ranking = await over_types(
                query.types, lambda name: rank(self._cache, name, asked, scopes[name], **query.filters)
            )
            return await by_name.certain(self._cache, query.types, [typed] if typed else wordings, ranking, typed)

    async def _sizes(self, query: Query, scopes: Scopes) -> dict[str, int]:
        """The number of entries under the filters, by corpus."""
        of_corpus: dict[str, list[str]] = {}
        for name in query.types:
            of_corpus.setdefault(corpus_name(name), []).append(name)
        return {corpus: await self._count(replace(query, types=own), scopes) for corpus, own in of_corpus.items()}

    async def _count(self, query: Query, scopes: Scopes) -> int:
        if not query.filters:
            return await self.documents.count({name: scopes[name] for name in query.types})
        return sum([await self._cache.count_entities(t, scopes[t], **query.filters) for t in query.types])

    async def _raise(self, search: Search) -> str | None:
        """Entries that the text names, or a section of which it is the name; notes in the words of the nearest ones."""
        query, found = search.query, search.found
        before = found.keyword
        if query.mode == "auto":
            wordings = [*map(spelt_out, search.wordings)]
            found = with_linked(found, wordings)
            if len(wordings) == 1 and OPTIONS in query.types:
                found = await with_features(self._cache, found, wordings[0], search.scopes[OPTIONS], **query.filters)
        if query.phrases:
            found = found.with_phrases(query.phrases)
        elif NOTES in query.types:
            with timed("keyword"):
                found = await with_feedback(self._cache, found, search.wordings)
        raised = [hit.name for key, hit in found.keyword.items() if key not in before or hit.score > before[key].score]
        search.found = found
        return f"higher by keywords: {one_line(', '.join(raised[:5]), 200)}" if raised else None

    async def _compare_phrases(self, search: Search) -> str | None:
        """The nearest of the phrases that people say for an entry."""
        if search.like:
            return None
        search.found = await search.found.compared(self._cache, search.texts)
        return f"{quantity(len(search.found.phrases), 'entry')} with phrases" if search.found.phrases else None

    async def _cover(self, search: Search) -> str | None:
        """What the library cannot have: what is named, and the language."""
        search.missing = await self._missing(search)
        if search.mode == "hybrid" and not (search.like or search.missing):
            search.language = language_of(search.text, search.found.occurring, search.found.count)
        if search.language and not search.found.names:
            search.found = await self._named_within(search, search.language)
        if search.missing and search.missing.game:
            search.page, search.notes = ResultPage([], 0, search.mode), [search.missing.note]
            return search.missing.note
        return search.language and f"the text is in {search.language}"

    async def _named_within(self, search: Search, language: str) -> Retrieved:
        """With the entries that a text in another language names: they are all that is sure of it."""
        query, plain = search.query, function_words(language)
        names = await over_types(
            query.types,
            lambda name: by_name.within(self._cache, name, search.text, plain, search.scopes[name], **query.filters),
        )
        return replace(search.found, names=names)

    def _is_translated(self, search: Search) -> bool:
        """Whether the text is in another language than English, which the model knows: its words say nothing of the books."""
        return search.language is not None and self.traits.multilingual

    async def _missing(self, search: Search) -> Absent | None:
        """What a query names that the library does not have."""
        if search.query.mode != "auto":
            return None
        found = search.found
        names = [ranked.name for ranked in found.all_ranked.values()]
        names += (await self.documents.titles()).values()
        absences = (absent(wording, names, found.occurring) for wording in search.wordings)
        return next((missing for missing in absences if missing), None)

    # --- ranking -----------------------------------------------------------------------------------------------------

    async def _fuse(self, search: Search) -> str | None:
        """One ranking of the three, duplicates and variants in one place."""
        if search.page:
            return None
        query = search.query
        if self._is_translated(search):
            search.found = search.found.without_words_of_books()
        found, preferred = search.found, await self._pages.preferred(query)
        apart = await place_labels(self._cache, found.all_ranked, found.heads, search.scopes)
        if query.mode == "semantic" and search.like is None:
            search.hits = fused(found, preferred, apart, tail=True)
            return "by meaning alone"
        labels = await family_labels(found.heads, self._cache.load)
        has_notes = NOTES in query.types and not search.like
        planned = await plans_behind(self._cache, search.wordings) if has_notes else frozenset[Identity]()
        asked_for = await self._pages.of_edition(query, query.types)
        ranking = fused(
            found,
            preferred,
            apart | labels,
            query.wordings,
            tail=self._few(search),
            planned=planned,
            asked_for=asked_for,
        )
        if has_notes and (alike := like_another(ranking, found)):
            ranking = collapsed(ranking, await self._pages.entities(alike))
        left_out = {key for hit in ranking for key in hit.duplicates if key in labels}  # variants
        if like := search.like:
            own = like.type, canonical_name(like.name)
            same = {k for k, ranked in found.all_ranked.items() if (k[0], canonical_name(ranked.name)) == own}
            left_out |= {(like.type, like.identity)} if like.type in ALONE else same
        search.hits = await self._newest([hit for hit in ranking if hit.key not in left_out])
        return f"{quantity(len(ranking), 'entry')} in one ranking"

    async def _newest(self, hits: list[FusedHit[Key]]) -> list[FusedHit[Key]]:
        """The hits, with the newest of several copies of a character in the place of all."""
        copies = [hit for hit in hits if hit.key[0] == CHARACTERS and hit.duplicates]
        if not copies:
            return hits
        loaded = await self._pages.entities(
            [FusedHit(key, 0.0, "name") for hit in copies for key in (hit.key, *hit.duplicates)]
        )
        swapped: dict[Key, Key] = {}
        for hit in copies:
            newest = max(
                filter(loaded.__contains__, (hit.key, *hit.duplicates)),
                key=lambda key: age(loaded[key]),
                default=hit.key,
            )
            swapped |= {hit.key: newest, newest: hit.key}
        return [
            hit._replace(key=swapped.get(hit.key, hit.key), duplicates=tuple(swapped.get(k, k) for k in hit.duplicates))
            for hit in hits
        ]

    async def _keep_relevant(self, search: Search) -> str | None:
        """The hits that answer, surely or less so."""
        if search.page or (search.query.mode == "semantic" and search.like is None):
            return None
        found, ranked = search.found, len(search.hits)
        search.hits = relevant(search.hits, found.is_close, everything=self._few(search), reworded=found.reworded)
        if found.count == 1 and not search.whole:  # what is alone is the best of nothing
            search.hits = [hit._replace(sure=hit.retriever == "name" or found.is_close(hit.key)) for hit in search.hits]
        sure = sum(hit.sure for hit in search.hits)
        return f"{len(search.hits)} of {ranked} relevant, {sure} of them sure"

    def _few(self, search: Search) -> bool:
        """Whether nothing is left out: a list so short is wanted whole."""
        return search.whole or search.found.count <= FEW

    async def _order(self, search: Search) -> str | None:
        """The order that is asked for, that of a reranker, or that of the editions."""
        if search.page:
            return None
        query = search.query
        if orders := await self._pages.orders(query):
            head = search.hits[:SORTED]
            search.hits = sorted_hits(head, await self._pages.entities(head), orders)
            return f"order={query.order}"
        if query.mode != "auto":
            return None
        before, ranked = [hit.key for hit in search.hits], search.found.all_ranked
        if self._reranker:
            text = "; ".join(search.wordings)
            search.hits, unused = await self._reranker.reordered(text, search.hits, ranked, self._pages.entities)
            search.note(unused)
        wanted = self._pages.edition(query)
        if not search.like and (wanted or search.compared):
            names = {hit.key: fold(ranked[hit.key].name) for hit in search.hits}
            search.hits = await editions_first(self.documents, wanted, search.hits, search.compared, names)
        return "the reranker or the edition changed it" if [hit.key for hit in search.hits] != before else None

    async def _doubt(self, search: Search) -> str | None:
        """Whether the first hit may be no answer: then none is sure; none is shown if the library has hardly a word of the text."""
        query, found = search.query, search.found
        is_settled = search.page or search.like or query.filters or search.mode != "hybrid"
        if is_settled or not search.hits or is_certain(found, search.text):
            return None
        first = search.hits[:1]
        for key, entity in (await self._pages.entities(first)).items():
            wordings = () if self._is_translated(search) else [*map(without_asking, map(spelt_out, search.wordings))]
            search.doubt = doubt_of(key, entity, found, wordings)
        if search.doubt is None or not search.doubt.is_doubtful:
            return None
        head = [] if search.language else search.hits[:ANSWERING]  # the words of others are inflected, or say nothing
        known = await self._pages.entities(head)
        if found_words := [hit for hit in head if hit.key in known and answers(known[hit.key], search.wordings)]:
            search.doubt, rest = None, [hit for hit in search.hits if hit not in found_words]
            search.hits = [hit._replace(sure=True) for hit in found_words] + [hit._replace(sure=False) for hit in rest]
            return f"{quantity(len(found_words), 'entry')} with all words first"
        search.hits = [hit._replace(sure=False) for hit in search.hits]
        if not search.doubt.is_hopeless or (NOTES in query.types and await names_a_note(self._cache, search.text)):
            return "nothing is sure"
        search.hits, search.page = [], ResultPage([], 0, search.mode)
        nowhere = NOTHING_CLOSE.format(nothing(query.types, query.documents))
        nowhere = nowhere if search.language is None else foreign_note(query.types)
        search.notes = [search.missing.note if search.missing else nowhere]
        return "nothing is close"

    # --- results -----------------------------------------------------------------------------------------------------
