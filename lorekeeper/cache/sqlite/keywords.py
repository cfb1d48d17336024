"""Keyword search in SQLite: a full-text table per type, whose rows FTS5 scores by BM25.

A score is a sum over words, so words of equal weight are scored by one query, and the weighted scores are added up here. A table of
3,500 creatures takes 4 ms for a question of common words, and 0.5 ms for one of rare words.

FTS5 counts over the whole table how rare a word is. Of notes it is counted within each vault, so that a vault ranks alike whatever
else the library has, and no word counts nothing: FTS5 drops what more than half of the rows have, which in a small vault is what
its campaign is about. nDCG@10 in three vaults, each alone: 0.683, 0.699 and 0.531 instead of 0.672, 0.675 and 0.500.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.protocol import ALIASES_BETWEEN, Ranked
from lorekeeper.cache.sqlite.columns import Rows
from lorekeeper.cache.sqlite.file import DamagedFileError
from lorekeeper.entities import Entity
from lorekeeper.text.facts import indexed_facts
from lorekeeper.text.keywords import RELATED, KeywordQuery
from lorekeeper.text.names import nearest
from lorekeeper.text.notes import aliases
from lorekeeper.text.phrases import Hint, hint_of
from lorekeeper.text.sections import full_text
from lorekeeper.text.stems import stem

TOKENIZER = "porter unicode61 remove_diacritics 2"

COLUMN_WEIGHTS = {"name": 4.0, "body": 1.0, "phrases": 1.0, "description": 0.5}
"""The columns of a full-text table, in the order of `words_of`, and how much a word counts in each."""

LEAST_RARITY = 1e-6
"""What FTS5 takes for the rarity of a word that more than half of the rows have."""

_Scored = Callable[[str], tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]]

_BM25 = ", ".join(map(str, COLUMN_WEIGHTS.values()))

SPELT = frozenset({"notes"})
"""The types of entities whose texts are searched for misspelt words.

