"""Variants that share a place on a page: what their facts are where these differ from the facts of the one that is shown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lorekeeper.entities import Entity
from lorekeeper.printable import one_line
from lorekeeper.terms import RARITIES
from lorekeeper.text.facts import FACTS

NAMED = 2
"""Most variants whose facts are listed by name; of more, the facts are a range."""

MAX_TEXTS = 2
"""Most different texts of a fact that are listed."""

_AMOUNT = re.compile(r"([\d,.]+) (\w+)")

_UNSTATED = {"gp": "price not stated", "lb": "weight not stated", "attunement": "no attunement"}
"""What is said of an entry without a fact that another one has, by the last word of that fact."""


def other_facts(entity: Entity, variants: Sequence[Entity]) -> str:
    """The facts of variants as far as they differ from those of an entry: "Draft: 50 gp", "others: 2 to 35 gp"; "" for none.

    A reader would otherwise take the price or the rarity of the entry that is shown for that of all its variants.
    """
    if not variants:
        return ""
    table = FACTS.get(entity.type, ())
    own = [fact(entity) for fact in table]
    theirs = [[fact(variant) for fact in table] for variant in variants]
    if len(variants) <= NAMED:
        named = zip(variants, theirs, strict=True)
        told = ((label_of(entity.name, v.name), _differences(own, [facts])) for v, facts in named)
        return "; ".join(f"{label}: {differences}" for label, differences in told if differences)
    differences = _differences(own, theirs)
    return f"others: {differences}" if differences else ""


def label_of(name: str, variant: str) -> str:
    """What a variant's name has after the words that it shares with another: "Club" of "Ash Blade (Club)"."""
    words, others = variant.split(), name.split()
    pairs = zip(words, others, strict=False)
    shared = next((n for n, (one, other) in enumerate(pairs) if one != other), min(len(words), len(others)))
    while shared and " ".join(words[shared:]).count("(") < " ".join(words[shared:]).count(")"):
        shared -= 1  # back to the bracket that the difference is in
    rest = " ".join(words[shared:]) or variant
    return one_line(rest.removeprefix("(").removesuffix(")") if rest.startswith("(") else rest)


def _differences(own: Sequence[str], theirs: Sequence[Sequence[str]]) -> str:
    """Those facts of some variants that are not all the same as an entry's own."""
    columns = zip(own, zip(*theirs, strict=True), strict=True)
    merged = [_merged(mine, values) for mine, values in columns if set(values) != {mine}]
    further = ["more that differs"] if "" in merged else []
    return ", ".join([*filter(None, merged), *further])


def _merged(mine: str, values: Sequence[str]) -> str:
    """One fact of several variants in a few words, "" if these are too many; ``mine`` is that of the entry that is shown."""
    stated = list(dict.fromkeys(filter(None, values)))
    if not stated:
        return _UNSTATED.get(mine.split()[-1], f"not {mine}")
    merged = _range(stated) or (" or ".join(stated) if len(stated) <= MAX_TEXTS else "")
    return merged if all(values) or not merged else f"some {merged}"


def _range(values: Sequence[str]) -> str:
    """Amounts, or rarities of the same kind of thing, from the least to the greatest; "" if the values are neither."""
    amounts = [_AMOUNT.fullmatch(value) for value in values]
    if all(amounts) and len({found[2] for found in amounts if found}) == 1:
        numbers = sorted((found[1] for found in amounts if found), key=lambda text: float(text.replace(",", "")))
        unit = amounts[0][2] if amounts[0] else ""
        return f"{' to '.join(dict.fromkeys([numbers[0], numbers[-1]]))} {unit}"
    parts = [_rarity(value) for value in values]
    if all(rarity for rarity, _ in parts) and len({thing for _, thing in parts}) == 1:
        ranked = sorted((rarity for rarity, _ in parts), key=RARITIES.index)
        return " to ".join(dict.fromkeys([ranked[0], ranked[-1]]))
    return ""


def _rarity(value: str) -> tuple[str, str]:
    """The rarity that a fact begins with, "" for none, and what follows it."""
    rarity = next((each for each in reversed(RARITIES) if f"{value} ".startswith(f"{each} ")), "")
    return rarity, value[len(rarity) :].strip()
