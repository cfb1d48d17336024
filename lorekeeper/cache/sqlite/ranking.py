"""Ranking by keywords: FTS5 scores the rows of a full-text table by BM25, and the weighted scores of a query's words are added up.

A score is a sum over words, so words of equal weight are scored by one query. A table of 3,500 creatures takes 4 ms for a question
of common words, and 0.5 ms for one of rare words.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.protocol import Ranked
from lorekeeper.cache.sqlite.columns import Rows
from lorekeeper.cache.sqlite.file import DamagedFileError
from lorekeeper.cache.sqlite.sql import fts_query, fts_query_for_word, quoted
from lorekeeper.cache.sqlite.words import COLUMNS
from lorekeeper.text.keywords import RELATED, KeywordQuery

COLUMN_WEIGHTS = {"name": 4.0, "body": 1.0, "phrases": 1.0, "description": 0.5}
"""How much a word counts in the name, the text, the phrases and the description of the hint."""

_BM25 = ", ".join(str(COLUMN_WEIGHTS[name]) for name in COLUMNS)


@dataclass(frozen=True)
class Texts:
    """The rows of a full-text table in one state of its file.

    Attributes:
        ids: row ids, ascending, shape (rows,).
        phrased: which of them have phrases, shape (rows,).
        counts: how many rows an FTS5 expression matches, for the expressions that have been counted.
    """

    ids: npt.NDArray[np.int64]
    phrased: Rows
    counts: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, c: sqlite3.Connection, entity_type: str) -> Self:
        """The rows of a type.

        Raises:
            DamagedFileError: they are not those of the type's entities.
        """
        rows = c.execute(f"SELECT rowid, phrases <> '' FROM {entity_type}_fts ORDER BY rowid").fetchall()
        entities = c.execute(f"SELECT id FROM {entity_type} ORDER BY id").fetchall()
        if [row for row, _ in rows] != [row for (row,) in entities]:
            raise DamagedFileError(f"the words of {entity_type} are incomplete")
        return cls(np.array([row for row, _ in rows], np.int64), np.array([has for _, has in rows], np.bool_))


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

        def add(expression: str | None, weights: float | npt.NDArray[np.float64]) -> None:
            if expression:
                places, found = self._scored(expression)
                matched[places] = True
                scores[places] += found * (weights[places] if isinstance(weights, np.ndarray) else weights)

        phrases = " AND ".join(f"{{name body}} : {quoted(phrase)}" for phrase in query.phrases)
        add(phrases, 2.0 if query.any else 1.0)
        having_phrases = matched.copy()
        for weight, words in query.by_weight.items():
            add(fts_query(words), weight)
        add(fts_query(query.related), self._related_weights(query))
        if phrases:
            matched = having_phrases
        places = np.flatnonzero(matched if allowed is None else matched & allowed)
        return self._best(places, scores[places], limit, query)

    def scores(self, words: Iterable[str], among: Collection[int]) -> dict[int, float]:
        """What words add to the scores of some rows, by their ids; rows that have none of them are left out."""
        expression = fts_query(list(words))
        if expression is None:
            return {}
        places, scores = self._scored(expression, among)
        return dict(zip(self.texts.ids[places].tolist(), scores.tolist(), strict=True))

    def counts(self, words: Iterable[str]) -> dict[str, int]:
        """In how many rows each word occurs, in any form with the same stem; words that occur in none are left out."""
        expressions = ((word, fts_query_for_word(word)) for word in words)
        return {word: number for word, test in expressions if test and (number := self._count(test))}

    def _related_weights(self, query: KeywordQuery) -> npt.NDArray[np.float64]:
        """How much a related word counts in each row."""
        alone = RELATED if self.entity_type == "notes" else query.alone
        return np.where(self.texts.phrased, RELATED, alone)

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
        rows = self._matching("rowid", every, ids)
        return {row for (row,) in rows}

    def _count(self, expression: str) -> int:
        """How many rows an expression matches."""
        if expression not in self.texts.counts:
            ((self.texts.counts[expression],),) = self._matching("count(*)", expression)
        return self.texts.counts[expression]

    def _scored(
        self, expression: str, ids: Collection[int] | None = None
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
        """Places of the rows that an expression matches, and their BM25 scores, above 0; of all rows, or of some ids."""
        rows = self._matching(f"rowid, -bm25({self.entity_type}_fts, {_BM25})", expression, ids)
        found = np.array(rows, np.float64).reshape(-1, 2)
        return np.searchsorted(self.texts.ids, found[:, 0].astype(np.int64)), found[:, 1]

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
