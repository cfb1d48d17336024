"""What the keys and tasks of a note say to filters: any key with its value, what is open or done, and dates of other worlds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from lorekeeper.folding import fold
from lorekeeper.notes.dating import is_of_a_world, world_date
from lorekeeper.notes.kinds import PLAYED_KEYS
from lorekeeper.notes.marks import humps_apart
from lorekeeper.words import first, listed

OPEN, DONE = "open", "done"

_STATE_KEYS, _DONE_KEYS, _WORLD_KEYS, _DATE_KEYS = (
    listed(f"key {what}") for what in ("state", "done", "world", "date")
)
"""Keys of a state, keys that are true of what is done, and those of dates."""

_YES, _NO = frozenset(listed("value yes")), frozenset(listed("value no"))
_TASK = re.compile(r"^[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[(.)\](?=[ \t])", re.MULTILINE)
_TODO, _DROPPED = ' /<>!?*"liIpcbu', "-"
"""What stands in the box of a task that is still to do, and of one that nobody will; anything else is done."""


def properties_of(facts: Mapping[str, str]) -> Iterator[str]:
    """Each key with its value, and with each value of a list."""
    for key, value in facts.items():
        for each in dict.fromkeys((value, *value.split(", "))) if "=" not in key else ():
            yield f"{key}={each}"


def state_of(facts: Mapping[str, str], texts: Iterable[str], path: str) -> str | None:
    """Whether something is open or done, by a key, its folder or its tasks; None where nothing says so."""
    by_key = {form: fold(value) for key, value in facts.items() for form in (fold(humps_apart(key)), fold(key))}
    for value in (by_key[key] for key in _DONE_KEYS if key in by_key):
        if value in _YES or value in _NO:
            return DONE if value in _YES else OPEN
    for value in (by_key[key] for key in _STATE_KEYS if key in by_key):
        if state := _state(*value.split()[:2]):
            return state
    if any(_state(word) == DONE for folder in path.split("/")[:-1] for word in fold(folder).split()):
        return DONE
    boxes = {box for text in texts if "[" in text for box in _TASK.findall(text)} - {_DROPPED}
    if not boxes:
        return None
    return DONE if boxes.isdisjoint(_TODO) else OPEN


def _state(*words: str) -> str:
    """What the first words of a state say: open, done, or ""."""
    return next(filter(None, (first("state ", " ".join(words[:end])) for end in range(len(words), 0, -1))), "")


def world_date_of(facts: Mapping[str, str]) -> int | None:
    """The date in a note's own world, as of Calendarium: year, month and day as digits, 14920310; None for none.

    A date that no calendar of ours has is one as well, whatever its key.
    """
    by_key = {fold(key): value for key, value in facts.items()}
    dates = (by_key[key] for key in (*PLAYED_KEYS, *_DATE_KEYS) if key in by_key)
    told = [by_key[key] for key in _WORLD_KEYS if key in by_key] or list(filter(is_of_a_world, dates))
    return world_date(told[0]) if told else None
