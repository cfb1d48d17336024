"""Fusion: the laws that any ranking made from several must keep."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.search.fusion import (
    FUSED_BY_SCORE,
    WEIGHTS,
    Corpus,
    FusedHit,
    fuse,
)

keys = st.sampled_from([f"{letter}{number}" for letter in "abcdefgh" for number in range(4)])


@st.composite
def rankings(draw, low=0.01, high=1.0):
    """Distinct keys with falling scores."""
    found = draw(st.lists(keys, unique=True, max_size=24))
    scores = draw(st.lists(st.floats(low, high), min_size=len(found), max_size=len(found)))
    return list(zip(found, sorted(scores, reverse=True), strict=True))


def alone(key):
    return key


def family(key):
    return key[0]


def fused(semantic: Any = (), keyword: Any = (), names: Any = (), group: Any = alone) -> list[FusedHit[str]]:
    return fuse(list(semantic), list(keyword), list(names), group=group, preference=lambda key: key)


@given(rankings(), rankings(), rankings(low=0.78))
def test_scores_are_in_range_and_fall_with_the_rank(semantic, keyword, names):
    hits = fused(semantic, keyword, names)
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@given(rankings(), rankings(), rankings(low=0.78))
def test_everything_that_was_ranked_is_hit_exactly_once(semantic, keyword, names):
    hits = [hit.key for hit in fused(semantic, keyword, names, group=family)]
    assert len(hits) == len(set(hits))
    assert set(hits) == {key for ranking in (semantic, keyword, names) for key, _ in ranking}


@given(rankings(), rankings())
def test_a_better_score_from_one_retriever_never_costs_a_rank(semantic, keyword):
    before = [hit.key for hit in fused(semantic, keyword)]
    if len(keyword) < 2:
        return
    raised, best = keyword[-1][0], keyword[0][1]
    after = [hit.key for hit in fused(semantic, [(raised, best), *keyword[:-1]])]
    assert after.index(raised) <= before.index(raised)


@given(rankings(), rankings(), st.permutations(range(8)))
def test_the_order_in_which_equals_are_met_does_not_matter(semantic, keyword, order):
    tied = [(key, 0.5) for key, _ in semantic]
    shuffled = sorted(tied, key=lambda item: order[ord(item[0][0]) - ord("a")])
    assert [p.key for p in fused(tied, keyword)][: len(tied)] == [p.key for p in fused(shuffled, keyword)][: len(tied)]


@given(rankings(low=0.78, high=0.99))
def test_a_name_comes_before_all_that_is_only_similar(names):
    others = [(f"other {number}", 1.0 - number / 100) for number in range(20)]
    hits = [hit.key for hit in fused(others, others, names)]
    assert set(hits[: len(names)]) == {key for key, _ in names}


def test_of_several_duplicates_the_one_that_was_named_represents_all():
    hits = fused(keyword=[("a1", 9.0), ("a2", 8.0)], names=[("a2", 1.0), ("a1", 0.8)], group=family)
    assert (hits[0].key, hits[0].duplicates) == ("a2", ("a1",))


def test_a_longer_ranking_keeps_the_order_of_the_shorter_ones_head():
    semantic = [(f"s{number:03}", 1.0 - number / 1000) for number in range(400)]
    keyword = [(f"s{number:03}", float(500 - number)) for number in range(0, 400, 7)]
    short = [hit.key for hit in fused(semantic[:FUSED_BY_SCORE], keyword[:FUSED_BY_SCORE])]
    long = [hit.key for hit in fused(semantic, keyword)]
    assert long[:FUSED_BY_SCORE] == short[:FUSED_BY_SCORE]


def test_shelves_are_ranked_by_themselves_and_weighed_against_each_other():
    semantic = [("b1", 0.9), ("b2", 0.8), ("n1", 0.4), ("b3", 0.3), ("n2", 0.2)]
    keyword = [("n2", 90.0), ("n1", 60.0), ("b2", 3.0), ("b1", 2.0)]

    def ranked(books: float, notes: float) -> list[str]:
        corpora = {"b": Corpus("books", WEIGHTS, books), "n": Corpus("notes", WEIGHTS, notes)}
        hits = fuse(semantic, keyword, [], group=alone, preference=lambda key: key, corpus=lambda key: corpora[key[0]])
        return [hit.key for hit in hits]

    assert ranked(1.0, 0.1) == ["b2", "b1", "n1", "n2", "b3"]
    assert ranked(0.1, 1.0)[:2] == ["n1", "n2"]


BOOK = Corpus("books", WEIGHTS, phrases=0.2)


def with_phrases(semantic: Any, keyword: Any, phrases: Any) -> dict[str, FusedHit[str]]:
    hits = fuse(semantic, keyword, [], group=alone, preference=str, corpus=lambda _: BOOK, phrases=phrases, tail=False)
    return {hit.key: hit for hit in hits}


def test_of_equal_entries_the_one_with_the_nearer_phrase_comes_first():
    semantic, keyword = [("a", 0.7), ("b", 0.7), ("c", 0.2)], [("a", 3.0), ("b", 3.0), ("c", 1.0)]
    hits = with_phrases(semantic, keyword, {"a": 0.3, "b": 0.8, "c": 0.1})
    assert list(hits) == ["b", "a", "c"]
    assert hits["b"].score == pytest.approx(1.0)
    assert hits["b"].parts["semantic"] > hits["a"].parts["semantic"]
    assert hits["b"].parts["keyword"] == hits["a"].parts["keyword"] == pytest.approx(0.8 * WEIGHTS["keyword"])
