"""What single words add to the scores of rows, kept in memory: questions have words in common, above all the common ones.

FTS5 adds up the BM25 score of a row word by word, so that the sum of what each word adds by itself is the very same number. For
that it reads each row; its vocabulary lists the rows of a word in a fifth of the time, and what else the score depends on, the
lengths of all rows, is read once.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.sqlite.file import DamagedFileError
from lorekeeper.cache.sqlite.kept import Kept
from lorekeeper.cache.sqlite.postings import COLUMN_WEIGHTS, Places, Postings, occurrences
from lorekeeper.cache.sqlite.sql import fts_query_for_word
from lorekeeper.cache.sqlite.tokens import only_token, read_tokens
from lorekeeper.cache.sqlite.words import COLUMNS

K1, B = 1.2, 0.75
"""FTS5's parameters of BM25."""

LEAST_IDF = 1e-6
"""FTS5's, of a word that more than half of the rows have."""

KEPT_ROWS = 1_000_000
"""Rows of all words that are kept together, 12 bytes each."""


@dataclass(frozen=True)
class Impact:
    """What a word adds.

    Attributes:
        places: of the rows that have it, shape (rows,) int32.
        scores: what it adds to theirs, above 0, shape (rows,) float64.
    """

    places: Places
    scores: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Texts:
    """The texts of one table, in one state of its file.

    Attributes:
        ids: row ids of all rows, ascending, shape (rows,).
        words: how many words each has, shape (rows,) float64.
        phrased: which have phrases, shape (rows,).
        numbers: how many of them FTS5 expressions match, as far as that was counted.
    """

    ids: npt.NDArray[np.int64]
    words: npt.NDArray[np.float64]
    phrased: npt.NDArray[np.bool_]
    numbers: dict[str, int] = field(default_factory=dict)

    @cached_property
    def average(self) -> float:
        """Words of a row."""
        return float(self.words.sum()) / max(len(self.words), 1)

    @classmethod
    def of(cls, c: sqlite3.Connection, entity_type: str) -> Self:
        """Those of a type, by FTS5's numbers of words in each column."""
        rows = c.execute(f"SELECT id, sz FROM {entity_type}_fts_docsize ORDER BY id").fetchall()
        numbers, ids = _numbers(b"".join(sizes for _, sizes in rows)), np.array([row for row, _ in rows], np.int64)
        (present,) = c.execute(f"SELECT count(*) FROM {entity_type}").fetchone()
        if (len(rows), len(numbers)) != (present, present * len(COLUMNS)):
            raise DamagedFileError(f"the words of {entity_type} are incomplete")
        numbers = numbers.reshape(present, len(COLUMNS))
        return cls(ids, numbers.sum(axis=1, dtype=np.float64), numbers[:, COLUMNS.index("phrases")] > 0)


