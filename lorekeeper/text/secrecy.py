"""What of an entry a game master sees and players do not. Of what a player is given, nothing is."""

from __future__ import annotations

from lorekeeper.audience import DM, PLAYERS, Audience, parsed, within
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.folding import fold
from lorekeeper.printable import one_line
from lorekeeper.records.notes import Section, mark_of, sections_of

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
    if entity.type != "notes" or section is None:
        return True
    found = [each for each in sections_of(entity.data) if each.path == section] or [Section()]
    secret = [each for each in found if audience_of(entity, each) != PLAYERS]
    if not secret or not quoted or len(secret) == len(found):
        return bool(secret)
    shown = fold(" ".join(each.text for each in found if each not in secret))
    return not all(fold(piece) in shown for piece in quoted.split("…"))


def audience_of(entity: Entity, section: Section) -> Audience:
    """Who may see a section of a note."""
    return within(section.audience, parsed(entity.data.get(AUDIENCE)), DM)


def secrecy(entity: Entity) -> str:
    """What keeps an entry from players, in words; "" if nothing does."""
    if AUDIENCE not in entity.fields:
        return ""
    if entity.type == "notes":
        return mark_of(entity.data) or UNSHARED if audience_of(entity, Section()) != PLAYERS else ""
    audiences = entity.fields[AUDIENCE]
    return mark_of(entity.data) or ", ".join(audiences if isinstance(audiences, tuple) else ())


def section_mark(entity: Entity, section: Section) -> tuple[str, bool]:
    """What is said of who sees a section, and whether that is a secret; "" where it is as the rest of the note."""
    if secrecy(entity) and audience_of(entity, section) == PLAYERS:
        return "players see this", False
    return one_line(section.mark), bool(section.mark)


def said_of_section(entity: Entity, section: Section) -> str:
    """What stands above a section for a game master: "(secret: GM Notes)", "(players see this)"; "" for nothing."""
    mark, secret = section_mark(entity, section)
    return f"(secret: {mark})" if secret else mark and f"({mark})"
