"""The Milvus side of the declarations: collection schemas, and entities as rows, and filters as expressions.

One row is one passage with its vector. Row 0 of an entity is its entity record, which holds the whole entity; all rows hold
its filter fields, so that a filtered vector search is exact. Strings are stored folded, decimals as whole thousandths.

This is format 3, with nullable columns, for embedded libraries. The entity is one packed record, so that it can be read
whichever filter columns a collection has. Format 2, in `layout_v2`, is that of collections on servers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, NamedTuple
from urllib.parse import quote

from lorekeeper.cache.protocol import SCORE_DIGITS, Identity, Ranked
from lorekeeper.cache.sqlite.records import pack, unpack
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import MAX_KEY_LENGTH, MAX_TEXT_LENGTH, Collection, Entity, FieldType
from lorekeeper.errors import CacheError
from lorekeeper.filters import COMPARISONS, Condition, Selection, stored
from lorekeeper.folding import fold, fold_kind
from lorekeeper.text.passages import Passage

Row = dict[str, Any]
"""The values of some columns by name: text, number, flag, list of texts, None, or a vector `(dim,) float32`."""

Get = Callable[[Sequence[str], Sequence[str]], list[Row]]
"""Reads rows, given their primary keys and the fields to read."""

Names = Mapping[str, Sequence[str]]
"""The folded names that contain a text, by that text."""

RECORDS = "part == 0"
"""Expression for the rows that are entity records, one of every entity."""

NOTHING = "part < 0"
"""Expression for no row."""

ANYTHING = "part >= 0"
"""Expression for all rows."""

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})

FORMAT = 3
"""Version of the layout of the rows, kept with each collection; see `lorekeeper.cache.formats`."""

WORDS_FORMAT = 1
"""Version of the words on a server: how they are stemmed, and how often each is stored; kept with the format."""

NLIST = 128
"""Lists of the IVF_FLAT index. All of them are probed: with fewer, a filter sees only part of the collection."""

SCORE = "score"
"""Under which a row that a search returned has its cosine similarity, rounded."""

SEARCH_PARAMS: dict[str, Any] = {"metric_type": "COSINE", "params": {"nprobe": NLIST}}

INDEX: tuple[str, dict[str, Any]] = (
    "vector",
    {"index_type": "IVF_FLAT", "metric_type": "COSINE", "params": {"nlist": NLIST}},
)
"""Indexed column, and its index."""

HELD: tuple[str, dict[str, Any]] = ("part", {"index_type": "INVERTED", "metric_type": "NONE"})
"""The same for a column that has an index only while that of the vectors is declared, see `lite`."""

WORDS = "words"
"""Column with the words of an entity, in its record; "" in its other rows. `words` says what it holds."""

WORDS_RANKED = "words_ranked"
"""Column that the server computes from it, by its BM25 function."""

WORDS_INDEX: tuple[str, dict[str, Any]] = (
    WORDS_RANKED,
    {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "BM25", "params": {"bm25_k1": 1.2, "bm25_b": 0.2}},
)
"""The same for words. ``b`` is about a quarter of the usual 0.75, since about a quarter of the rows have words."""

WORDS_BYTES = 65_535

PROPERTY = "lorekeeper"
"""Property of a collection that holds its description as JSON."""

REBUILT = "__reindex"
"""Suffix of a collection that is being filled with new vectors to replace another."""

UPSERT_ROWS = 128
"""Rows per call, few enough that converting them does not block the event loop."""

MESSAGE_BYTES = 3 * 2**20
"""Approximate bytes per call: some proxies in front of servers reject more than 4 MiB."""

ABSENT = -(2**63)
"""What a server has for a number that is not known: format 2 has no null."""

_KEY_BYTES = 8192
_SLUG_BYTES = 12 * MAX_KEY_LENGTH
_TEXT_BYTES = 4 * MAX_TEXT_LENGTH
_PASSAGE_BYTES = 16384
_RECORD_BYTES = 2**30


def primary_key(document: str, slug: str, part: int = 0) -> str:
    """Primary key of one passage: ``document/slug#part``, percent-encoded; of a very long slug its beginning and a digest."""
    written = quote(slug, safe="")
    if len(written) > _SLUG_BYTES:
        digest = hashlib.blake2b(slug.encode("utf-8"), digest_size=16).hexdigest()
        written = f"{written[: _SLUG_BYTES - len(digest) - 1]}~{digest}"
    return f"{quote(document, safe='')}/{written}#{part}"


class ColumnType(StrEnum):
    """The type of a column."""

    TEXT = "text"
    INTEGER = "integer"
    FLAG = "flag"
    TEXTS = "texts"
    VECTOR = "vector"
    WORDS = "words"
    RANKED = "ranked"


