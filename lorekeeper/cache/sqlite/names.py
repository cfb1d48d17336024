"""The names of a type in memory: which of them contain a text, and which are similar to one without comparing all of them."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from lorekeeper.entities import ALIASES, WHOLE_NAME, declared_type
from lorekeeper.filters import Condition
from lorekeeper.text.name_list import NameList
from lorekeeper.text.similar import SimilarTexts

FIRST, WITHIN, SCATTERED, ALIAS = 0.75, 0.75, 0.5, 0.99
"""Least share of a name that begins with a text, and shares that others keep: where it is another word, where its words are
in another order, and where it is an alias."""


@dataclass(frozen=True)
class NameIndex:
    """The names of all entities of a type.

    Attributes:
        ids: row ids of the entities, ascending.
        folded: their folded names.
        spelt: the same, to be found by how they are spelt.
        aliased: row ids of the entities by their folded aliases.
    """

    ids: Sequence[int]
    folded: NameList
    spelt: SimilarTexts
    aliased: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, str, str]], aliases: Iterable[tuple[str, int]] = ()) -> Self:
        """The index of (row id, folded name, key) in the order of the ids, and of (folded alias, row id)."""
        folded = NameList(name for _, name, _ in rows)
        aliased: dict[str, list[int]] = {}
        for alias, row in aliases:
            aliased.setdefault(alias, []).append(row)
        spelt = SimilarTexts.of(folded, [key for _, _, key in rows])
        return cls([row for row, _, _ in rows], folded, spelt, aliased)

    @classmethod
    def read(cls, c: sqlite3.Connection, entity_type: str) -> Self:
        """The index of a type's table."""
        named = c.execute(f"SELECT id, name_folded, name_key FROM {entity_type} ORDER BY id").fetchall()
        has_aliases = ALIASES in declared_type(entity_type).filters
        aliased = (
            c.execute(f"SELECT value, {entity_type}.id FROM {entity_type}, json_each(aliases)") if has_aliases else ()
        )
        return cls.of(named, aliased)

    def meeting(self, condition: Condition) -> list[int]:
        """Row ids of the entities that meet a condition of which `is_of_names` is true."""
        texts = [str(value) for value in condition.values]
        if condition.op == "name":
            return self.containing(texts[0])
        if condition.field == WHOLE_NAME:
            return [row for row, name in zip(self.ids, self.folded, strict=True) if name in texts]
        return [row for text in texts for row in self.aliased.get(text, ())]

    def containing(self, text: str) -> list[int]:
        """Row ids of the names that contain a folded text."""
        return [self.ids[place] for place in self.folded.places(text)]

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
        for alias, rows in self.aliased.items():
            if f" {text}" in f" {alias}":
                for place in (bisect_left(self.ids, row) for row in rows):
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
