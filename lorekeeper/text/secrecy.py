"""What of an entry a game master sees and players do not. Of what a player is given, nothing is."""

from __future__ import annotations

from collections.abc import Mapping

from lorekeeper.audience import DM, PLAYERS, Audience, parsed, within
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.text.notes import heading_path

UNSHARED = "no mark shares it with players"
"""Why a note without marks is secret."""


def is_secret(entity: Entity, section: str | None = None) -> bool:
    """Whether something of an entry, or of its section under a heading path, is kept from some players."""
    if AUDIENCE not in entity.fields:
        return False
    sections = entity.data.get("sections") if entity.type == "notes" and section is not None else None
    if not isinstance(sections, list):
        return True
    found = [each for each in sections if isinstance(each, Mapping) and heading_path(each) == section]
    return any(audience_of(entity, each) != PLAYERS for each in found or [{}])


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
