"""Relevance: which hits of a fused ranking answer a query, which of them less surely, and which are left out."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from lorekeeper.search.fusion import FusedHit

K = TypeVar("K", bound=Hashable)

SURE = 0.45
"""Share of the best score from which on a hit is a sure answer."""

RELEVANT = 0.25
"""Share of the best score below which a hit is left out; tuned on graded queries."""

BEHIND_A_NAME = 0.3
"""The same behind hits that have the name: a share of the best score among the other hits."""

CLOSE = 0.40
"""Least cosine similarity of a hit behind those that have the name, unless it has all words of the query."""

FEW = 25
"""If there are no more entries than this, none is left out: a list so short is wanted whole."""


def relevant(
    hits: Sequence[FusedHit[K]], is_close: Callable[[K], bool], *, everything: bool, reworded: bool = False
) -> list[FusedHit[K]]:
    """The hits that answer a query, in their order, each marked whether it does so surely.

    If the query is a name, the entries of that name are sure, and others less so. A name that is one wording of several is a
    guess of whoever asks: it says nothing against other entries.

    Args:
        hits: a fused ranking, without its tail.
        is_close: whether an entry is `CLOSE` to the query, or has all its words.
        everything: leave nothing out.
        reworded: whether the query has several wordings.
    """
    others = [hit.score for hit in hits if hit.retriever != "name"]
    best = max(others, default=0.0)
    has_name = len(others) < len(hits) and not reworded

    def is_sure(hit: FusedHit[K]) -> bool:
        return hit.retriever == "name" or (not has_name and hit.score >= SURE * best)

    def is_relevant(hit: FusedHit[K]) -> bool:
        if hit.retriever == "name" or not has_name:
            return hit.retriever == "name" or hit.score >= RELEVANT * best
        return hit.score >= BEHIND_A_NAME * best and any(map(is_close, (hit.key, *hit.duplicates)))

    shown = [hit for hit in hits if everything or is_relevant(hit)]
    return [hit if is_sure(hit) else hit._replace(sure=False) for hit in shown]
