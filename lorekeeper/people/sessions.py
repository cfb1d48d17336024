"""Sessions of browsers, and links that begin one: a small private file beside the people at the table.

Who signs in gets a random key, which stands for a credential: a person's token, or the game master's of the settings. The file
has the key's hash, and a proof that was made of key and credential: it opens nothing, and says nothing of a token that somebody
chose. A session ends with sign-out, with its time, and with its credential, in all servers at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from lorekeeper.audience import GAME_MASTER, Viewer
from lorekeeper.errors import TokenError
from lorekeeper.people.person import Person
from lorekeeper.people.registry import People
from lorekeeper.people.rows import Rows
from lorekeeper.people.tokens import LINK_BYTES, digest, equal, keyed_digest, new_token
from lorekeeper.printable import shown

SECONDS = 30 * 86_400
"""Longest session."""

LINK_SECONDS = 300
"""How long a link for the game master can be used."""

INVITATION_SECONDS = 7 * 86_400
"""How long a link can be used that was made for a person at the table."""

MOST = 20
"""Most sessions of a person, or of the game master of the settings, and most links; the oldest one makes room."""

SUFFIX = ".sessions"
"""How the name of the file ends, behind that of the file of the people."""

REMEDY = "delete it, and all people sign in again"

Kind = Literal["session", "link"]


@dataclass(frozen=True)
class Session:
    """A session, or a link that begins one; times are in seconds since 1970.

    Attributes:
        kind: which of the two.
        key: the digest of the key.
        person: name of the person; None for the game master of the settings.
        proof: that the key was given for the credential; "" for a link of the game master.
        began: when it was made.
        ends: when it can be used no more.
    """

    kind: Kind
    key: str
    person: str | None
    proof: str
    began: int
    ends: int


@dataclass(frozen=True)
class Opened:
    """What a browser gets that has signed in.

    Attributes:
        key: of the session.
        seconds: how long it lasts.
        viewer: who has signed in.
    """

    key: str
    seconds: int
    viewer: Viewer


class Sessions:
    """The sessions of the people at a table. All methods are blocking; that which reads takes microseconds.

    Args:
        people: who is at the table.
        master: the digest of the game master's token in the settings, "" if there is none.
    """

    def __init__(self, people: People, master: str = "") -> None:
        self._people, self._master = people, master
        self._rows = Rows(people.file.with_name(people.file.name + SUFFIX), "sessions", _session_of, REMEDY)

    def owner(self, key: bytes) -> Person | None:
        """Whose session has a key; None for the game master of the settings.

        Raises:
            TokenError: none has it, or the session or its credential is over.
            CacheError: a file cannot be read.
        """
        session = _named(key, "session", self._rows.all())
        person = self._person(session)
        if not equal(session.proof, self._proof(key, person)):
            raise TokenError("a session whose token has been replaced")
        return person

    def sign_in(self, token: bytes) -> Opened:
        """Begin a session with a token.

        Raises:
            TokenError: nobody has it, or it has expired.
            CacheError: a file cannot be read or written.
        """
        is_master = bool(self._master) and equal(self._master, digest(token))
        person = None if is_master else self._people.of_token(token)
        with self._edited() as rows:
            return self._begin(person, rows)

    def link(self, person: Person | None = None) -> str:
        """The key of a new link, for the game master or for a person, whose earlier ones end.

        Who can write the file could add a game master just as well.

        Raises:
            CacheError: the file cannot be read or written.
        """
        key, now = new_token(LINK_BYTES), int(time.time())
        name, seconds = (person.name, INVITATION_SECONDS) if person else (None, LINK_SECONDS)
        proof = self._proof(key.encode(), person) if person else ""
        with self._edited() as rows:
            if person:
                rows[:] = [row for row in rows if (row.kind, row.person) != ("link", name)]
            _add(Session("link", digest(key.encode()), name, proof, now, now + seconds), rows)
        return key

    def invited(self, key: bytes) -> Person | None:
        """Whom a link signs in, which can still be used afterwards; None for the game master of the settings.

        Raises:
            TokenError: there is no such link, it has been used, or is too old.
            CacheError: a file cannot be read.
        """
        return self._invited(key, self._rows.all())[1]

    def redeem(self, key: bytes) -> Opened:
        """Begin a session with a link, which cannot be used again.

        Raises:
            TokenError: there is no such link, it has been used, or is too old.
            CacheError: the file cannot be read or written.
        """
        _named(key, "link", self._rows.all())  # what is wrong changes nothing
        with self._edited() as rows:
            link, person = self._invited(key, rows)
            rows.remove(link)
            return self._begin(person, rows)

    def end(self, key: bytes) -> None:
        """End the session, or the link, that has a key, if there is one.

        Raises:
            CacheError: the file cannot be read or written.
        """
        shown_digest = digest(key)
        if any(equal(row.key, shown_digest) for row in self._rows.all()):
            with self._edited() as rows:
                rows[:] = [row for row in rows if not equal(row.key, shown_digest)]

    def waits(self, key: str) -> bool:
        """Whether a link has not been used yet."""
        return any(equal(row.key, digest(key.encode())) for row in self._rows.all())

    def answers(self, challenge: str) -> list[str]:
        """What shows that somebody reads this file, for each link: a keyed digest of what was asked."""
        now = time.time()
        return [answer(row.key, challenge) for row in self._rows.all() if row.kind == "link" and row.ends > now]

    def _invited(self, key: bytes, rows: list[Session]) -> tuple[Session, Person | None]:
        link = _named(key, "link", rows)
        person = self._person(link)
        if person and not equal(link.proof, self._proof(key, person)):
            raise TokenError("a link whose person has a new token")
        return link, person

    def _person(self, session: Session) -> Person | None:
        """Who signed in; TokenError if the person is not at the table any more."""
        if session.person is None:
            return None
        person = next((each for each in self._people.everyone() if each.name == session.person), None)
        if person is None or person.expired:
            raise TokenError(f"a session of {shown(session.person)}, who was removed")
        return person

    def _begin(self, person: Person | None, rows: list[Session]) -> Opened:
        key, now = new_token(), int(time.time())
        ends = now + SECONDS
        if person and person.expires is not None:
            ends = min(ends, person.expires)
        name, proof = (person.name if person else None), self._proof(key.encode(), person)
        _add(Session("session", digest(key.encode()), name, proof, now, ends), rows)
        return Opened(key, ends - now, person.viewer if person else GAME_MASTER)

    def _proof(self, key: bytes, person: Person | None) -> str:
        return keyed_digest(key, person.token if person else self._master)

    @contextmanager
    def _edited(self) -> Iterator[list[Session]]:
        """The rows, to be changed in place, without those whose time is over."""
        with self._rows.edited() as rows:
            now = time.time()
            rows[:] = [row for row in rows if row.ends > now]
            yield rows


def answer(key_digest: str, challenge: str) -> str:
    """What who knows the digest of a link's key answers to a challenge."""
    return keyed_digest(key_digest.encode(), challenge)


