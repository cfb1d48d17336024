"""Entities as rows on a Milvus server: format 2, which every server from 2.3 on can hold.

There are no nullable columns: absent texts are "", absent lists empty, absent numbers below every real one, flags -1, 0
or 1. What is absent the entity itself says, which is kept whole, as a compressed record in pieces. A text column takes
65,535 bytes and a JSON column no more, so a long record is spread over the rows of its entity, from row 0, the head, on;
an entity that has more pieces than passages gets further rows, which repeat the passage of the head.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Sequence
from typing import Any

from lorekeeper.cache.milvus import schema as ms
from lorekeeper.cache.milvus.schema import WORDS, WORDS_BYTES, WORDS_RANKED, Column, ColumnType, Get, Row
from lorekeeper.cache.protocol import Identity
from lorekeeper.cache.sqlite.catalogue import pack, unpack
from lorekeeper.entities import Collection, Entity, FieldType
from lorekeeper.filters import MAX_MANY, Condition, Selection, stored
from lorekeeper.text.passages import Passage

FORMAT = 2
"""Version of the rows' shape, kept with each collection."""

ABSENT = -(2**63)
"""What stands for a number that is not known."""

NO_FLAG = -1
"""What stands for a flag that is not known."""

PIECE_BYTES = 32_768
"""Longest piece of a record, in ASCII letters."""

PASSAGES = "pieces >= 0"
"""Test that holds for the rows that are passages."""

REPEATED = -1
"""``pieces`` of a row that is there for its piece alone. That of a head is their number, that of other passages 0."""

TRIES, PAUSE_SECONDS = 5, 0.2
"""How often an entity is read that another machine is writing meanwhile, and how long to wait in between."""

_KEY_BYTES = 8192
_TEXT_BYTES = 65_535
_ITEM_BYTES = 2_048
_FIELDS = ["document", "slug", "hash", "pieces", "record"]
_TYPES = {
    FieldType.TEXT: ColumnType.TEXT,
    FieldType.INTEGER: ColumnType.INTEGER,
    FieldType.DECIMAL: ColumnType.INTEGER,
    FieldType.FLAG: ColumnType.INTEGER,
    FieldType.TEXTS: ColumnType.TEXTS,
}
_NOTHING_KNOWN: dict[FieldType, Any] = {
    FieldType.TEXT: "",
    FieldType.INTEGER: ABSENT,
    FieldType.DECIMAL: ABSENT,
    FieldType.FLAG: NO_FLAG,
    FieldType.TEXTS: [],
}


def columns(collection: Collection, dimension: int, *, words: bool = False) -> list[Column]:
    """The columns of a collection's passages, for vectors of ``dimension`` values; with those for words or without."""
    worded = [Column(WORDS, ColumnType.WORDS, WORDS_BYTES), Column(WORDS_RANKED, ColumnType.RANKED)]
    texts = ("name", "name_folded", "kind", "kind_name", "document", "slug", "source_api", "section", "passage")
    return [
        Column("pk", ColumnType.TEXT, _KEY_BYTES, primary=True),
        *(Column(name, ColumnType.TEXT, _TEXT_BYTES) for name in texts),
        Column("part", ColumnType.INTEGER),
        Column("hash", ColumnType.TEXT, 64),
        Column("pieces", ColumnType.INTEGER),
        Column("record", ColumnType.TEXT, PIECE_BYTES),
        *(_column(field.name, _TYPES[field.type]) for field in collection.fields),
        Column("vector", ColumnType.VECTOR, dimension),
        *(worded if words else []),
    ]


def rows(entity: Entity, passages: Sequence[Passage], vectors: Sequence[Any], words: str | None = None) -> list[Row]:
    """The rows of one entity, head first; ``words`` where the collection has a column for them."""
    common = ms.base_values(entity) | {f.name: _NOTHING_KNOWN[f.type] for f in entity.collection.fields}
    for field in entity.collection.fields:
        value = entity.fields.get(field.name)
        if value is not None:
            item = stored(field, value)
            common[field.name] = (
                list(item) if isinstance(item, tuple) else int(item) if isinstance(item, bool) else item
            )
    record = base64.b64encode(pack(entity)).decode("ascii")
    pieces = [record[start : start + PIECE_BYTES] for start in range(0, len(record), PIECE_BYTES)]
    made: list[Row] = []
    for part in range(max(len(passages), len(pieces))):
        own = part if part < len(passages) else 0
        made.append(
            {
                **common,
                "pk": ms.primary_key(*entity.identity, part),
                "part": part,
                "section": _clipped(passages[own].section),
                "passage": _clipped(passages[own].text),
                "pieces": len(pieces) if part == 0 else 0 if part < len(passages) else REPEATED,
                "record": pieces[part] if part < len(pieces) else "",
                "vector": vectors[own],
                **({} if words is None else {WORDS: words if part == 0 else ""}),
            }
        )
    return made


def entities(entity_type: str, identities: Sequence[Identity], get: Get) -> dict[Identity, Entity]:
    """Those of the entities that there are; ValueError or CacheError where one is damaged.

    An entity whose pieces are not of one version is read again: another machine may have written it in between.
    """
    found: dict[Identity, Entity] = {}
    wanted = list(identities)
    for turn in range(TRIES):
        heads = get([ms.primary_key(*i) for i in wanted], _FIELDS)
        keys = {ms.identity(row): [_key(row, part) for part in range(1, row["pieces"])] for row in heads}
        further = {
            row["pk"]: row for row in get([key for own in keys.values() for key in own], ["pk", "hash", "record"])
        }
        wanted = []
        for head in heads:
            pieces = [head, *(further.get(key, {}) for key in keys[ms.identity(head)])]
            if all(piece.get("hash") == head["hash"] for piece in pieces):
                found[ms.identity(head)] = _entity(entity_type, "".join(piece["record"] for piece in pieces))
            else:
                wanted.append(ms.identity(head))
        if not wanted:
            return found
        if turn + 1 < TRIES:
            time.sleep(PAUSE_SECONDS)
    raise ValueError(f"parts of {'/'.join(wanted[0])} are missing; import it again")


def expression(selection: Selection, *, records: bool = False, names: Sequence[str] | None = None) -> str:
    """A Milvus filter expression; "" where everything matches. See `milvus_schema.Layout.expression`."""
    return ms.joined(selection, _test, records=records, names=names)


def _test(condition: Condition) -> str:
    name = condition.field.name
    if condition.op == "max":
        return f"({name} >= {ABSENT + 1} and {ms.test(condition)})"
    if condition.field.type is FieldType.FLAG:
        return f"{name} in {sorted({int(value) for value in condition.values})}" if condition.values else ms.NOTHING
    return ms.test(condition)


def _column(name: str, kind: ColumnType) -> Column:
    many = kind is ColumnType.TEXTS
    return Column(name, kind, _ITEM_BYTES if many else _TEXT_BYTES, many=MAX_MANY if many else 0)


def _key(head: Row, part: int) -> str:
    return ms.primary_key(*ms.identity(head), part)


def _entity(entity_type: str, record: str) -> Entity:
    try:
        return unpack(entity_type, base64.b64decode(record, validate=True))
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _clipped(text: str) -> str:
    """The beginning of a text that no column would hold whole: passages are for reading, the entity has it all."""
    data = text.encode("utf-8")
    return text if len(data) <= _TEXT_BYTES else data[:_TEXT_BYTES].decode("utf-8", "ignore")
