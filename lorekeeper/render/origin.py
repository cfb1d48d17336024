"""Where an entry of a vault, or a table of a book, comes from, and what its author marks it with."""

from __future__ import annotations

from lorekeeper.render.page import Line, labelled, line
from lorekeeper.render.source import Source


def origin(source: Source) -> str:
    """The lines about the note or the entry that an entry is a part of; "" for what is from none."""
    if source.value("note_name") or source.value("file"):
        return labelled(source, ORIGIN)
    return labelled(source, FROM_ENTRY) if source.value("entry_uri") else ""


def _entry(label: str, uri: str, *names: str) -> Line:
    """A line with the name of another entry, and its uri, from these keys."""

    def value(source: Source) -> str:
        name = " > ".join(part for key in names if (part := source.words(key)))
        return f"{name} ({source.words(uri)})" if name else ""

    return label, value


ORIGIN: tuple[Line, ...] = (
    _entry("From the note", "note", "note_name", "note_section"),
    line("From the file", "file"),
    _entry("Changed from", "base", "base_name"),
    line("Marked", "mark"),
    line("Shown to", "audience"),
    line("Note marked", "note_mark"),
    line("Note shown to", "note_audience"),
)
"""The lines, and the keys that they are from."""

FROM_ENTRY: tuple[Line, ...] = (_entry("From", "entry_uri", "entry_name"),)
"""The line of a table of a book."""
