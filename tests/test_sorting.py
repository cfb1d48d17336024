"""Lookups and searches that are sorted, and narrowed by ``where``."""

from __future__ import annotations

import pytest

from lorekeeper.entities import Entity
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage
from tests.support.libraries import sample_library

pytestmark = pytest.mark.asyncio(loop_scope="module")


def number(entity: Entity, field: str, absent: float = -1) -> float:
    value = entity.fields.get(field, absent)
    assert isinstance(value, (int, float))
    return value


@pytest.fixture(scope="module", params=["milvus", "sqlite"])
async def library(request, tmp_path_factory):
    async with sample_library(tmp_path_factory.mktemp("orders"), request.param) as opened:
        yield opened


async def found(library: Library, **query: object) -> tuple[list[str], ResultPage]:
    page = await library.search(Query(**query))  # type: ignore[arg-type]
    return [result.entity.slug for result in page.results], page


async def test_a_lookup_is_sorted_and_entries_without_the_value_are_last(library):
    _, page = await found(library, types=["creatures"], order="cr")
    ratings = [result.entity.fields.get("challenge_rating") for result in page.results]
    known = [rating for rating in ratings if rating is not None]
    assert known == sorted(known, reverse=True)
    assert ratings == known + [None] * (len(ratings) - len(known))
    assert len(known) > 3


async def test_a_search_for_a_text_sorts_what_is_relevant(library):
    asked = {"types": ["spells", "creatures"], "text": "ash lamp tide"}
    _, ranked = await found(library, **asked, limit=50)
    _, first = await found(library, **asked, order="level", limit=3)
    _, second = await found(library, **asked, order="level", limit=50, offset=3)
    pages = [*first.results, *second.results]
    assert sorted(r.entity.uri for r in pages) == sorted(r.entity.uri for r in ranked.results)
    assert first.total == second.total == len(ranked.results)
    levels = [number(r.entity, "level", absent=99) for r in pages]
    assert levels == sorted(levels)


async def test_a_random_order_repeats_with_its_seed_and_says_it(library):
    listed, page = await found(library, types=["spells"], order="random", seed=3)
    again, _ = await found(library, types=["spells"], order="random", seed=3)
    assert listed == again
    assert not page.note or "seed" not in page.note
    _, drawn = await found(library, types=["spells"], order="random", limit=2)
    assert drawn.note
    seed = int(drawn.note.partition("seed=")[2].partition(" ")[0])
    whole, _ = await found(library, types=["spells"], order="random", seed=seed)
    pages = [
        (await found(library, types=["spells"], order="random", seed=seed, limit=2, offset=o))[0] for o in (0, 2, 4, 6)
    ]
    assert [slug for slugs in pages for slug in slugs] == whole
