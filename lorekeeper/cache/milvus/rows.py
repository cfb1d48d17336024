"""The Milvus side of the declarations: collection schemas, entities as rows, filters as expressions, and descriptions.

One row is one passage with its vector. Row 0 of an entity is its entity record, which holds the whole entity; all rows hold
its filter fields, so that a filtered vector search is exact. Strings are stored folded, decimals as whole thousandths.

Embedded libraries have nullable columns, and the entity as one packed record, so that it can be read whichever filter columns a
collection has. Servers have what every one from 2.3 on can hold: absent texts are "", absent lists empty, absent numbers below
every real one, flags -1, 0 or 1; the entity says which values are absent. A text column holds 65,535 bytes there, so the packed
entity is cut into pieces, which are spread over the rows of the entity, beginning with row 0, its record. An entity that has more
pieces than passages gets additional rows, which repeat the passage of its record.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from urllib.parse import quote

from lorekeeper.cache.formats import RENEW, NewerLibraryError, OlderLibraryError, declared, is_later, newer, older
from lorekeeper.cache.protocol import SCORE_DIGITS, Identity, Ranked
from lorekeeper.cache.sqlite.file import pack, unpack
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import (
    MAX_KEY_LENGTH,
    MAX_TEXT_LENGTH,
    Collection,
    Entity,
    Field,
    FieldType,
    declared_type,
)
from lorekeeper.errors import CacheError, MilvusSchemaError
from lorekeeper.filters import COMPARISONS, Condition, Selection, stored
from lorekeeper.folding import fold, fold_kind
from lorekeeper.text.passages import Passage
from lorekeeper.version import VERSION

if TYPE_CHECKING:
    from lorekeeper.cache.milvus.backend import Capabilities

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

FORMAT, SERVER_FORMAT = 3, 2
"""Versions of the layout of the rows, of embedded libraries and of servers, kept with each collection; see `cache.formats`."""

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

TEXT_BYTES = 65_535
"""Longest text in a column of a server."""

PROPERTY = "lorekeeper"
"""Property of a collection that holds its description as JSON."""

REBUILT = "__reindex"
"""Suffix of a collection that is being filled with new vectors to replace another."""

UPSERT_ROWS = 128
"""Rows per call, few enough that converting them does not block the event loop."""

MESSAGE_BYTES = 3 * 2**20
"""Approximate bytes per call: some proxies in front of servers reject more than 4 MiB."""

ABSENT = -(2**63)
"""What a server has for a number that is not known: its rows have no null."""

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
    """How entities are read from and written to collections: this is how embedded libraries do, `ServerLayout` how servers do.

    Attributes:
        PASSAGES: expression for the rows that are passages.
    """

    PASSAGES = ""

    def columns(self, collection: Collection, dimension: int, *, words: bool = False) -> list[Column]:
        """The columns of a collection's passages, for vectors of ``dimension`` values; with or without those for words."""
        words_columns = [Column(WORDS, ColumnType.WORDS, TEXT_BYTES), Column(WORDS_RANKED, ColumnType.RANKED)]
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


# --- on servers ------------------------------------------------------------------------------------------------------

NO_FLAG = -1
"""Stored for a flag that is not known."""

PIECE_BYTES = 32_768
"""Longest piece of a packed entity, in ASCII characters."""

REPEATED = -1
"""``pieces`` of a row that exists for its piece alone. In an entity record it is their number, in other passages 0."""

TRIES, PAUSE_SECONDS = 5, 0.2
"""How often to read an entity that another machine is writing, and how long to wait between attempts."""

_SIZES = {"pk": 8192, "hash": 64, "record": PIECE_BYTES}
_DEFAULT_SIZES = {ColumnType.TEXT: TEXT_BYTES, ColumnType.TEXTS: 2_048}
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


class ServerLayout(Layout):
    """The layout of servers."""

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
            own[0] | {"pk": primary_key(*entity.identity, part), "part": part} | ({} if words is None else {WORDS: ""})
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
    records = get([primary_key(*identity) for identity in identities], _FIELDS)
    keys = {identity(record): [_key(record, part) for part in range(1, record["pieces"])] for record in records}
    additional = get([key for row_keys in keys.values() for key in row_keys], ["pk", "hash", "record"])
    pieces = {row["pk"]: row for row in additional}
    mixed: list[Identity] = []
    for record in records:
        key = identity(record)
        rows = [record, *(pieces.get(own, {}) for own in keys[key])]
        if all(row.get("hash") == record["hash"] for row in rows):
            complete[key] = unpacked_record(entity_type, "".join(row["record"] for row in rows))
        else:
            mixed.append(key)
    return mixed


