"""Tokens: made at random, shown once, and kept as hashes.

A token has 256 random bits, so its SHA-256 says nothing that could be found by trying: the slow hashes that passwords need
make up for how few passwords people choose from, and would cost every request a tenth of a second.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

BYTES = 32
"""Random bytes of a token."""

LINK_BYTES = 16
"""Random bytes of a link that signs in once: so many that nobody guesses it within its days, and few enough for a small QR code."""

MARK = "lk_"
"""How tokens begin: scanners for secrets find them, and no token looks like an option of a command."""


def new_token(size: int = BYTES) -> str:
    """A new token of so many random bytes, in letters that need no quoting anywhere."""
    return MARK + secrets.token_urlsafe(size)


def digest(token: bytes) -> str:
    """What is kept of a token: its SHA-256, in hexadecimal."""
    return hashlib.sha256(token).hexdigest()


def equal(digest_one: str, digest_other: str) -> bool:
    """Whether two digests are the same, in a time that does not depend on how much of them is."""
    return hmac.compare_digest(digest_one, digest_other)


def keyed_digest(key: bytes, text: str) -> str:
    """A digest of a text that only who has the key can make, or check (HMAC-SHA256, RFC 2104), in hexadecimal."""
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
