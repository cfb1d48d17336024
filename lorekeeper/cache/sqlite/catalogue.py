"""Entities in SQLite: filter columns, words, names and the entities themselves, as all our files store them.

The functions write within the caller's transaction; `Catalogue` reads.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.protocol import Choose, Identity, Ranked, ValueCounts
from lorekeeper.cache.snapshot import once
from lorekeeper.cache.sqlite.columns import Columns, NameIndex, Rows, column_definitions, column_value, index_statements
from lorekeeper.cache.sqlite.file import Recent, SqliteFile, columns, pack, read_format, unpack
from lorekeeper.cache.sqlite.keywords import (
    Keywords,
    Texts,
    fts_statement,
    insert_words,
)
from lorekeeper.entities import Entity, Field, declared_type
from lorekeeper.filters import Selection, name_rank
from lorekeeper.folding import fold, fold_kind
from lorekeeper.order import BY_NAME, Order, arranged, as_text
from lorekeeper.text.evidence import with_made
from lorekeeper.text.keywords import KeywordQuery
from lorekeeper.text.names import name_key

R = TypeVar("R")

Read = Callable[[sqlite3.Connection, str], R]
"""Reads something of a type."""

NAMES = 40
"""How many of the most similar names are ranked."""

MAX_NAME_QUERY = 80
"""Characters of a query that may be a name."""

RECENT = 256
"""Entities of a type that stay in memory after they were loaded: most of what one question shows, another one shows too."""

KEYS = 400
"""Identities per query."""

_BASE = ("document", "slug", "name_folded", "name_key", "kind", "kind_name", "source_api", "hash", "record")


def statements(types: Iterable[str]) -> list[str]:
    """The statements that create the tables of an empty file, for these types."""
    tables = ["CREATE TABLE changes (type TEXT PRIMARY KEY, number INTEGER NOT NULL)"]
    for name, collection in ((name, declared_type(name)) for name in types):
        tables += [
            f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, document TEXT NOT NULL, slug TEXT NOT NULL, "
            "name_folded TEXT NOT NULL, name_key TEXT NOT NULL, kind TEXT, kind_name TEXT, source_api TEXT, "
            f"hash TEXT NOT NULL, record BLOB NOT NULL, {column_definitions(collection)}, UNIQUE (document, slug))",
            fts_statement(name),
        ]
        tables += index_statements(collection)
    return tables


def insert(c: sqlite3.Connection, entity_type: str, entities: Iterable[Entity]) -> list[int]:
    """Store entities, replacing those of equal identity; returns their row ids, in order."""
    ids = []
    for entity in entities:
        remove(c, entity_type, [entity.identity])
        ids.append(insert_new(c, entity))
    changed(c, entity_type)
    return ids


def insert_new(c: sqlite3.Connection, entity: Entity, row_id: int | None = None) -> int:
    """Store an entity that is not there yet, under a new row id if none is given; returns the row id."""
    names = columns_named(entity.type)
    sql = f"INSERT INTO {entity.type} (id, {column_list(entity.type)}) VALUES (?, {', '.join('?' * len(names))})"
    row = c.execute(sql, (row_id, *columns_of(entity))).lastrowid or 0
    insert_words(c, entity, row)
    return row


def write_words(c: sqlite3.Connection, entity_type: str) -> int:
    """Write the words of all entities of a type again; returns how many entities there are."""
    c.execute(f"DROP TABLE {entity_type}_fts")
    c.execute(fts_statement(entity_type))
    rows = c.execute(f"SELECT id, record FROM {entity_type}").fetchall()
    for row, record in rows:
        insert_words(c, unpack(entity_type, record), row)
    changed(c, entity_type)
    return len(rows)


def remove(c: sqlite3.Connection, entity_type: str, identities: Iterable[Identity]) -> list[int]:
    """Remove entities by identity; returns the row ids they had."""
    sql = f"SELECT id FROM {entity_type} WHERE document = ? AND slug = ?"
    rows = [row for identity in identities for row in c.execute(sql, identity)]
    c.executemany(f"DELETE FROM {entity_type}_fts WHERE rowid = ?", rows)
    c.executemany(f"DELETE FROM {entity_type} WHERE id = ?", rows)
    changed(c, entity_type)
    return [row for (row,) in rows]


def changed(c: sqlite3.Connection, entity_type: str) -> None:
    """Record that a type has changed."""
    c.execute("INSERT INTO changes VALUES (?, 1) ON CONFLICT (type) DO UPDATE SET number = number + 1", (entity_type,))


def _none_yet(_: sqlite3.Connection, __: str) -> Recent[Identity, Entity]:
    """The entities of a type that are in memory when nothing was loaded since it changed."""
    return Recent(RECENT)


def _records(c: sqlite3.Connection, entity_type: str, identities: Sequence[Identity]) -> Iterator[bytes]:
    """The records of the identities that exist, in no particular order."""
    for start in range(0, len(identities), KEYS):
        part = identities[start : start + KEYS]
        wanted = f"WITH wanted (d, s) AS (VALUES {', '.join(['(?, ?)'] * len(part))})"
        # a CROSS JOIN is made in the order as written: it looks each identity up, instead of reading the whole table
        sql = f"{wanted} SELECT record FROM wanted CROSS JOIN {entity_type} ON document = d AND slug = s"
        yield from (record for (record,) in c.execute(sql, [key for identity in part for key in identity]))


def columns_named(entity_type: str) -> list[str]:
    """The names of an entity's columns, in the order of `columns_of`."""
    return [*_BASE, *(f.name for f in declared_type(entity_type).fields)]


