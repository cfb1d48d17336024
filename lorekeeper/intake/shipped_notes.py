"""The campaign notes that ship with the package: the demo's, and nobody's library but the demo's has them."""

from __future__ import annotations

from calendar import timegm
from collections.abc import Mapping
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.normalize.build import Origin, build
from lorekeeper.normalize.note_characters import characters_of
from lorekeeper.normalize.note_creatures import creatures_of
from lorekeeper.normalize.note_tables import note_tables
from lorekeeper.normalize.notes import SOURCE, note_entity
from lorekeeper.notes import read_note
from lorekeeper.notes.marks import LOOKED_AT
from lorekeeper.text.phrases import DATA

NOTES = DATA / "vault"
"""The folder of the notes."""

KEY = "drowned-bells"
"""Key of their vault."""

NAME = "The Drowned Bells"

MODIFIED = timegm((2026, 10, 17, 0, 0, 0))
"""When they were written, after the last session that they tell of: an installation gives files other dates."""


def shipped_notes() -> dict[str, list[Entity]]:
    """The notes, the creatures and tables in them, and the vault as a document, by type. Blocking, for some milliseconds."""
    paths = sorted(path.relative_to(NOTES).as_posix() for path in NOTES.rglob("*.md"))
    by_name = {fold(Path(path).stem): path for path in paths}
    notes = [read_note(path, (NOTES / path).read_text("utf-8"), LOOKED_AT) for path in paths]
    entities = [note_entity(note, KEY, NAME, MODIFIED, lambda target: by_name.get(fold(target))) for note in notes]
    creatures = [creature for note in notes for creature in creatures_of(note, KEY, NAME, lambda _: None).entities]
    tables = [table for note in notes for table in note_tables(note, KEY, NAME).entities]
    characters = [each for note in notes for each in characters_of(note, KEY, NAME)[0]]
    found = {"notes": entities, "creatures": creatures, "rules": tables, "characters": characters}
    return {"documents": [_document()], **{name: made for name, made in found.items() if made}}


def _document() -> Entity:
    data: Mapping[str, str] = {
        "name": NAME,
        "desc": "Notes of a small campaign in LoreKeeper's own words, for its demo.",
    }
    return build("documents", data, Origin(SOURCE, KEY, NAME), name=NAME, kind="document", slug=KEY, fields={})
