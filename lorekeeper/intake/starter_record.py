"""Whether the starter compendium was ever loaded into a library: a file next to the library says so.

That a library has entries does not tell: notes may have come first. That it lacks the starter does not tell either: its user may
have deleted it.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.editions import REFERENCES
from lorekeeper.system import private_file
from lorekeeper.text.phrases import STARTER_DOCUMENT

logger = logging.getLogger(__name__)

TYPES = ("spells", "creatures", "equipment", "character_options", "rules")
"""The types of the starter's entries."""

LOADED, NOT_NEEDED, DECLINED = "loaded", "not needed: the library had an SRD", "declined"
"""What a record says. A library without the starter may be given one by hand, "declined", and never gets it unless it is empty."""


@dataclass(frozen=True)
class StarterRecord:
    """The record of one library. Blocking.

    Attributes:
        file: exists once the starter was loaded, or was not needed; its text says which, see `LOADED`.
        library: where the library is; None for one on a server.
    """

    file: Path
    library: Path | None = None

    def holds(self) -> bool:
        """Whether the starter was loaded before, or is declined; once the library was removed, only the latter counts."""
        try:
            said = self.file.read_text("utf-8").strip()
        except OSError:
            return False
        return said == DECLINED or self.library is None or self.library.exists()

    def write(self, what: str = LOADED) -> None:
        """Record it; a file that cannot be written costs another look at the library, and no more."""
        try:
            private_file(self.file).write_text(f"{what}\n", "utf-8")
        except OSError as error:
            logger.info("that the starter compendium is loaded cannot be recorded: %s", error)


async def is_missing(cache: SearchCache) -> bool:
    """Whether a library has neither entries of the starter nor, of each of its types, entries of an SRD."""
    counts = await cache.documents()
    if any(number for name, number in counts.get(STARTER_DOCUMENT, {}).items() if name != "documents"):
        return False
    return not all(any(counts.get(key, {}).get(name) for key in REFERENCES) for name in TYPES)
