"""Which of the entries that ship were ever loaded into a library: a file next to the library says so.

That a library has entries does not tell: notes may have come first. That it lacks the starter does not tell either: its user may
have deleted it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.editions import REFERENCES
from lorekeeper.system import private_file
from lorekeeper.text.phrases import RULES_2024, SHIPPED_BOOKS, STARTER_DOCUMENT

logger = logging.getLogger(__name__)

TYPES = ("spells", "creatures", "equipment", "character_options", "rules")
"""The types of the starter's entries."""

LOADED, NOT_NEEDED, DECLINED = "loaded", "not needed: the library had an SRD", "declined"
"""What a record says. A library without the starter may be given one by hand, "declined", and never gets it unless it is empty."""

REVISION = "with the rules of 2024"
"""What the second line of a record says of the entries; raise it when they have grown, and libraries get what they lack."""


@dataclass(frozen=True)
class StarterRecord:
    """The record of one library. Blocking.

    Attributes:
        file: exists once the starter was loaded, or was not needed; its first line says which, see `LOADED`.
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
        """Whether all that ships was loaded before, or is declined."""
        what, revision = self.read()
        return what == DECLINED or revision == REVISION

    def write(self, what: str = LOADED) -> None:
        """Record it; a file that cannot be written costs another look at the library, and no more."""
        try:
            private_file(self.file).write_text(f"{what}\n{REVISION}\n", "utf-8")
        except OSError as error:
            logger.info("that the starter compendium is loaded cannot be recorded: %s", error)


async def missing(cache: SearchCache, recorded: str) -> Sequence[Path]:
    """What a library is to be given of the folders that ship.

    All of them if it has the starter, whose entries may have changed, or if it was never given it and lacks entries of an SRD of
    some type. Else the rules that no other book has.

    Args:
        recorded: what its record says, "" without one.
    """
    counts = await cache.documents()
    if any(number for name, number in counts.get(STARTER_DOCUMENT, {}).items() if name != "documents"):
        return SHIPPED_BOOKS
    has_srd = all(any(counts.get(key, {}).get(name) for key in REFERENCES) for name in TYPES)
    return (RULES_2024,) if recorded or has_srd else SHIPPED_BOOKS
