"""The files that pages load: kept in memory, packed, at addresses that change with their contents."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from pathlib import Path

FOLDER = Path(__file__).parent

STATIC = FOLDER / "static"

SHEET = "page.css"

PARTS = {
    SHEET: ("style.css", "entry.css", "note.css"),
    "page.js": (
        "base.js",
        "typing.js",
        "unanswered.js",
        "keys.js",
        "beside.js",
        "ahead.js",
        "card.js",
        "pins.js",
        "dice.js",
        "places.js",
        "buttons.js",
    ),
}
"""The parts of the style sheet and of the script, in order, which are one file each for browsers."""

ICON = "icon.svg"
"""Of the tabs of browsers, and in the head of each page."""

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".LICENSE": "text/plain; charset=utf-8",
}
"""Media types of files that browsers may have, by their endings."""


@dataclass(frozen=True)
class File:
    """A file that pages load.

    Attributes:
        content: as it is.
        media_type: with its encoding.
    """

    content: bytes
    media_type: str

    @cached_property
    def packed(self) -> bytes:
        """The content by gzip. Nothing that depends on a request is in it, so its length tells nothing."""
        return gzip.compress(self.content, mtime=0)

    @cached_property
    def version(self) -> str:
        """What stands for the content in the address."""
        return hashlib.blake2b(self.content, digest_size=6).hexdigest()


@cache
def files() -> Mapping[str, File]:
    """The files that browsers may have, by name."""
    parts = set(chain(*PARTS.values()))
    single = [file for file in sorted(STATIC.iterdir()) if file.suffix in TYPES and file.name not in parts]
    found = {file.name: File(file.read_bytes(), TYPES[file.suffix]) for file in single}
    for whole, names in PARTS.items():
        found[whole] = File(b"\n".join((STATIC / name).read_bytes() for name in names), TYPES[Path(whole).suffix])
    return found


def static(name: str) -> str:
    """The address of a file: it changes with the file's content, so that browsers may keep it for good."""
    return f"/static/{name}?{files()[name].version}"
