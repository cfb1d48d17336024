"""What `Query.explain` adds to a page: what each retriever gave to each result, and why nothing was found."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from lorekeeper.library import Library
from lorekeeper.search.doubt import LARGE_LIBRARY
from lorekeeper.search.explanation import Explanation
from lorekeeper.search.query import Query
from tests.support.entities import make
from tests.support.libraries import open_library

TEXTS = {
    "gill-song": "You grow gills and breathe below the waves for an hour.",
    "cork-skin": "Your body floats like a cork and never sinks under the waves.",
    "wave-walk": "You walk on the sea as on a street.",
    "ember-hand": "Flames leap from your hand and burn a foe.",
}
QUERY = Query(["spells"], "breathe below the waves", explain=True)


@pytest.fixture(params=["milvus", "sqlite"])
async def library(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Library]:
    async with open_library(tmp_path, backend=request.param) as library:
        entities = [make(slug, text, level=i) for i, (slug, text) in enumerate(TEXTS.items())]
        await library.cache.store_entities(entities, "spells")
        yield library


async def explained(library: Library, query: Query) -> Explanation:
    page = await library.search(query)
    assert page.explanation is not None
    return page.explanation


async def test_a_page_is_explained_only_if_that_is_asked_for_and_stays_the_same(library):
    plain, page = await library.search(replace(QUERY, explain=False)), await library.search(QUERY)
    assert plain.explanation is None
    assert replace(page, explanation=None) == plain
    assert [(r.uri, r.score) for r in page.explanation.results] == [(r.entity.uri, r.score) for r in page.results]


async def test_ranks_and_scores_are_those_of_each_side_alone(library):
    explanation = await explained(library, QUERY)
    for side in ("semantic", "keyword"):
        alone = await library.search(replace(QUERY, mode=side, explain=False))
        ranks = {result.entity.uri: place for place, result in enumerate(alone.results, 1)}
        assert {r.uri: r.sides[side].rank for r in explanation.results if r.sides[side].rank} == ranks
        scores = [r.sides[side].score for r in sorted(explanation.results, key=lambda r: ranks.get(r.uri, 99))]
        found = [score for score in scores if score is not None]
        assert found == sorted(found, reverse=True)
    assert explanation.found["keyword"] == 3, "two texts and a name have one of the words"


async def test_the_stages_that_changed_something_are_listed_and_every_result_says_why(library):
    asked = replace(QUERY, text="a spell that does not need concentration, below the waves", types=["spells", "rules"])
    stages = {stage.name: stage.changed for stage in (await explained(library, asked)).stages}
    assert stages["retrieve"].startswith("4 by meaning")
    explanation = await explained(library, replace(QUERY, text="gill song"))
    assert explanation.results[0].why.startswith("its name is the query's, 1st by meaning")
    assert all(result.why for result in explanation.results)


async def test_filters_that_leave_nothing_are_told_with_what_there_is_without_each(library):
    explanation = await explained(library, replace(QUERY, filters={"level": 3, "name": "cork"}))
    assert (explanation.entries, explanation.results) == (0, ())
    assert explanation.without == {"level=3": 1, "name=cork": 1}
    both = await explained(library, replace(QUERY, types=["spells", "rules"], filters={"name": "zzyzx"}))
    assert both.without == {"name=zzyzx": 4}


async def test_an_off_topic_query_is_told_with_the_values_of_the_test(library):
    others = [make(f"entry-{number}", f"word{number}") for number in range(LARGE_LIBRARY)]
    await library.cache.store_entities(others, "spells")
    library.searcher.documents.forget()
    explanation = await explained(library, replace(QUERY, text="quarterly spreadsheet macros zzyzx"))
    assert explanation.doubt is not None
    assert (explanation.doubt.is_hopeless, explanation.doubt.occurring, explanation.doubt.lacking) == (True, 0.0, 1.0)
    assert explanation.doubt.near < 0.35
    doubt = json.loads(json.dumps(explanation.as_dict()))["doubt"]
    assert (doubt["doubtful"], doubt["lacking"] > doubt["allowed"]) == (True, True)
    near = await explained(library, QUERY)
    assert near.doubt is None or not near.doubt.is_doubtful
