"""Filter fields as columns in SQL, for everything that has entities in SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lorekeeper.entities import Collection, Field, FieldType
from lorekeeper.filters import loaded, stored

_COLUMN = {
    FieldType.TEXT: "TEXT",
    FieldType.INTEGER: "INTEGER",
    FieldType.DECIMAL: "INTEGER",
    FieldType.FLAG: "INTEGER",
    FieldType.TEXTS: "TEXT",
    FieldType.DATE: "INTEGER",
}

_LISTED = ("name_folded", "document", "slug", "kind", "source_api")
"""What entries are listed by, and filtered by beside the fields of their type; they are in the order of a list by name."""


def column_definitions(collection: Collection) -> str:
    """The filter fields of a collection as column definitions; lists are JSON arrays, decimals thousandths."""
    return ", ".join(f'"{f.name}" {_COLUMN[f.type]}' for f in collection.fields)


def index_statements(collection: Collection) -> list[str]:
    """What makes the index in which filters are tested, if the collection has one."""
    columns = ", ".join(f'"{column}"' for column in (*_LISTED, *(f.name for f in collection.fields)))
    return (
        [f"CREATE INDEX IF NOT EXISTS {collection.name}_listed ON {collection.name} ({columns})"]
        if collection.indexed
        else []
    )


def column_value(field: Field, value: object) -> str | int | None:
    """One field value as SQLite stores it; None for absent ones."""
    if value is None:
        return None
    item = stored(field, value)
    return json.dumps(item, ensure_ascii=False) if isinstance(item, tuple) else item


def item_value(field: Field, item: str | int) -> str | int | float | bool:
    """The canonical value that a column holds, or that one item of its list is."""
    value = loaded(field, [item] if field.type is FieldType.TEXTS else item)
    if isinstance(value, tuple):
        return value[0]
    return bool(value) if field.type is FieldType.FLAG else value


def document_order(documents: Sequence[str]) -> tuple[str, list[str]]:
    """A sort term that puts documents in this order and all others behind them, and its parameters; "" for none."""
    cases = "".join(f"WHEN ? THEN {place} " for place, _ in enumerate(documents))
    return (f"CASE document {cases}ELSE {len(documents)} END, " if cases else ""), list(documents)
