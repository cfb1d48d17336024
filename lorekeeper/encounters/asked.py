"""What callers ask for: parties, difficulties and monsters, as people and models write them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lorekeeper.encounters.tables import COUNTERPARTS, DIFFICULTIES, MAX_LEVEL
from lorekeeper.errors import FilterError
from lorekeeper.printable import shown

MAX_PARTY = 30
"""Most characters of a party."""

MAX_MONSTERS = 1_000_000
"""Most monsters of one kind."""

MAX_NAME = 1000
"""Longest number and name or uri of monsters, in characters."""

_COUNT_BEFORE = re.compile(r"(\d{1,9})\s*[x×*]?\s+(.+)|(\d{1,9})\s*[x×*]\s*(.+)", re.DOTALL)
_COUNT_BEHIND = re.compile(r"(.+?)\s+[x×*]\s*(\d{1,9})", re.DOTALL)
_LEVEL = re.compile(r"[0-9]{1,2}")
_GROUP = re.compile(r"(\d{1,2})\s*[x×*]\s*(\d{1,2})")

PLURALS = (("wolves", "wolf"), ("ies", "y"), ("ves", "f"), ("men", "man"), ("es", ""), ("s", ""))
"""Endings of several, and of one."""


def parse_party(party: Sequence[int | str]) -> tuple[int, ...]:
    """The levels of a party, of numbers or of texts such as "4x3" (four characters of level 3).

    Raises:
        FilterError: it is empty or too large, or a level is not 1 to 20.
    """
    levels: list[int] = []
    for part in (piece for each in party for piece in str(each).replace(",", " ").split()):
        group = _GROUP.fullmatch(part)
        number, level = (group[1], group[2]) if group else ("1", part)
        if not _LEVEL.fullmatch(level) or not 1 <= int(level) <= MAX_LEVEL:
            raise FilterError(f"a level is a whole number from 1 to {MAX_LEVEL}, not {shown(part)}")
        levels += [int(level)] * int(number)
        if len(levels) > MAX_PARTY:
            raise FilterError(f"a party has at most {MAX_PARTY} characters")
    if not levels:
        raise FilterError("the party is empty; give the levels of its characters, as in 3,3,4 or 4x3 (four of level 3)")
    return tuple(levels)


def parse_difficulty(difficulty: str | None, rules: str) -> str:
    """A difficulty by the name that the rules have for it; the second one by default.

    Raises:
        FilterError: there is no such difficulty.
    """
    names = DIFFICULTIES[rules]
    if difficulty is None:
        return names[1]
    folded = difficulty.strip().casefold()
    found = folded if folded in names else COUNTERPARTS.get((rules, folded))
    if found is None:
        raise FilterError(f"unknown difficulty {shown(difficulty)}; the rules of {rules} have {', '.join(names)}")
    return found


def parse_monster(text: str) -> tuple[int, str]:
    """Number and name of monsters: "3 goblins", "3x goblin", "goblin x3", or one "goblin".

    Raises:
        FilterError: there is no name, or the number is 0 or too large.
    """
    if len(text) > MAX_NAME:
        raise FilterError(f"the name of a monster has at most {MAX_NAME} characters; {shown(text)} is longer")
    before, behind = _COUNT_BEFORE.fullmatch(text.strip()), _COUNT_BEHIND.fullmatch(text.strip())
    count, name = "1", text.strip()
    if before:
        count, name = before[1] or before[3], before[2] or before[4]
    elif behind:
        count, name = behind[2], behind[1]
    if not name.strip() or not 1 <= int(count) <= MAX_MONSTERS:
        raise FilterError(
            f"{shown(text)}: give a number from 1 to {MAX_MONSTERS:,} and a name or uri, as in '3 goblin'"
        )
    return int(count), name.strip()


def singulars(name: str) -> list[str]:
    """What a name may be of one: "goblin" for "goblins", "harpy" for "harpies"."""
    folded = name.casefold()
    return [
        name[: len(name) - len(many)] + one
        for many, one in PLURALS
        if folded.endswith(many) and len(name) > len(many) + 1
    ]
