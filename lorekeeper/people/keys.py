"""The public keys of an issuer of tokens: found by discovery, fetched when a token has to be verified, and cached.

Where the keys are is said by metadata at a well-known address: OAuth 2.0 Authorization Server Metadata (RFC 8414), OpenID
Connect Discovery 1.0, or Pomerium's own.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

import httpx

from lorekeeper.addresses import is_local, shown_address
from lorekeeper.errors import SourceError, SourceUnavailableError, TokenError
from lorekeeper.printable import MAX_REASON, one_line, shown

FRESH_SECONDS = 3600.0
"""How long keys are used before they are fetched again."""

STALE_SECONDS = 86_400.0
"""How long they are used if the issuer cannot be reached meanwhile."""

RETRY_SECONDS = 10.0
"""Least time between two attempts to fetch: tokens with invented key ids cause no more requests."""

TIMEOUT_SECONDS = 10.0
"""For all that is fetched at a time."""

MAX_BYTES = 1 << 18
"""Largest document."""

WELL_KNOWN = (
    "{origin}/.well-known/oauth-authorization-server{path}",
    "{origin}{path}/.well-known/openid-configuration",
    "{origin}/.well-known/openid-configuration{path}",
    "{origin}/.well-known/pomerium",
)
"""Where metadata may be, for an issuer at ``origin`` + ``path``, in the order in which they are tried."""

Key = Mapping[str, object]
"""A JSON Web Key (RFC 7517)."""


class Keys:
    """The keys of one issuer.

    Args:
        issuer: its address.
        offline: whether nothing beyond this machine may be contacted.
    """

    def __init__(self, issuer: str, *, offline: bool = False) -> None:
        self._issuer = issuer.rstrip("/")
        self._offline = offline
        self._keys: list[Key] = []
        self._fetched = self._tried = float("-inf")
        self._fetching = asyncio.Lock()

    async def key(self, kid: str | None, kind: str) -> Key:
        """The key with which a token is to be verified.

        Args:
            kid: the id of the key; None for the only one of its kind.
            kind: the ``kty`` of the key: RSA, EC or OKP.

        Raises:
            TokenError: the issuer has no such key.
            SourceUnavailableError: the keys cannot be fetched.
        """
        if not self._has(kid, kind):
            async with self._fetching:
                if not self._has(kid, kind):  # it may have come while this waited
                    await self._refresh()
        found = self._found(kid, kind)
        if len(found) != 1:
            raise TokenError(f"a token signed with the {kind} key {shown(kid)}, which its issuer does not publish")
        return found[0]

    def _has(self, kid: str | None, kind: str) -> bool:
        return self._age() <= FRESH_SECONDS and bool(self._found(kid, kind))

    def _found(self, kid: str | None, kind: str) -> list[Key]:
        fitting = [key for key in self._keys if key.get("kty") == kind and key.get("use", "sig") == "sig"]
        return [key for key in fitting if kid is None or key.get("kid") == kid]

    def _age(self) -> float:
        return time.monotonic() - self._fetched

    async def _refresh(self) -> None:
        """Fetch the keys, unless that was tried just now; SourceUnavailableError if none can be used then."""
        if time.monotonic() - self._tried >= RETRY_SECONDS:
            self._tried = time.monotonic()
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    self._keys = await self._fetch()
                self._fetched = time.monotonic()
            except (SourceError, httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
                problem = error
                if self._age() > STALE_SECONDS:
                    raise self._unavailable(one_line(str(error) or type(error).__name__, MAX_REASON)) from problem
        if self._age() > STALE_SECONDS:
            raise self._unavailable("the last attempt failed")

    def _unavailable(self, reason: str) -> SourceUnavailableError:
        return SourceUnavailableError(f"the keys of {shown_address(self._issuer)} cannot be fetched: {reason}")

    async def _fetch(self) -> list[Key]:
        address = await self._keys_address()
        content = await _document(address)
        keys = content.get("keys") if content else None
        if not isinstance(keys, list) or not keys:
            raise SourceError(f"{shown_address(address)} has no keys")
        return [key for key in keys if isinstance(key, dict)]

    async def _keys_address(self) -> str:
        """Where the keys are, as the issuer's metadata says."""
        for address in _metadata_addresses(self._issuer):
            metadata = await _document(address)
            if metadata is None:
                continue
            if str(metadata.get("issuer", self._issuer)).rstrip("/") != self._issuer:
                raise SourceError(f"{shown_address(address)} is the metadata of another issuer")
            keys = metadata.get("jwks_uri")
            if isinstance(keys, str):
                return self._checked(keys)
        raise SourceError("there is no metadata with a jwks_uri at its well-known addresses")

    def _checked(self, address: str) -> str:
        """An address to fetch keys from; SourceError if somebody could change them on the way."""
        if not is_local(address) and (self._offline or not address.startswith("https://")):
            reason = "LOREKEEPER_OFFLINE is set" if self._offline else "it must be an https:// address"
            raise SourceError(f"its keys are at {shown_address(address)}: {reason}")
        return address


def _metadata_addresses(issuer: str) -> Iterator[str]:
    parts = urlsplit(issuer)
    yield from dict.fromkeys(
        pattern.format(origin=f"{parts.scheme}://{parts.netloc}", path=parts.path) for pattern in WELL_KNOWN
    )


def _client_for(address: str) -> httpx.AsyncClient:
    """A client, without redirects. Blocking: for an address with encryption it reads the certificates of authorities."""
    plain = address.startswith("http:")
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    return httpx.AsyncClient(
        trust_env=not is_local(address), verify=not plain, timeout=TIMEOUT_SECONDS, headers=headers
    )


async def _document(address: str) -> dict[str, object] | None:
    """A JSON object at an address; None if there is none.

    Raises:
        SourceError: the server fails, or the object is too large.
        httpx.HTTPError: it cannot be reached.
    """
    content, client = bytearray(), await asyncio.to_thread(_client_for, address)
    async with client, client.stream("GET", address) as response:
        if response.status_code >= 500:
            raise SourceError(f"{shown_address(address)} answered {response.status_code}")
        if response.status_code != 200:
            return None
        async for piece in response.aiter_bytes(1 << 14):
            content += piece
            if len(content) > MAX_BYTES:
                raise SourceError(f"{shown_address(address)} is larger than {MAX_BYTES} bytes")
    try:
        document = json.loads(bytes(content))
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None
