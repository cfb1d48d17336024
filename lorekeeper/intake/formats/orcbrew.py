"""OrcBrew packs, which are read as a whole: an error can affect any part of them."""

from __future__ import annotations

from collections.abc import Iterator

from lorekeeper.intake.formats.text_file import Entry, TextFile
from lorekeeper.normalize.orcbrew import looks_like_orcbrew, packs

MAX_PACK_CHARS = 64 << 20
"""Longest file: reading it takes about twenty times as much memory."""


def recognises(name: str, head: str) -> bool:
    """Whether a file is an OrcBrew pack, by its name and by the beginning of its text."""
    return name.endswith(".orcbrew") or looks_like_orcbrew(head)


def read(file: TextFile) -> Iterator[Entry]:
    """The entities of a file; its problems are reported with line and column."""
    text = file.whole(MAX_PACK_CHARS)
    if text is not None:
        yield from file.entries(packs(text, file.title, file.document), ":")
