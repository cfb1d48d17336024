"""Who is at the table: a small private file beside the library.

A server notices at the next request that somebody was added, removed or given a new token.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from lorekeeper.audience import Role
from lorekeeper.errors import NotFoundError, PeopleError, StrangerError, TokenError
from lorekeeper.filters import unknown_name
from lorekeeper.folding import fold
from lorekeeper.people.person import Person, checked_characters, checked_name, person_of
from lorekeeper.people.rows import Rows
from lorekeeper.people.tokens import digest, equal, new_token
from lorekeeper.printable import shown

REMEDY = "restore a copy of it, or delete it and add all people again with 'lorekeeper people add'"


class People:
    """The people at the table of a library. All methods are blocking; those that read take microseconds.

    Args:
        file: where they are kept.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._rows = Rows(file, "people", person_of, REMEDY)

    def everyone(self) -> list[Person]:
        """All of them, in the order in which they were added, also those whose time is over.

        Raises:
            CacheError: the file cannot be read.
        """
        return self._rows.all()

    def of_token(self, token: bytes) -> Person:
        """The person who has a token.

        Raises:
            TokenError: nobody has it, or it has expired.
            CacheError: the file cannot be read.
        """
        shown_digest = digest(token)
        owners = [person for person in self.everyone() if equal(person.token, shown_digest)]  # all are compared, always
        if not owners:
            raise TokenError("an unknown token")
        if owners[0].expired:
            raise TokenError(f"the token of {shown(owners[0].name)}, which has expired")
        return owners[0]

    def of_login(self, logins: Iterable[str]) -> Person:
        """The person whom the names of a login mean, the first of them that is known.

        Raises:
            StrangerError: nobody here has any of these names, or the person's time is over.
            CacheError: the file cannot be read.
        """
        logins = list(logins)
        found = [person for login in logins for person in self.everyone() if person.logs_in_as(login)]
        if not found:
            raise StrangerError(f"a login of {shown(logins[0] if logins else '')}, who was not added")
        if found[0].expired:
            raise StrangerError(f"a login of {shown(found[0].name)}, whose access has expired")
        return found[0]

    def add(
        self, name: str, role: Role, characters: Sequence[str] = (), expires: int | None = None
    ) -> tuple[Person, str]:
        """Add a person; the person, and the token, which is kept nowhere.

        Raises:
            PeopleError: a name cannot be one, or is taken.
            ConfigError: a game master has characters.
            CacheError: the file cannot be read or written.
        """
        name, played, token = checked_name(name), checked_characters(characters, role), new_token()
        person = Person(name, role, played, digest(token.encode()), int(time.time()), expires)
        with self._rows.edited() as people:
            _refuse_taken(person, people)
            people.append(person)
        return person, token

    def remove(self, name: str) -> Person:
        """Remove a person, whose token opens nothing from now on.

        Raises:
            NotFoundError: there is no such person.
            CacheError: the file cannot be read or written.
        """
        with self._rows.edited() as people:
            person = _named(name, people)
            people.remove(person)
        return person

    def rotate(self, name: str, expires: int | None = None) -> tuple[Person, str]:
        """Replace a person's token, the old one of which opens nothing from now on; the person, and the new token.

        Args:
            name: of the person.
            expires: when the new one expires; by default it holds as long as the old one was to.

        Raises:
            NotFoundError: there is no such person.
            CacheError: the file cannot be read or written.
        """
        token, now = new_token(), int(time.time())
        with self._rows.edited() as people:
            person = _named(name, people)
            if expires is None and person.expires is not None:
                expires = now + person.expires - (person.rotated or person.created)
            rotated = replace(person, token=digest(token.encode()), expires=expires, rotated=now)
            people[people.index(person)] = rotated
        return rotated, token


def _refuse_taken(person: Person, people: Sequence[Person]) -> None:
    """PeopleError if a name of a new person is that of another, or would let one see what is shared with another."""
    names = {fold(other.name): other for other in people}
    played = {fold(name): other for other in people for name in other.characters}
    key = fold(person.name)
    if key in names:
        raise PeopleError(
            f"{shown(names[key].name)} was added already: 'lorekeeper people rotate' gives a new token, "
            "'lorekeeper people remove' removes the person"
        )
    if key in played:
        raise PeopleError(f"{shown(person.name)} is a character of {shown(played[key].name)}; choose another name")
    for character in person.characters:
        if fold(character) in names:
            raise PeopleError(f"{shown(character)} is a person, and cannot be a character of another")


def _named(name: str, people: Sequence[Person]) -> Person:
    """The person of that name, as it is folded; NotFoundError if there is none."""
    found = next((person for person in people if fold(person.name) == fold(name)), None)
    if found is None:
        names = [person.name for person in people]
        known = unknown_name(name, names, "person") if names else "there are no people yet"
        raise NotFoundError(f"{known}; 'lorekeeper people list' shows all")
    return found
