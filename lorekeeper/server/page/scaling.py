"""What a spell rolls at each slot, of those whose text says by how many dice it grows a level."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lorekeeper.entities import Entity
from lorekeeper.play.dice import Dice, dice_in, dice_of
from lorekeeper.render import markdown

HIGHEST = 9
"""Level of the highest slot."""

_GROWS = re.compile(
    r"increases? by (?P<dice>\d{0,2}d\d{1,3}) for (?:each|every) (?P<two>two )?(?:spell )?slot levels? above",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class AtSlot:
    """What a spell rolls that is cast with a slot of a level."""

    level: int
    dice: Dice


def by_slot(entity: Entity) -> Sequence[AtSlot]:
    """The dice of a spell by the level of its slot, its own first; none for a spell that does not grow so.

    What grows are the first dice of the text with as many sides as those that are added.
    """
    level = entity.fields.get("level")
    if entity.type != "spells" or not isinstance(level, int) or level < 1:
        return ()
    text = markdown(entity)
    grows = _GROWS.search(text)
    added = dice_of(grows["dice"]) if grows else None
    if grows is None or added is None:
        return ()
    base = next((dice for _, dice in dice_in(text[: grows.start()]) if dice.sides == added.sides), None)
    if base is None:
        return ()
    step = 2 if grows["two"] else 1
    return [
        AtSlot(slot, replace(base, count=base.count + (slot - level) // step * added.count))
        for slot in range(level, HIGHEST + 1)
    ]
