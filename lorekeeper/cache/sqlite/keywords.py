"""Keyword search in SQLite: a full-text table per type, whose rows FTS5 scores by BM25.

A score is a sum over words. So each word is scored by a query of its own, in the order of the words, and its scores stay in memory
until the type changes: questions have many words in common, and common ones take most of the time. The sums are FTS5's own.

FTS5 drops a word that more than half of the rows have: in a small vault that is what its campaign is about. Words of notes are as
rare as Lucene takes them, so that none counts nothing. nDCG@10 in three vaults, each alone: 0.683, 0.699 and 0.531 instead of
0.672, 0.675 and 0.500.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.protocol import ALIASES_BETWEEN, Identity, Ranked
from lorekeeper.cache.sqlite.columns import Columns, Rows
from lorekeeper.cache.sqlite.file import DamagedFileError, Recent
from lorekeeper.entities import Entity
from lorekeeper.text.facts import indexed_facts
from lorekeeper.text.forms import Forms
from lorekeeper.text.keywords import RELATED, KeywordQuery
from lorekeeper.text.names import nearest
from lorekeeper.text.notes import aliases
from lorekeeper.text.phrases import Hint, hint_of
from lorekeeper.text.porter import porter_stem
from lorekeeper.text.sections import full_text

TOKENIZER = "porter unicode61 remove_diacritics 2"

COLUMN_WEIGHTS = {"name": 4.0, "body": 1.0, "phrases": 1.0, "description": 0.5}
"""The columns of a full-text table, in the order of `words_of`, and how much a word counts in each."""

VOCABULARY = "_vocabulary"
"""Suffix of the table with the words of a type, which each connection makes for itself."""

LEAST_RARITY = 1e-6
"""What FTS5 takes for the rarity of a word that more than half of the rows have."""

KEPT = 300_000
"""Scores that stay in memory, of all words of a type together; each takes 16 bytes."""

Scored = tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]
"""Places of some rows, and their scores."""

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


def quoted(phrase: str) -> str:
    """An FTS5 expression that matches a word or a phrase."""
    return '"' + phrase.replace("\0", " ").replace('"', '""') + '"'


@lru_cache(maxsize=4096)
def _said(word: str) -> tuple[str, ...]:
    """What is looked up for a word; () for one that says nothing."""
    return KeywordQuery.of(word).words


# --- misspelt words --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spelling:
    """The stems that occur in the texts of a type.

    Attributes:
        stems: all of them.
        long: those that a word may be corrected to.
        forms: the same by the forms that words have in other languages than English.
    """

    stems: frozenset[str]
    long: Sequence[str]
    forms: Forms

    @classmethod
    def of(cls, c: sqlite3.Connection, entity_type: str) -> Self:
        """The stems of a type, from FTS5's vocabulary table.

        That is made for this connection only; a connection that may only read may not even do that.
        """
        table = f"{entity_type}{VOCABULARY}"
        if not c.execute("SELECT 1 FROM temp.sqlite_schema WHERE name = ?", (table,)).fetchone():
            (read_only,) = c.execute("PRAGMA query_only").fetchone()
            c.execute("PRAGMA query_only = 0")
            try:
                c.execute(f"CREATE VIRTUAL TABLE temp.{table} USING fts5vocab(main, {entity_type}_fts, row)")
            finally:
                c.execute(f"PRAGMA query_only = {read_only}")
        stems = [term for (term,) in c.execute(f"SELECT term FROM temp.{table}")]
        long = [term for term in stems if len(term) >= SHORTEST and term.isalpha()]
        return cls(frozenset(stems), long, Forms(stems))

    def corrected(self, query: KeywordQuery) -> KeywordQuery:
        """A query with the nearest stems that occur for those of its words that do not."""
        unknown = [word for word in query.words if len(word) >= SHORTEST and porter_stem(word) not in self.stems]
        found = [name for word in unknown for name, _ in nearest(porter_stem(word), self.long)[:1]]
        return replace(query, alternatives=(*query.alternatives, *found)) if found else query


# --- ranking ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts:
    """The rows of a full-text table in one state of its file.

    Attributes:
        names: the names, with the aliases behind them, in the order of the row ids.
        phrased: which of them have phrases, shape (rows,).
        spelling: the stems of a type of `SPELT`.
        counts: how many rows an FTS5 expression matches, for the expressions that have been counted.
        words: the rows that have a word in any form, and their scores, for words that were asked for last.
    """

    names: Sequence[str]
    phrased: Rows
    spelling: Spelling | None = None
    counts: dict[str, int] = field(default_factory=dict)
    words: Recent[str, Scored] = field(default_factory=lambda: Recent(KEPT, lambda scored: 1 + len(scored[0])))

    @classmethod
    def of(cls, c: sqlite3.Connection, columns: Columns) -> Self:
        """The rows of the type whose columns these are.

        Raises:
            DamagedFileError: they are not those of the type's entities.
        """
        sql = f"SELECT rowid, name, phrases <> '' FROM {columns.entity_type}_fts ORDER BY rowid"
        rows = c.execute(sql).fetchall()
        if [row for row, _, _ in rows] != columns.ids.tolist():
            raise DamagedFileError(f"the words of {columns.entity_type} are incomplete")
        spelling = Spelling.of(c, columns.entity_type) if columns.entity_type in SPELT else None
        return cls([name for _, name, _ in rows], np.array([has for _, _, has in rows], np.bool_), spelling)


@dataclass(frozen=True)
class Keywords:
    """Keyword search in the full-text table of one type, in one state of its file.

    Attributes:
        c: reads that state.
        columns: those of the type.
        texts: its rows.
    """

    c: sqlite3.Connection
    columns: Columns
    texts: Texts

    def rank(self, query: KeywordQuery, limit: int, allowed: Rows | None) -> list[Ranked]:
        """The entities with any word of a query, or with all its phrases if it has some, best first.

        Args:
            query: at least one word or phrase.
            limit: most entities.
            allowed: the rows under the filters, shape (rows,); None for all.
        """
        rows = len(self.columns.ids)
        scores, matched = np.zeros(rows), np.zeros(rows, np.bool_)

        def add(found: Iterable[Scored], weights: float | npt.NDArray[np.float64]) -> None:
            summed = np.zeros(rows)
            for places, scored in found:
                matched[places] = True
                summed[places] += scored
            np.add(scores, summed * weights, out=scores)

        if query.phrases:
            phrases = " AND ".join(f"{{name body}} : {quoted(phrase)}" for phrase in query.phrases)
            add([self._scored(phrases)], 2.0 if query.any else 1.0)
        having_phrases = matched.copy()
        for weight, words in query.by_weight.items():
            add(map(self._word, words), weight)
        alone = RELATED if self.columns.entity_type == "notes" else query.alone
        add(map(self._word, query.related), np.where(self.texts.phrased, RELATED, alone))
        if query.phrases:
            matched = having_phrases
        places = np.flatnonzero(matched if allowed is None else matched & allowed)
        return self._best(places, scores[places], limit, query)

    def scores(self, words: Iterable[str], among: Collection[Identity]) -> dict[Identity, float]:
        """What words add to the scores of some entities; those that have none of them are left out."""
        scores: defaultdict[Identity, float] = defaultdict(float)
        ids = self.columns.ids[self.columns.existing(among)].tolist()
        for word in words:
            places, found = self._as_rare(word, self._scored(quoted(word), ids), ids)
            for place, score in zip(places.tolist(), found.tolist(), strict=True):
                scores[self.columns.identities[place]] += score
        return scores

    def counts(self, words: Iterable[str], *, asked: bool = False) -> dict[str, int]:
        """In how many rows each word occurs, in any form with the same stem; words that occur in none are left out.

        Words that are ``asked`` for are scored at once, as a ranking scores them.
        """
        found: dict[str, int] = {}
        for word in words:
            said = _said(word)
            number = (
                len(self._word(said[0])[0]) if asked and len(said) == 1 else self._count(" OR ".join(map(quoted, said)))
            )
            found |= {word: number} if number else {}
        return found

    def _best(
        self, places: npt.NDArray[np.intp], scores: npt.NDArray[np.float64], limit: int, query: KeywordQuery
    ) -> list[Ranked]:
        """The best of some rows, in order; equal scores by identity."""
        least = np.partition(scores, -limit)[-limit] if len(scores) > limit else -np.inf
        best = scores >= least
        found = zip(
            places[best].tolist(), scores[best].tolist(), self._complete(query)[places[best]].tolist(), strict=True
        )
        identities, names = self.columns.identities, self.texts.names
        hits = [Ranked(identities[place], names[place], score, complete=whole) for place, score, whole in found]
        return sorted(hits, key=lambda hit: (-hit.score, hit.identity))[:limit]

    def _complete(self, query: KeywordQuery) -> Rows:
        """Which rows have all words of one of the query's lists, shape (rows,)."""
        complete = np.zeros(len(self.columns.ids), np.bool_)
        for words in query.complete:
            having = np.zeros(len(complete), np.intp)
            for word in words:
                having[self._word(word)[0]] += 1
            complete |= having == len(words)
        return complete

    def _count(self, expression: str) -> int:
        """How many rows an expression matches."""
        if not expression:
            return 0
        if expression not in self.texts.counts:
            ((self.texts.counts[expression],),) = self._matching("count(*)", expression)
        return self.texts.counts[expression]

    def _word(self, word: str) -> Scored:
        """The rows that have a word in any form, and their scores, above 0."""
        found = self.texts.words.get(word)
        if found is None:
            forms = self.texts.spelling.forms.of(word) if self.texts.spelling else []
            found = self._as_one([word, *forms]) if forms else self._as_rare(word, self._scored(quoted(word)))
            self.texts.words.put(word, found)
            self.texts.counts[quoted(word)] = len(found[0])
        return found

    def _scored(self, expression: str, ids: Collection[int] | None = None) -> Scored:
        """The rows that an FTS5 expression matches, and their BM25 scores, above 0; of all rows, or of some ids."""
        rows = self._matching(f"rowid, -bm25({self.columns.entity_type}_fts, {_BM25})", expression, ids)
        found = np.array(rows, np.float64).reshape(-1, 2)
        return np.searchsorted(self.columns.ids, found[:, 0].astype(np.int64)), found[:, 1]

    def _as_rare(self, word: str, scored: Scored, ids: Collection[int] | None = None) -> Scored:
        """The scores of a word, in notes with a rarity above 0: ``ln(1 + (N - n + 0.5) / (n + 0.5))``, as in Lucene."""
        if self.columns.entity_type != "notes":
            return scored
        places, scores = scored
        odds = self._odds(len(places) if ids is None else self._count(quoted(word)))
        return places, scores * (math.log1p(odds) / max(math.log(odds), LEAST_RARITY))

    def _odds(self, having: int) -> float:
        """The odds against a word that so many rows have, of which FTS5's rarity is the logarithm."""
        return (len(self.columns.ids) - having + 0.5) / (having + 0.5)

    def _as_one(self, words: Sequence[str]) -> Scored:
        """Rows and scores of words that count as one: the best of each row, as rare as all of them are together."""
        best = np.zeros(len(self.columns.ids))
        for word in words:
            places, scores = self._scored(quoted(word))
            np.maximum.at(best, places, scores / max(math.log(self._odds(len(places))), LEAST_RARITY))
        places = np.flatnonzero(best)
        return places, best[places] * math.log1p(self._odds(len(places)))

    def _matching(self, columns: str, expression: str, ids: Collection[int] | None = None) -> list[tuple[Any, ...]]:
        """Columns of the rows that an expression matches; of all rows, or of some ids, which are tested after the match."""
        fts = f"{self.columns.entity_type}_fts"
        among = "" if ids is None else f" AND +{fts}.rowid IN (SELECT value FROM json_each(?))"
        values = (expression,) if ids is None else (expression, json.dumps(list(ids)))
        return self.c.execute(f"SELECT {columns} FROM {fts} WHERE {fts} MATCH ?{among}", values).fetchall()
