"""Dice as books and notes write them: d20, 1d100, 2d6+3, 1d10 × 10, d%, and in German W6."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from lorekeeper.errors import FilterError
from lorekeeper.printable import shown

MAX_DICE, MAX_SIDES, MAX_NUMBER = 1_000, 100_000, 1_000_000
"""Most dice of one roll, most sides of a die, and the largest number that is added or multiplied by."""

EXAMPLE = "d20, 2d6+3, 1d10 x 10 or d100"

_DICE = (
    r"(?P<count>\d{0,4}) ?[dDwW](?P<sides>\d{1,6}|%)"
    r"(?: ?(?P<times>[×x*]) ?(?P<factor>[\d,]{1,9}))?(?: ?(?P<sign>[+−–-]) ?(?P<more>\d{1,7}))?"
)

WITHIN_TEXT = re.compile(rf"(?<![\w+-]){_DICE}(?![\w%])")
"""Dice within a text."""

_WHOLE = re.compile(_DICE)


@dataclass(frozen=True)
class Dice:
    """What is thrown for a number.

    Attributes:
        count: number of dice.
        sides: of each.
        factor: the sum is multiplied by it.
        more: is added to that; below 0 if it is subtracted.
    """

    count: int
    sides: int
    factor: int = 1
    more: int = 0

    @property
    def least(self) -> int:
        """The smallest number that can come."""
        return self.count * self.factor + self.more

    @property
    def most(self) -> int:
        """The largest number that can come."""
        return self.count * self.sides * self.factor + self.more

    def roll(self, random: Random) -> int:
        """Throw them."""
        return sum(random.randint(1, self.sides) for _ in range(self.count)) * self.factor + self.more

    def __str__(self) -> str:
        factor = f" × {self.factor}" if self.factor != 1 else ""
        more = f"{self.more:+}" if self.more else ""
        return f"{self.count}d{self.sides}{factor}{more}"


def dice_of(text: str) -> Dice | None:
    """The dice that a whole text is, None if it is anything else."""
    match = _WHOLE.fullmatch(" ".join(text.split()))
    return _dice(match) if match else None


def dice_in(text: str) -> list[tuple[str, Dice]]:
    """The dice within a text, each as it is written, in order."""
    found = ((match[0], _dice(match)) for match in WITHIN_TEXT.finditer(text))
    return [(written, dice) for written, dice in found if dice]


def parsed_dice(text: str) -> Dice:
    """The dice that a text is.

    Raises:
        FilterError: it is not dice, or too many.
    """
    dice = dice_of(text)
    if dice is None:
        raise FilterError(
            f"{shown(text)} is not dice; write {EXAMPLE}, at most {MAX_DICE:,} dice of {MAX_SIDES:,} sides"
        )
    return dice


def _dice(match: re.Match[str]) -> Dice | None:
    count, sides = int(match["count"] or 1), 100 if match["sides"] == "%" else int(match["sides"])
    factor = int(match["factor"].replace(",", "") or 0) if match["factor"] else 1
    more = int(match["more"]) if match["more"] else 0
    if not (1 <= count <= MAX_DICE and 1 <= sides <= MAX_SIDES and 1 <= factor <= MAX_NUMBER and more <= MAX_NUMBER):
        return None
    return Dice(count, sides, factor, -more if match["sign"] in ("-", "−", "–") else more)
