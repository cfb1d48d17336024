"""Filter fields as columns: in SQL, and in memory, where rows are tested against conditions, and values are counted.

A file keeps a field behind the whole entry, so that reading one field of all rows reads the file. In memory a column is a list
of its distinct values and a code for each row: a condition is tested once for each value, and values are counted by their codes.

Names are in memory too: which of them contain a text, and which are similar to one without comparing all of them.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Self

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.protocol import Identity, ValueCounts
from lorekeeper.entities import ALIASES, WHOLE_NAME, Collection, Field, FieldType, declared_type
from lorekeeper.filters import Condition, Selection, Stored, loaded, stored
from lorekeeper.text.name_list import NameList
from lorekeeper.text.similar import SimilarTexts

Rows = npt.NDArray[np.bool_]
"""Which rows are meant, shape (rows,)."""

Codes = npt.NDArray[np.int32]
"""Place of each row's value among the distinct ones, -1 for none; shape (rows,)."""

ABSENT = -1

_LISTED = ("name_folded", "document", "slug", "kind", "source_api")
"""What entries are listed by, and filtered by in addition to the fields of their type; they are in the order of a list by name."""


def column_definitions(collection: Collection) -> str:
    """The filter fields of a collection as column definitions; lists are JSON arrays, decimals thousandths."""
    textual = (FieldType.TEXT, FieldType.TEXTS)
    return ", ".join(f'"{f.name}" {"TEXT" if f.type in textual else "INTEGER"}' for f in collection.fields)


def index_statements(collection: Collection) -> list[str]:
    """What makes the index in which filters are tested, if the collection has one."""
    columns = ", ".join(f'"{column}"' for column in (*_LISTED, *(f.name for f in collection.fields)))
    statement = f"CREATE INDEX IF NOT EXISTS {collection.name}_listed ON {collection.name} ({columns})"
    return [statement] if collection.indexed else []


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


@dataclass(frozen=True)
class Column:
    """One field of all rows.

    Attributes:
        field: the field.
        values: the distinct values as they are stored: folded texts, thousandths, lists as tuples.
        codes: which of them each row has.
    """

    field: Field
    values: Sequence[Stored]
    codes: Codes

    @classmethod
    def of(cls, declared: Field, items: Iterable[str | int | None]) -> Self:
        """The column of what the file has in it, in the order of the rows."""
        places: dict[str | int, int] = {}
        codes = [ABSENT if item is None else places.setdefault(item, len(places)) for item in items]
        is_list = declared.type is FieldType.TEXTS
        values = [tuple(json.loads(str(item))) if is_list else item for item in places]
        return cls(declared, values, np.array(codes, np.int32))

    def meeting(self, condition: Condition) -> Rows:
        """The rows whose value meets a condition."""
        met = [condition.met_by(value) for value in self.values]
        return np.array([*met, condition.met_by(None)], np.bool_)[self.codes]  # `ABSENT` is the last one

    def counts(self, rows: Rows | None) -> ValueCounts:
        """The values that some rows have, or all of them, and how often."""
        codes = self.codes if rows is None else self.codes[rows]
        numbers = np.bincount(codes[codes != ABSENT], minlength=len(self.values))
        counts: Counter[str | int | float | bool] = Counter()
        known = 0
        for place in np.flatnonzero(numbers).tolist():
            value, number = self.values[place], int(numbers[place])
            items = value if isinstance(value, tuple) else (value,)
            known += number if items else 0
            for item in items:
                counts[item_value(self.field, item)] += number
        return ValueCounts(dict(counts), known, len(codes))


