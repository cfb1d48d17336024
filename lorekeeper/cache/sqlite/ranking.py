"""The ranking of entries by the words of a query, in SQL."""

from __future__ import annotations

import sqlite3

from lorekeeper.cache.protocol import Ranked
from lorekeeper.cache.sqlite.bounds import Split
from lorekeeper.cache.sqlite.sql import fts_query, fts_query_for_all, fts_query_with, where
from lorekeeper.filters import Selection
from lorekeeper.text.keywords import RELATED, RELATED_ALONE, KeywordQuery

COLUMN_WEIGHTS = "4.0, 1.0, 1.0, 0.5"
"""How much a word counts in the name, the text, the phrases and the description of the hint."""

_NOTHING = '""'
"""An FTS5 expression that matches nothing."""


def ranked_by_words(
    c: sqlite3.Connection, selection: Selection, query: KeywordQuery, limit: int, rare: Split | None = None
) -> list[Ranked]:
    """As `Catalogue.rank_keyword`, of the entities that have one of the rare words if these are given."""
    test, values = where(selection)
    entity_type = selection.entity_type
    fts = f"{entity_type}_fts"
    among, rare_words = (
        (f"+{fts}.rowid IN (SELECT rowid FROM {fts} WHERE {fts} MATCH ?) AND ", [rare.rare]) if rare else ("", [])
    )
    # the rows themselves are read for the best scores only; a LEFT JOIN that no condition uses costs nothing
    scored = (
        f"FROM {fts} LEFT JOIN {entity_type} ON {entity_type}.id = {fts}.rowid WHERE {fts} MATCH ? AND {among}{test}"
    )
    sides = [(f"SELECT {fts}.rowid AS id, {_score(fts)} AS asked, 0.0 AS related {scored}", query.any)]
    if query.related:
        sides.append((f"SELECT {fts}.rowid, 0.0, {_score(fts)} {scored}", query.related))
    alone = RELATED if entity_type == "notes" else RELATED_ALONE
    sql = _summed(entity_type, " UNION ALL ".join(side for side, _ in sides), alone)
    parameters = [
        value for _, words in sides for value in (fts_query_with(fts_query(words), query.phrases), *rare_words, *values)
    ]
    every = fts_query_for_all(query.complete) or _NOTHING
    rows = c.execute(sql, [*parameters, limit - 1, every])
    hits = [
        Ranked((d, s), name, asked + _share(related, sizes, alone), complete=bool(whole))
        for d, s, name, asked, related, sizes, whole in rows
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.identity))[:limit]


def _score(fts: str) -> str:
    return f"-bm25({fts}, {COLUMN_WEIGHTS})"


def _summed(entity_type: str, scored: str, alone: float) -> str:
    """The rows whose scores, summed, may be among the best: what is asked for, and related words with at most that weight.

    Its last parameters are how many are better than the worst of them, and an expression for all words of the query.
    """
    fts = f"{entity_type}_fts"
    return (
        f"WITH scored AS MATERIALIZED ({scored}), "
        "hits AS MATERIALIZED (SELECT id, sum(asked) AS asked, sum(related) AS related FROM scored GROUP BY id), "
        f"worst AS (SELECT asked + {RELATED} * related AS least FROM hits ORDER BY least DESC LIMIT 1 OFFSET ?) "
        f"SELECT document, slug, name, asked, related, sz, id IN (SELECT rowid FROM {fts} WHERE {fts} MATCH ?) "
        f"FROM hits JOIN {entity_type} USING (id) JOIN {fts} ON {fts}.rowid = id JOIN {fts}_docsize USING (id) "
        f"WHERE asked + {alone} * related >= ifnull((SELECT least FROM worst), 0)"
    )


def _share(related: float, sizes: bytes, alone: float) -> float:
    """What related words count of a row with words of these numbers in its columns."""
    return related and (RELATED if _has_phrases(sizes) else alone) * related


def _has_phrases(sizes: bytes) -> bool:
    """Whether a row has words in its third column, by FTS5's numbers of words in each: its varints end with a byte below 128."""
    ends = [place for place, byte in enumerate(sizes) if byte < 128]
    return sizes[ends[1] + 1 : ends[2] + 1] != b"\0"
