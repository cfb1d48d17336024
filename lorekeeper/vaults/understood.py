"""What was understood of a vault, in ten lines: how many notes of each kind, from when, and what is doubtful."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

from lorekeeper.notes.conventions import SETTINGS_FILE, Declared, declared_in
from lorekeeper.notes.kinds import NOTE, PREP, SESSION
from lorekeeper.printable import one_line, quantity
from lorekeeper.regular_files import open_within, read_at_most
from lorekeeper.vaults.state import Row

MOST_LINES, MOST_KINDS, FEWEST = 10, 12, 3
"""Lines, kinds named in one, and notes of a folder about which there is a doubt."""

LARGEST = 1 << 16
"""Bytes of a vault's settings that are read."""

_NAMES = {"npc": "person", PREP: "plan", "location": "place", "lore": "note of lore", NOTE: "note of no kind"}


def settings_of(root: Path) -> Declared:
    """What the settings of a vault say; nothing without any."""
    try:
        with open_within(root, SETTINGS_FILE) as file:
            return declared_in(read_at_most(file, LARGEST).decode("utf-8-sig"))
    except FileNotFoundError:
        return Declared()
    except (OSError, UnicodeDecodeError) as error:
        return Declared(problems=[f"cannot be read: {getattr(error, 'strerror', None) or error}"])


def understood(rows: Mapping[str, Row]) -> list[str]:
    """What a vault has, then what is doubtful of it, each with its path."""
    notes = {path: row for path, row in rows.items() if not row.passed}
    counts = Counter(row.kind for row in notes.values())
    sessions = {path: row for path, row in notes.items() if row.kind == SESSION}
    lines = [_sessions(sessions)] if sessions else []
    others = [(kind, number) for kind, number in counts.most_common() if kind != SESSION][:MOST_KINDS]
    lines += [", ".join(_counted(number, _NAMES.get(kind, kind)) for kind, number in others)] if others else []
    doubts = list(dict.fromkeys((*_doubts(sessions), *_without_kind(notes))))
    room = MOST_LINES - len(lines) - 1
    lines += [one_line(doubt) for doubt in doubts[:room]]
    return [*lines, f"... and {len(doubts) - room:,} more doubts"] if len(doubts) > room else lines


def _counted(number: int, name: str) -> str:
    first, of, rest = name.partition(" of ")
    plural = "people" if name == "person" else quantity(2, first).partition(" ")[2]
    return f"{number:,} {first if number == 1 else plural}{of}{rest}"


def _sessions(sessions: Mapping[str, Row]) -> str:
    numbers = [row.session for row in sessions.values() if row.session is not None]
    days = [row.played for row in sessions.values() if row.played]
    ends = [(f"{min(numbers):g}", f"{max(numbers):g}")] if numbers else []
    ends += [(min(days)[:7], max(days)[:7])] if days else []
    parts = [" to ".join(dict.fromkeys(each)) for each in ends]
    return quantity(len(sessions), "session") + (f" ({', '.join(parts)})" if parts else "")


def _doubts(sessions: Mapping[str, Row]) -> Iterator[str]:
    by_folder: dict[str, list[tuple[float, str, str]]] = defaultdict(list)
    for path, row in sessions.items():
        folder = path.rpartition("/")[0]
        if row.session is not None:
            by_folder[folder].append((row.session, row.played, path))
    for path, row in sessions.items():
        if row.session is None and not row.played and len(by_folder[path.rpartition("/")[0]]) >= FEWEST:
            yield f"{path}: a session without a number or a date"
    for found in by_folder.values():
        for (number, day, path), (following, next_day, other) in pairwise(sorted(found)):
            if number == following:
                yield f"{other}: session {number:g}, as is {path}"
            elif day and next_day and next_day < day:
                yield f"{other}: session {following:g}, played on {next_day}, before session {number:g}"


def _without_kind(notes: Mapping[str, Row]) -> Iterator[str]:
    folders = Counter(path.rpartition("/")[0] for path, row in notes.items() if row.kind == NOTE)
    for folder, number in folders.most_common():
        if folder and number >= FEWEST:
            yield f'{folder}/: {number} notes of no kind; [kinds] "{folder}" = "item" in {SETTINGS_FILE} names it'
