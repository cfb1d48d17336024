"""The first books as a ready library, which the wheel has, and a checkout once `make demo` ran: a new library begins as a copy
of it, in a tenth of the time.

scripts/build_ready_library.py makes it. It counts for the package that it was made with, like what imports remember, and for
the books of that package: after any change of either, these are loaded from their entries.
"""

from __future__ import annotations

import hashlib
import json
import logging
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zipfile import BadZipFile, ZipFile

from lorekeeper.cache.store import Store
from lorekeeper.errors import CacheError
from lorekeeper.intake.rules import rules
from lorekeeper.text.phrases import DATA, PACKED, RULES_2024, SHIPPED_VECTORS

logger = logging.getLogger(__name__)

SHIPPED = DATA / "library.zip"
"""The archive of the wheel, or of a checkout."""

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class ReadyLibrary:
    """A library in an archive, with the first books.

    Attributes:
        archive: its file.
        space: fingerprint of the vectors that a new library is to have; None if only the loaded model tells.
    """

    archive: Path
    space: str | None

    @classmethod
    def shipped(cls, space: str | None) -> Self | None:
        """The one of this package, None if there is none."""
        return cls(SHIPPED, space) if SHIPPED.is_file() else None

    def copy_to(self, store: Store, space: str) -> bool:
        """Make a library of it, if it is of this package and in this vector space; whether it did. Blocking.

        What goes wrong is logged: the books are loaded from their entries then.
        """
        try:
            with ZipFile(self.archive) as archive:
                return is_current(archive, space) and store.unpack(archive)
        except (OSError, ValueError, KeyError, BadZipFile, zlib.error, CacheError) as error:
            logger.warning("the ready library %s cannot be used: %s", self.archive, error)
            return False


def is_current(archive: ZipFile, space: str) -> bool:
    """Whether an archive was made from this package and these books, in that vector space; KeyError if it has no manifest."""
    return bool(json.loads(archive.read(MANIFEST)) == contents(space))


def contents(space: str) -> dict[str, str]:
    """What an archive has to be made from: this package, these books, and the vector space of that fingerprint."""
    digest = hashlib.blake2b(rules().encode())
    for path in (*sorted(RULES_2024.glob("*.jsonl")), PACKED, SHIPPED_VECTORS):
        digest.update(path.read_bytes() if path.is_file() else b"")
    return {"package": digest.hexdigest(), "space": space}