class Column(NamedTuple):
    """One column of a collection.

    Attributes:
        size: longest text in bytes; of a vector its dimension.
        many: most items of a list.
    """

    name: str
    type: ColumnType
    size: int = 0
    nullable: bool = False
    primary: bool = False
    many: int = 0


FIELD_TYPES = {
    FieldType.TEXT: ColumnType.TEXT,
    FieldType.INTEGER: ColumnType.INTEGER,
    FieldType.DECIMAL: ColumnType.INTEGER,
    FieldType.FLAG: ColumnType.FLAG,
    FieldType.TEXTS: ColumnType.TEXTS,
    FieldType.DATE: ColumnType.INTEGER,
}


def packed_record(entity: Entity) -> str:
    """A whole entity as a text that carries a checksum."""
    return base64.b64encode(pack(entity)).decode("ascii")


def unpacked_record(entity_type: str, packed: str) -> Entity:
    """The entity of `packed_record`; ValueError, TypeError or CacheError if the text is damaged."""
    try:
        return unpack(entity_type, base64.b64decode(packed, validate=True))
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def type_of(name: str) -> str:
    """The entity type of the collection of that name, or of the one that it is to replace."""
    return name.removesuffix(REBUILT)


def number(value: int | None) -> int | None:
    """The value of a number's column, of any format; None if it is not known."""
    return None if value == ABSENT else value


def identity(row: Row) -> Identity:
    """(document, slug) of a row."""
    return row["document"], row["slug"]


def ranked(entity_type: str, row: Row, others: Iterable[Row] = (), near: tuple[tuple[str, float], ...] = ()) -> Ranked:
    """A row of `scored` as an entry of a ranking, with its `Ranked.near`.

    The others are of its entity, and servers repeat it among them.
    """
    similarity = row[SCORE]
    if math.isnan(similarity):
        raise CacheError(f"{entity_type} have invalid vectors; run 'lorekeeper reindex' to compute them again")
    second = next((other[SCORE] for other in others if other[SCORE] < similarity), None)
    return Ranked(identity(row), row["name"], similarity, row["passage"], row["section"], second=second, near=near)


def scored(rows: list[Row]) -> list[Row]:
    """Rows that a search returned, with their cosine similarities."""
    for row in rows:
        row[SCORE] = round(float(row["distance"]), SCORE_DIGITS)
    return rows


def groups(entities: Iterable[list[Row]]) -> Iterator[list[Row]]:
    """The rows of whole entities in groups of about `UPSERT_ROWS` or `MESSAGE_BYTES`, whichever comes first."""
    group: list[Row] = []
    size = 0
    for rows in entities:
        length = sum(map(row_bytes, rows))
        if group and size + length > MESSAGE_BYTES:
            yield group
            group, size = [], 0
        group, size = group + rows, size + length
        if len(group) >= UPSERT_ROWS:
            yield group
            group, size = [], 0
    if group:
        yield group


def row_bytes(row: Row) -> int:
    """Approximate bytes of a row in a message."""
    return sum(_bytes(value) for value in row.values())


def _bytes(value: object) -> int:
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8"))
    if isinstance(value, list):
        return sum(map(_bytes, value))
    return int(getattr(value, "nbytes", 8))


