"""What tables to roll on have in common that were taken out of a text, to be entries of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.play.tables import Table, as_data, as_markdown

KIND = "table"
"""The kind of tables that are rolled on, among rules."""

MOST = 100
"""Most tables of a text that become entries; of a note, most of each audience."""


@dataclass
class Tables:
    """The tables of a text.

    Attributes:
        entities: in reading order; of a note, those of one audience together.
        problems: what could not be stored, and why.
    """

    entities: list[Entity] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def table_data(found: Table) -> dict[str, Any]:
    """The data of a table: its name, its text with a first column of the numbers, and what `tables_of` reads."""
    data = as_data(found)
    return {"name": found.name, "desc": as_markdown(data), "table": data}


def too_many(number: int) -> str:
    """The problem of a text with more tables than `MOST`."""
    return f"it has {number} tables to roll on; those after the first {MOST} are text only"
