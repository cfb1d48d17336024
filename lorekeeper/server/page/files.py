"""The files that pages load: kept in memory, packed, at addresses that change with their contents."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

FOLDER = Path(__file__).parent

STATIC = FOLDER / "static"

STYLES = ("style.css", "entry.css", "note.css", "party.css")
"""The parts of the style sheet, in order."""

SHEET = "page.css"
"""What they are as one file."""

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
    single = [file for file in sorted(STATIC.iterdir()) if file.suffix in TYPES and file.name not in STYLES]
    found = {file.name: File(file.read_bytes(), TYPES[file.suffix]) for file in single}
    sheet = b"\n".join((STATIC / name).read_bytes() for name in STYLES)
    return {**found, SHEET: File(sheet, TYPES[".css"])}


def static(name: str) -> str:
    """The address of a file: it changes with the file's content, so that browsers may keep it for good."""
    return f"/static/{name}?{files()[name].version}"
