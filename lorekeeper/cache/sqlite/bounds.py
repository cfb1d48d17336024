"""Which words of a keyword query decide who is among the best: rows that have only others need not be scored.

MaxScore, of Turtle and Flood (Query evaluation: strategies and optimizations, 1995), for the BM25 of SQLite's FTS5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lorekeeper.cache.sqlite.impacts import K1, inverse_frequency

SHARE = 0.4
"""Most that all common words may add together, as a share of what the rarest word may add."""


@dataclass(frozen=True)
class Split:
    """The words of a query.

    Attributes:
        common: those that decide nothing if all of the best rows score higher than ``rest``.
        rest: the highest score of rows that have none of the others.
    """

    common: frozenset[str]
    rest: float


def split(weights: Mapping[str, float], numbers: Mapping[str, int], total: int) -> Split | None:
    """The common words of a query; None if there are none beside rare ones.

    Args:
        weights: of the words.
        numbers: of rows that have each.
        total: number of all rows.
    """
    # a word adds at most K1 + 1 times its inverse document frequency, however often it occurs
    bounds = {w: weights[w] * (K1 + 1) * inverse_frequency(number, total) for w, number in numbers.items() if number}
    common: list[str] = []
    rest, most = 0.0, SHARE * max(bounds.values(), default=0.0)
    for word in sorted(bounds, key=bounds.__getitem__):
        if rest + bounds[word] > most:
            break
        common.append(word)
        rest += bounds[word]
    return Split(frozenset(common), rest) if common and len(common) < len(bounds) else None
