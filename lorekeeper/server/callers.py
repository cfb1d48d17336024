"""Who sends a request over HTTP: by a token, by an access token of an issuer, or by the word of a trusted proxy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from starlette.datastructures import Headers

from lorekeeper.audience import GAME_MASTER, Viewer
from lorekeeper.errors import TokenError
from lorekeeper.people.issuer import Issuer
from lorekeeper.people.person import Person
from lorekeeper.people.registry import People
from lorekeeper.people.sessions import Sessions
from lorekeeper.people.tokens import digest, equal
from lorekeeper.server.failures import Failures
from lorekeeper.settings import Settings

CALLER = "lorekeeper.caller"
"""Where the scope of a request has who sends it; the viewer may be another one, as whom the game master looks."""

ASSERTION = "x-pomerium-jwt-assertion"
"""Header with a token that a proxy has signed: verified as an access token."""

IDENTITIES = (
    ("x-forwarded-email", "x-forwarded-user"),  # oauth2-proxy
    ("x-auth-request-email", "x-auth-request-user"),  # oauth2-proxy behind nginx
    ("remote-email", "remote-user"),  # Authelia, Caddy, Apache
    ("x-authentik-email", "x-authentik-username"),
    ("x-pomerium-claim-email", "x-pomerium-claim-user"),
    ("cf-access-authenticated-user-email",),
    ("tailscale-user-login",),
)
"""Headers with which proxies name who has logged in, those of one kind of proxy to a row, the one that counts first.

A proxy replaces its own headers, but may pass on those of others as the client sent them: headers of two rows are refused.
"""


SESSION = "session"
"""How the credential of a caller begins who has signed in on a page."""


class NoCredentialsError(TokenError):
    """A request says nothing of who sends it, and has to."""


@dataclass(frozen=True)
class Caller:
    """Who sends a request.

    Attributes:
        viewer: who asks.
        credential: a name for what the caller has shown, which does not give it away; "" if nothing was needed. What one
            credential began, no other can continue.
        has_token: whether the sender put a token into the request, which browsers never do by themselves; a proxy may.
    """

    viewer: Viewer
    credential: str = ""
    has_token: bool = False

    @property
    def has_session(self) -> bool:
        """Whether the caller has signed in on a page."""
        return self.credential.startswith(SESSION)


class Callers:
    """Finds out who sends a request.

    As long as nobody is at the table, and there is neither a token nor an issuer nor a proxy in the settings, everybody who
    reaches the server is whom LOREKEEPER_VIEW says, by default the game master. Once somebody was there, that is over for the
    life of the server: removing the last player opens nothing.

    Args:
        people: who is at the table.
        settings: for the game master's token, the issuer, and what may be contacted.
        closed: whether everybody has to show something in any case.

    Attributes:
        sessions: of browsers.
        failures: wrong credentials, whose answers wait.
    """

    def __init__(self, people: People, settings: Settings, *, closed: bool) -> None:
        self._people = people
        self._anybody = settings.viewer
        self._token = digest(settings.http_token.encode()) if settings.http_token else None
        self.sessions = Sessions(people, self._token or "")
        self.failures = Failures()
        self._issuer = (
            Issuer(
                settings.oauth_issuer,
                settings.oauth_audience,
                offline=settings.offline,
                trust_email=settings.oauth_trust_email,
            )
            if settings.oauth_issuer and settings.oauth_audience
            else None
        )
        self._closed = closed or bool(self._token or self._issuer or settings.trusted_proxies)

    def players(self) -> list[Person]:
        """The players at the table whose time is not over; CacheError if they cannot be read. Blocking."""
        return [person for person in self._people.everyone() if person.role == "player" and not person.expired]

    async def caller(self, headers: Headers, *, proxied: bool, session: str = "") -> Caller:
        """Who sends a request with these headers. A token counts before a proxy's word, and that before a browser's session.

        Args:
            headers: of the request.
            proxied: whether it comes from a trusted proxy: from anywhere else, the headers of proxies count as absent.
            session: the key of the browser's session, "" if it has none.

        Raises:
            NoCredentialsError: it has nothing that says so.
            StrangerError: somebody has logged in who is not at the table.
            TokenError: what it has is not valid.
            SourceError: the issuer's keys are needed, and cannot be fetched.
            CacheError: the people are needed, and cannot be read.
        """
        self._closed = self._closed or bool(await asyncio.to_thread(self._people.everyone))
        if not self._closed:
            return Caller(self._anybody)
        token = _bearer(headers)
        if token is not None:
            return replace(await self._by_token(token), has_token=not proxied)
        named = await self._by_proxy(headers) if proxied else None
        if named is None and session:
            return await self._by_session(session)
        if named is None:
            raise NoCredentialsError(f"no token{', and no header of the proxy that names a person' if proxied else ''}")
        return named

    async def _by_session(self, key: str) -> Caller:
        content = key.encode("latin-1", "replace")
        person = await asyncio.to_thread(self.sessions.owner, content)
        credential = f"{SESSION} {digest(content)[:16]}"
        return _caller(person, credential) if person else Caller(GAME_MASTER, credential)

    async def _by_token(self, token: str) -> Caller:
        """The caller who has a token: a person, the game master of the settings, or somebody whom the issuer knows."""
        content = token.encode("latin-1", "replace")
        if self._token is not None and equal(self._token, digest(content)):
            return Caller(GAME_MASTER, "setting")
        if self._issuer is not None and token.count(".") == 2:
            return await self._by_login(await self._issuer.logins(token), "issuer")
        person = await asyncio.to_thread(self._people.of_token, content)
        return _caller(person, f"token {person.token[:16]}")

    async def _by_proxy(self, headers: Headers) -> Caller | None:
        """The caller whom a trusted proxy names, if it does; a signed assertion counts, and nothing beside it."""
        assertions = headers.getlist(ASSERTION)
        if self._issuer is not None and assertions:
            if len(assertions) > 1:
                raise TokenError("several assertions of proxies")
            return await self._by_login(await self._issuer.logins(assertions[0]), "issuer")
        named = [values for row in IDENTITIES if (values := _values(headers, row))]
        if len(named) > 1 or any(len(values) > 1 for row in named for values in row):
            raise TokenError("headers of several proxies, and each names a person")
        if not named:
            return None
        return await self._by_login([values[0] for values in named[0]], "proxy")

    async def _by_login(self, logins: Sequence[str], kind: str) -> Caller:
        person = await asyncio.to_thread(self._people.of_login, logins)
        return _caller(person, kind)


def _caller(person: Person, credential: str) -> Caller:
    return Caller(person.viewer, f"{credential} of {person.name}, {person.created}")


def _bearer(headers: Headers) -> str | None:
    """The bearer token of a request (RFC 6750), None if it has none; TokenError if it has several."""
    values = [value.partition(" ") for value in headers.getlist("authorization")]
    tokens = [token.strip() for scheme, _, token in values if scheme.lower() == "bearer"]
    if len(values) > 1:
        raise TokenError("several Authorization headers")
    return tokens[0] if tokens else None


def _values(headers: Headers, names: Sequence[str]) -> list[list[str]]:
    """The values of headers that are there and say something, in order."""
    values = [[value.strip() for value in headers.getlist(name) if value.strip()] for name in names]
    return [each for each in values if each]
