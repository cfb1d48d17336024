"""Access tokens and assertions of an issuer: JSON Web Tokens (RFC 7519, RFC 9068), verified with its published keys."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from lorekeeper.errors import TokenError
from lorekeeper.people.keys import Key, Keys
from lorekeeper.printable import shown

if TYPE_CHECKING:
    import jwt

KINDS = {
    **dict.fromkeys(("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"), "RSA"),
    **dict.fromkeys(("ES256", "ES384", "ES512"), "EC"),
    "EdDSA": "OKP",
}
"""The algorithms that are accepted, all of them asymmetric, with the kind of key for each.

The kind of key follows from the algorithm, so that a public key is never taken for a shared secret; and "none" is no algorithm.
"""

LEEWAY_SECONDS = 30
"""How far the issuer's clock and ours may be apart."""

MAX_CHARS = 16_384
"""Longest token."""


class Issuer:
    """Verifies what an issuer has signed for this library.

    Args:
        address: of the issuer, as its tokens name it.
        audience: as what they name this library.
        offline: whether nothing beyond this machine may be contacted for its keys.
        trust_email: whether an e-mail address counts of which a token does not say that the issuer has verified it.
    """

    def __init__(self, address: str, audience: str, *, offline: bool = False, trust_email: bool = False) -> None:
        bare = address.rstrip("/")
        parts = urlsplit(bare)
        self._names = (
            [bare, f"{bare}/"] if parts.path else [bare, f"{bare}/", parts.netloc]
        )  # Pomerium names its host only
        self._audience, self._trust_email = audience, trust_email
        self._keys = Keys(address, offline=offline)

    async def logins(self, token: str) -> list[str]:
        """The names of the person in a token, the one that counts first: the verified e-mail address, then the subject.

        Raises:
            TokenError: the token is not valid, or not for this library.
            SourceUnavailableError: the issuer's keys cannot be fetched.
        """
        kid, algorithm = await asyncio.to_thread(_header, token)
        key = await self._keys.key(kid, KINDS[algorithm])
        claims = await asyncio.to_thread(self._claims, token, key, algorithm)
        logins = list(_logins(claims, trust_email=self._trust_email))
        if not logins:
            raise TokenError("a token that names no person: it has neither sub nor a verified email")
        return logins

    def _claims(self, token: str, key: Key, algorithm: str) -> Mapping[str, object]:
        """What a token says; TokenError if it is not valid."""
        import jwt

        try:
            return jwt.decode(
                token,
                _verifying(key, algorithm),
                algorithms=[algorithm],
                audience=self._audience,
                issuer=self._names,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"], "enforce_minimum_key_length": True},
            )
        except jwt.PyJWTError as error:
            raise TokenError(f"a token of the issuer that is not valid: {shown(str(error))}") from error


def _header(token: str) -> tuple[str | None, str]:
    """The id of the key of a token, and its algorithm; TokenError if it is no token, or the algorithm is not accepted."""
    import jwt

    if len(token) > MAX_CHARS:
        raise TokenError("a token that is too long")
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise TokenError("an unknown token") from error
    kid, algorithm = header.get("kid"), header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in KINDS:
        raise TokenError(f"a token with the algorithm {shown(algorithm)}, which is not accepted")
    return kid if isinstance(kid, str) else None, algorithm


def _verifying(key: Key, algorithm: str) -> jwt.PyJWK:
    """A published key for one algorithm; PyJWTError if it is for another one, or damaged."""
    import jwt

    if key.get("alg", algorithm) != algorithm:
        raise jwt.InvalidTokenError("its key is for another algorithm")
    return jwt.PyJWK(dict(key), algorithm=algorithm)


def _logins(claims: Mapping[str, object], *, trust_email: bool) -> Iterator[str]:
    """The names in a token. An address that the issuer has not verified may be anybody's, and does not count."""
    said = claims.get("email_verified", trust_email)
    verified = said is True or said == "true"
    names = [claims.get("email") if verified else None, claims.get("sub")]
    yield from (name for name in names if isinstance(name, str) and name)