def column_list(entity_type: str) -> str:
    """The same as SQL."""
    return ", ".join(f'"{name}"' for name in columns_named(entity_type))


def columns_of(entity: Entity) -> tuple[object, ...]:
    """Values of an entity's columns, in the order of the table."""
    folded = fold(entity.name)
    return (
        *entity.identity,
        folded,
        name_key(folded),
        fold_kind(entity.kind),
        entity.kind,
        fold(entity.source_api),
        entity.content_hash,
        pack(entity, with_made),
        *(column_value(f, entity.fields.get(f.name)) for f in entity.collection.fields),
    )


def _text(value: object) -> str:
    """What a column of texts has, in one line: several are stored as JSON."""
    return as_text(json.loads(value) if isinstance(value, str) and value.startswith("[") else value)


class Catalogue:
    """Looks up entities by columns, words and names, in one state of its file. Blocking, safe in several threads.

    What `SearchCache` documents too is documented there. Methods with a connection read by that; `ask` calls them.
    """

    def __init__(self, file: SqliteFile) -> None:
        self.file = file
        self._memory: dict[tuple[Read[Any], str], tuple[object, Any]] = {}

    def ask(self, name: str, _empty: object, *arguments: Any) -> Any:
        """What the method of a name answers, in one state of the file."""
        return self.file.read(lambda c: getattr(self, name)(c, *arguments))

    def count(self, c: sqlite3.Connection, selection: Selection) -> int:
        rows = self._rows_meeting(c, selection)
        return len(self._columns_of(c, selection.entity_type).ids) if rows is None else int(np.count_nonzero(rows))

    def undeclared(self) -> dict[str, int]:
        """How many entities there are of types that only another program declares, by type; nothing else here touches them."""

        def counts(c: sqlite3.Connection) -> dict[str, int]:
            others = sorted(filter(str.isidentifier, read_format(c).fields.keys() - set(self.file.types)))
            there = [name for name in others if columns(c, name)]
            return {name: c.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in there}

        return {name: number for name, number in self.file.read(counts).items() if number}

    def find(
        self, c: sqlite3.Connection, selection: Selection, limit: int | None, offset: int, order: Order = BY_NAME
    ) -> list[Identity]:
        """Identities under the filters in an order.

        By name that is whole matches first, then by name, preferred document, document and slug.
        """
        columns, places = self._columns_of(c, selection.entity_type), self._by_name(c, selection)
        if order != BY_NAME:
            values = self._values(c, selection.entity_type, order.fields, places)
            places = arranged(
                places,
                order,
                identity=columns.identities.__getitem__,
                number=lambda place, name: values[place][name],
                text=lambda place, name: _text(values[place][name]),
            )
        return [columns.identities[place] for place in places[offset : None if limit is None else offset + limit]]

    def _by_name(self, c: sqlite3.Connection, selection: Selection) -> list[int]:
        """The places of the entities under the filters, by name."""
        rows, ordered = self._rows_meeting(c, selection), self._cached(c, selection.entity_type, self._ordered)
        found: list[int] = (ordered if rows is None else ordered[rows[ordered]]).tolist()
        if selection.name is None and not selection.prefer:
            return found
        names = self._names(c, selection.entity_type).folded
        identities = self._columns_of(c, selection.entity_type).identities
        preferred = {document: place for place, document in enumerate(selection.prefer)}

        def rank(place: int) -> tuple[int, str, int]:
            name = names[place]
            return name_rank(name, selection.name or ""), name, preferred.get(identities[place][0], len(preferred))

        return sorted(found, key=rank)

    def _ordered(self, c: sqlite3.Connection, entity_type: str) -> npt.NDArray[np.intp]:
        """The places of all entities of a type, by name, document and slug."""
        names, identities = self._names(c, entity_type).folded, self._columns_of(c, entity_type).identities
        return np.array(sorted(range(len(identities)), key=lambda place: (names[place], identities[place])), np.intp)

    def _values(
        self, c: sqlite3.Connection, entity_type: str, fields: Sequence[str], places: Sequence[int]
    ) -> Mapping[int, Mapping[str, Any]]:
        """What some columns have for the entities at some places."""
        if not fields:
            return {}
        ids = self._columns_of(c, entity_type).ids[places].tolist()
        names = ", ".join(f'"{name}"' for name in fields)
        sql = f"SELECT id, {names} FROM {entity_type} WHERE id IN (SELECT value FROM json_each(?))"
        found = {row: dict(zip(fields, values, strict=True)) for row, *values in c.execute(sql, [json.dumps(ids)])}
        return {place: found[row] for place, row in zip(places, ids, strict=True)}

    def count_by(self, c: sqlite3.Connection, entity_type: str, column: str) -> dict[str, int]:
        """Number of entities by "document" or "kind_name"."""
        return dict(c.execute(f"SELECT {column}, count(*) FROM {entity_type} GROUP BY {column}").fetchall())

    def count_values(
        self,
        c: sqlite3.Connection,
        selection: Selection,
        fields: Sequence[Field],
        among: Sequence[Identity] | None = None,
    ) -> dict[str, ValueCounts]:
        columns, rows = self._columns_of(c, selection.entity_type), self._rows_meeting(c, selection)
        if among is not None:
            given = columns.at(columns.existing(among))
            rows = given if rows is None else rows & given
        return {column.field.name: column.counts(rows) for column in columns.columns(c, fields)}

    def identities(self, c: sqlite3.Connection, entity_type: str) -> list[Identity]:
        """Identities of all entities of a type, in order."""
        return c.execute(f"SELECT document, slug FROM {entity_type} ORDER BY document, slug").fetchall()

    def content_hashes(self, c: sqlite3.Connection, entity_type: str) -> dict[Identity, str]:
        rows = c.execute(f"SELECT document, slug, hash FROM {entity_type}")
        return {(document, slug): content_hash for document, slug, content_hash in rows}

    def load(self, c: sqlite3.Connection, entity_type: str, identities: Sequence[Identity]) -> list[Entity]:
        """The entities of these identities, in their order, those that were loaded last from memory."""
        recent = self._cached(c, entity_type, _none_yet)
        found = {identity: entity for identity in identities if (entity := recent.get(identity))}
        others = [identity for identity in dict.fromkeys(identities) if identity not in found]
        for record in _records(c, entity_type, others):
            entity = unpack(entity_type, record)
            found[entity.identity] = entity
        for identity in others:
            if identity in found:
                recent.put(identity, found[identity])
        return [found[identity] for identity in identities if identity in found]

    def rank_keyword(
        self, c: sqlite3.Connection, selection: Selection, query: KeywordQuery, limit: int
    ) -> list[Ranked]:
        """The entities that have any word of a query, best first; FTS5's BM25 scores (Robertson), negated: above 0."""
        if not (query.any or query.phrases):
            return []
        entity_type = selection.entity_type
        keywords = self._keywords(c, entity_type)
        if spelling := keywords.texts.spelling:
            query = spelling.corrected(query)
        return keywords.rank(query, limit, self._rows_meeting(c, selection))

    def rank_names(self, c: sqlite3.Connection, selection: Selection, query: str) -> list[Ranked]:
        name, limit = fold(query), NAMES if selection.everything else None
        return self._named(c, selection, name, lambda index: index.spelt.like(name, limit))

    def rank_beginnings(self, c: sqlite3.Connection, selection: Selection, text: str) -> list[Ranked]:
        beginning = fold(text)
        return self._named(c, selection, beginning, lambda index: index.beginning(beginning))

    def names(self, c: sqlite3.Connection, entity_type: str) -> list[str]:
        """The folded names of all entities of a type; they are cached until the type changes."""
        return self._names(c, entity_type).folded

    def word_counts(self, c: sqlite3.Connection, entity_type: str, words: Collection[str]) -> dict[str, int]:
        """How many entities of the type have each word, in any form with the same stem; words that none has are left out."""
        return self._keywords(c, entity_type).counts(words, asked=True)

    def word_scores(
        self,
        c: sqlite3.Connection,
        entity_type: str,
        words: Collection[str],
        among: Collection[Identity],
        choose: Choose,
    ) -> dict[Identity, float]:
        keywords = self._keywords(c, entity_type)
        chosen = choose(keywords.counts(words), len(keywords.columns.ids))
        return keywords.scores(chosen, among) if chosen else {}

    def version(self, entity_type: str) -> object:
        """A value that changes whenever the type changes."""
        return self.file.read(lambda c: self.version_in(c, entity_type))

    def version_in(self, c: sqlite3.Connection, entity_type: str) -> tuple[int, int]:
        """The same by a connection."""
        opened, changes = once(
            c, lambda: (self.file.opened, dict(c.execute("SELECT type, number FROM changes").fetchall()))
        )
        return opened, changes.get(entity_type, 0)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self.file.close()

    def _rows_meeting(self, c: sqlite3.Connection, selection: Selection) -> Rows | None:
        """The rows under the filters, of the columns of `_columns_of`; None for all of them."""
        entity_type = selection.entity_type
        return self._columns_of(c, entity_type).meeting(c, selection, lambda: self._names(c, entity_type))

    def _named(
        self,
        c: sqlite3.Connection,
        selection: Selection,
        name: str,
        found: Callable[[NameIndex], list[tuple[int, float]]],
    ) -> list[Ranked]:
        """The best of the names that are found by a folded one, under the filters; names and columns have the same rows."""
        if not name or len(name) > MAX_NAME_QUERY:
            return []
        index, rows = self._names(c, selection.entity_type), self._rows_meeting(c, selection)
        best = [(i, score) for i, score in found(index) if rows is None or rows[i]][:NAMES]
        identities = self._columns_of(c, selection.entity_type).identities
        ranked = [Ranked(identities[i], index.folded[i], score) for i, score in best]
        first = {each.score: place for place, each in reversed(list(enumerate(ranked)))}
        # of one score they stand in the order in which they were written, which is no order of theirs
        return sorted(ranked, key=lambda each: (first[each.score], each.name, each.identity))

    def _columns_of(self, c: sqlite3.Connection, entity_type: str) -> Columns:
        return self._cached(c, entity_type, Columns.of)

    def _keywords(self, c: sqlite3.Connection, entity_type: str) -> Keywords:
        return Keywords(c, self._columns_of(c, entity_type), self._cached(c, entity_type, self._texts))

    def _texts(self, c: sqlite3.Connection, entity_type: str) -> Texts:
        return Texts.of(c, self._columns_of(c, entity_type))

    def _names(self, c: sqlite3.Connection, entity_type: str) -> NameIndex:
        return self._cached(c, entity_type, NameIndex.read)

    def _cached(self, c: sqlite3.Connection, entity_type: str, read: Read[R]) -> R:
        """What a function reads of a type, read again after the type has changed."""
        version, known = self.version_in(c, entity_type), self._memory.get((read, entity_type))
        if known is None or known[0] != version:
            self._memory[read, entity_type] = known = version, read(c, entity_type)
        value: R = known[1]
        return value
