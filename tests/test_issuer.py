"""Tokens of an issuer with real keys, which are fetched over real HTTP: what is valid, and everything that is not."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest

from lorekeeper.errors import SourceError, SourceUnavailableError, TokenError
from lorekeeper.people import keys
from lorekeeper.people.issuer import Issuer
from tests.support.token_issuer import AUDIENCE, SigningKey, TokenIssuer, signing_key

RSA, EC, EDWARDS = signing_key("rsa", "RS256"), signing_key("ec", "ES256"), signing_key("ed", "EdDSA")

PROBABILISTIC = SigningKey("rsa", "PS256", RSA.private)


@pytest.fixture(scope="module")
def running() -> Iterator[TokenIssuer]:
    issuer = TokenIssuer(RSA, EC, EDWARDS)
    with issuer.running():
        yield issuer


@pytest.fixture
def issuer(running: TokenIssuer) -> TokenIssuer:
    running.keys, running.failing = [RSA, EC, EDWARDS], False
    running.metadata = {"/.well-known/openid-configuration": {"issuer": running.url, "jwks_uri": f"{running.url}/keys"}}
    running.asked.clear()
    return running


@pytest.fixture
def verifier(issuer: TokenIssuer) -> Issuer:
    return Issuer(issuer.url, AUDIENCE, offline=True)


async def refused(verifier: Issuer, token: str) -> str:
    """Why a token is refused: a reason without the token in it."""
    with pytest.raises(TokenError) as error:
        await verifier.logins(token)
    assert token.rpartition(".")[2] not in str(error.value) or token.endswith(".")
    return str(error.value)


@pytest.mark.parametrize("key", [RSA, EC, EDWARDS, PROBABILISTIC], ids=lambda key: key.algorithm)
async def test_a_valid_token_names_its_person(issuer, verifier, key):
    assert await verifier.logins(issuer.token(key)) == ["ana@example.com", "1234"]
    assert issuer.asked["/keys"] == 1


@pytest.mark.parametrize(
    ("claims", "logins"),
    [
        ({"email": None}, ["1234"]),
        ({"email_verified": True}, ["ana@example.com", "1234"]),
        ({"email_verified": None}, ["1234"]),
        ({"email_verified": 1}, ["1234"]),
        ({"email_verified": ["true"]}, ["1234"]),
        ({"email_verified": "true"}, ["ana@example.com", "1234"]),
        ({"email_verified": False}, ["1234"]),
        ({"email_verified": "false"}, ["1234"]),
        ({"aud": ["other", AUDIENCE]}, ["ana@example.com", "1234"]),
        ({"exp": int(time.time()) + 10**6, "nbf": int(time.time()) + 10}, ["ana@example.com", "1234"]),
    ],
)
async def test_who_is_named_by_a_token(issuer, verifier, claims, logins):
    assert await verifier.logins(issuer.token(**claims)) == logins


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ({"exp": int(time.time()) - 60}, "expired"),
        ({"exp": None}, "exp"),
        ({"nbf": int(time.time()) + 10**6}, "not yet valid"),
        ({"aud": "https://other.example.com"}, "Audience"),
        ({"aud": None}, "aud"),
        ({"aud": AUDIENCE + "/"}, "Audience"),
        ({"iss": "https://other.example.com"}, "issuer"),
        ({"iss": None}, "iss"),
        ({"email": None, "sub": None}, "names no person"),
        ({"email_verified": False, "sub": None}, "names no person"),
    ],
)
async def test_a_token_that_is_signed_but_not_for_this_library_now_is_refused(issuer, verifier, claims, why):
    assert why.lower() in (await refused(verifier, issuer.token(**claims))).lower()


def unsigned(issuer: TokenIssuer, algorithm: str) -> str:
    """A token without a signature."""
    head, body, _ = issuer.token().split(".")
    header = json.dumps({"alg": algorithm, "typ": "JWT", "kid": "rsa"}).encode()
    assert head
    return f"{base64.urlsafe_b64encode(header).rstrip(b'=').decode()}.{body}."


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "RS256", "ES256"])
async def test_a_token_without_a_signature_is_refused(issuer, verifier, algorithm):
    assert await refused(verifier, unsigned(issuer, algorithm))


@pytest.mark.parametrize("algorithm", ["HS256", "HS512"])
async def test_a_public_key_is_no_shared_secret(issuer, verifier, algorithm):
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    public = RSA.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    _, body, _ = issuer.token().split(".")
    content = json.loads(base64.urlsafe_b64decode(body + "=="))
    signer = jwt.PyJWS()
    monkey: Any = signer._algorithms[algorithm]  # the library refuses to sign with a public key, so it is not asked
    monkey.prepare_key = lambda key: key
    token = signer.encode(json.dumps(content).encode(), public, algorithm, headers={"kid": "rsa"})
    assert "not accepted" in await refused(verifier, token)


async def test_a_key_of_somebody_else_opens_nothing_under_any_name(issuer, verifier):
    assert "Signature" in await refused(verifier, issuer.token(signing_key("rsa", "RS256")))
    assert "does not publish" in await refused(verifier, issuer.token(signing_key("theirs")))
    assert "does not publish" in await refused(verifier, issuer.token(EC, {"kid": "rsa"}))
    assert issuer.asked["/keys"] == 1, "tokens with invented keys cause requests"


async def test_a_key_that_a_token_brings_along_does_not_count(issuer, verifier):
    stranger = signing_key("theirs")
    header = {"jwk": stranger.published(), "jku": f"{issuer.url}/theirs", "x5u": f"{issuer.url}/theirs"}
    assert "does not publish" in await refused(verifier, issuer.token(stranger, header))
    assert issuer.asked["/theirs"] == 0


async def test_keys_that_are_short_or_for_something_else_verify_nothing(issuer, verifier):
    short, secret = signing_key("short", "RS256", bits=1024), signing_key("secret", "RS256")
    issuer.keys = [short, RSA]
    with pytest.warns(jwt.InsecureKeyLengthWarning):
        token = issuer.token(short)
    assert "1024 bits" in await refused(verifier, token)
    encrypting = {**secret.published(), "use": "enc"}
    fresh = Issuer(issuer.url, AUDIENCE)
    issuer.keys = [type("Published", (), {"published": lambda self: encrypting})()]
    assert "does not publish" in await refused(fresh, issuer.token(secret))


async def test_new_keys_are_found_and_old_ones_forgotten(issuer, verifier, monkeypatch):
    await verifier.logins(issuer.token(RSA))
    new = signing_key("new")
    issuer.keys = [new]
    assert "does not publish" in await refused(verifier, issuer.token(new)), "it was asked just now"
    monkeypatch.setattr(keys, "RETRY_SECONDS", 0.0)
    assert await verifier.logins(issuer.token(new)) == ["ana@example.com", "1234"]
    assert "does not publish" in await refused(verifier, issuer.token(RSA))


async def test_an_issuer_that_is_down_is_forgiven_for_a_while(issuer, verifier, monkeypatch):
    issuer.failing = True
    with pytest.raises(SourceUnavailableError, match="cannot be fetched"):
        await verifier.logins(issuer.token())
    with pytest.raises(SourceUnavailableError, match="last attempt"):
        await verifier.logins(issuer.token())
    assert issuer.asked.total() == 1, "it is not asked again at once"
    issuer.failing = False
    monkeypatch.setattr(keys, "RETRY_SECONDS", 0.0)
    assert await verifier.logins(issuer.token())
    issuer.failing = True
    monkeypatch.setattr(keys, "FRESH_SECONDS", 0.0)
    assert await verifier.logins(issuer.token())
    monkeypatch.setattr(keys, "STALE_SECONDS", 0.0)
    with pytest.raises(SourceUnavailableError):
        await verifier.logins(issuer.token())


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/.well-known/oauth-authorization-server", True),
        ("/.well-known/openid-configuration", True),
        ("/.well-known/pomerium", True),
        ("/.well-known/something", False),
    ],
)
async def test_the_keys_are_found_by_discovery(issuer, verifier, path, found):
    issuer.metadata = {path: {"jwks_uri": f"{issuer.url}/keys"}}
    if found:
        assert await verifier.logins(issuer.token())
    else:
        with pytest.raises(SourceUnavailableError, match="no metadata"):
            await verifier.logins(issuer.token())


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"issuer": "https://other.example.com", "jwks_uri": "{url}/keys"}, "another issuer"),
        ({"jwks_uri": "http://keys.example.com/"}, "LOREKEEPER_OFFLINE"),
        ({"jwks_uri": "https://keys.example.com/"}, "LOREKEEPER_OFFLINE"),
        ({"jwks_uri": "file:///etc/passwd"}, "LOREKEEPER_OFFLINE"),
        ({"jwks_uri": "{url}/nothing"}, "no keys"),
        ({"jwks_uri": 7}, "no metadata"),
    ],
)
async def test_metadata_that_leads_astray_is_refused(issuer, verifier, metadata, why):
    filled = {k: v.replace("{url}", issuer.url) if isinstance(v, str) else v for k, v in metadata.items()}
    issuer.metadata = {"/.well-known/openid-configuration": filled}
    with pytest.raises(SourceError, match=why):
        await verifier.logins(issuer.token())


async def test_keys_on_the_network_come_over_https_only(issuer):
    issuer.metadata = {"/.well-known/openid-configuration": {"jwks_uri": "http://keys.example.com/"}}
    with pytest.raises(SourceError, match="https"):
        await Issuer(issuer.url, AUDIENCE).logins(issuer.token())


async def test_many_tokens_at_once_fetch_the_keys_once(issuer, verifier):
    import asyncio

    await asyncio.gather(*(verifier.logins(issuer.token(key)) for key in (RSA, EC) * 10))
    assert issuer.asked["/keys"] == 1