Names of a campaign are in no dictionary, and are asked for by ear. The names of entries are found misspelt anyway; this is about
names within texts.
"""

SHORTEST = 4
"""Letters of a word that is worth correcting."""


# --- the words of entities -------------------------------------------------------------------------------------------


def fts_statement(entity_type: str) -> str:
    """The statement that creates the full-text table of a type."""
    return f"CREATE VIRTUAL TABLE {entity_type}_fts USING fts5({', '.join(COLUMN_WEIGHTS)}, tokenize = '{TOKENIZER}')"


def insert_words(c: sqlite3.Connection, entity: Entity, row: int) -> None:
    """Store the words of an entity under its row id."""
    sql = f"INSERT INTO {entity.type}_fts (rowid, {', '.join(COLUMN_WEIGHTS)}) VALUES (?, ?, ?, ?, ?)"
    c.execute(sql, (row, *words_of(entity)))


def words_of(entity: Entity) -> tuple[str, str, str, str]:
    """What keywords are looked up in: name, text, phrases and description of the hint."""
    hint = hint_of(entity) or Hint("", ())
    names = ALIASES_BETWEEN.join([entity.name, *aliases(entity)])
    return names, f"{indexed_facts(entity)}\n{full_text(entity)}", "\n".join(hint.asked_as), hint.description


# --- expressions -----------------------------------------------------------------------------------------------------


def fts_query(words: Sequence[str]) -> str | None:
    """An FTS5 expression that matches any of the words or phrases; None without any."""
    return " OR ".join(map(quoted, words)) or None


def quoted(phrase: str) -> str:
    """An FTS5 expression that matches a word or a phrase."""
    return '"' + phrase.replace("\0", " ").replace('"', '""') + '"'


@lru_cache(maxsize=4096)
def _fts_query_for_word(word: str) -> str | None:
    """An expression that matches a word in any form; None for a word that says nothing."""
    return fts_query(KeywordQuery.of(word).words)


# --- misspelt words --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """The stems that occur in the texts of a type.

    Attributes:
        stems: all of them.
        long: those that a word may be corrected to.
    """

    stems: frozenset[str]
    long: Sequence[str]

    @classmethod
    def of(cls, c: sqlite3.Connection, entity_type: str) -> Self:
        """The stems of a type, from FTS5's vocabulary table.

        That is made for this connection only; a connection that may only read may not even do that.
        """
        table = f"{entity_type}_vocabulary"
        if not c.execute("SELECT 1 FROM temp.sqlite_schema WHERE name = ?", (table,)).fetchone():
            (read_only,) = c.execute("PRAGMA query_only").fetchone()
            c.execute("PRAGMA query_only = 0")
            try:
                c.execute(f"CREATE VIRTUAL TABLE temp.{table} USING fts5vocab(main, {entity_type}_fts, row)")
            finally:
                c.execute(f"PRAGMA query_only = {read_only}")
        stems = [term for (term,) in c.execute(f"SELECT term FROM temp.{table}")]
        return cls(frozenset(stems), [term for term in stems if len(term) >= SHORTEST and term.isalpha()])

    def corrected(self, query: KeywordQuery) -> KeywordQuery:
        """A query with the nearest stems that occur for those of its words that do not."""
        unknown = [word for word in query.words if len(word) >= SHORTEST and stem(word) not in self.stems]
        found = [name for word in unknown for name, _ in nearest(stem(word), self.long)[:1]]
        return replace(query, alternatives=(*query.alternatives, *found)) if found else query


# --- ranking ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts:
    """The rows of a full-text table in one state of its file.

    Attributes:
        ids: row ids, ascending, shape (rows,).
        phrased: which of them have phrases, shape (rows,).
        vaults: of notes, the number of each row's document, shape (rows,); 0 for all rows of other types.
        counts: how many rows of each vault an FTS5 expression matches, of other types one number: for those that were counted.
    """

    ids: npt.NDArray[np.int64]
    phrased: Rows
    vaults: npt.NDArray[np.intp]
    counts: dict[str, npt.NDArray[np.intp]] = field(default_factory=dict)

    @classmethod
    def of(cls, c: sqlite3.Connection, entity_type: str) -> Self:
        """The rows of a type.

        Raises:
            DamagedFileError: they are not those of the type's entities.
        """
        rows = c.execute(f"SELECT rowid, phrases <> '' FROM {entity_type}_fts ORDER BY rowid").fetchall()
        entities = c.execute(f"SELECT id, document FROM {entity_type} ORDER BY id").fetchall()
        if [row for row, _ in rows] != [row for row, _ in entities]:
            raise DamagedFileError(f"the words of {entity_type} are incomplete")
        numbers: dict[str, int] = {}
        vaults = [
            numbers.setdefault(document, len(numbers)) if entity_type == "notes" else 0 for _, document in entities
        ]
        return cls(
            np.array([row for row, _ in rows], np.int64),
            np.array([has for _, has in rows], np.bool_),
            np.array(vaults, np.intp),
        )

    @cached_property
    def sizes(self) -> npt.NDArray[np.intp]:
        """How many rows each vault has."""
        return np.bincount(self.vaults, minlength=1)


@dataclass(frozen=True)
class Keywords:
    """Keyword search in the full-text table of one type, in one state of its file.

    Attributes:
        c: reads that state.
        entity_type: the type.
        texts: its rows.
    """

    c: sqlite3.Connection
    entity_type: str
    texts: Texts

    def rank(self, query: KeywordQuery, limit: int, allowed: Rows | None) -> list[Ranked]:
        """The entities with any word of a query, or with all its phrases if it has some, best first.

        Args:
            query: at least one word or phrase.
            limit: most entities.
            allowed: the rows under the filters, shape (rows,); None for all.
        """
        scores, matched = np.zeros(len(self.texts.ids)), np.zeros(len(self.texts.ids), np.bool_)

        def add(
            expression: str | None, weights: float | npt.NDArray[np.float64], scored: _Scored = self._scored
        ) -> None:
            if expression:
                places, found = scored(expression)
                matched[places] = True
                scores[places] += found * (weights[places] if isinstance(weights, np.ndarray) else weights)

        def add_words(words: Sequence[str], weights: float | npt.NDArray[np.float64]) -> None:
            if self.entity_type != "notes":
                add(fts_query(words), weights)
            else:
                for word in words:
                    add(quoted(word), weights, self._scored_in_vault)

        phrases = " AND ".join(f"{{name body}} : {quoted(phrase)}" for phrase in query.phrases)
        add(phrases, 2.0 if query.any else 1.0)
        having_phrases = matched.copy()
        for weight, words in query.by_weight.items():
            add_words(words, weight)
        alone = RELATED if self.entity_type == "notes" else query.alone
        add_words(query.related, np.where(self.texts.phrased, RELATED, alone))
        if phrases:
            matched = having_phrases
        places = np.flatnonzero(matched if allowed is None else matched & allowed)
        return self._best(places, scores[places], limit, query)

    def scores(self, words: Iterable[str], among: Collection[int]) -> dict[int, float]:
        """What words add to the scores of some rows, by their ids; rows that have none of them are left out."""
        scores: defaultdict[int, float] = defaultdict(float)
        for word in words:
            places, found = self._scored_in_vault(quoted(word), among)
            for row, score in zip(self.texts.ids[places].tolist(), found.tolist(), strict=True):
                scores[row] += score
        return scores

    def counts(self, words: Iterable[str], among: Collection[int] | None = None) -> tuple[dict[str, int], int]:
        """In how many rows each word occurs, in any form with the same stem, and how many rows there are.

        Words that occur in none are left out. With ``among``, only the vaults of these rows count.
        """
        rows = slice(None) if among is None else np.searchsorted(self.texts.ids, sorted(among))
        vaults = np.unique(self.texts.vaults[rows])
        expressions = ((word, _fts_query_for_word(word)) for word in words)
        counted = {word: int(self._count(test)[vaults].sum()) for word, test in expressions if test}
        return {word: number for word, number in counted.items() if number}, int(self.texts.sizes[vaults].sum())

    def _best(
        self, places: npt.NDArray[np.intp], scores: npt.NDArray[np.float64], limit: int, query: KeywordQuery
    ) -> list[Ranked]:
        """The best of some rows, in order; equal scores by identity."""
        least = np.partition(scores, -limit)[-limit] if len(scores) > limit else -np.inf
        best = scores >= least
        ids = self.texts.ids[places[best]].tolist()
        complete = self._complete(query, ids)
        entries = described(self.c, self.entity_type, ids)
        hits = [
            Ranked((document, slug), name, score, complete=row in complete)
            for row, (document, slug, name), score in zip(ids, entries, scores[best].tolist(), strict=True)
        ]
        return sorted(hits, key=lambda hit: (-hit.score, hit.identity))[:limit]

    def _complete(self, query: KeywordQuery, ids: Sequence[int]) -> set[int]:
        """Those of some rows that have all words of one of the query's lists."""
        every = " OR ".join(f"({' AND '.join(map(quoted, words))})" for words in query.complete)
        if not every:
            return set()
        return {row for (row,) in self._matching("rowid", every, ids)}

    def _count(self, expression: str) -> npt.NDArray[np.intp]:
        """How many rows of each vault an expression matches."""
        if expression not in self.texts.counts:
            if len(self.texts.sizes) > 1:
                rows = np.array(self._matching("rowid", expression), np.int64).reshape(-1)
                self.texts.counts[expression] = self._by_vault(np.searchsorted(self.texts.ids, rows))
            else:
                self.texts.counts[expression] = np.array(self._matching("count(*)", expression)[0], np.intp)
        return self.texts.counts[expression]

    def _by_vault(self, places: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """How many of some rows are in each vault."""
        return np.bincount(self.texts.vaults[places], minlength=len(self.texts.sizes))

    def _scored(
        self, expression: str, ids: Collection[int] | None = None
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
        """Places of the rows that an expression matches, and their BM25 scores, above 0; of all rows, or of some ids."""
        rows = self._matching(f"rowid, -bm25({self.entity_type}_fts, {_BM25})", expression, ids)
        found = np.array(rows, np.float64).reshape(-1, 2)
        return np.searchsorted(self.texts.ids, found[:, 0].astype(np.int64)), found[:, 1]

    def _scored_in_vault(
        self, word: str, ids: Collection[int] | None = None
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
        """`_scored` of one word, as rare as it is in the vault of each row: ``ln(1 + (N - n + 0.5) / (n + 0.5))``, as in Lucene."""
        places, scores = self._scored(word, ids)
        if self.entity_type != "notes":
            return places, scores
        having = self._by_vault(places) if ids is None else self._count(word)
        rows, total = len(self.texts.ids), having.sum()
        counted = max(math.log((rows - total + 0.5) / (total + 0.5)), LEAST_RARITY)
        rarity = np.log1p((self.texts.sizes - having + 0.5) / (having + 0.5))
        return places, scores / counted * rarity[self.texts.vaults[places]]

    def _matching(self, columns: str, expression: str, ids: Collection[int] | None = None) -> list[tuple[Any, ...]]:
        """Columns of the rows that an expression matches; of all rows, or of some ids, which are tested after the match."""
        fts = f"{self.entity_type}_fts"
        among = "" if ids is None else f" AND +{fts}.rowid IN (SELECT value FROM json_each(?))"
        values = (expression,) if ids is None else (expression, json.dumps(list(ids)))
        return self.c.execute(f"SELECT {columns} FROM {fts} WHERE {fts} MATCH ?{among}", values).fetchall()


def described(c: sqlite3.Connection, entity_type: str, ids: Sequence[int]) -> list[tuple[str, str, str]]:
    """(document, slug, name) of some rows, in their order; DamagedFileError if one of them is not there."""
    fts = f"{entity_type}_fts"
    sql = (
        f"SELECT document, slug, {fts}.name FROM json_each(?) CROSS JOIN {entity_type} ON {entity_type}.id = value "
        f"CROSS JOIN {fts} ON {fts}.rowid = value"
    )
    rows = c.execute(sql, (json.dumps(ids),)).fetchall()
    if len(rows) < len(ids):
        raise DamagedFileError(f"an entry of {entity_type} is incomplete")
    return rows
