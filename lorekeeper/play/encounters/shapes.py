"""Shapes of encounters: one strong foe, a leader with followers, a group; and which challenge ratings fill a budget in each.

Pure: numbers of creatures by challenge rating in, patterns out. Creatures of challenge rating 0 fill no budget and are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from lorekeeper.play.encounters.arithmetic import WEAK, adjusted_xp, window
from lorekeeper.records.creatures import EXPERIENCE

MOST_FOLLOWERS, MOST_IN_GROUP = 8, 12
"""Most monsters beside a leader, and of a group: more are tedious to run."""

LEADER_SHARE = (0.35, 0.8)
"""Share of the XP that a leader has, from and to."""

FOLLOWER_SHARE = 0.5
"""Most XP of a follower, as a share of its leader's."""

Counts = Mapping[float, int]
"""Number of creatures by challenge rating."""


@dataclass(frozen=True)
class Budget:
    """What an encounter may cost.

    Attributes:
        levels: of the characters.
        rules: "2014" or "2024".
        least: XP, adjusted ones for 2014, from which on it is as hard as wanted.
        most: XP that it does not exceed.
    """

    levels: tuple[int, ...]
    rules: str
    least: int
    most: int

    @classmethod
    def of(cls, levels: Sequence[int], rules: str, difficulty: str) -> Budget:
        """Of a difficulty; see `arithmetic.window`."""
        return cls(tuple(levels), rules, *window(levels, rules, difficulty))

    def cost(self, parts: Sequence[tuple[float, int]]) -> int:
        """What monsters cost, given as challenge rating and number."""
        xp = sum(EXPERIENCE[rating] * count for rating, count in parts)
        return adjusted_xp(xp, sum(count for _, count in parts), len(self.levels), self.rules)

    def all_count(self, parts: Sequence[tuple[float, int]]) -> bool:
        """Whether all of them count: those that are weak beside others do not, by the rules of 2014."""
        points = [EXPERIENCE[rating] for rating, _ in parts]
        return self.rules != "2014" or min(points) >= WEAK * max(points)


@dataclass(frozen=True)
class Pattern:
    """Challenge ratings and numbers of an encounter, the strongest first.

    Attributes:
        shape: its name in `SHAPES`.
        parts: challenge rating and number of each kind of monster.
        cost: XP, adjusted ones for 2014.
    """

    shape: str
    parts: tuple[tuple[float, int], ...]
    cost: int


FOE, LEADER, GROUP = "one strong foe", "a leader with followers", "a group"


def usable(counts: Counts) -> list[float]:
    """The challenge ratings of which there are creatures, and whose XP are published and not 0."""
    return sorted(rating for rating, number in counts.items() if number and rating in EXPERIENCE)


def _foe(ratings: Sequence[float], _: int) -> Iterator[tuple[tuple[float, int], ...]]:
    yield from (((rating, 1),) for rating in ratings)


def _leader(ratings: Sequence[float], party: int) -> Iterator[tuple[tuple[float, int], ...]]:
    for leader, follower in product(ratings, repeat=2):
        if EXPERIENCE[follower] > FOLLOWER_SHARE * EXPERIENCE[leader]:
            continue
        for count in range(2, min(MOST_FOLLOWERS, 2 * party + 1) + 1):
            share = EXPERIENCE[leader] / (EXPERIENCE[leader] + count * EXPERIENCE[follower])
            if LEADER_SHARE[0] <= share <= LEADER_SHARE[1]:
                yield (leader, 1), (follower, count)


def _group(ratings: Sequence[float], party: int) -> Iterator[tuple[tuple[float, int], ...]]:
    for rating in ratings:
        yield from (((rating, count),) for count in range(2, min(MOST_IN_GROUP, 3 * party) + 1))


Parts = Callable[[Sequence[float], int], Iterator[tuple[tuple[float, int], ...]]]

SHAPES: dict[str, Parts] = {FOE: _foe, LEADER: _leader, GROUP: _group}
"""The monsters that each shape allows, of some challenge ratings for a party of some size."""


def patterns(budget: Budget, counts: Counts) -> dict[str, list[Pattern]]:
    """The patterns of each shape that are within a budget."""
    ratings = [rating for rating in usable(counts) if budget.cost([(rating, 1)]) <= budget.most]
    party = len(budget.levels)
    return {
        shape: [
            Pattern(shape, parts, cost)
            for parts in allowed(ratings, party)
            if budget.least <= (cost := budget.cost(parts)) <= budget.most and budget.all_count(parts)
        ]
        for shape, allowed in SHAPES.items()
    }


def hardest(budget: Budget, counts: Counts) -> dict[str, list[Pattern]]:
    """The same where nothing is hard enough: of each shape those that come nearest to the budget."""
    below = patterns(Budget(budget.levels, budget.rules, 1, budget.most), counts)
    most = {shape: max((pattern.cost for pattern in found), default=0) for shape, found in below.items()}
    return {shape: [pattern for pattern in found if pattern.cost == most[shape]] for shape, found in below.items()}
