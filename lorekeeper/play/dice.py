"""Dice as books and notes write them: d20, 1d100, 2d6+3, 1d10 × 10, d%, and in German W6."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from random import Random

from lorekeeper.errors import FilterError
from lorekeeper.printable import shown

MAX_DICE, MAX_SIDES, MAX_NUMBER = 1_000, 100_000, 1_000_000
"""Most dice of one roll, most sides of a die, and the largest number that is added or multiplied by."""

EXAMPLE = "d20, 2d6+3, 1d10 x 10, d100, 4d6 drop lowest or d20 advantage"

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


def parsed_formula(text: str) -> Formula:
    """What a text has to be thrown: dice, sums of them, the best or worst of some.

    Raises:
        FilterError: it is not dice, or too many.
    """
    formula = formula_of(text)
    if formula is None:
        raise FilterError(
            f"{shown(text)} is not dice; write {EXAMPLE}, at most {MAX_DICE:,} dice of {MAX_SIDES:,} sides"
        )
    return formula


# --- sums of dice ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Term:
    """A part of a sum.

    Attributes:
        dice: that are thrown.
        sign: 1, or -1 for what is subtracted.
        keep: how many of the highest dice count, below 0 of the lowest; 0 for all.
    """

    dice: Dice
    sign: int = 1
    keep: int = 0

    def throw(self, random: Random) -> tuple[int, str]:
        """What it adds to the sum, and the dice that fell, those that do not count in brackets."""
        dice = self.dice
        fell = [random.randint(1, dice.sides) for _ in range(dice.count)]
        ranked = sorted(range(len(fell)), key=lambda n: -fell[n] if self.keep > 0 else fell[n])
        kept = set(ranked[: abs(self.keep)] if self.keep else ranked)
        text = ", ".join(str(number) if n in kept else f"({number})" for n, number in enumerate(fell[:MOST_SHOWN]))
        total = sum(fell[n] for n in kept) * dice.factor + dice.more
        return self.sign * total, f"{text}{', ...' if len(fell) > MOST_SHOWN else ''}"

    def __str__(self) -> str:
        kept = f" keep {'highest' if self.keep > 0 else 'lowest'} {abs(self.keep)}" if self.keep else ""
        return f"{self.dice}{kept}"


@dataclass(frozen=True)
class Formula:
    """A sum of dice."""

    terms: tuple[Term, ...]

    def throw(self, random: Random) -> tuple[int, str]:
        """The sum, and the dice that fell."""
        thrown = [term.throw(random) for term in self.terms]
        return sum(total for total, _ in thrown), "; ".join(text for _, text in thrown)

    def __str__(self) -> str:
        first, *others = self.terms
        return "".join([str(first), *(f" {'+' if term.sign > 0 else '-'} {term}" for term in others)])


MOST_SHOWN, MOST_TERMS = 20, 20
"""Most dice that are listed, and most terms of a sum."""

_ADVANTAGE = re.compile(
    r",? *(?:with|at)? *\b(?P<adv>adv(?:antage)?)\b|,? *(?:with|at)? *\b(?:dis(?:adv(?:antage)?)?)\b", re.IGNORECASE
)
_KEPT = re.compile(
    r",? *\b(?P<verb>keep|drop) *(?:the *)?(?P<first>\d{1,4})? *(?P<which>highest|best|lowest|worst)? *(?P<last>\d{1,4})?"
    r"|(?<=[\d%]) ?(?P<short>[kd][hl]|k)(?P<number>\d{0,4})\b",
    re.IGNORECASE,
)
_TERM_SIGNS = re.compile(r" *([+−–-]) *(?=\d{0,4} ?[dDwW]\d)")


def formula_of(text: str) -> Formula | None:
    """The sum of dice that a whole text is, None if it is anything else: "2d6 + 1d4 + 3", "4d6 drop lowest", "d20+5 advantage"."""
    text = " ".join(text.split())
    advantage = _ADVANTAGE.search(text)
    if advantage:
        text = f"{text[: advantage.start()]}{text[advantage.end() :]}".strip(" ,")
    kept = _KEPT.search(text)
    if kept:
        text = f"{text[: kept.start()]}{text[kept.end() :]}".strip(" ,")
    first, *parts = _TERM_SIGNS.split(text)
    signs, texts = [1, *(1 if sign == "+" else -1 for sign in parts[::2])], [first, *parts[1::2]]
    found = [dice_of(each) for each in texts[:MOST_TERMS]]
    dice = [each for each in found if each]
    if len(dice) != len(texts):
        return None
    terms = [Term(each, sign) for each, sign in zip(dice, signs, strict=True)]
    if advantage:
        if dice[0].count != 1 or kept:
            return None
        terms[0] = replace(terms[0], dice=replace(dice[0], count=2), keep=1 if advantage["adv"] else -1)
    elif kept:
        keep = _keep(kept, dice[0].count)
        if not 1 <= abs(keep) <= dice[0].count:
            return None
        terms[0] = replace(terms[0], keep=keep)
    return Formula(tuple(terms))


MAX_TIMES, MOST_THROWS = 1_000, 20
"""Most throws of one question, and most of which the dice are listed."""

_LIKE_DICE = re.compile(r"(?=.*\d)[\d\s.,dDxX×*+−–%-]+")
"""Digits with what dice are written with: no name of an entry is made of these alone."""

_NO_SIDES = re.compile(r"(\d+)\s*[dD]")


def throws(text: str, times: int, random: Random) -> tuple[dict[str, object], str] | None:
    """What fell, as content and in words, if a text is dice; None if it is a name.

    Raises:
        FilterError: it is meant to be dice, by its characters, and is none; or these are too many throws.
    """
    formula = formula_of(text)
    if formula is None and _LIKE_DICE.fullmatch(text):
        if sides := _NO_SIDES.fullmatch(text.strip()):
            raise FilterError(f"{shown(text)} lacks the number of sides: did you mean {sides[1]}d6 or {sides[1]}d20?")
        formula = parsed_formula(text)
    if formula is None:
        return None
    if not 1 <= times <= MAX_TIMES:
        raise FilterError(f"times must be 1 to {MAX_TIMES:,}, not {times:,}")
    thrown = [formula.throw(random) for _ in range(times)]
    content: dict[str, object] = {
        "dice": str(formula),
        "numbers": [n for n, _ in thrown],
        "fell": [fell for _, fell in thrown],
    }
    if times > MOST_THROWS:
        return content, f"{formula}: {', '.join(str(number) for number, _ in thrown)}"
    return content, "\n".join(f"{formula}: {number} (dice: {fell})" for number, fell in thrown)


def _keep(match: re.Match[str], count: int) -> int:
    """How many of so many dice count, of the lowest below 0: "drop lowest", "keep 3", "kh1"."""
    number = int(match["first"] or match["last"] or match["number"] or 1)
    short = (match["short"] or "").casefold()
    drops = (match["verb"] or short).casefold().startswith("d")
    which = (match["which"] or ("lowest" if drops else "highest")).casefold()
    lowest = which in ("lowest", "worst") if not short else short.endswith("l") or short == "d"
    if drops:
        number, lowest = count - number, not lowest
    return -number if lowest else number


def _dice(match: re.Match[str]) -> Dice | None:
    count, sides = int(match["count"] or 1), 100 if match["sides"] == "%" else int(match["sides"])
    factor = int(match["factor"].replace(",", "") or 0) if match["factor"] else 1
    more = int(match["more"]) if match["more"] else 0
    if not (1 <= count <= MAX_DICE and 1 <= sides <= MAX_SIDES and 1 <= factor <= MAX_NUMBER and more <= MAX_NUMBER):
        return None
    return Dice(count, sides, factor, -more if match["sign"] in ("-", "−", "–") else more)
