"""Who may see what: audiences, as entries and their parts carry them, and viewers, who ask."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lorekeeper.folding import fold

DM, PLAYERS = "dm", "players"

GM_PART = "for_the_game_master"
"""Key of what only the game master may read, in the data of an entry whose rest others may."""

Audience = str | tuple[str, ...]
"""Who may see something: "dm" (the game master alone), "players" (everybody at the table), or the names of people."""

Role = Literal["dm", "player"]

ROLES: tuple[Role, ...] = ("dm", "player")


@dataclass(frozen=True)
class Viewer:
    """Who asks: the game master, who sees everything, or a player.

    Attributes:
        role: "dm" or "player".
        person: name of the person, "" for nobody in particular.
        names: folded names under which things are shared with a player: the person's own, and those of their characters.
    """

    role: Role
    person: str = ""
    names: frozenset[str] = frozenset()

    @classmethod
    def player(cls, person: str = "", characters: Iterable[str] = ()) -> Viewer:
        """A player; without a name one of whom nothing but the role is known."""
        return cls("player", person, frozenset(folded for name in (person, *characters) if (folded := fold(name))))

    @property
    def sees_all(self) -> bool:
        """Whether nothing is kept from this viewer."""
        return self.role == "dm"

    def sees(self, audience: Audience) -> bool:
        """Whether something with that audience may be shown to this viewer."""
        if self.sees_all or audience == PLAYERS:
            return True
        return not isinstance(audience, str) and not self.names.isdisjoint(map(fold, audience))


GAME_MASTER = Viewer("dm")


def parsed(value: object) -> Audience | None:
    """An audience as JSON has it: "dm", "players", a name, or a list of names; None if it says nothing."""
    if isinstance(value, str):
        return value if value in (DM, PLAYERS) else (value,)
    if isinstance(value, list | tuple):
        return tuple(map(str, value)) or DM
    return None


def narrower(one: Audience, other: Audience) -> Audience:
    """Who may see what both audiences hold for: those who are in both; the game master alone if that is nobody."""
    if DM in (one, other):
        return DM
    if PLAYERS in (one, other):
        return other if one == PLAYERS else one
    wanted = set(map(fold, other))
    return tuple(name for name in one if fold(name) in wanted) or DM


def within(part: Audience | None, whole: Audience | None, default: Audience) -> Audience:
    """Who may see a part of something: the narrower of what marks of the part and of the whole say, else the default."""
    said = [audience for audience in (whole, part) if audience is not None]
    return functools.reduce(narrower, said) if said else default


def listed(audiences: Iterable[Audience]) -> tuple[str, ...]:
    """The audiences of the parts of something, each once: "dm", "players", names; () if everybody may see all of it."""
    found = dict.fromkeys(each for who in audiences for each in ((who,) if isinstance(who, str) else who))
    return () if found.keys() <= {PLAYERS} else tuple(sorted(found))
