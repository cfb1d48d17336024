"""Misspelt words of a question about notes: the nearest word that a note has is searched for as well.

Names of a campaign are in no dictionary, and are asked for by ear. The names of entries are found misspelt anyway; this is
about names within texts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, replace

from lorekeeper.cache.sqlite.words import vocabulary
from lorekeeper.text.keywords import KeywordQuery
from lorekeeper.text.names import nearest
from lorekeeper.text.stems import stem

SPELT = frozenset({"notes"})
"""The types of entities whose texts are searched for misspelt words."""

SHORTEST = 4
"""Letters of a word that is worth correcting."""


@dataclass
class Spelling:
    """The stems that occur in the texts of a type.

    Args:
        entity_type: the type.
        version: gives a value that changes whenever the type changes.
    """

    entity_type: str
    version: Callable[[sqlite3.Connection], object]
    _known: object = None
    _stems: frozenset[str] = frozenset()
    _long: tuple[str, ...] = ()

    def corrected(self, c: sqlite3.Connection, query: KeywordQuery) -> KeywordQuery:
        """A query with the nearest stems that occur for those of its words that do not."""
        self._read(c)
        unknown = [word for word in query.words if len(word) >= SHORTEST and stem(word) not in self._stems]
        found = [name for word in unknown for name, _ in nearest(stem(word), self._long)[:1]]
        return replace(query, alternatives=(*query.alternatives, *found)) if found else query

    def _read(self, c: sqlite3.Connection) -> None:
        version = self.version(c)
        if version == self._known:
            return
        terms = c.execute(f"SELECT term FROM {vocabulary(c, self.entity_type)}")
        stems = [term for (term,) in terms]
        self._known, self._stems = version, frozenset(stems)
        self._long = tuple(term for term in stems if len(term) >= SHORTEST and term.isalpha())
