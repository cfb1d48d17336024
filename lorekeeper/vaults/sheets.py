"""Characters in the JSON files of a vault: actors of Foundry VTT, saved characters of D&D Beyond, stat blocks and homebrew.

They are read as an import reads them. Everything else in such a file is left alone: a vault is a folder of notes.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.audience import DM, PLAYERS, Audience
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.normalize.build import Origin, build, own_error
from lorekeeper.normalize.characters import audience_of, written_at
from lorekeeper.normalize.notes import SOURCE, marks, slug_of, vault_audiences
from lorekeeper.notes import Note, passed_over, read_note
from lorekeeper.notes.marks import OwnMarks

_SIGNS = re.compile(
    r'"baseHitPoints"|"type"\s{0,9}:\s{0,9}"(?:character|pc)"|"collection"\s{0,9}:\s{0,9}"characters"'
    r'|"player"\s{0,9}:\s{0,9}"?(?:true|yes)\b',
    re.IGNORECASE,
)
"""What a text has that may hold a character: other files are not parsed."""

_ANY_TEXT = "three words only"


@dataclass(frozen=True)
class Sheets:
    """What a JSON file of a vault gives.

    Attributes:
        note: a note at its place: who may see the file by its folder, and by what was shared.
        found: its characters, as an import makes them.
        problems: what cannot be read of them.
        passed: why it is not read although it has characters, as it lies among templates; "" otherwise.
    """

    note: Note
    found: Sequence[Entity] = ()
    problems: Sequence[str] = ()
    passed: str = ""


def sheets_of(path: str, text: str, own: OwnMarks) -> Sheets | None:
    """The characters of a file; None if it has nothing that looks like one. Blocking.

    Args:
        path: within the vault.
        text: of the file.
        own: the user's own marks, and what was shared.
    """
    if not _SIGNS.search(text):
        return None
    note = read_note(path, "", own)
    if passed := passed_over(path, _ANY_TEXT):
        return Sheets(note, passed=passed)
    from lorekeeper.intake.formats import HEAD_CHARS, format_of
    from lorekeeper.intake.formats.text_file import TextFile
    from lorekeeper.intake.json_stream import Window
    from lorekeeper.intake.reports import ImportReport

    window, report, place = Window(io.StringIO(text)), ImportReport(), Path(path)
    found: list[Entity] = []
    problems: list[str] = []
    try:
        read = format_of(place, window.peek(HEAD_CHARS)).read(TextFile(place, window, None, report))
        found += [each.entity for each in read if each.entity.type == "characters"]
    except (ValueError, RecursionError) as error:
        problems.append(str(error))
    return Sheets(note, found, [*(failure.reason for failure in report.failed), *problems])


def is_cut_off(text: str) -> bool:
    """Whether a text is no whole JSON, as while a program writes it; JSON lines count as such, too."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return True
    return False


def characters_of(sheets: Sheets, document: str, document_name: str, modified: float) -> tuple[list[Entity], list[str]]:
    """The entities of the characters of a file, and what could not be stored, each with the reason.

    A character is for the game master and its player, unless its source, its folder, or what was shared says otherwise.

    Args:
        sheets: as they were read.
        document: key of the vault.
        document_name: name of the vault.
        modified: when the file was changed, in seconds since 1970.
    """
    origin = Origin(SOURCE, document, document_name)
    entities: list[Entity] = []
    problems = list(sheets.problems)
    for place, each in enumerate(sheets.found, 1):
        try:
            with own_error():
                data = _data(each, sheets.note, modified)
                made = build(
                    "characters",
                    data,
                    origin,
                    name=each.name,
                    kind=each.kind,
                    slug=slug_of(sheets.note, each.name, place, None),
                    fields={**each.fields, AUDIENCE: vault_audiences(data)},
                )
        except FilterError as error:
            problems.append(f"character {each.name[:60]!r}: {error}")
        else:
            entities.append(made)
    return entities, problems


def _data(character: Entity, note: Note, modified: float) -> dict[str, object]:
    stated = _stated(character)
    if stated is None and note.audience is None:
        stated = audience_of(character.data, character.name)
    data = {key: value for key, value in character.data.items() if key != AUDIENCE}
    return {
        **data,
        "modified": data.get("modified") or written_at(modified),
        "file": note.path,
        **marks("", stated),
        **marks(note.mark, note.audience, "note_", note.opened_by),
    }


def _stated(character: Entity) -> Audience | None:
    """Who may see a character as its source says; None if it says nothing, so that it is its player's."""
    audience = character.fields.get(AUDIENCE)
    if not isinstance(audience, tuple):
        return PLAYERS
    if set(audience) == set(map(fold, audience_of(character.data, character.name))):
        return None
    return DM if audience == (DM,) else audience
