"""How hard monsters are for a party, by the rules of 2014, by those of 2024, and by the Lazy GM's benchmark.

Pure: numbers in, numbers and the lines of the calculation out. The numbers are in `tables`, with their sources.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from lorekeeper.play.encounters.tables import (
    BUDGETS,
    DAYS,
    DIFFICULTIES,
    FEWER,
    LARGE_PARTY,
    LAZY_LEVEL,
    LAZY_SINGLES,
    LAZY_SUMS,
    MANY_PER_CHARACTER,
    MORE,
    MULTIPLIERS,
    SMALL_PARTY,
    THRESHOLDS,
)
from lorekeeper.records.values import amount
from lorekeeper.text.facts import format_rating


@dataclass(frozen=True)
class Foes:
    """Some monsters of one kind.

    Attributes:
        name: of one of them.
        count: how many, 1 or more.
        rating: challenge rating of one.
        xp: experience points of one.
    """

    name: str
    count: int
    rating: float
    xp: int


@dataclass(frozen=True)
class Rating:
    """How hard an encounter is.

    Attributes:
        difficulty: its name in the rules, or "trivial" below the easiest of 2014 and "beyond high" above the hardest of 2024.
        xp: of all monsters.
        adjusted: what is compared with the thresholds of 2014; of 2024 the same as ``xp``.
        lines: the calculation.
        advice: what to take care of.
    """

    difficulty: str
    xp: int
    adjusted: int
    lines: tuple[str, ...]
    advice: tuple[str, ...]


TRIVIAL, BEYOND = "trivial", "beyond high"


def rated(levels: Sequence[int], foes: Sequence[Foes], rules: str) -> Rating:
    """How hard monsters are for a party.

    Args:
        levels: of the characters, each 1 to 20, at least one.
        foes: at least one.
        rules: "2014" or "2024".
    """
    rate = _rated_2014 if rules == "2014" else _rated_2024
    rating = rate(levels, foes)
    return replace(rating, lines=(monsters_line(foes), *rating.lines, *lazy_lines(levels, foes)))


def limits(levels: Sequence[int], rules: str) -> dict[str, int]:
    """The party's XP by difficulty: where each begins (2014), or its budget, which it does not exceed (2024)."""
    table = THRESHOLDS if rules == "2014" else BUDGETS
    return {name: sum(table[level - 1][place] for level in levels) for place, name in enumerate(DIFFICULTIES[rules])}


def window(levels: Sequence[int], rules: str, difficulty: str) -> tuple[int, int]:
    """Least and most XP, adjusted ones for 2014, of an encounter of a difficulty.

    Deadly encounters, which have no upper bound, end as far above their threshold as the one of hard ones lies below it. Those
    of low difficulty use at least half of their budget.
    """
    found = limits(levels, rules)
    names = list(found)
    place = names.index(difficulty)
    if rules == "2024":
        least = found[names[place - 1]] + 1 if place else (found[difficulty] + 1) // 2
        return least, found[difficulty]
    if place + 1 < len(names):
        return found[difficulty], found[names[place + 1]] - 1
    return found[difficulty], 2 * found[difficulty] - found[names[place - 1]]


def multiplier(count: int, party: int) -> float:
    """What the rules of 2014 multiply the XP of so many monsters by, for so many characters."""
    factors = [FEWER, *(factor for _, factor in MULTIPLIERS), MORE]
    place = sum(count >= least for least, _ in MULTIPLIERS)
    return factors[place + (party < SMALL_PARTY) - (party > LARGE_PARTY)]


def adjusted_xp(xp: int, count: int, party: int, rules: str) -> int:
    """What is compared with the limits: XP times multiplier by the rules of 2014, the XP themselves by those of 2024."""
    return int(xp * multiplier(count, party)) if rules == "2014" else xp


# --- lines -----------------------------------------------------------------------------------------------------------


def party_line(levels: Sequence[int]) -> str:
    """ "4 characters: 3 of level 3, 1 of level 2"."""
    counts = Counter(levels)
    groups = ", ".join(f"{number} of level {level}" for level, number in sorted(counts.items(), reverse=True))
    return f"{len(levels)} character{'s' if len(levels) > 1 else ''}: {groups}"


def limit_lines(levels: Sequence[int], rules: str) -> list[str]:
    """How the thresholds or budgets of a party come about, a line each."""
    table = THRESHOLDS if rules == "2014" else BUDGETS
    counts = sorted(Counter(levels).items(), reverse=True)
    return [
        f"{name}: {' + '.join(f'{number} × {amount(table[level - 1][place])}' for level, number in counts)} = "
        f"{amount(total)} XP"
        for place, (name, total) in enumerate(limits(levels, rules).items())
    ]


def day_lines(levels: Sequence[int], rules: str) -> list[str]:
    """What a party can take in a day: XP by the rules of 2014, since those of 2024 set none, and how many encounters that is."""
    day = sum(DAYS[level - 1] for level in levels)
    found = limits(levels, "2014")
    numbers = [f"{max(day // least, 1)} {name}" for name, least in found.items()]
    by = "" if rules == "2014" else "The rules of 2024 set no XP for a day; those of 2014: "
    parts = " + ".join(
        f"{levels.count(level)} × {amount(DAYS[level - 1])}" for level in dict.fromkeys(sorted(levels, reverse=True))
    )
    return [
        f"{by}{parts} = {amount(day)} adjusted XP a day: about {', '.join(numbers[:-1])} or {numbers[-1]} encounters",
        f"Short rests: after about {amount(day // 3)} and {amount(day * 2 // 3)} adjusted XP",
    ]


