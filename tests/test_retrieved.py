"""What the retrievers found: a deeper ranking goes on after the same head."""

from __future__ import annotations

from random import Random

from lorekeeper.cache.protocol import Ranked
from lorekeeper.search.fusion import FUSED_BY_SCORE
from lorekeeper.search.results import Key
from lorekeeper.search.retrieved import Ranking, Retrieved, fused


def ranking(places: list[tuple[str, float]], entity_type: str = "spells") -> Ranking:
    """The ranking by meaning of entries of one type: slug and similarity of the best passage."""
    return {(entity_type, ("own", slug)): Ranked(("own", slug), slug, best) for slug, best in places}


def found(semantic: Ranking, phrases: dict[Key, float]) -> Retrieved:
    return Retrieved(semantic, {}, {}, len(semantic), None, phrases=phrases)


def test_a_deeper_ranking_goes_on_after_the_same_head(seed):
    chance = Random(seed)
    best = sorted((round(chance.uniform(0.2, 0.9), 2) for _ in range(4 * FUSED_BY_SCORE)), reverse=True)
    deep = ranking([(f"entry {n:03}", score) for n, score in enumerate(best)])
    head = dict(list(deep.items())[:FUSED_BY_SCORE])
    phrases = {key: chance.random() for key in head if chance.random() < 0.8}
    few, many = (found(semantic, phrases) for semantic in (head, deep))
    first, further = ([hit.key for hit in fused(one, [], {}, tail=True)] for one in (few, many))
    assert further[: len(first)] == first
    assert set(further) == deep.keys()
