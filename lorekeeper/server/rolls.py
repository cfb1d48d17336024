"""Rolls on the tables of an entry, beside the entry itself."""

from __future__ import annotations

from dataclasses import replace
from random import SystemRandom

from lorekeeper.entities import Entity
from lorekeeper.printable import one_line
from lorekeeper.rolling.tables import chosen
from lorekeeper.server.answers import Answer

_random = SystemRandom()


def with_rolls(answer: Answer, entity: Entity) -> Answer:
    """An answer with a roll on each table of its entry, before everything else.

    Raises:
        NotFoundError: the entry has no table to roll on.
    """
    rolled = [table.roll(_random) for table in chosen(entity)]
    lines = [f"Rolled: {one_line(each.line())}" for each in rolled]
    structured = {**answer.structured, "rolls": [each.content() for each in rolled]}
    return replace(answer, structured=structured, text="\n".join([*lines, answer.text]))