def _key(record: Row, part: int) -> str:
    return primary_key(*identity(record), part)


def _clipped(text: str) -> str:
    """The beginning of a text that is too long for a column: passages are for display, the entity has the whole text."""
    data = text.encode("utf-8")
    return text if len(data) <= TEXT_BYTES else data[:TEXT_BYTES].decode("utf-8", "ignore")


# --- descriptions: a line of JSON that is stored with a collection ---------------------------------------------------

LAYOUTS: dict[int, Layout] = {SERVER_FORMAT: ServerLayout(), FORMAT: Layout()}
"""The layouts by format."""


class NewerCollectionError(NewerLibraryError, MilvusSchemaError):
    """A later version of LoreKeeper wrote a collection, in a format that this one cannot read."""


class OlderCollectionError(OlderLibraryError, MilvusSchemaError):
    """A collection has an earlier format, or other filter fields than are declared."""


def described(text: str | None) -> dict[str, Any]:
    """What the description of a collection says; nothing if another program created it."""
    try:
        description = json.loads(text or "")
    except ValueError:
        return {}
    ours = isinstance(description, dict) and {"format", "store", "embedding", "dimension"} <= description.keys()
    return description if ours else {}


@dataclass(frozen=True)
class CollectionInfo:
    """The description of a collection.

    Attributes:
        store: random id, kept when the collection is rebuilt; ties the companion to it.
        embedding: fingerprint of the model and the chunker.
        dimension: of its vectors.
        format: layout of its rows.
        words: version of the words that a server ranks; None if there are none.
        fields: its declared filter columns, as `lorekeeper.cache.formats.declared` writes them.
        version: of the LoreKeeper that wrote it.
    """

    store: str
    embedding: str
    dimension: int
    format: int
    words: int | None
    fields: str
    version: str

    @classmethod
    def new(cls, entity_type: str, store: str, embedding: str, dimension: int, capabilities: Capabilities) -> Self:
        """The description of a new collection."""
        fields, version = declared(declared_type(entity_type)), VERSION
        return cls(store, embedding, dimension, capabilities.format, capabilities.words, fields, version)

    @classmethod
    def parse(cls, entity_type: str, description: str | None, where: str) -> Self:
        """The description of an existing collection, called ``where`` in errors; MilvusSchemaError if it is not readable."""
        values = described(description)
        if not values:
            raise MilvusSchemaError(f"{where} was not made by LoreKeeper; use another database")
        if values["format"] < min(LAYOUTS) or "fields" not in values:
            raise OlderCollectionError(older(where, values["format"], str(values.get("version", ""))))
        info = cls(
            store=values["store"],
            embedding=values["embedding"],
            dimension=values["dimension"],
            format=values["format"],
            words=values.get("words"),
            fields=values["fields"],
            version=values.get("version", ""),
        )
        changed = info.fields != declared(declared_type(entity_type))
        if info.format not in LAYOUTS or (changed and is_later(info.version)):
            raise NewerCollectionError(str(newer(where, info.format, info.version)))
        return info

    def as_text(self) -> str:
        """The description, as `parse` reads it."""
        return json.dumps({key: value for key, value in asdict(self).items() if value is not None})

    def is_current(self, entity_type: str, layout: int) -> bool:
        """Whether this version creates collections with these fields in that format."""
        return (self.format, self.fields) == (layout, declared(declared_type(entity_type)))

    def require_current(self, entity_type: str, layout: int, where: str, renew: str = RENEW) -> None:
        """OlderCollectionError unless it is; ``renew`` says what to do."""
        if not self.is_current(entity_type, layout):
            changed = [entity_type] if self.format == layout else []
            raise OlderCollectionError(older(where, self.format, self.version, changed, renew))

    @property
    def layout(self) -> Layout:
        """How its entities are read and written."""
        return LAYOUTS[self.format]
