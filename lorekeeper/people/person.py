"""A person at the table: the name, the role, the characters, and how long the token holds."""

from __future__ import annotations

import string
import time
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from lorekeeper import dates
from lorekeeper.audience import ROLES, Role, Viewer
from lorekeeper.errors import ConfigError, PeopleError
from lorekeeper.folding import fold
from lorekeeper.printable import has_controls, shown

MAX_NAME = 100
"""Longest name, in characters."""

MAX_CHARACTERS = 50
"""Most characters of a player."""

RESERVED = frozenset({"dm", "gm", "players", "player", "party", "everyone", "everybody", "all", "public", "nobody"})
"""Words, folded, with which notes say who may see them: they cannot be names."""

EXPIRY_EXAMPLE = "90d, 12w, 24h, or a date such as 2027-01-31"

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass(frozen=True)
class Person:
    """A person at the table; times are in seconds since 1970.

    Attributes:
        name: as it was given; an e-mail address, if the person logs in with one.
        role: "dm" or "player".
        characters: whom a player plays: what is shared with them is shared with the player.
        token: the digest of the token.
        created: when the person was added.
        expires: when the person can come in no more, with the token or otherwise; None for never.
        rotated: when the token was last replaced; None if it is the first.
    """

    name: str
    role: Role
    characters: tuple[str, ...]
    token: str
    created: int
    expires: int | None = None
    rotated: int | None = None

    @property
    def expired(self) -> bool:
        """Whether the time of this person is over."""
        return self.expires is not None and time.time() >= self.expires

    @property
    def viewer(self) -> Viewer:
        """Who asks when this person asks."""
        return Viewer("dm", self.name) if self.role == "dm" else Viewer.player(self.name, self.characters)

    def logs_in_as(self, login: str) -> bool:
        """Whether a login names this person: a subject as it is written, an e-mail address in either case of ASCII.

        Nothing else is folded: at an issuer, "ana.b@example.com" and "ana-b@example.com" are two people.
        """
        if "@" not in login:
            return login == self.name
        return login.translate(_LOWER) == self.name.translate(_LOWER)

    def as_dict(self) -> dict[str, object]:
        """``{"name", "role", "characters", "created", "expires", "rotated"}``; nothing of the token."""
        return {
            "name": self.name,
            "role": self.role,
            "characters": list(self.characters),
            "created": _iso(self.created),
            "expires": _iso(self.expires),
            "rotated": _iso(self.rotated),
        }


def person_of(row: Mapping[str, object]) -> Person:
    """A person from a row of the file.

    Raises:
        ValueError: something in it is of another kind than it should be.
        KeyError: something is missing.
    """
    role, characters = row["role"], row["characters"]
    if role not in ROLES or not isinstance(characters, list) or not isinstance(row["token"], str):
        raise ValueError("a row is not a person's")
    expires, rotated = (_seconds(row[name]) for name in ("expires", "rotated"))
    created = _seconds(row["created"])
    names = tuple(str(name) for name in characters)
    return Person(
        str(row["name"]), "dm" if role == "dm" else "player", names, row["token"], created or 0, expires, rotated
    )


def checked_name(name: str, what: str = "person") -> str:
    """A name in the form in which it is kept.

    Raises:
        PeopleError: it cannot be one.
    """
    name = unicodedata.normalize("NFC", " ".join(name.split()))
    folded = fold(name)
    if not any(map(str.isalnum, name)) or len(name) > MAX_NAME or has_controls(name) or not name.isprintable():
        raise PeopleError(
            f"{shown(name)} cannot be the name of a {what}: a name has letters or digits, and at most {MAX_NAME} characters"
        )
    if folded in RESERVED:
        raise PeopleError(
            f"{shown(name)} cannot be the name of a {what}: notes use it to mark who may see them. Choose another"
        )
    return name


def checked_characters(names: Iterable[str], role: Role) -> tuple[str, ...]:
    """The names of a player's characters, each once.

    Raises:
        PeopleError: one cannot be a name, or they are too many.
        ConfigError: a game master has some.
    """
    checked = {fold(name): checked_name(name, "character") for name in names}
    if checked and role == "dm":
        raise ConfigError("--character is for players: a game master sees everything")
    if len(checked) > MAX_CHARACTERS:
        raise PeopleError(f"a player has at most {MAX_CHARACTERS} characters")
    return tuple(checked.values())


def expiry(text: str) -> int:
    """The second at which something expires that is to hold as long as a text says, or to the end of a day.

    Raises:
        ConfigError: the text is no such thing, or says something that is over.
    """
    length = dates.seconds_in(text)
    try:
        moment = dates.span(text)[1] + 1 if length is None else int(time.time() + length)
    except ValueError as error:
        raise ConfigError(f"--expires is {shown(text)}, which is not a time; give {EXPIRY_EXAMPLE}") from error
    if moment <= time.time():
        raise ConfigError(f"--expires is {shown(text)}, which is in the past; give {EXPIRY_EXAMPLE}")
    return moment


def _seconds(value: object) -> int | None:
    if value is not None and not isinstance(value, int):
        raise ValueError("a time is not a number")
    return value


def _iso(seconds: int | None) -> str | None:
    """A time as ISO 8601 writes it."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
