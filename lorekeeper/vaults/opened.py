"""What is recorded of a note that the game master has looked at, and what was open before that was recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lorekeeper.audience import DM, Audience, parsed, within
from lorekeeper.entities import AUDIENCE, Entity
from lorekeeper.notes import Note
from lorekeeper.notes.cuts import line_digest
from lorekeeper.notes.marks import says_players
from lorekeeper.notes.note import MOVED_PLACE, NEW, WRITTEN
from lorekeeper.shares import BETWEEN, Opened, Shares, heading_key


def waiting_in(note: Note) -> list[str]:
    """What of a note nobody has looked at: "" for the note itself, else paths of headings, and texts that were moved."""
    new = [each.text for each in note.held if each.place in (NEW, MOVED_PLACE)]
    return ["", *new] if note.waits else new


def record_of(note: Note, before: Opened | None, *, is_shown: bool = True) -> Opened:
    """What stands in a note that is being opened; of one that is not itself, what stands under the headings for players.

    Args:
        note: as it was read for the game master to look at.
        before: what was looked at of it before.
        is_shown: whether the note itself is opened.
    """
    paths = note.headings if is_shown else [each for each in note.headings if _is_within(each, note.said)]
    said = () if is_shown else tuple(map(heading_key, note.said))
    stems = before.stems if before else ()
    return Opened(is_shown, tuple(map(heading_key, paths)), said, stems, closed_lines(note))


def closed_lines(note: Note) -> tuple[str, ...]:
    """Digests of the lines that stand in closed parts of a note, and in no other."""
    parts = [(section.audience == DM, (section.text, section.written)) for section in note.sections]
    return _closed(parts)


def is_marked(note: Note, shares: Shares) -> bool:
    """Whether an author's mark says that a note, or a part of it, is for players, and nobody has looked at it."""
    if shares.opened(note.path) is not None or note.audience == DM:
        return False
    return bool(note.audience is not None and shares.decided(note.path, note.tags)[1] is None) or bool(
        note.said or (note.audience is None and says_players(note.path))
    )


def open_to_of(audience: Audience | None) -> str:
    """Whom something is open to, for people; "" for nobody but the game master."""
    if audience in (None, DM):
        return ""
    return audience if isinstance(audience, str) else ", ".join(audience)


def opened_of(entity: Entity) -> Opened | None:
    """What a note as it is stored shows to people other than the game master; None for nothing."""
    whole = parsed(entity.data.get(AUDIENCE))
    listed = entity.data.get("sections")
    sections = [each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, Mapping)]
    is_shown = within(None, whole, DM) != DM
    headings, said, parts = list[str](), dict[str, None](), list[tuple[bool, tuple[str, ...]]]()
    for section in sections:
        is_closed = within(parsed(section.get(AUDIENCE)), whole, DM) == DM
        path, opening = str(section.get("name") or ""), str(section.get("opened") or "")
        parts.append((is_closed, (str(section.get("desc") or ""), str(section.get(WRITTEN) or ""))))
        if is_closed:
            continue
        names = path.split(BETWEEN) if path else []
        above = [BETWEEN.join(names[:end]) for end in range(1, len(names))]
        headings += [each for each in above if each not in headings]
        headings += [path] if path and not section.get("continues") else []
        if opening and not is_shown:
            said[BETWEEN.join(names[: len(names) - len(opening.split(BETWEEN)) + 1])] = None
    if not (is_shown or said):
        return None
    return Opened(is_shown, tuple(map(heading_key, headings)), tuple(map(heading_key, said)), (), _closed(parts))


def _closed(parts: Iterable[tuple[bool, tuple[str, ...]]]) -> tuple[str, ...]:
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for is_closed, texts in parts:
        found[is_closed] |= {line_digest(line) for text in texts for line in text.split("\n")}
    return tuple(sorted(found[True] - found[False] - {""}))


def _is_within(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(f"{root}{BETWEEN}") for root in roots)
