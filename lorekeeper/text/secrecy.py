"""What of an entry a game master sees and players do not. Of what a player is given, nothing is."""

from __future__ import annotations

from lorekeeper.audience import DM, PLAYERS, Audience, parsed, within
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.folding import fold
from lorekeeper.printable import one_line, quantity
from lorekeeper.records.notes import Section, mark_of, sections_of

UNSHARED = "no mark shares it with players"
"""Why a note without marks is secret."""

MOST_NAMED = 5
"""Most sections that are named in one sentence."""


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


def said_of_note(entity: Entity) -> str:
    """What stands above a note for a game master: "secret: GM Notes", "players see 1 of 4 sections: Rumours"; "" for nothing."""
    reason = secrecy(entity)
    if not reason:
        return ""
    return ("" if mark_of(entity.data) else sections_seen(entity)) or f"secret: {reason}"


def sections_seen(entity: Entity) -> str:
    """Who but the game master sees how many sections of a note, and which; "" if all of them are for the same people.

    A section is what stands under one heading, or before the first. One of which people see a part is counted.
    """
    parts: dict[str, list[Audience]] = {}
    for section in sections_of(entity.data):
        parts.setdefault(section.path, []).append(audience_of(entity, section))
    audiences = {who for each in parts.values() for who in each}
    if len(audiences) < 2:
        return ""
    said = []
    for who in sorted(audiences - {DM}, key=str):
        seen = {path: set(each) == {who} for path, each in parts.items() if who in each}
        named = [_named(path, whole=whole) for path, whole in seen.items()]
        people = "players see" if isinstance(who, str) else f"{_people(who)} {'sees' if len(who) == 1 else 'see'}"
        said.append(f"{people} {len(seen)} of {quantity(len(parts), 'section')}: {_listed(named)}")
    return "; ".join(said)


def _named(path: str, *, whole: bool) -> str:
    name = one_line(Section(path).heading) or "the beginning"
    return name if whole else f"a part of {name}"


def _people(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def section_mark(entity: Entity, section: Section) -> tuple[str, bool]:
    """What is said of who sees a section, and whether that is a secret; "" where it is as the rest of the note."""
    if secrecy(entity) and audience_of(entity, section) == PLAYERS:
        return "players see this", False
    return one_line(section.mark), bool(section.mark)


def said_of_section(entity: Entity, section: Section) -> str:
    """What stands above a section for a game master: "(secret: GM Notes)", "(players see this)"; "" for nothing."""
    mark, secret = section_mark(entity, section)
    return f"(secret: {mark})" if secret else mark and f"({mark})"