def _named(key: bytes, kind: Kind, rows: list[Session]) -> Session:
    """The session or link that has a key; TokenError if there is none whose time is not over."""
    shown_digest = digest(key)
    found = [row for row in rows if equal(row.key, shown_digest)]  # all are compared, always
    if not found or found[0].kind != kind or time.time() >= found[0].ends:
        raise TokenError(f"the key of a {kind} that is unknown, or has ended")
    return found[0]


def _add(session: Session, rows: list[Session]) -> None:
    """Add a session or a link; the oldest of the same owner make room."""
    alike = [row for row in rows if (row.kind, row.person) == (session.kind, session.person)]
    for row in alike[: max(0, len(alike) + 1 - MOST)]:
        rows.remove(row)
    rows.append(session)


def _session_of(row: Mapping[str, object]) -> Session:
    """A session from a row of the file; ValueError or KeyError if it is none."""
    kind, key, person, proof, began, ends = (row[name] for name in ("kind", "key", "person", "proof", "began", "ends"))
    if kind not in ("session", "link") or not isinstance(key, str) or not isinstance(proof, str):
        raise ValueError("a row is not a session's")
    if not isinstance(began, int) or not isinstance(ends, int):
        raise ValueError("a time is not a number")
    if person is not None and not isinstance(person, str):
        raise ValueError("a name is not a text")
    return Session("link" if kind == "link" else "session", key, person, proof, began, ends)
