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
    min_max,
    reciprocal_rank,
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


def test_reciprocal_ranks_follow_the_formula():
    assert reciprocal_rank(1) == 1.0
    assert reciprocal_rank(2) == pytest.approx(61 / 62)


def test_min_max_scores_run_from_the_best_to_the_floor():
    assert min_max([("a", 0.8), ("b", 0.6), ("c", 0.4)]) == {"a": 1.0, "b": pytest.approx(0.5), "c": 0.0}
    assert min_max([("a", 8.0), ("b", 2.0)], floor=0.0) == {"a": 1.0, "b": 0.25}
    assert min_max([("a", 0.5)]) == {"a": 1.0}
    assert min_max([]) == {}


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


def test_a_name_spelt_rightly_comes_before_a_misspelt_one_that_reads_better():
    hits = fused([("near", 0.9), ("right", 0.1)], [("near", 9.0)], [("right", 1.0), ("near", 0.95)])
    assert [hit.key for hit in hits] == ["right", "near"]
    assert hits[0].retriever == "name"


def test_a_name_one_letter_off_comes_before_a_farther_one_that_reads_better():
    hits = fused([("far", 0.9)], [("far", 9.0)], [("near", 0.96), ("far", 0.8)])
    assert [hit.key for hit in hits] == ["near", "far"]


def test_of_several_duplicates_the_one_that_was_named_represents_all():
    hits = fused(keyword=[("a1", 9.0), ("a2", 8.0)], names=[("a2", 1.0), ("a1", 0.8)], group=family)
    assert (hits[0].key, hits[0].duplicates) == ("a2", ("a1",))


def test_duplicates_rank_behind_the_preferred_one_of_them():
    hits = fused([("a2", 0.9), ("a1", 0.8), ("b1", 0.5)], group=family)
    assert [hit.key for hit in hits] == ["a1", "b1", "a2"]
    assert hits[0].duplicates == ("a2",)


def test_a_duplicate_does_not_count_twice():
    many = [(f"a{number}", 0.9 - number / 100) for number in range(4)]
    single = fused([("b1", 0.95), *many], [("b1", 1.0)], group=family)
    assert single[0].key == "b1"


def test_a_longer_ranking_keeps_the_order_of_the_shorter_ones_head():
    semantic = [(f"s{number:03}", 1.0 - number / 1000) for number in range(400)]
    keyword = [(f"s{number:03}", float(500 - number)) for number in range(0, 400, 7)]
    short = [hit.key for hit in fused(semantic[:FUSED_BY_SCORE], keyword[:FUSED_BY_SCORE])]
    long = [hit.key for hit in fused(semantic, keyword)]
    assert long[:FUSED_BY_SCORE] == short[:FUSED_BY_SCORE]


def test_one_retriever_alone_keeps_its_order_and_its_name():
    hits = fused(keyword=[("a", 3.0), ("b", 2.0), ("c", 1.0)])
    assert [(hit.key, hit.retriever) for hit in hits] == [("a", "keyword"), ("b", "keyword"), ("c", "keyword")]
    assert hits[0].score == 1.0


def test_nothing_gives_nothing():
    assert fused() == []


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


@given(rankings(), rankings())
def test_phrases_as_near_as_the_passages_change_no_order(semantic, keyword):
    plain = with_phrases(semantic, [], {})
    assert list(with_phrases(semantic, [], dict(semantic))) == list(plain)
    without = Corpus("books", BOOK.shares)
    hits = fuse(semantic, keyword, [], group=alone, preference=str, corpus=lambda _: without, tail=False)
    assert with_phrases(semantic, keyword, {}) == {hit.key: hit for hit in hits}, "what has none is weighed as what has"


def test_of_equal_entries_the_one_with_the_nearer_phrase_comes_first():
    semantic, keyword = [("a", 0.7), ("b", 0.7), ("c", 0.2)], [("a", 3.0), ("b", 3.0), ("c", 1.0)]
    hits = with_phrases(semantic, keyword, {"a": 0.3, "b": 0.8, "c": 0.1})
    assert list(hits) == ["b", "a", "c"]
    assert hits["b"].score == pytest.approx(1.0)
    assert hits["b"].parts["semantic"] > hits["a"].parts["semantic"]
    assert hits["b"].parts["keyword"] == hits["a"].parts["keyword"] == pytest.approx(0.8 * WEIGHTS["keyword"])


def test_an_entry_that_keywords_alone_found_is_also_near_by_its_phrase():
    hits = with_phrases([("a", 0.7), ("c", 0.2)], [("a", 3.0), ("b", 3.0)], {"a": 0.3, "b": 0.8})
    assert hits["b"].parts["semantic"] == pytest.approx(0.2)


def test_an_entry_without_phrases_keeps_its_similarity():
    semantic = [("own", 0.7), ("book", 0.6), ("last", 0.2)]
    near = with_phrases(semantic, [], {"book": 0.9, "last": 0.1})
    assert near["own"].score == pytest.approx(1.0)


def test_what_meaning_and_keywords_weigh_with_phrases_is_the_whole():
    assert sum(BOOK.shares.values()) == pytest.approx(1.0)
    assert BOOK.shares["semantic"] == pytest.approx(0.2 + 0.8 * WEIGHTS["semantic"])
    assert Corpus("books", WEIGHTS).shares == WEIGHTS
