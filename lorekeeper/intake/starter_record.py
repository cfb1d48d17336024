"""Which of the entries that ship were ever loaded into a library: a file next to the library says so.

That a library has entries does not tell: notes may have come first. That it lacks the books does not tell either: its user may
have deleted them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.editions import REFERENCES, SUCCESSORS
from lorekeeper.system import private_file

logger = logging.getLogger(__name__)

TYPES = ("spells", "creatures", "equipment", "character_options", "rules")
"""The types of which both SRDs have entries."""

LOADED, NOT_NEEDED, DECLINED = "loaded", "not needed: the library had an SRD", "declined"
"""What a record says. A library may be given one by hand, "declined", and never gets the books unless it is empty."""

REVISION = "with the texts of the SRDs"
"""What the second line of a record says of the entries; raise it when they have grown, and libraries get what they lack."""


@dataclass(frozen=True)
class StarterRecord:
    """The record of one library. Blocking.

    Attributes:
        file: exists once the books were loaded, or were not needed; its first line says which, see `LOADED`.
        library: where the library is; None for one on a server.
    """

    file: Path
    library: Path | None = None

    def read(self) -> tuple[str, str]:
        """What it says, and the revision; "" twice without one. Once the library was removed, only `DECLINED` counts."""
        try:
            what, _, revision = self.file.read_text("utf-8").strip().partition("\n")
        except OSError:
            return "", ""
        if what != DECLINED and self.library is not None and not self.library.exists():
            return "", ""
        return what, revision

    def holds(self) -> bool:
        """Whether all that can be had was loaded before, or is declined."""
        what, revision = self.read()
        return what == DECLINED or revision == REVISION or (revision != "" and revision == _revision())

    def write(self, what: str = LOADED) -> None:
        """Record it; a file that cannot be written costs another look at the library, and no more."""
        try:
            private_file(self.file).write_text(f"{what}\n{_revision()}\n", "utf-8")
        except OSError as error:
            logger.info("that the first books are loaded cannot be recorded: %s", error)


def _revision() -> str:
    """The revision, with the packages whose texts could not be loaded."""
    from lorekeeper.intake.shipped_books import (
        lacking,
    )  # imports all readers, which a library that has its books does not need

    return " without ".join([REVISION, *lacking()])


async def lacks_books(cache: SearchCache, recorded: str, revision: str) -> bool:
    """Whether a library is to be given the SRDs, or nothing but the rules of 2024 in our own words, which no other book has.

    It gets them if it has what libraries began with earlier, if packages with texts of them were lacking, or if it was never given
    anything and lacks entries of an SRD of some type.

    Args:
        cache: the library's.
        recorded: what its record says, "" without one.
        revision: the revision that the record has.
    """
    if recorded == LOADED and revision.startswith(REVISION):
        return True
    counts = await cache.documents()
    if any(number for key in SUCCESSORS for name, number in counts.get(key, {}).items() if name != "documents"):
        return True
    has_srd = all(any(counts.get(key, {}).get(name) for key in REFERENCES) for name in TYPES)
    return not recorded and not has_srd
