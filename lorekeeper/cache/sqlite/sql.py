"""Columns and filter conditions in SQL, for everything that keeps entities in SQLite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache

from lorekeeper.entities import Collection, Field, FieldType
from lorekeeper.filters import COMPARISONS, Condition, Selection, loaded, stored
from lorekeeper.text.keywords import KeywordQuery

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


def where(selection: Selection) -> tuple[str, list[str | int]]:
    """A WHERE expression over the columns, and its parameters."""
    parts, values = ["1"], []  # type: list[str], list[str | int]
    for condition in selection.conditions:
        part, parameters = _test(condition)
        parts.append(part)
        values += parameters
    if selection.documents is not None:
        parts.append(f"document IN ({_marks(selection.documents)})")
        values += selection.documents
    return " AND ".join(parts), values


def document_order(documents: Sequence[str]) -> tuple[str, list[str]]:
    """A sort term that puts documents in this order and all others behind them, and its parameters; "" for none."""
    cases = "".join(f"WHEN ? THEN {place} " for place, _ in enumerate(documents))
    return (f"CASE document {cases}ELSE {len(documents)} END, " if cases else ""), list(documents)


def fts_query(words: Sequence[str]) -> str | None:
    """An FTS5 expression that matches any of the words or phrases; None without any."""
    return " OR ".join(map(quoted, words)) or None


def quoted(phrase: str) -> str:
    """An FTS5 expression that matches a word or a phrase."""
    return '"' + phrase.replace("\0", " ").replace('"', '""') + '"'


@lru_cache(maxsize=4096)
def fts_query_for_word(word: str) -> str | None:
    """An expression that matches a word in any form; None for a word that says nothing."""
    return fts_query(KeywordQuery.of(word).words)


def _test(condition: Condition) -> tuple[str, list[str | int]]:
    """One condition. A list has another name in its subquery: json_each has columns of its own, among them "type"."""
    column, values = f'"{condition.field.name}"', list(condition.values)
    if condition.op in COMPARISONS:
        return f"{column} {COMPARISONS[condition.op]} ?", values
    if condition.op == "outside":
        return f"{column} NOT BETWEEN ? AND ?", values
    if condition.op == "name":
        test = "instr(name_folded, ?) > 0"
    elif condition.field.type is FieldType.TEXTS:
        test = f"EXISTS (SELECT 1 FROM (SELECT {column} AS texts), json_each(texts) WHERE value IN ({_marks(values)}))"
    else:
        test = f"{column} IN ({_marks(values)})"
    return f"NOT ({test})" if condition.negate else test, values


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
