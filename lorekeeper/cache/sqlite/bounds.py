"""Which words of a keyword query decide who is among the best: rows that have only others need not be scored.

MaxScore, of Turtle and Flood (Query evaluation: strategies and optimizations, 1995), for the BM25 of SQLite's FTS5.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from lorekeeper.cache.sqlite.sql import fts_query

K1 = 1.2
"""FTS5's: a word adds at most ``K1 + 1`` times its inverse document frequency, however often it occurs."""

LEAST_IDF = 1e-6
"""FTS5's, of a word that more than half of the rows have."""

SHARE = 0.4
"""Most that all common words may add together, as a share of what the rarest word may add."""

ROWS = 4000
"""Rows, matched by any word, up to which all of them are scored: they take some milliseconds."""


@dataclass(frozen=True)
class Split:
    """The words of a query.

    Attributes:
        rare: an FTS5 expression for rows that have one of the rare words.
        rest: the highest score of rows that have none of them.
    """

    rare: str
    rest: float


def split(c: sqlite3.Connection, table: str, weights: Mapping[str, float]) -> Split | None:
    """Rare and common words of a query with their weights, given the number of rows that have each; None if all rows are
    to be scored."""
    total = c.execute(f"SELECT count(*) FROM {table}_docsize").fetchone()[0]
    if total <= ROWS:
        return None
    sql = f"SELECT count(*) FROM {table} WHERE {table} MATCH ?"
    counts = {word: c.execute(sql, (fts_query([word]),)).fetchone()[0] for word in weights}
    if sum(counts.values()) <= ROWS:
        return None
    bounds = {w: weights[w] * (K1 + 1) * _idf(number, total) for w, number in counts.items() if number}
    common: list[str] = []
    rest, most = 0.0, SHARE * max(bounds.values())
    for word in sorted(bounds, key=bounds.__getitem__):
        if rest + bounds[word] > most:
            break
        common.append(word)
        rest += bounds[word]
    rare = fts_query([word for word in bounds if word not in common])
    return Split(rare, rest) if common and rare else None


def _idf(number: int, total: int) -> float:
    return max(math.log((total - number + 0.5) / (number + 0.5)), LEAST_IDF)
