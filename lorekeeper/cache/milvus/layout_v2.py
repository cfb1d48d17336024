"""Entities as rows on a Milvus server: format 2, which every server from 2.3 on can hold.

There are no nullable columns: absent texts are "", absent lists empty, absent numbers below every real one, flags -1, 0
or 1. The entity itself, which is stored whole, packed and in pieces, says which values are absent. A text
column holds 65,535 bytes, so the pieces are spread over the rows of the entity, beginning with row 0, its record. An entity
that has more pieces than passages gets additional rows, which repeat the passage of its record.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from lorekeeper.cache.milvus import layout_v3 as ms
from lorekeeper.cache.milvus.layout_v3 import (
    ABSENT,
    NOTHING,
    WORDS,
    Column,
    ColumnType,
    Get,
    Layout,
    Row,
    negated_expression,
)
from lorekeeper.cache.protocol import Identity
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import Collection, Entity, Field, FieldType
from lorekeeper.filters import Condition
from lorekeeper.text.passages import Passage

FORMAT = 2
"""Version of the rows' shape, kept with each collection."""

NO_FLAG = -1
"""Stored for a flag that is not known."""

PIECE_BYTES = 32_768
"""Longest piece of a packed entity, in ASCII characters."""

REPEATED = -1
"""``pieces`` of a row that exists for its piece alone. In an entity record it is their number, in other passages 0."""

TRIES, PAUSE_SECONDS = 5, 0.2
"""How often to read an entity that another machine is writing, and how long to wait between attempts."""

_TEXT_BYTES = 65_535
_SIZES = {"pk": 8192, "hash": 64, "record": PIECE_BYTES}
_DEFAULT_SIZES = {ColumnType.TEXT: _TEXT_BYTES, ColumnType.TEXTS: 2_048}
_FIELDS = ["document", "slug", "hash", "pieces", "record"]
_ABSENT: dict[FieldType, str | int | list[str]] = {
    **dict.fromkeys(FieldType, ABSENT),
    FieldType.TEXT: "",
    FieldType.FLAG: NO_FLAG,
    FieldType.TEXTS: [],
}
_KNOWN = dict.fromkeys(FieldType, f"{{}} >= {ABSENT + 1}") | {
    FieldType.TEXT: '{} != ""',
    FieldType.FLAG: f"{{}} >= {NO_FLAG + 1}",
    FieldType.TEXTS: "",
}
"""Expressions for columns of single values whose value is known."""


class LayoutV2(Layout):
    """Format 2."""

    PASSAGES = "pieces >= 0"

    def columns(self, collection: Collection, dimension: int, *, words: bool = False) -> list[Column]:
        return [
            *map(_column, super().columns(collection, dimension, words=words)),
            Column("pieces", ColumnType.INTEGER),
        ]

    def rows(
        self, entity: Entity, passages: Sequence[Passage], vectors: Sequence[Vectors], words: str | None = None
    ) -> list[Row]:
        own = super().rows(entity, passages, vectors, words)
        packed = own[0]["record"]
        pieces = [packed[start : start + PIECE_BYTES] for start in range(0, len(packed), PIECE_BYTES)]
        numbers = dict.fromkeys(range(len(own)), 0) | {0: len(pieces)}
        repeated = [
            own[0]
            | {"pk": ms.primary_key(*entity.identity, part), "part": part}
            | ({} if words is None else {WORDS: ""})
            for part in range(len(own), len(pieces))
        ]
        return [
            row
            | {field.name: _value(field, row[field.name]) for field in entity.collection.fields}
            | {
                "section": _clipped(row["section"]),
                "passage": _clipped(row["passage"]),
                "pieces": numbers.get(part, REPEATED),
                "record": pieces[part] if part < len(pieces) else "",
            }
            for part, row in enumerate([*own, *repeated])
        ]

    def entities(self, entity_type: str, identities: Sequence[Identity], get: Get) -> dict[Identity, Entity]:
        # one whose pieces are of different versions is read again: another machine may have been writing it
        complete: dict[Identity, Entity] = {}
        remaining = list(identities)
        for attempt in range(TRIES):
            if attempt:
                time.sleep(PAUSE_SECONDS)
            remaining = _read(entity_type, remaining, get, complete)
            if not remaining:
                return complete
        raise ValueError(f"parts of {'/'.join(remaining[0])} are missing; import it again")

    def condition(self, condition: Condition) -> str:
        name = condition.field.name
        if condition.negate and condition.field.type is FieldType.TEXTS:
            return negated_expression(condition)
        known = _KNOWN[condition.field.type].format(name)
        if condition.absent:
            return f"(not ({known}) or {self.condition(replace(condition, absent=False))})"
        if condition.negate and condition.op == "any":
            return f"({known} and {negated_expression(condition)})"
        if condition.op in ("max", "below", "outside"):
            return f"({known} and {super().condition(condition)})"
        if condition.field.type is FieldType.FLAG:
            return f"{name} in {sorted({int(value) for value in condition.values})}" if condition.values else NOTHING
        return super().condition(condition)


def _column(column: Column) -> Column:
    if column.type is ColumnType.FLAG:
        return column._replace(type=ColumnType.INTEGER, size=0, nullable=False)
    size = _SIZES.get(column.name, _DEFAULT_SIZES.get(column.type, column.size))
    return column._replace(size=size, nullable=False)


def _value(field: Field, value: object) -> object:
    """The value of a filter field as its column holds it."""
    if value is None:
        return _ABSENT[field.type]
    return int(value) if isinstance(value, bool) else value


def _read(
    entity_type: str, identities: Sequence[Identity], get: Get, complete: dict[Identity, Entity]
) -> list[Identity]:
    """Add the entities whose pieces are all of one version; returns the others that exist."""
    records = get([ms.primary_key(*identity) for identity in identities], _FIELDS)
    keys = {ms.identity(record): [_key(record, part) for part in range(1, record["pieces"])] for record in records}
    additional = get([key for row_keys in keys.values() for key in row_keys], ["pk", "hash", "record"])
    pieces = {row["pk"]: row for row in additional}
    mixed: list[Identity] = []
    for record in records:
        identity = ms.identity(record)
        rows = [record, *(pieces.get(key, {}) for key in keys[identity])]
        if all(row.get("hash") == record["hash"] for row in rows):
            complete[identity] = ms.unpacked_record(entity_type, "".join(row["record"] for row in rows))
        else:
            mixed.append(identity)
    return mixed


def _key(record: Row, part: int) -> str:
    return ms.primary_key(*ms.identity(record), part)


def _clipped(text: str) -> str:
    """The beginning of a text that is too long for a column: passages are for display, the entity has the whole text."""
    data = text.encode("utf-8")
    return text if len(data) <= _TEXT_BYTES else data[:_TEXT_BYTES].decode("utf-8", "ignore")
