"""OrcBrew packs, which are read as a whole: an error can affect any part of them."""

from __future__ import annotations

from collections.abc import Iterator

from lorekeeper.intake.formats.text_file import Entry, TextFile
from lorekeeper.intake.json_stream import UNDECODED
from lorekeeper.normalize.orcbrew import looks_like_orcbrew, packs

MAX_PACK_CHARS = 64 << 20
"""Longest file: reading it takes about twenty times as much memory."""


def recognises(name: str, head: str) -> bool:
    """Whether a file is an OrcBrew pack, by its name and by the beginning of its text."""
    return name.endswith(".orcbrew") or looks_like_orcbrew(head)


def read(file: TextFile) -> Iterator[Entry]:
    """The entities of a file; its problems are reported with line and column."""
    text = file.window.rest(MAX_PACK_CHARS + 1)
    if len(text) > MAX_PACK_CHARS:
        file.fail(f"it is longer than {MAX_PACK_CHARS >> 20} MB; split it")
        return
    if undecoded := UNDECODED.search(text):
        at, byte = undecoded.start(), ord(undecoded[0]) - 0xDC00
        line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        file.fail(f"not UTF-8: byte 0x{byte:02x}; save the file as UTF-8", f"{file.path}:{line}:{column}")
        return
    name = file.path.name.removesuffix(".gz").rsplit(".", 1)[0]
    content = packs(text, name, file.document)
    for place, reason in content.failed:
        file.fail(reason, f"{file.path}:{place}")
    for place, reason in content.warnings:
        file.warn(reason, f"{file.path}:{place}")
    for content_type, number in content.skipped.items():
        file.skip(f"{file.path.name}: {content_type}", number)
    yield from (Entry(file.audiences.decided(entity), str(file.path)) for entity in content.entities)
