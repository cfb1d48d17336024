"""Who may see what: audiences, as entries and their parts carry them, and viewers, who ask."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lorekeeper.folding import fold

DM, PLAYERS = "dm", "players"

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
