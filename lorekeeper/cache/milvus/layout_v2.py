"""Entities as rows on a Milvus server: format 2, which every server from 2.3 on can hold.

There are no nullable columns: absent texts are "", absent lists empty, absent numbers below every real one, flags -1, 0
or 1. The entity itself, which is stored whole, packed and in pieces, says which values are absent. A text
column holds 65,535 bytes, so the pieces are spread over the rows of the entity, beginning with row 0, its record. An entity
that has more pieces than passages gets additional rows, which repeat the passage of its record.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from lorekeeper.cache.milvus import layout_v3 as ms
from lorekeeper.cache.milvus.layout_v3 import (
    ABSENT,
    NOTHING,
    WORDS,
    WORDS_BYTES,
    WORDS_RANKED,
    Column,
    ColumnType,
    Get,
    Names,
    Row,
    condition_expression,
    joined_expression,
    negated_expression,
)
from lorekeeper.cache.protocol import Identity
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import Collection, Entity, Field, FieldType
from lorekeeper.filters import Condition, Selection, stored
from lorekeeper.text.passages import Passage

FORMAT = 2
"""Version of the rows' shape, kept with each collection."""

NO_FLAG = -1
"""Stored for a flag that is not known."""

PIECE_BYTES = 32_768
"""Longest piece of a packed entity, in ASCII characters."""

PASSAGES = "pieces >= 0"
"""Expression for the rows that are passages."""

REPEATED = -1
"""``pieces`` of a row that exists for its piece alone. In an entity record it is their number, in other passages 0."""

TRIES, PAUSE_SECONDS = 5, 0.2
"""How often to read an entity that another machine is writing, and how long to wait between attempts."""

_KEY_BYTES = 8192
_TEXT_BYTES = 65_535
_ITEM_BYTES = 2_048
_FIELDS = ["document", "slug", "hash", "pieces", "record"]
_TYPES = ms.FIELD_TYPES | {FieldType.FLAG: ColumnType.INTEGER}
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


def columns(collection: Collection, dimension: int, *, words: bool = False) -> list[Column]:
    """The columns of a collection's passages, for vectors of ``dimension`` values; with or without those for words."""
    words_columns = [Column(WORDS, ColumnType.WORDS, WORDS_BYTES), Column(WORDS_RANKED, ColumnType.RANKED)]
    texts = ("name", "name_folded", "kind", "kind_name", "document", "slug", "source_api", "section", "passage")
    return [
        Column("pk", ColumnType.TEXT, _KEY_BYTES, primary=True),
        *(Column(name, ColumnType.TEXT, _TEXT_BYTES) for name in texts),
        Column("part", ColumnType.INTEGER),
        Column("hash", ColumnType.TEXT, 64),
        Column("pieces", ColumnType.INTEGER),
        Column("record", ColumnType.TEXT, PIECE_BYTES),
        *(_column(field) for field in collection.fields),
        Column("vector", ColumnType.VECTOR, dimension),
        *(words_columns if words else []),
    ]


def rows(
    entity: Entity, passages: Sequence[Passage], vectors: Sequence[Vectors], words: str | None = None
) -> list[Row]:
    """The rows of one entity, its record first; ``words`` if the collection has a column for them."""
    common = ms.base_values(entity) | {field.name: _value(entity, field) for field in entity.collection.fields}
    packed = ms.packed_record(entity)
    pieces = [packed[start : start + PIECE_BYTES] for start in range(0, len(packed), PIECE_BYTES)]
    result: list[Row] = []
    for part in range(max(len(passages), len(pieces))):
        number = part if part < len(passages) else 0
        row = {
            **common,
            "pk": ms.primary_key(*entity.identity, part),
            "part": part,
            "section": _clipped(passages[number].section),
            "passage": _clipped(passages[number].text),
            "pieces": 0 if part < len(passages) else REPEATED,
            "record": pieces[part] if part < len(pieces) else "",
            "vector": vectors[number],
        }
        result.append(row if words is None else row | {WORDS: ""})
    result[0]["pieces"] = len(pieces)
    if words is not None:
        result[0][WORDS] = words
    return result


def _value(entity: Entity, field: Field) -> str | int | list[str]:
    """The value of a filter field as its column holds it."""
    value = entity.fields.get(field.name)
    if value is None:
        return _ABSENT[field.type]
    item = stored(field, value)
    if isinstance(item, tuple):
        return list(item)
    return int(item) if isinstance(item, bool) else item


def entities(entity_type: str, identities: Sequence[Identity], get: Get) -> dict[Identity, Entity]:
    """The entities that exist; ValueError or CacheError if one is damaged.

    An entity whose pieces are of different versions is read again: another machine may have been writing it.
    """
    complete: dict[Identity, Entity] = {}
    remaining = list(identities)
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_SECONDS)
        remaining = _read(entity_type, remaining, get, complete)
        if not remaining:
            return complete
    raise ValueError(f"parts of {'/'.join(remaining[0])} are missing; import it again")


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


def expression(selection: Selection, *, records: bool = False, names: Names | None = None) -> str:
    """A Milvus filter expression; "" if everything matches. See `layout_v3.Layout.expression`."""
    return joined_expression(selection, _condition_expression, records=records, names=names)


def _condition_expression(condition: Condition) -> str:
    name = condition.field.name
    if condition.negate and condition.field.type is FieldType.TEXTS:
        return negated_expression(condition)
    known = _KNOWN[condition.field.type].format(name)
    if condition.negate and condition.op == "any":
        return f"({known} and {negated_expression(condition)})"
    if condition.op in ("max", "below", "outside"):
        return f"({known} and {condition_expression(condition)})"
    if condition.field.type is FieldType.FLAG:
        return f"{name} in {sorted({int(value) for value in condition.values})}" if condition.values else NOTHING
    return condition_expression(condition)


def _column(field: Field) -> Column:
    kind = _TYPES[field.type]
    many = kind is ColumnType.TEXTS
    return Column(field.name, kind, _ITEM_BYTES if many else _TEXT_BYTES, many=field.most if many else 0)


def _key(record: Row, part: int) -> str:
    return ms.primary_key(*ms.identity(record), part)


def _clipped(text: str) -> str:
    """The beginning of a text that is too long for a column: passages are for display, the entity has the whole text."""
    data = text.encode("utf-8")
    return text if len(data) <= _TEXT_BYTES else data[:_TEXT_BYTES].decode("utf-8", "ignore")
