"""What of an entry a game master sees and players do not. Of what a player is given, nothing is."""

from __future__ import annotations

from collections.abc import Mapping

from lorekeeper.audience import DM, PLAYERS, Audience, parsed, within
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.folding import fold
from lorekeeper.printable import one_line
from lorekeeper.text.notes import heading_path

UNSHARED = "no mark shares it with players"
"""Why a note without marks is secret."""


def is_secret(entity: Entity, section: str | None = None, quoted: str = "") -> bool:
    """Whether something of an entry is kept from some players.

    Args:
        entity: of any type.
        section: only what stands under this heading path of a note.
        quoted: only this text from there, as far as all of it is found where players see it.
    """
    if AUDIENCE not in entity.fields:
        return False
    sections = entity.data.get("sections") if entity.type == "notes" and section is not None else None
    if not isinstance(sections, list):
        return True
    found = [each for each in sections if isinstance(each, Mapping) and heading_path(each) == section] or [{}]
    secret = [each for each in found if audience_of(entity, each) != PLAYERS]
    if not secret or not quoted or len(secret) == len(found):
        return bool(secret)
    shown = fold(" ".join(str(each.get("desc") or "") for each in found if each not in secret))
    return not all(fold(piece) in shown for piece in quoted.split("…"))


def audience_of(entity: Entity, section: Mapping[str, object]) -> Audience:
    """Who may see a section of a note."""
    return within(parsed(section.get(AUDIENCE)), parsed(entity.data.get(AUDIENCE)), DM)


def secrecy(entity: Entity) -> str:
    """What keeps an entry from players, in words; "" if nothing does."""
    if AUDIENCE not in entity.fields:
        return ""
    whole = entity.data.get("mark") or entity.data.get("note_mark")
    if entity.type == "notes":
        whole = entity.data.get("mark")
        return str(whole or UNSHARED) if audience_of(entity, {}) != PLAYERS else ""
    audiences = entity.fields[AUDIENCE]
    return str(whole or ", ".join(audiences if isinstance(audiences, tuple) else ()))


def section_mark(entity: Entity, section: Mapping[str, object]) -> tuple[str, bool]:
    """What is said of who sees a section, and whether that is a secret; "" where it is as the rest of the note."""
    if secrecy(entity) and audience_of(entity, section) == PLAYERS:
        return "players see this", False
    mark = section.get("mark")
    return (one_line(mark), True) if isinstance(mark, str) and mark else ("", False)


def said_of_section(entity: Entity, section: Mapping[str, object]) -> str:
    """What stands above a section for a game master: "(secret: GM Notes)", "(players see this)"; "" for nothing."""
    mark, secret = section_mark(entity, section)
    return f"(secret: {mark})" if secret else mark and f"({mark})"