@dataclass
class KeptImpacts:
    """Impacts of the tables of a file, the latest ones; not safe in several threads.

    Attributes:
        by_word: the state of the table that each is of, and the impact, by table and expression.
        rows: how many rows they have.
        texts: of each table.
    """

    by_word: OrderedDict[tuple[str, str], tuple[object, Impact]] = field(default_factory=OrderedDict)
    rows: int = 0
    texts: Kept[Texts] = field(default_factory=Kept)

    def of(self, c: sqlite3.Connection, entity_type: str, version: object, postings: Postings | None = None) -> Impacts:
        """Those of one table in one state; ``postings`` if they have been learned."""
        texts = self.texts.of(entity_type, version, lambda: Texts.of(c, entity_type))
        return Impacts(c, entity_type, version, texts, self, postings)

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
        texts: all rows.
        kept: those that were computed before.
        postings: of all words, if they have been learned.
    """

    c: sqlite3.Connection
    entity_type: str
    version: object
    texts: Texts
    kept: KeptImpacts
    postings: Postings | None = None

    def known(self, expression: str) -> Impact | None:
        """The impact of an FTS5 expression for a word, or for a phrase, if nothing is to be read for it."""
        impact = self.kept.get((self.entity_type, expression), self.version)
        return self.of(expression) if impact is None and self.postings and only_token(expression) else impact

    def of(self, expression: str) -> Impact:
        """The impact of an expression on all rows; it is kept."""
        impact = self.kept.get((self.entity_type, expression), self.version)
        if impact is None:
            token = only_token(expression)
            impact = self._scored(expression) if token is None else self._listed(token)
            self.kept.keep((self.entity_type, expression), self.version, impact)
        return impact

    def among(self, expression: str, places: Places) -> Impact:
        """The impact on some rows, and on others if it is known; others need not be scored for it."""
        return self.known(expression) or self._scored(expression, json.dumps(self.texts.ids[places].tolist()))

    def count(self, expression: str) -> int:
        """How many rows an expression matches."""
        token = only_token(expression) if self.postings else None
        if self.postings and token:
            return self.postings.count(token)
        numbers, fts = self.texts.numbers, f"{self.entity_type}_fts"
        if expression not in numbers:
            sql = f"SELECT count(*) FROM {fts} WHERE {fts} MATCH ?"
            (numbers[expression],) = self.c.execute(sql, (expression,)).fetchone()
        return numbers[expression]

    def counts(self, words: Iterable[str]) -> dict[str, int]:
        """In how many rows each word occurs, in any form with the same stem; words that occur in none are left out."""
        tests = [(word, expression) for word in words if (expression := fts_query_for_word(word))]
        read_tokens(expression for _, expression in tests)
        return {word: number for word, test in tests if (number := self.count(test))}

    def _listed(self, token: str) -> Impact:
        """The impact of a word, by how often each row has its token."""
        ids, postings = self.texts.ids, self.postings
        places, often = postings.of(token) if postings else occurrences(self.c, self.entity_type, ids, token)
        length = K1 * (1 - B + B * self.texts.words[places] / self.texts.average)
        return Impact(places, inverse_frequency(len(places), len(ids)) * ((often * (K1 + 1)) / (often + length)))

    def _scored(self, expression: str, ids: str | None = None) -> Impact:
        """The impact of an expression, as FTS5 scores it; on all rows, or on those of some ids."""
        fts, weights = f"{self.entity_type}_fts", ", ".join(map(str, COLUMN_WEIGHTS.values()))
        among = "" if ids is None else f" AND +{fts}.rowid IN (SELECT value FROM json_each(?))"
        sql = f"SELECT rowid, -bm25({fts}, {weights}) FROM {fts} WHERE {fts} MATCH ?{among}"
        rows = self.c.execute(sql, (expression,) if ids is None else (expression, ids)).fetchall()
        found = np.array(rows, np.float64).reshape(-1, 2)
        places = np.searchsorted(self.texts.ids, found[:, 0].astype(np.int64))
        if places.max(initial=-1) >= len(self.texts.ids):
            raise DamagedFileError(f"the words of {self.entity_type} are of entries that are not there")
        return Impact(places.astype(np.int32), found[:, 1].copy())


def inverse_frequency(number: int, total: int) -> float:
    """What FTS5 takes for the inverse document frequency of a word that so many of all rows have."""
    found = math.log((total - number + 0.5) / (number + 0.5))
    return found if found > 0 else LEAST_IDF


def _numbers(varints: bytes) -> npt.NDArray[np.int64]:
    """The numbers of SQLite's varints one after the other: seven bits a byte, the last byte of each below 128."""
    data = np.frombuffer(varints, np.uint8).astype(np.int64)
    ends = np.flatnonzero(data < 128)
    if not len(ends):
        return ends
    starts = np.append(0, ends[:-1] + 1)
    behind = np.repeat(ends, ends - starts + 1) - np.arange(len(data))
    return np.add.reduceat((data & 127) << (7 * behind), starts)