@dataclass(frozen=True)
class Columns:
    """The fields of one type, each read when it is first needed.

    Attributes:
        entity_type: the type.
        ids: row ids, ascending.
        identities: of the entities, in the order of the ids.
        read: the columns by name, as far as they have been read.
    """

    entity_type: str
    ids: npt.NDArray[np.int64]
    identities: Sequence[Identity]
    read: dict[str, Column] = field(default_factory=dict)

    @classmethod
    def of(cls, c: sqlite3.Connection, entity_type: str) -> Self:
        """The columns of a type, of which none has been read."""
        rows = sorted(c.execute(f"SELECT id, document, slug FROM {entity_type}"))  # from the index of identities
        identities = [(sys.intern(document), slug) for _, document, slug in rows]
        return cls(entity_type, np.array([row for row, _, _ in rows], np.int64), identities)

    @cached_property
    def places(self) -> Mapping[Identity, int]:
        """The row of each identity."""
        return {identity: place for place, identity in enumerate(self.identities)}

    def columns(self, c: sqlite3.Connection, fields: Sequence[Field]) -> list[Column]:
        """The columns of some fields; those that have not been read are read in one pass, from the same state as the ids."""
        missing = list({f.name: f for f in fields if f.name not in self.read}.values())
        if missing:
            names = ", ".join(f'"{f.name}"' for f in missing)
            rows = c.execute(f"SELECT {names}, id FROM {self.entity_type}").fetchall()
            rows.sort(key=lambda row: row[-1])
            items = zip(*rows, strict=True) if rows else ((),) * len(missing)
            self.read.update((f.name, Column.of(f, column)) for f, column in zip(missing, items, strict=False))
        return [self.read[f.name] for f in fields]

    def meeting(self, c: sqlite3.Connection, selection: Selection, names: Callable[[], NameIndex]) -> Rows | None:
        """The rows under the filters; None for all of them. ``names`` gives the index of the same state."""
        conditions = list(selection.conditions)
        if selection.documents is not None:
            declared = declared_type(self.entity_type).field("document")
            conditions.append(Condition(declared, "any", tuple(selection.documents)))
        rows: Rows | None = None
        for condition in conditions:
            met = self._meeting(c, condition, names)
            rows = met if rows is None else rows & met
        return rows

    def existing(self, identities: Iterable[Identity]) -> list[int]:
        """The places of those of some identities that there are."""
        return [place for identity in identities if (place := self.places.get(identity)) is not None]

    def at(self, places: Iterable[int]) -> Rows:
        """The rows at these places."""
        rows = np.zeros(len(self.ids), np.bool_)
        rows[np.fromiter(places, np.intp)] = True
        return rows

    def _meeting(self, c: sqlite3.Connection, condition: Condition, names: Callable[[], NameIndex]) -> Rows:
        if condition.op == "name" or is_of_names(condition):
            met = self.at(names().meeting(condition))
            return ~met if condition.negate else met
        (column,) = self.columns(c, [condition.field])
        return column.meeting(condition)


# --- names -----------------------------------------------------------------------------------------------------------

FIRST, WITHIN, SCATTERED, ALIAS = 0.75, 0.75, 0.5, 0.99
"""Least share of a name that begins with a text, and shares that others keep: where it is another word, where its words are
in another order, and where it is an alias."""


@dataclass(frozen=True)
class NameIndex:
    """The names of all entities of a type.

    Attributes:
        folded: the folded names in the order of the row ids of the entities, as `Columns` has them.
        spelt: the same, to be found by how they are spelt.
        aliased: places of the entities by their folded aliases.
    """

    folded: NameList
    spelt: SimilarTexts
    aliased: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, str, str]], aliases: Iterable[tuple[str, int]] = ()) -> Self:
        """The index of (row id, folded name, key) in the order of the ids, and of (folded alias, row id)."""
        folded = NameList(name for _, name, _ in rows)
        aliased: dict[str, list[int]] = {}
        for alias, row in aliases:
            aliased.setdefault(alias, []).append(bisect_left(rows, row, key=itemgetter(0)))
        return cls(folded, SimilarTexts.of(folded, [key for _, _, key in rows]), aliased)

    @classmethod
    def read(cls, c: sqlite3.Connection, entity_type: str) -> Self:
        """The index of a type's table."""
        named = c.execute(f"SELECT id, name_folded, name_key FROM {entity_type} ORDER BY id").fetchall()
        has_aliases = ALIASES in declared_type(entity_type).filters
        aliased = (
            c.execute(f"SELECT value, {entity_type}.id FROM {entity_type}, json_each(aliases)") if has_aliases else ()
        )
        return cls.of(named, aliased)

    def meeting(self, condition: Condition) -> Iterable[int]:
        """Places of the entities that meet a condition of which `is_of_names` is true."""
        texts = [str(value) for value in condition.values]
        if condition.op == "name":
            return self.folded.places(texts[0])
        if condition.field == WHOLE_NAME:
            return self.folded.named(texts)
        return [place for text in texts for place in self.aliased.get(text, ())]

    def beginning(self, text: str) -> list[tuple[int, float]]:
        """(index, share) of the names that a user may be typing, best first, from a folded text whose last word may go on.

        Names that begin with the text come before those in which another word does, and these before those that have its
        words in another order. The shorter a name, the greater is its share, 0 to 1.
        """
        *whole, last = text.split()
        places = self.folded.with_words(self.folded.words_beginning_with(last))
        for word in whole:
            places &= self.folded.with_words([word])
        found = {place: _begun(text, self.folded[place]) for place in places}
        for alias, places_of in self.aliased.items():
            if f" {text}" in f" {alias}":
                for place in places_of:
                    found[place] = max(found.get(place, 0.0), ALIAS * _begun(text, alias))
        return sorted(found.items(), key=lambda item: (-item[1], self.folded[item[0]], item[0]))


def _begun(text: str, name: str) -> float:
    """How much of a name has been typed, the more if it is its beginning."""
    typed = len(text) / len(name) if name else 0.0
    if name.startswith(text):
        return FIRST + (1 - FIRST) * typed
    return (WITHIN if f" {text}" in name else SCATTERED) * typed


def is_of_names(condition: Condition) -> bool:
    """Whether a condition is tested by the names or aliases alone, without reading the table."""
    of_names = condition.op == "name" or condition.field == WHOLE_NAME or condition.field.name == ALIASES
    return of_names and not condition.negate
