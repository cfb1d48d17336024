"""The search pipeline over a real embedded library."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from lorekeeper.embedding import EmbeddingProvider, EmbeddingService, HashingProvider
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import EmbeddingError, FilterError
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage
from tests.support.entities import make
from tests.support.libraries import open_library, sample_library
from tests.support.samples import ALMANAC, ATLAS, SAMPLES, write_lines
from tests.support.tables import each_row

LORE = [name for name, collection in COLLECTIONS.items() if collection.tool]


@pytest.fixture(scope="module", params=["milvus", "sqlite"])
async def library(request, tmp_path_factory):
    async with sample_library(tmp_path_factory.mktemp("search"), request.param) as opened:
        yield opened


pytestmark = pytest.mark.asyncio(loop_scope="module")


def names(page: ResultPage) -> list[str]:
    return [r.entity.name for r in page.results]


async def every_page(library: Library, query: Query) -> list[ResultPage]:
    pages = [await library.searcher.search(query)]
    while pages[-1].next_offset is not None:
        following = Query(**{**query.__dict__, "offset": pages[-1].next_offset})
        pages.append(await library.searcher.search(following))
        assert len(pages) <= len(SAMPLES), "paging never ends"
    return pages


async def test_structured_lookup_lists_by_name_and_ranks_nothing(library):
    page = await library.searcher.search(Query(["spells"], filters={"level_max": 1}))
    assert names(page) == ["Ember Whisper", "Lantern of Hush", "Soft Landing"]
    assert (page.total, page.mode, page.next_offset, page.note) == (3, "structured", None, None)
    assert {(r.score, r.match) for r in page.results} == {(None, None)}


@each_row("mode", ["auto", "semantic", "keyword"])
async def test_filters_and_documents_hold_in_every_mode(library, mode):
    query = Query(
        ["spells"], text="soft landing tide ash", filters={"level_min": 2}, documents=[ALMANAC], mode=mode, limit=50
    )
    page = await library.searcher.search(query)
    assert set(names(page)) <= {"Soft Landing", "Ash Storm"}
    assert "Soft Landing" in names(page)
    assert {r.entity.document for r in page.results} == {ALMANAC}


@pytest.mark.parametrize("limit", [1, 3, 7])
@pytest.mark.parametrize(
    "query",
    [
        Query(LORE),
        Query(["spells"], filters={"level_min": 0}),
        Query(LORE, text="a lamp that burns in the ash"),
        Query(LORE, text="a lamp that burns in the ash", mode="semantic"),
        Query(LORE, text="a lamp that burns in the ash", mode="keyword"),
        Query(["creatures"], text="dragon", documents=[ALMANAC, ATLAS]),
    ],
    ids=["structured", "filtered", "hybrid", "semantic", "keyword", "one-type"],
)
async def test_pages_join_without_overlap_or_gap(library, query, limit):
    whole = await library.searcher.search(Query(**{**query.__dict__, "limit": 50}))
    pages = await every_page(library, Query(**{**query.__dict__, "limit": limit}))
    uris = [r.entity.uri for page in pages for r in page.results]
    assert uris == [r.entity.uri for r in whole.results]
    assert len(uris) == len(set(uris)) == whole.total
    assert {page.total for page in pages} == {whole.total}


async def test_a_query_without_types_searches_all_of_them(library):
    everything, lore = await library.search(Query(text="burning lamp")), Query(LORE, text="burning lamp")
    assert everything == await library.search(lore)
    assert len({result.entity.type for result in everything.results}) > 1


async def test_an_empty_library_without_a_model_says_how_to_fill_it(tmp_path):
    async with open_library(tmp_path, EmbeddingService(absent_model)) as library:
        page = await library.search(Query(["spells"], text="anything"))
    assert (page.results, page.total) == ([], 0)
    assert page.note is not None
    for words in ("empty", "lorekeeper import", "the model is on holiday"):
        assert words in page.note


async def test_a_full_library_that_finds_nothing_says_which_values_there_are(library):
    page = await library.searcher.search(Query(["spells"], filters={"level": 9}))
    assert (page.results, page.total, page.note) == (
        [],
        0,
        "level is never 9 where it is stated: it ranges from 0 to 3.",
    )


def absent_model() -> EmbeddingProvider:
    raise EmbeddingError("the model is on holiday")


@pytest.fixture
async def without_model(tmp_path):
    async with sample_library(tmp_path):
        pass
    async with open_library(tmp_path, EmbeddingService(absent_model)) as opened:
        yield opened


async def test_without_embeddings_it_falls_back_to_keywords_and_says_why(without_model):
    query = Query(["spells"], text="feathers", filters={"level_max": 1})
    page = await without_model.searcher.search(query)
    assert (names(page), page.mode) == (["Soft Landing"], "keyword")
    assert page.note is not None
    assert "the model is on holiday" in page.note


async def test_without_embeddings_a_forced_semantic_search_is_an_error(without_model):
    with pytest.raises(EmbeddingError, match="on holiday"):
        await without_model.searcher.search(Query(["spells"], text="feathers", mode="semantic"))


@each_row("text", [None, "tide"])
async def test_an_unknown_document_is_refused_with_the_known_ones(library, text):
    with pytest.raises(FilterError) as caught:
        await library.searcher.search(Query(["spells"], text=text, documents=[ATLAS, "tidewach-atlas"]))
    message = str(caught.value)
    assert "tidewach-atlas" in message
    assert ATLAS in message
    assert ALMANAC in message


async def test_of_several_books_the_newest_gives_the_entry_that_stands_for_all(tmp_path):
    dates = {"aged": "2014-01-01", "latest": "2024-09-17", "undated": None, "middle": "2019-05-02"}
    async with open_library(tmp_path) as library:
        described = [
            make(d, type="documents", document=d, data={"name": d, "publication_date": dates[d]}) for d in dates
        ]
        await library.cache.store_entities(described, "documents")
        spells = [make("shine", "A lamp lights up.", document=document) for document in dates]
        await library.cache.store_entities(spells, "spells")
        page = await library.searcher.search(Query(["spells"], text="a lamp that lights up"))
        assert [r.entity.document for r in page.results] == ["latest", "middle", "aged", "undated"]
        page = await library.searcher.search(
            Query(["spells"], text="a lamp that lights up", documents=["aged", "latest"])
        )
        assert [r.entity.document for r in page.results] == ["aged", "latest"]


async def test_a_document_that_was_just_imported_is_known(tmp_path):
    async with sample_library(tmp_path) as library:
        with pytest.raises(FilterError):
            await library.searcher.search(Query(["spells"], documents=["new-book"]))
        fresh = {"collection": "spells", "document": "new-book", "name": "Fresh Ink"}
        await library.import_paths([write_lines(tmp_path / "new.jsonl", [fresh])])
        page = await library.searcher.search(Query(["spells"], documents=["new-book"]))
    assert names(page) == ["Fresh Ink"]


@each_row("text", ["", "   ", "\n\t"])
async def test_an_empty_query_is_refused(library, text):
    with pytest.raises(FilterError, match="empty"):
        await library.searcher.search(Query(["spells"], text=text))


async def test_an_overlong_query_is_refused_with_both_numbers(library):
    with pytest.raises(FilterError, match=r"10,000 .*2,000"):
        await library.searcher.search(Query(["spells"], text="x" * 10_000))


@pytest.mark.parametrize("text", ['"', "'; drop", "a\\b", "one\ntwo", "NEAR(", "*", "\x01\x02", "ü☃", "a" * 2000, "-"])
@pytest.mark.parametrize("mode", ["auto", "keyword"])
async def test_odd_characters_in_a_query_are_only_text(library, text, mode):
    page = await library.searcher.search(Query(LORE, text=text, mode=mode))
    assert len(page.results) <= page.total <= len(SAMPLES)
    assert page.note is None or page.results == []
    if mode == "auto":
        assert page.mode == "hybrid", page.note


@each_row("limit", [0, -1, 51])
async def test_a_limit_out_of_range_is_refused(library, limit):
    with pytest.raises(FilterError, match=f"1 to 50, not {limit}"):
        await library.searcher.search(Query(["spells"], limit=limit))


async def test_a_negative_offset_is_refused(library):
    with pytest.raises(FilterError, match="offset"):
        await library.searcher.search(Query(["spells"], offset=-1))


async def test_an_unknown_type_or_filter_is_refused_with_the_known_ones(library):
    with pytest.raises(FilterError, match="spells, creatures"):
        await library.searcher.search(Query(["spels"]))
    with pytest.raises(FilterError, match=r"lvl.*level"):
        await library.searcher.search(Query(["spells"], filters={"lvl": 3}))
    with pytest.raises(FilterError):
        await library.searcher.search(Query([]))


async def test_a_page_that_was_kept_is_none_of_a_library_that_has_changed(tmp_path):
    async with sample_library(tmp_path, "sqlite") as library:
        query = Query(["spells"], text="a wave of zircon", mode="keyword")
        assert "Zircon Wave" not in [r.entity.name for r in (await library.search(query)).results]
        await library.cache.store_entities([make("zircon", "A wave of zircon.", name="Zircon Wave")], "spells")
        assert (await library.search(query)).results[0].entity.name == "Zircon Wave"


class Interrupting(HashingProvider):
    """Calls a function before it embeds its next query."""

    def __init__(self) -> None:
        super().__init__(384)
        self.before: Callable[[], object] = lambda: None

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        before, self.before = self.before, lambda: None
        before()
        return super().embed_queries(texts)


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_a_search_reads_one_state_whatever_is_written_meanwhile(tmp_path, backend):
    provider = Interrupting()
    new = make("new-lamp", "A lamp that burns in the ash.")
    async with (
        sample_library(tmp_path, backend),
        open_library(tmp_path, EmbeddingService(lambda: provider), backend) as library,
        open_library(tmp_path, backend=backend) as another,
    ):
        query = Query(["spells"], text="a lamp that burns in the ash")
        await library.searcher.search(replace(query, text="warm"))
        loop = asyncio.get_running_loop()
        provider.before = lambda: asyncio.run_coroutine_threadsafe(
            another.cache.store_entities([new], "spells"), loop
        ).result(60)
        page = await library.searcher.search(query)
        assert new.name not in names(page), "neither found by words nor by meaning: it came after the search began"
        assert names(await library.searcher.search(query))[0] == new.name


async def test_a_cancelled_search_ends_at_once_though_the_model_goes_on(tmp_path):
    provider, asked, goes_on = Interrupting(), threading.Event(), threading.Event()
    async with sample_library(tmp_path), open_library(tmp_path, EmbeddingService(lambda: provider)) as library:
        await library.searcher.search(Query(["spells"], text="warm"))

        def block() -> None:
            asked.set()
            goes_on.wait(60)

        provider.before = block
        search = asyncio.create_task(library.searcher.search(Query(["spells"], text="ash")))
        assert await asyncio.to_thread(asked.wait, 60)
        search.cancel()
        try:
            with pytest.raises(asyncio.CancelledError):
                await search
        finally:
            goes_on.set()
