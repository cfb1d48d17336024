"""What single words add to the scores of rows, kept in memory: questions have words in common, above all the common ones.

FTS5 adds up the BM25 score of a row word by word, so that the sum of what each word adds by itself is the very same number.
"""

from __future__ import annotations

import json
import sqlite3
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

COLUMN_WEIGHTS = "4.0, 1.0, 1.0, 0.5"
"""How much a word counts in the name, the text, the phrases and the description of the hint."""

KEPT_ROWS = 500_000
"""Rows of all words that are kept together, 12 bytes each."""

Places = npt.NDArray[np.integer[Any]]
"""Of rows, among all rows of their table."""


@dataclass(frozen=True)
class Impact:
    """What a word adds.

    Attributes:
        places: of the rows that have it, shape (rows,) int32.
        scores: what it adds to theirs, above 0, shape (rows,) float64.
    """

    places: Places
    scores: npt.NDArray[np.float64]


@dataclass
class KeptImpacts:
    """Impacts of the tables of a file, the latest ones; not safe in several threads.

    Attributes:
        by_word: the state of the table that each is of, and the impact, by table and expression.
        rows: how many rows they have.
    """

    by_word: OrderedDict[tuple[str, str], tuple[object, Impact]] = field(default_factory=OrderedDict)
    rows: int = 0

    def get(self, key: tuple[str, str], version: object) -> Impact | None:
        """One that is kept of that state."""
        kept = self.by_word.get(key)
        if kept is None or kept[0] != version:
            return None
        self.by_word.move_to_end(key)
        return kept[1]

    def keep(self, key: tuple[str, str], version: object, impact: Impact) -> None:
        """Keep one, in the place of an earlier one of the same word."""
        self._drop(key)
        self.by_word[key] = version, impact
        self.rows += len(impact.places)
        while self.rows > KEPT_ROWS:
            self._drop(next(iter(self.by_word)))

    def _drop(self, key: tuple[str, str]) -> None:
        if key in self.by_word:
            self.rows -= len(self.by_word.pop(key)[1].places)


@dataclass(frozen=True)
class Impacts:
    """The impacts of one table, in one state of its file.

    Attributes:
        c: reads that state.
        entity_type: the type.
        version: another value for each state.
        ids: row ids of all rows, ascending, shape (rows,).
        kept: those that were read before.
    """

    c: sqlite3.Connection
    entity_type: str
    version: object
    ids: npt.NDArray[np.int64]
    kept: KeptImpacts

    def known(self, expression: str) -> Impact | None:
        """The impact of an FTS5 expression for one word, if it is kept."""
        return self.kept.get((self.entity_type, expression), self.version)

    def of(self, expression: str) -> Impact:
        """The impact of an expression on all rows; it is kept."""
        impact = self.known(expression)
        if impact is None:
            impact = self._read(expression)
            self.kept.keep((self.entity_type, expression), self.version, impact)
        return impact

    def among(self, expression: str, places: Places) -> Impact:
        """The impact on some rows, and on others if it is kept; others need not be scored for it."""
        return self.known(expression) or self._read(expression, json.dumps(self.ids[places].tolist()))

    def count(self, expression: str) -> int:
        """How many rows an expression matches."""
        known, fts = self.known(expression), f"{self.entity_type}_fts"
        sql = f"SELECT count(*) FROM {fts} WHERE {fts} MATCH ?"
        return len(known.places) if known else int(self.c.execute(sql, (expression,)).fetchone()[0])

    def _read(self, expression: str, ids: str | None = None) -> Impact:
        fts = f"{self.entity_type}_fts"
        among = "" if ids is None else f" AND +{fts}.rowid IN (SELECT value FROM json_each(?))"
        sql = f"SELECT rowid, -bm25({fts}, {COLUMN_WEIGHTS}) FROM {fts} WHERE {fts} MATCH ?{among}"
        rows = self.c.execute(sql, (expression,) if ids is None else (expression, ids)).fetchall()
        found = np.array(rows, np.float64).reshape(-1, 2)
        places = np.searchsorted(self.ids, found[:, 0].astype(np.int64))
        return Impact(places.astype(np.int32), found[:, 1].copy())
