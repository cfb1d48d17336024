"""Rankings into one: pure functions.

Measured on graded queries, the sum of relative scores beats reciprocal rank fusion, since it keeps how far ahead a hit is
of the next one. Beyond the heads of the rankings, where scores say little, reciprocal ranks go on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

K = TypeVar("K", bound=Hashable)

Side = Literal["semantic", "keyword", "name"]
Ranking = Sequence[tuple[K, float]]
"""Keys with their scores, best first."""

RRF_K = 60
"""The constant of reciprocal rank fusion; Cormack, Clarke and Buettcher, SIGIR 2009."""

HEAD = 60
"""Length of each side's head: what is fused by scores."""

WEIGHTS: Mapping[Side, float] = {"semantic": 0.4, "keyword": 0.6}
"""Shares of the two sides, tuned on one half of the graded queries and checked on the other."""

LITERAL_WEIGHTS: Mapping[Side, float] = {"semantic": 0.2, "keyword": 0.8}
"""The same where the words of the query themselves are what is sought."""

NAME_WEIGHT, EXACT_NAME = 4.0, 1.0
"""A query that is a name, even misspelt, outweighs both other sides; one that is spelt rightly outweighs misspelt ones."""

NAME_POWER = 6
"""How steeply a name's weight falls with its similarity: a wrong letter less counts for more than both other sides."""


@dataclass(frozen=True)
class Place(Generic[K]):
    """One place of a fused ranking.

    Attributes:
        key: what stands there.
        score: 0 to 1, falling with the rank, comparable within the ranking only.
        side: the side that contributed most.
        variants: keys of the same group that stand further down.
    """

    key: K
    score: float
    side: Side
    variants: tuple[K, ...] = ()


def reciprocal_ranks(rankings: Iterable[Sequence[K]]) -> dict[K, float]:
    """Reciprocal rank fusion: for every key the mean of (k + 1) / (k + rank) over the rankings, 0 where one lacks it.

    Ranks count from 1; the result is between 0 and 1, and 1 for what stands first everywhere.
    """
    sides = list(rankings)
    scores: dict[K, float] = {}
    for keys in sides:
        for rank, key in enumerate(keys, 1):
            scores[key] = scores.get(key, 0.0) + (RRF_K + 1) / (RRF_K + rank) / len(sides)
    return scores


def relative_scores(ranking: Ranking[K], *, floor: float | None = None) -> dict[K, float]:
    """Scores as shares of the best one's lead over a floor, 0 to 1; the floor is the last score unless one is given."""
    if not ranking:
        return {}
    top = ranking[0][1]
    low = ranking[-1][1] if floor is None else floor
    span = top - low
    return {key: (score - low) / span if span > 0 else 1.0 for key, score in ranking}


def fuse(
    semantic: Ranking[K],
    keyword: Ranking[K],
    names: Ranking[K],
    *,
    literal: bool = False,
    group: Callable[[K], Hashable],
    preference: Callable[[K], object],
) -> list[Place[K]]:
    """One ranking from three.

    Variants of one thing (keys of one group) share their best score of each side. The one whose name is nearest stands for
    them, of several such the preferred one; the others follow after the head. A longer ranking never changes the order of
    what a shorter one already had.

    Args:
        semantic: by cosine similarity.
        keyword: by BM25.
        names: by similarity of the name, 0 to 1.
        literal: whether the query's very words are what is sought.
        group: what counts as one thing.
        preference: sort key within a group, smallest first.
    """
    heads: dict[Side, dict[K, float]] = {
        "semantic": relative_scores(semantic[:HEAD]),
        "keyword": relative_scores(keyword[:HEAD], floor=0.0),
        "name": {key: 1.0 + NAME_WEIGHT * s**NAME_POWER + (EXACT_NAME if s == 1 else 0.0) for key, s in names},
    }
    shares = LITERAL_WEIGHTS if literal else WEIGHTS
    given = sum(shares[side] for side in shares if heads[side]) or 1.0
    groups = {key: group(key) for key in dict.fromkeys(itertools.chain(*heads.values()))}
    parts: dict[Hashable, dict[Side, float]] = {}
    for side, scores in heads.items():
        weight = shares.get(side, given) / given
        for key, score in scores.items():
            own = parts.setdefault(groups[key], {})
            own[side] = max(own.get(side, 0.0), weight * score)
    members: dict[Hashable, list[K]] = {}
    for key, own_group in groups.items():
        members.setdefault(own_group, []).append(key)
    highest = 1.0 + (1.0 + NAME_WEIGHT + EXACT_NAME if names else 0.0)
    nearness = dict(names)
    totals = {g: min(sum(own.values()) / highest, 1.0) for g, own in parts.items()}
    places: list[Place[K]] = []
    later: list[K] = []
    for g in sorted(totals, key=lambda g: (-totals[g], str(g))):
        first, *rest = members[g]
        if rest:
            first, *rest = sorted(members[g], key=lambda key: (-nearness.get(key, 0.0), preference(key), str(key)))
        side = max(parts[g], key=lambda s: parts[g][s])
        places.append(Place(first, totals[g], side, tuple(rest)))
        later += rest
    return places + _tail(places, later, [[k for k, _ in semantic], [k for k, _ in keyword]])


def _tail(head: Sequence[Place[K]], later: Sequence[K], rankings: Sequence[Sequence[K]]) -> list[Place[K]]:
    """What comes after the head: variants of what stands there, then the rest of the first ranking that has any.

    One ranking only, so that a page further down fits to the ones before it, however deep it had to look.
    """
    last = head[-1].score if head else 1.0
    seen = {place.key for place in head} | set(later)
    ranking = next((ranking for ranking in rankings if ranking), [])
    side: Side = "semantic" if ranking is rankings[0] else "keyword"
    scores = reciprocal_ranks([ranking])
    places = [(key, last) for key in later]
    places += [(key, last * scores[key]) for key in ranking if key not in seen]
    return [Place(key, score, side) for key, score in places]