def monsters_line(foes: Sequence[Foes]) -> str:
    """ "3 × 50 (Goblin, CR 1/4) + 1 × 200 (Bugbear, CR 1) = 350 XP"."""
    parts = " + ".join(f"{amount(f.count)} × {amount(f.xp)} ({f.name}, CR {format_rating(f.rating)})" for f in foes)
    return f"Monsters: {parts} = {amount(_total(foes))} XP"


def _total(foes: Sequence[Foes]) -> int:
    return sum(each.count * each.xp for each in foes)


def _count(foes: Sequence[Foes]) -> int:
    return sum(each.count for each in foes)


def _rated_2014(levels: Sequence[int], foes: Sequence[Foes]) -> Rating:
    xp, count = _total(foes), _count(foes)
    factor = multiplier(count, len(levels))
    adjusted = adjusted_xp(xp, count, len(levels), "2014")
    found = limits(levels, "2014")
    reached = [name for name, least in found.items() if adjusted >= least]
    following = [(name, least) for name, least in found.items() if adjusted < least]
    difficulty = reached[-1] if reached else TRIVIAL
    day = sum(DAYS[level - 1] for level in levels)
    bounds = [f"from {amount(found[difficulty])}" if reached else ""]
    bounds += [f"{name} begins at {amount(least)}" for name, least in following[:1]]
    lines = (
        f"Adjusted: {amount(xp)} × {factor:g} ({_monsters(count)}{_party_note(len(levels))}) = {amount(adjusted)} XP",
        f"Difficulty: {difficulty} ({', '.join(filter(None, bounds))})",
        f"Day: {adjusted / day:.0%} of the {amount(day)} adjusted XP that the party can take; {amount(xp // len(levels))} XP each",
    )
    return Rating(difficulty, xp, adjusted, lines, tuple(_advice_2014(foes)))


def _monsters(count: int) -> str:
    return f"{amount(count)} monster{'s' if count > 1 else ''}"


def _party_note(size: int) -> str:
    if size < SMALL_PARTY:
        return f", next higher for a party of {size}"
    return f", next lower for a party of {size}" if size > LARGE_PARTY else ""


WEAK = 0.2
"""Share of the strongest monster's XP below which others are weak beside it. The rules leave the number to the game master."""


def _advice_2014(foes: Sequence[Foes]) -> list[str]:
    strongest = max(each.xp for each in foes)
    weak = [each.name for each in foes if each.xp < WEAK * strongest]
    if not weak:
        return []
    return [f"{', '.join(weak)}: much weaker than the others; leave them out of the count if they hardly matter"]


def _rated_2024(levels: Sequence[int], foes: Sequence[Foes]) -> Rating:
    xp = _total(foes)
    found = limits(levels, "2024")
    within = [(name, most) for name, most in found.items() if xp <= most]
    difficulty, bound = within[0] if within else (BEYOND, found["high"])
    said = f"{amount(xp)} XP, the budget of {difficulty if within else 'high'} is {amount(bound)}"
    lines = (f"Difficulty: {difficulty} ({said}); {amount(xp // len(levels))} XP each",)
    return Rating(difficulty, xp, xp, lines, tuple(_advice_2024(levels, foes)))


def _advice_2024(levels: Sequence[int], foes: Sequence[Foes]) -> list[str]:
    """What the rules of 2024 say of many monsters, and of strong ones."""
    count, highest = _count(foes), max(foes, key=lambda each: each.rating)
    found = []
    if count > MANY_PER_CHARACTER * len(levels):
        found.append(
            f"{amount(count)} monsters are more than {MANY_PER_CHARACTER} for each character: use ones that fall quickly"
        )
    if highest.rating > min(levels):
        found.append(
            f"{highest.name} (CR {format_rating(highest.rating)}) is above level {min(levels)}: "
            "it may take a character out with one action"
        )
    return found


def lazy_lines(levels: Sequence[int], foes: Sequence[Foes]) -> list[str]:
    """The Lazy GM's benchmark: the sum of the challenge ratings, and the highest one."""
    strong = sum(levels) >= LAZY_LEVEL * len(levels)
    most, single = LAZY_SUMS[strong] * sum(levels), LAZY_SINGLES[strong] * sum(levels) / len(levels)
    total = sum(each.count * each.rating for each in foes)
    highest = max(each.rating for each in foes)
    verdict = "may be deadly" if total > most or highest > single else "not deadly"
    return [
        f"Lazy GM benchmark: {verdict}: sum of CR {_decimal(total)} of at most {_decimal(most)} "
        f"({Fraction(LAZY_SUMS[strong])} of {sum(levels)} levels), highest CR {format_rating(highest)} of at most "
        f"{_decimal(single)}"
    ]


def _decimal(value: float) -> str:
    return f"{value:,.3f}".rstrip("0").rstrip(".")
