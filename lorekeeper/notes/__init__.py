"""Campaign notes: one note of a vault, from its text to sections, names, facts, links and stat blocks."""

from lorekeeper.notes.note import PATH_SEPARATOR, Audience, Link, Note, Section, StatBlock
from lorekeeper.notes.reading import read_note
from lorekeeper.notes.skipping import passed_over

__all__ = ["PATH_SEPARATOR", "Audience", "Link", "Note", "Section", "StatBlock", "passed_over", "read_note"]
