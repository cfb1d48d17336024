"""Under which rules objects are normalised: any change of the package is another set of rules."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from lorekeeper.version import VERSION

PACKAGE = Path(__file__).parent.parent

FILES = ("*.py", "*.txt", "*.toml")
"""Files of the package that say how objects are normalised."""

DIGEST_BYTES = 16


@cache
def rules() -> str:
    """A fingerprint of the package."""
    digest = hashlib.blake2b(VERSION.encode(), digest_size=DIGEST_BYTES)
    for pattern in FILES:
        for path in sorted(PACKAGE.rglob(pattern)):
            digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
