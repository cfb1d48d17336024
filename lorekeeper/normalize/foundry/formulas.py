"""Formulas of Foundry VTT: dice, and numbers that depend on a creature, such as ``@abilities.str.mod + 2``."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from lorekeeper.normalize.formulas import worked_out
from lorekeeper.normalize.foundry.values import word

MAX_CHARS = 200
"""Longest formula that is worked out."""

_PATH = re.compile(r"@([A-Za-z0-9_.-]{1,80})")
_FLAVOUR = re.compile(r"\[[^\[\]]{0,200}\]|#.*")
_DICE = re.compile(r"(\d{0,4})d(\d{1,4})", re.IGNORECASE)
_SUCCESSES = re.compile(r"(?<=\d)(?:cs|cf|kh|kl|dh|dl|[xr])[<>=]*\d{0,3}\b")
_TIMES = re.compile(r"\s?\*\s?")

Values = Callable[[str], float | None]
"""Gives the number at a path after ``@``; None if it is not known."""


def nothing_known(_: str) -> None:
    """No number is known."""


def value(formula: str, values: Values = nothing_known) -> int | None:
    """The number that a formula without dice gives, rounded down; None if it cannot be worked out."""
    formula = _FLAVOUR.sub("", formula).strip()
    if not formula or len(formula) > MAX_CHARS:
        return None
    missing: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        found = values(match[1])
        if found is None:
            missing.append(match[1])
        return f"({found or 0})"

    filled = _PATH.sub(replaced, formula)
    if missing or _DICE.search(filled):
        return None
    found = worked_out(filled)
    return math.floor(found) if found is not None and math.isfinite(found) and abs(found) < 10**9 else None


def shown(formula: str, values: Values = nothing_known) -> str:
    """A formula as people read it: its dice, and a number where one follows from the values that are known.

    "1d4 * 10" is "1d4 × 10", "2d6 + @mod" is "2d6 + 3" if the modifier is known and "2d6 + modifier" if not.
    """
    plain = _SUCCESSES.sub("", _FLAVOUR.sub("", formula[:MAX_CHARS])).strip()
    number = value(plain, values)
    if number is not None:
        return str(number)

    def named(match: re.Match[str]) -> str:
        found = values(match[1])
        if found is not None:
            return f"{found:g}"
        return word("numbers", match[1], match[1].rpartition(".")[2].replace("-", " "))

    text = _TIMES.sub(" × ", _PATH.sub(named, plain))
    text = re.sub(r"(?:(?<!\s)\s+)?(?:\+\s*-\s*|-\s+)", " - ", text)
    return re.sub(r"(?:(?<!\s)\s+)?\+\s*", " + ", " ".join(text.split())).removeprefix("+ ").strip()


def average_of(formula: str) -> int | None:
    """The average of a formula such as "2d8 + 4", rounded down; None if it cannot be worked out."""
    averages, dice = _DICE.subn(lambda found: f"({found[1] or 1} * ({found[2]} + 1) / 2)", formula[:MAX_CHARS])
    return value(averages) if dice and "(" not in formula else None
