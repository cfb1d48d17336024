"""One question in several wordings: how they are asked together, what each of them finds, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.cli.hits import hit_lines
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.errors import FilterError
from lorekeeper.library import Library
from lorekeeper.search.query import MAX_WORDINGS, Query
from lorekeeper.search.results import described, found_by
from lorekeeper.server.found import Shown, page_content, page_text
from lorekeeper.server.tools import all_tools
from lorekeeper.text.evidence import read
from lorekeeper.text.keywords import MAX_WORDS, KeywordQuery
from tests.support.entities import make
from tests.support.libraries import open_library

TEXTS = {
    "gill-song": "You grow gills and breathe below the waves for an hour.",
    "cork-skin": "Your body floats like a cork and never sinks under the surface.",
    "wave-walk": "You walk on the sea as on a street.",
    "ember-hand": "Flames leap from your hand and burn a foe.",
    "still-tongue": "Nobody who hears you can tell a lie.",
}

WORDINGS = ["breathe below the waves", "grow gills", "never sinks under the surface"]


class Counting(HashingProvider):
    """Remembers which texts it embedded together."""

    def __init__(self) -> None:
        super().__init__(256)
        self.batches: list[list[str]] = []

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(list(texts))
        return super().embed_queries(texts)


@pytest.fixture
def provider() -> Counting:
    return Counting()


@pytest.fixture(params=["milvus", "sqlite"])
async def library(request: pytest.FixtureRequest, tmp_path: Path, provider: Counting) -> AsyncIterator[Library]:
    async with open_library(tmp_path, EmbeddingService(lambda: provider), request.param) as library:
        await library.cache.store_entities([make(slug, text) for slug, text in TEXTS.items()], "spells")
        provider.batches.clear()
        yield library


def asked(*wordings: str, **values: object) -> Query:
    return replace(Query(["spells"], wordings[0], also=wordings[1:]), **values)  # type: ignore[arg-type]


async def test_they_are_embedded_in_one_batch_and_each_finds_its_own(library, provider):
    page = await library.search(asked(*WORDINGS))
    assert provider.batches == [WORDINGS]
    found = {result.entity.slug: result.wording for result in page.results}
    assert list(found)[:2] == ["gill-song", "cork-skin"]
    assert found["cork-skin"] == "never sinks under the surface"
    assert found["gill-song"] in WORDINGS[:2]


async def test_what_several_wordings_agree_on_comes_before_what_one_has(library):
    alone = await library.search(asked(WORDINGS[2]))
    together = await library.search(asked(*WORDINGS))
    assert alone.results[0].entity.slug == "cork-skin"
    assert together.results[0].entity.slug == "gill-song"


async def test_the_order_of_the_wordings_changes_nothing_but_ties(library):
    pages = [await library.search(asked(*wordings)) for wordings in (WORDINGS, WORDINGS[::-1])]
    assert [r.entity.slug for r in pages[0].results] == [r.entity.slug for r in pages[1].results]
    assert len(pages[0].results) > 1


async def test_a_name_among_the_wordings_is_found_by_its_name(library):
    page = await library.search(asked("something about flames", "ember hand"))
    assert (page.results[0].entity.slug, page.results[0].match) == ("ember-hand", "name")
    assert page.results[0].wording == "ember hand"


@pytest.mark.parametrize(("name", "named"), [("embr hand", True), ("amber land", False)])
async def test_a_name_among_the_wordings_may_have_a_slip_but_is_not_another_name(library, name, named):
    alone, together = await library.search(asked(name)), await library.search(asked("something about flames", name))
    assert alone.results[0].match == "name"
    assert ("name" in {result.match for result in together.results}) is named


async def test_pages_join_and_filters_hold(library):
    whole = await library.search(asked(*WORDINGS, mode="semantic"))
    parts = [await library.search(asked(*WORDINGS, mode="semantic", limit=2, offset=n)) for n in (0, 2, 4)]
    assert [r.entity.slug for page in parts for r in page.results] == [r.entity.slug for r in whole.results]
    assert len(whole.results) == len(TEXTS)
    only = await library.search(asked(*WORDINGS, where="name:cork-skin"))
    assert {r.entity.slug for r in only.results} <= {"cork-skin"}


async def test_without_a_model_the_words_of_all_wordings_are_searched(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([make(slug, text) for slug, text in TEXTS.items()], "spells")
        page = await library.search(asked(*WORDINGS, mode="keyword"))
    assert [r.entity.slug for r in page.results][:2] == ["gill-song", "cork-skin"]


async def test_answers_say_which_wording_found_a_result(library):
    several = await library.search(asked(*WORDINGS))
    numbers = {result.entity.uri: list(WORDINGS).index(result.wording) + 1 for result in several.results}
    assert {row["uri"]: row["wording"] for row in page_content(several)["results"]} == numbers
    assert "cork-skin (spell): Your body floats" in page_text(Shown(several)), "the best of each wording is told"
    one = await library.search(asked(WORDINGS[0]))
    assert one.results
    assert not any("wording" in row for row in page_content(one)["results"])


async def test_tools_take_one_text_or_a_list(library):
    tools = {tool.name: tool for tool in all_tools()}
    for name, parameter in (("lookup_spell", "semantic_query"), ("search_lore", "query")):
        tool = tools[name]
        for value in (WORDINGS, WORDINGS[0]):
            answer = await tool.run(library, tool.check({parameter: value}))
            assert answer.structured["results"]
        first, *further = WORDINGS
        assert tool.check({parameter: first, "wordings": further}) == {parameter: first, "wordings": further}
        apart = await tool.run(library, tool.check({parameter: first, "wordings": further}))
        together = await tool.run(library, tool.check({parameter: WORDINGS}))
        assert apart.structured == together.structured


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (asked("a", "b", "c", "d", "e"), "5 wordings, at most 4"),
        (asked("a", " "), "empty"),
        (asked("a", "x" * 3000), "3,000 characters"),
        (asked("a", "lore://spells/book/gill-song"), "similar_to"),
        (replace(Query(["spells"]), also=["a"]), "similar_to"),
    ],
)
async def test_what_cannot_be_asked_is_refused_with_the_reason(library, query, said):
    with pytest.raises(FilterError, match=said):
        await library.search(query)


async def test_queries_that_were_embedded_before_are_not_embedded_again(provider):
    service = EmbeddingService(lambda: provider)
    first = await service.embed_queries(["one", "two"])
    second = await service.embed_queries(["two", "three", "one"])
    assert provider.batches == [["one", "two"], ["three"]]
    assert np.array_equal(second[[2, 0]], first)
    service.close()


def test_words_count_as_often_as_they_are_said_and_any_wording_is_complete():
    joined = KeywordQuery.joined([KeywordQuery(("red", "wyrm"), ("dragon",)), KeywordQuery(("wyrm", "fire"), ("red",))])
    assert joined == KeywordQuery(("red", "wyrm", "wyrm", "fire"), ("dragon",), (("red", "wyrm"), ("wyrm", "fire")))
    assert joined.complete == (("red", "wyrm"), ("wyrm", "fire"))
    long = KeywordQuery(tuple(f"w{n}" for n in range(MAX_WORDS)))
    assert len(KeywordQuery.joined([long, long]).any) == MAX_WORDS


def test_rare_words_decide_which_wording_fits():
    entity = make("gill-song", TEXTS["gill-song"])
    assert (
        found_by(entity, read(entity), ["a spell for the waves", "a spell to grow gills", "a spell"])
        == "a spell to grow gills"
    )


def test_an_entry_is_described_by_its_facts_and_by_parts_of_all_its_text():
    entity = make("long", "\n\n".join(f"Part {n} of the story. " + "It goes on and on. " * 12 for n in range(20)))
    texts = described(entity)
    assert len(texts) == MAX_WORDINGS
    assert "Part 0 " in texts[1]
    assert "Part 1" in texts[-1]


async def test_a_terminal_shows_all_that_the_first_result_says_and_which_wording_found_each(library):
    page = await library.search(asked(*WORDINGS))
    results = page_content(page)["results"]
    assert "  found by: never sinks under the surface" in [line.plain for line in hit_lines(results, 120, WORDINGS)]
    lines = [line.plain.strip() for line in hit_lines(results, 20, WORDINGS)]
    assert results[0]["snippet"] in " ".join(lines)  # and nothing of the others goes on in a second line
    assert results[1]["snippet"] not in " ".join(lines)


async def test_an_entry_without_text_says_by_its_name_which_wording_found_it(library):
    await library.cache.store_entities([make("ember-lamp", "", name="Ember Lamp")], "spells")
    page = await library.searcher.search(Query(["spells"], text="something that shines", also=["ember lamp"]))
    assert next(result.wording for result in page.results if result.entity.name == "Ember Lamp") == "ember lamp"