class Layout:
    """How entities are read from and written to collections: this is format 3; `layout_v2.LayoutV2` is format 2.

    Attributes:
        PASSAGES: expression for the rows that are passages.
    """

    PASSAGES = ""

    def columns(self, collection: Collection, dimension: int, *, words: bool = False) -> list[Column]:
        """The columns of a collection's passages, for vectors of ``dimension`` values; with or without those for words."""
        words_columns = [Column(WORDS, ColumnType.WORDS, WORDS_BYTES), Column(WORDS_RANKED, ColumnType.RANKED)]
        names = ("name", "name_folded", "kind", "kind_name", "document")
        return [
            Column("pk", ColumnType.TEXT, _KEY_BYTES, primary=True),
            *(Column(name, ColumnType.TEXT, _TEXT_BYTES) for name in names),
            Column("slug", ColumnType.TEXT, max(_TEXT_BYTES, 4 * collection.max_slug)),
            Column("source_api", ColumnType.TEXT, _TEXT_BYTES),
            Column("part", ColumnType.INTEGER),
            Column("hash", ColumnType.TEXT, 64),
            Column("section", ColumnType.TEXT, _PASSAGE_BYTES),
            Column("passage", ColumnType.TEXT, _PASSAGE_BYTES),
            Column("record", ColumnType.TEXT, _RECORD_BYTES, nullable=True),
            *(Column(f.name, FIELD_TYPES[f.type], _TEXT_BYTES, nullable=True, many=f.most) for f in collection.fields),
            Column("vector", ColumnType.VECTOR, dimension),
            *(words_columns if words else []),
        ]

    def rows(
        self, entity: Entity, passages: Sequence[Passage], vectors: Sequence[Vectors], words: str | None = None
    ) -> list[Row]:
        """The rows of one entity, its record first; ``words`` if the collection has a column for them."""
        common: Row = {
            "name": entity.name,
            "name_folded": fold(entity.name),
            "kind": fold_kind(entity.kind),
            "kind_name": entity.kind,
            "document": entity.document,
            "slug": entity.slug,
            "source_api": fold(entity.source_api),
            "hash": entity.content_hash,
        }
        for field in entity.collection.fields:
            value = entity.fields.get(field.name)
            item = None if value is None else stored(field, value)
            common[field.name] = list(item) if isinstance(item, tuple) else item
        return [
            {
                **common,
                "pk": primary_key(*entity.identity, part),
                "part": part,
                "section": passage.section,
                "passage": passage.text,
                "record": packed_record(entity) if part == 0 else None,
                "vector": vector,
                **({} if words is None else {WORDS: words if part == 0 else ""}),
            }
            for part, (passage, vector) in enumerate(zip(passages, vectors, strict=True))
        ]

    def entities(self, entity_type: str, identities: Sequence[Identity], get: Get) -> dict[Identity, Entity]:
        """The entities that exist; ValueError, KeyError, TypeError or CacheError if one is damaged."""
        records = get([primary_key(*i) for i in identities], ["document", "slug", "record"])
        return {identity(record): unpacked_record(entity_type, record["record"]) for record in records}

    def expression(self, selection: Selection, *, records: bool = False, names: Names | None = None) -> str:
        """A Milvus filter expression; "" if everything matches.

        Args:
            selection: what is to match.
            records: restricts it to entity records, one row per entity.
            names: if the server cannot find them itself, the folded names that contain each name asked for.
        """
        parts = [RECORDS] if records else []
        for condition in selection.conditions:
            if condition.op == "name" and names is not None:
                parts.append(_among(names[str(condition.values[0])], condition.negate))
            else:
                parts.append(self.condition(condition))
        if selection.documents is not None:
            parts.append(f"document in {quoted(list(selection.documents))}")
        return " and ".join(parts)

    def condition(self, condition: Condition) -> str:
        """One condition as an expression."""
        name, values = condition.field.name, list(condition.values)
        if condition.absent:
            return f"({name} is null or {self.condition(replace(condition, absent=False))})"
        if condition.negate and condition.field.type is FieldType.TEXTS:
            return f"({name} is null or {negated_expression(condition)})"
        if condition.negate and condition.op == "any":
            return f"({name} is not null and {negated_expression(condition)})"
        if condition.op in COMPARISONS:
            return f"{name} {COMPARISONS[condition.op]} {quoted(values[0])}"
        if condition.op == "outside":
            return f"({name} < {quoted(values[0])} or {name} > {quoted(values[1])})"
        if condition.op == "name":
            like = f"name_folded like {quoted(f'%{_like(str(values[0]))}%')}"
            return f"not ({like})" if condition.negate else like
        if not values:
            return NOTHING
        if condition.field.type is FieldType.TEXTS:
            return f"array_contains_any({name}, {quoted(values)})"
        if condition.field.type is FieldType.FLAG:
            return "(" + " or ".join(f"{name} == {quoted(v)}" for v in dict.fromkeys(values)) + ")"
        return f"{name} in {quoted(values)}"


def _among(names: Sequence[str], negate: bool) -> str:
    """The expression for folded names that are among some, or are not."""
    if not names:
        return ANYTHING if negate else NOTHING
    return f"name_folded {'not in' if negate else 'in'} {quoted(list(names))}"


def quoted(value: object) -> str:
    """A value, or a list of them, as a Milvus literal. Milvus Lite reads only the JSON escapes that are used here."""
    if isinstance(value, list):
        return f"[{', '.join(map(quoted, value))}]"
    return f'"{value.translate(_ESCAPES)}"' if isinstance(value, str) else json.dumps(value)


def negated_expression(condition: Condition) -> str:
    """The expression of a negated condition for values that are known."""
    name, values = condition.field.name, quoted(list(condition.values))
    if condition.field.type is FieldType.TEXTS:
        return f"not array_contains_any({name}, {values})"
    return f"{name} not in {values}"


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
