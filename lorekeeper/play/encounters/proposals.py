"""Encounters of creatures: patterns filled from pools by challenge rating. Pure, and the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.play.encounters.arithmetic import Foes, Rating, rated
from lorekeeper.play.encounters.shapes import FOE, GROUP, LEADER, SHAPES, Budget, Pattern
from lorekeeper.records.creatures import EXPERIENCE
from lorekeeper.records.values import amount, number
from lorekeeper.text.facts import format_rating
from lorekeeper.text.keywords import content_words

PROPOSALS = 3
"""Encounters that are proposed."""

TRIED = 2
"""Patterns of each shape from which creatures are looked at."""

PAIRS = 500
"""Most pairs of leader and follower that are compared."""

OVER_PARTY = 0.1
"""How likely a monster above the lowest level is beside one that is not."""

FILLED = 8
"""How steeply a pattern loses weight with what it leaves of the budget: at 85 % it counts a quarter, at 70 % a twentieth."""

HARMFUL = 10
"""XP at challenge rating 0 of a creature that can do harm."""

MAX_PLACES = 3
"""Most places that a reason names; it counts further ones."""

SIZES = frozenset("giant swarm young adult ancient greater lesser elder dire warrior captain".split())
"""Words of names that join no creatures."""

Pools = Mapping[float, Sequence[Entity]]
"""Creatures by challenge rating."""


@dataclass(frozen=True)
class Monster:
    """A creature of an encounter, and how many there are of it."""

    entity: Entity
    count: int

    @property
    def foes(self) -> Foes:
        """What the arithmetic needs of it."""
        return Foes(self.entity.name, self.count, rating_of(self.entity) or 0, xp_of(self.entity) or 0)


@dataclass(frozen=True)
class Encounter:
    """Monsters, and how hard they are.

    Attributes:
        title: its shape, "" for one that was given.
        monsters: the strongest first.
        reason: why they were chosen, "" for one that was given.
        rating: for the party.
    """

    title: str
    monsters: tuple[Monster, ...]
    reason: str
    rating: Rating


def rating_of(creature: Entity) -> float | None:
    """Challenge rating of a creature, None if it is unknown."""
    value = creature.fields.get("challenge_rating")
    return float(value) if isinstance(value, (int, float)) else None


def xp_of(creature: Entity) -> int | None:
    """Experience points of a creature by its challenge rating; at 0, or at one of its own, as its source says.

    Sources write 0 for all creatures of challenge rating 0. The rules give those that do damage 10.
    """
    rating = rating_of(creature)
    if rating in EXPERIENCE:
        return EXPERIENCE[rating]
    given = number(creature.data.get("experience_points", creature.data.get("xp")))
    if given is None or given < 0:
        return HARMFUL if rating == 0 else None
    if rating == 0 and not given and creature.fields.get("damage_types"):
        return HARMFUL
    return int(given)


def chosen(found: Mapping[str, Sequence[Pattern]], budget: Budget, order: random.Random) -> dict[str, list[Pattern]]:
    """A few patterns of each shape, in a random order in which good ones come early."""
    result = {}
    for shape, patterns in found.items():
        keyed = [(order.random() ** (1 / _weight(pattern, budget)), pattern) for pattern in patterns]
        result[shape] = [pattern for _, pattern in sorted(keyed, key=lambda pair: -pair[0])[:TRIED]]
    return result


def _weight(pattern: Pattern, budget: Budget) -> float:
    """How good a pattern is, above 0: it fills the budget, a group is about as large as the party, and nobody is far above it."""
    party, count = len(budget.levels), sum(count for _, count in pattern.parts)
    size = 1.0 if pattern.shape == FOE else 1 / (1 + abs(count - party - (pattern.shape == LEADER))) ** 2
    return (
        size
        * (pattern.cost / budget.most) ** FILLED
        * (OVER_PARTY if pattern.parts[0][0] > min(budget.levels) else 1.0)
    )


def encounters(
    found: Mapping[str, Sequence[Pattern]], pools: Pools, budget: Budget, order: random.Random
) -> list[Encounter]:
    """At most `PROPOSALS` encounters of different creatures: one of each shape if there is one, then further ones.

    Args:
        found: patterns by shape, the preferred ones first.
        pools: the creatures that there are for their challenge ratings.
        budget: that the patterns are within.
        order: makes the choice among equals.
    """
    queue = [pattern for place in range(TRIED) for shape in SHAPES for pattern in found[shape][place : place + 1]]
    result: list[Encounter] = []
    used: set[str] = set()
    shapes: set[str] = set()
    for first in (True, False):
        for pattern in queue:
            if len(result) == PROPOSALS or (first and pattern.shape in shapes):
                continue
            monsters = _filled(pattern, pools, used, order)
            if monsters:
                result.append(_encounter(pattern, monsters, budget))
                used |= {monster.entity.name.casefold() for monster in monsters}
                shapes.add(pattern.shape)
    return sorted(result, key=lambda encounter: list(SHAPES).index(encounter.title))


def _filled(pattern: Pattern, pools: Pools, used: set[str], order: random.Random) -> tuple[Monster, ...]:
    """Creatures for a pattern that are not used yet; () if there are none."""
    free = [[each for each in pools.get(rating, ()) if each.name.casefold() not in used] for rating, _ in pattern.parts]
    if not all(free):
        return ()
    counts = [count for _, count in pattern.parts]
    if len(free) == 1:
        return (Monster(order.choice(free[0]), counts[0]),)
    leaders = order.sample(free[0], min(len(free[0]), max(1, PAIRS // len(free[1]))))
    pairs = [(kinship(leader, follower), leader, follower) for leader in leaders for follower in free[1]]
    best = max(closeness for closeness, _, _ in pairs)
    _, leader, follower = order.choice([pair for pair in pairs if pair[0] == best])
    return Monster(leader, counts[0]), Monster(follower, counts[1])


def kinship(one: Entity, other: Entity) -> int:
    """How much two creatures belong together: 3 for a word of their names, 2 for a type, 1 each for places and books."""
    return (
        3 * bool(_shared_words(one, other))
        + 2 * bool(_shared(one, other, "type"))
        + bool(_shared(one, other, "environments"))
        + (one.document == other.document)
    )


def _shared(one: Entity, other: Entity, field: str) -> list[str]:
    """The values of a field that both have, in the order of the first."""
    values = [each.fields.get(field) for each in (one, other)]
    first, second = (value if isinstance(value, tuple) else () for value in values)
    return [value for value in first if value in second]


def _shared_words(one: Entity, other: Entity) -> list[str]:
    found = set(content_words(fold(other.name))) - SIZES
    return [word for word in content_words(fold(one.name)) if word in found]


def _encounter(pattern: Pattern, monsters: tuple[Monster, ...], budget: Budget) -> Encounter:
    rating = rated(budget.levels, [monster.foes for monster in monsters], budget.rules)
    return Encounter(pattern.shape, monsters, ". ".join(_reasons(pattern, monsters, budget)) + ".", rating)


def _reasons(pattern: Pattern, monsters: Sequence[Monster], budget: Budget) -> Iterator[str]:
    """Why an encounter fits: its place in the budget, and what its monsters have to do with each other."""
    points = "adjusted XP" if budget.rules == "2014" else "XP"
    yield f"Uses {amount(pattern.cost)} of at most {amount(budget.most)} {points}"
    first = monsters[0].entity
    if pattern.shape == FOE:
        legendary = first.fields.get("legendary") is True
        yield (
            "Legendary actions help it against several"
            if legendary
            else "It is alone against several; expect it to be out-acted"
        )
    elif pattern.shape == GROUP:
        many = monsters[0].count > len(budget.levels)
        weight = "spells with an area are worth more here" if many else "no more of them than characters"
        yield f"{monsters[0].count} for a party of {len(budget.levels)}; {weight}"
    else:
        yield _bond(first, monsters[1].entity)


def _bond(leader: Entity, follower: Entity) -> str:
    names, types = _shared_words(leader, follower), _shared(leader, follower, "type")
    places = _shared(leader, follower, "environments")
    more = f" and {len(places) - MAX_PLACES} more" if len(places) > MAX_PLACES else ""
    bonds = [
        f"both have {names[0]!r} in their names" if names else "",
        f"both are of type {types[0]}" if types else "",
        f"both live in: {', '.join(places[:MAX_PLACES])}{more}" if places else "",
    ]
    told = ", ".join(filter(None, bonds))
    ratings = f"CR {format_rating(rating_of(leader) or 0)} leads CR {format_rating(rating_of(follower) or 0)}"
    return f"{ratings}; {told or 'they only share the budget'}"
