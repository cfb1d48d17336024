"""An issuer of access tokens on loopback: real keys, real HTTP."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from tests.support.loopback import QuietServer, running

AUDIENCE = "https://lore.example.com/mcp"

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey


@dataclass(frozen=True)
class SigningKey:
    """A key, the algorithm that it signs with, and its id."""

    kid: str
    algorithm: str
    private: PrivateKey

    def published(self) -> dict[str, Any]:
        """The public half as a JSON Web Key."""
        key: dict[str, Any] = get_default_algorithms()[self.algorithm].to_jwk(self.private.public_key(), as_dict=True)
        return {**key, "kid": self.kid, "use": "sig"}


def signing_key(kid: str, algorithm: str = "ES256", bits: int = 2048) -> SigningKey:
    """A new key."""
    if algorithm.startswith(("RS", "PS")):
        return SigningKey(kid, algorithm, rsa.generate_private_key(65537, bits))
    if algorithm == "EdDSA":
        return SigningKey(kid, algorithm, ed25519.Ed25519PrivateKey.generate())
    return SigningKey(kid, algorithm, ec.generate_private_key(ec.SECP256R1()))


class TokenIssuer:
    """Serves metadata and keys, and issues tokens.

    Attributes:
        keys: those that are published.
        metadata: what the document at each path says.
        asked: how often each path was asked for.
        failing: whether every answer is 500.
    """

    def __init__(self, *keys: SigningKey) -> None:
        self.keys = list(keys)
        self.failing = False
        self.asked: Counter[str] = Counter()
        self._server = QuietServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.metadata: dict[str, dict[str, Any]] = {
            "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        }

    def token(self, key: SigningKey | None = None, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A token for the library, of ana@example.com, that holds for five minutes; claims that are None are left out."""
        key, now = key or self.keys[0], int(time.time())
        usual = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "1234",
            "email": "ana@example.com",
            "email_verified": True,
            "iat": now,
            "exp": now + 300,
        }
        content = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(content, key.private, key.algorithm, {"kid": key.kid, **(header or {})})

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve in a thread of its own."""
        with running(self._server):
            yield

    def _answer(self, path: str) -> tuple[int, Any]:
        self.asked[path] += 1
        if self.failing:
            return 500, {}
        if path == "/keys":
            return 200, {"keys": [key.published() for key in self.keys]}
        return (200, self.metadata[path]) if path in self.metadata else (404, {})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, content = owner._answer(self.path)
                answer = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
