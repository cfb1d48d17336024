"""Tables of other programs to migrate: which types their rows are, and which columns hold what.

    monsters=creatures
    monsters=creatures:name=title,desc=body,slug=id
    cards=spells:*=payload

A row becomes an object with its columns as keys; those that a mapping names are renamed. ``*`` names a column with a JSON object
that is the entry itself, with the row's other columns beside it where it lacks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from lorekeeper.entities import COLLECTIONS, parse_json
from lorekeeper.errors import ConfigError, EntityError
from lorekeeper.printable import shown

EXAMPLE = "monsters=creatures:name=title,desc=body"

WHOLE = "*"
"""Stands for the whole entry."""


@dataclass(frozen=True)
class TableMapping:
    """What one table, or Milvus collection, of another program holds.

    Attributes:
        table: its name.
        entity_type: the type of its rows.
        columns: names of columns by the keys that they are to have.
    """

    table: str
    entity_type: str
    columns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Self:
        """The mapping of a text as above; ConfigError if it is none."""
        head, _, tail = text.partition(":")
        table, sign, entity_type = (part.strip() for part in head.partition("="))
        pairs = [[part.strip() for part in pair.split("=", 1)] for pair in tail.split(",") if pair.strip()]
        if not (table and sign and entity_type) or not all(len(pair) == 2 and all(pair) for pair in pairs):
            raise ConfigError(
                f"{shown(text)} is not a mapping; write TABLE=TYPE or TABLE=TYPE:KEY=COLUMN,..., for example {EXAMPLE}"
            )
        if entity_type not in COLLECTIONS:
            raise ConfigError(f"{shown(entity_type)} is not a type of entry; known: {', '.join(COLLECTIONS)}")
        return cls(table, entity_type, dict(pairs))

    def require_columns(self, present: Iterable[str]) -> None:
        """ConfigError if the table lacks a column that is named."""
        known = list(present)
        if missing := [column for column in self.columns.values() if column not in known]:
            raise ConfigError(f"{self.table} has no column {shown(missing[0])}; it has {', '.join(known)}")

    def object_of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The object of a row, without what it leaves open; EntityError if its JSON cannot be read."""
        obj = {key: value for key, value in row.items() if value is not None}
        whole = obj.pop(self.columns[WHOLE], None) if WHOLE in self.columns else None
        for key, column in self.columns.items():
            if key != WHOLE and column in obj:
                obj[key] = obj.pop(column)
        return obj if whole is None else {**obj, **_parsed(whole)}


def _parsed(whole: object) -> dict[str, Any]:
    """The object of a column with a whole entry."""
    if isinstance(whole, str):
        try:
            whole = parse_json(whole)
        except ValueError as error:
            raise EntityError(f"its JSON cannot be read: {error}") from error
    if not isinstance(whole, dict):
        raise EntityError("its JSON is not an object")
    return whole
