"""What the retrievers found: the second passage of an entry, and its phrases."""

from __future__ import annotations

from random import Random

import pytest

from lorekeeper.cache.protocol import Ranked
from lorekeeper.search.fusion import FUSED_BY_SCORE
from lorekeeper.search.results import Key
from lorekeeper.search.retrieved import AGREEMENT, Ranking, Retrieved, fused


def ranking(places: list[tuple[str, float, float | None]], entity_type: str = "spells") -> Ranking:
    """The ranking by meaning of entries of one type: slug, similarity of the best and of the second best passage."""
    return {
        (entity_type, ("own", slug)): Ranked(("own", slug), slug, best, second=second) for slug, best, second in places
    }


def found(semantic: Ranking, phrases: dict[Key, float]) -> Retrieved:
    return Retrieved(semantic, {}, {}, len(semantic), None, phrases=phrases)


def order(retrieved: Retrieved) -> list[str]:
    return [identity[1] for (_, identity), _ in retrieved.meant]


def test_of_two_entries_the_one_whose_second_passage_is_near_comes_first():
    semantic = ranking([("once", 0.61, 0.2), ("twice", 0.6, 0.55), ("last", 0.2, None)])
    assert order(found(semantic, dict.fromkeys(semantic, 0.5))) == ["twice", "once", "last"]
    assert order(found(semantic, {})) == ["once", "twice", "last"]


def test_an_entry_without_phrases_keeps_its_score():
    semantic = ranking([("own", 0.6, None), ("book", 0.59, 0.3), ("last", 0.2, None)])
    others = {key: 0.5 for key in semantic if key[1][1] != "own"}
    scores = {key[1][1]: score for key, score in found(semantic, others).meant}
    assert scores["own"] == 0.6
    assert scores["book"] == pytest.approx(0.59 - AGREEMENT * 0.29)


def test_notes_are_ranked_by_their_best_passages_alone():
    semantic = ranking([("once", 0.61, 0.2), ("twice", 0.6, 0.55), ("last", 0.2, None)], "notes")
    assert order(found(semantic, dict.fromkeys(semantic, 0.5))) == ["once", "twice", "last"]


def test_a_deeper_ranking_goes_on_after_the_same_head(seed):
    chance = Random(seed)
    best = sorted((round(chance.uniform(0.2, 0.9), 2) for _ in range(4 * FUSED_BY_SCORE)), reverse=True)
    deep = ranking([(f"entry {n:03}", score, round(chance.uniform(0.1, score), 2)) for n, score in enumerate(best)])
    head = dict(list(deep.items())[:FUSED_BY_SCORE])
    phrases = {key: chance.random() for key in head if chance.random() < 0.8}
    few, many = (found(semantic, phrases) for semantic in (head, deep))
    assert many.meant[:FUSED_BY_SCORE] == few.meant
    first, further = ([hit.key for hit in fused(one, [], {}, tail=True)] for one in (few, many))
    assert further[: len(first)] == first
    assert set(further) == deep.keys()
