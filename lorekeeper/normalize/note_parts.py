"""What entries have in common that are parts of notes: where they are from, who may see them, and their keys."""

from __future__ import annotations

from typing import Any

from lorekeeper.audience import Audience
from lorekeeper.entities import Entity
from lorekeeper.normalize.build import part_key, slugify
from lorekeeper.normalize.notes import SOURCE, marks
from lorekeeper.notes.note import Note, Section, StatBlock


def origin_of(note: Note, part: Section | StatBlock, document: str) -> dict[str, Any]:
    """The data that say which note a part is from, and the marks of secrets of the part and of the note."""
    section = part.path if isinstance(part, Section) else part.section
    return {
        "note": Entity("notes", note.path, note.name, note.kind, document, SOURCE, {}).uri,
        "note_name": note.name,
        **({"note_section": section} if section else {}),
        **({"opened": part.opened} if part.opened else {}),
        **marks(part.mark, part.audience, opened_by=part.opened_by),
        **marks(note.mark, note.audience, "note_", note.opened_by),
    }


def slug_of(note: Note, name: str, number: int, audience: Audience | None) -> str:
    """A key from the name, with a digest of it and the path: it stays the same whatever else of the note is edited or secret.

    Args:
        note: has the part.
        name: of the part.
        number: of the parts of that name and audience in the note, it is this one, from 1 on.
        audience: of the part.
    """
    mark = [str(audience)] if audience else []
    return part_key(slugify(name), note.path, name, str(number), *mark)
