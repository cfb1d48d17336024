"""Names, also misspelt and in another order: pure functions over folded names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from rapidfuzz import fuzz, process

from lorekeeper.text.passages import content_words

SIMILAR = 0.78
"""Least similarity at which a query counts as a name: one wrong letter in five."""

REORDERED = 0.99
"""Share of its similarity that a name keeps where only its words, put in order, are similar."""


@lru_cache(maxsize=50_000)
def name_key(folded: str) -> str:
    """A folded name with its words in alphabetical order and without the small ones: "cloak displacement"."""
    return " ".join(sorted(content_words(folded))) or folded


def similar_names(query: str, names: Sequence[str], keys: Sequence[str], limit: int) -> list[tuple[int, float]]:
    """Places of the names most similar to a folded query, best first, with their similarity.

    Similarity is 0 to 1, the better of two normalised indel similarities: of the names as they stand, and, a little less,
    of their words in alphabetical order (`name_key`). Names below `SIMILAR` are left out.
    """
    best: dict[int, float] = {}
    for wanted, choices, share in ((query, names, 1.0), (name_key(query), keys, REORDERED)):
        found = process.extract(wanted, choices, scorer=fuzz.ratio, score_cutoff=SIMILAR * 100, limit=limit)
        for _, score, place in found:
            best[place] = max(best.get(place, 0.0), share * score / 100)
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:limit]
