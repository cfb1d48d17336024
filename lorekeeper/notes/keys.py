"""What the keys and tasks of a note say to filters: any key with its value, what is open or done, and dates of other worlds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lorekeeper.folding import fold
from lorekeeper.notes.words import alternatives, listed

OPEN, DONE = "open", "done"

_STATE_KEYS = listed("state")
_DONE_KEYS = ("done", "completed", "complete", "resolved", "finished", "closed", "erledigt")
"""Keys of a state, and keys that are true of what is done."""

_OPEN_WORDS, _DONE_WORDS = alternatives("open"), alternatives("done")
_FOLDER_OF_DONE = re.compile(rf"\b(?:{_DONE_WORDS})\b")
_IS_OPEN, _IS_DONE = re.compile(rf"(?:{_OPEN_WORDS})\b"), re.compile(rf"(?:{_DONE_WORDS})\b")
_YES, _NO = frozenset(listed("yes")), frozenset(listed("no"))
_TASK = re.compile(r"^[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[(.)\](?=[ \t])", re.MULTILINE)
_TODO, _DROPPED = ' /<>!?*"liIpcbu', "-"
"""What stands in the box of a task that is still to do, and of one that nobody will; anything else is done."""

_WORLD_KEYS = ("fc date", "aat event start date", "in world date", "ingame date", "in game date", "game world date")
_WORLD_DATE = re.compile(r"(?P<year>-?[0-9]{1,5})(?:\W(?P<month>[0-9]{1,2})(?:\W(?P<day>[0-9]{1,2}))?)?(?![0-9])")
_PART = re.compile(r"(year|month|day)\W{1,3}(-?[0-9]{1,5})")


def properties_of(facts: Mapping[str, str]) -> Iterator[str]:
    """Each key with its value, and with each value of a list."""
    for key, value in facts.items():
        for each in dict.fromkeys((value, *value.split(", "))) if "=" not in key else ():
            yield f"{key}={each}"


def state_of(facts: Mapping[str, str], texts: Iterable[str], path: str) -> str | None:
    """Whether something is open or done, by a key, its folder or its tasks; None where nothing says so."""
    by_key = {fold(key): fold(value) for key, value in facts.items()}
    for value in (by_key[key] for key in _DONE_KEYS if key in by_key):
        if value in _YES or value in _NO:
            return DONE if value in _YES else OPEN
    for value in (by_key[key] for key in _STATE_KEYS if key in by_key):
        if _IS_OPEN.match(value):
            return OPEN
        if _IS_DONE.match(value):
            return DONE
    if any(_FOLDER_OF_DONE.search(fold(folder)) for folder in path.split("/")[:-1]):
        return DONE
    boxes = {box for text in texts if "[" in text for box in _TASK.findall(text)} - {_DROPPED}
    if not boxes:
        return None
    return DONE if boxes.isdisjoint(_TODO) else OPEN


def world_date_of(facts: Mapping[str, str]) -> int | None:
    """The date in a note's own world, as of Calendarium: year, month and day as digits, 14920310; None for none."""
    by_key = {fold(key): value for key, value in facts.items()}
    value = next((by_key[key] for key in _WORLD_KEYS if key in by_key), "")
    match = _WORLD_DATE.match(value.strip())
    parts = match.groupdict() if match else dict(_PART.findall(value))
    if not parts.get("year"):
        return None
    return int(parts["year"]) * 10_000 + int(parts.get("month") or 0) * 100 + int(parts.get("day") or 0)
