"""The ranking of entries by the words of a query, in SQL."""

from __future__ import annotations

import sqlite3

from lorekeeper.cache.protocol import Ranked
from lorekeeper.cache.sqlite.bounds import Split
from lorekeeper.cache.sqlite.sql import fts_query, fts_query_for_all, fts_query_with, where
from lorekeeper.filters import Selection
from lorekeeper.text.keywords import RELATED, KeywordQuery

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
        f"SELECT {fts}.rowid AS id, ? * -bm25({fts}, {COLUMN_WEIGHTS}) AS score "
        f"FROM {fts} LEFT JOIN {entity_type} ON {entity_type}.id = {fts}.rowid WHERE {fts} MATCH ? AND {among}{test}"
    )
    sides = [(1.0, query.any), (RELATED, query.related)] if query.related else [(1.0, query.any)]
    sql = (
        f"WITH scored AS MATERIALIZED ({' UNION ALL '.join([scored] * len(sides))}), "
        "hits AS MATERIALIZED (SELECT id, sum(score) AS score FROM scored GROUP BY id), "
        "worst AS (SELECT score FROM hits ORDER BY score DESC LIMIT 1 OFFSET ?) "
        f"SELECT document, slug, name, score, id IN (SELECT rowid FROM {fts} WHERE {fts} MATCH ?) "
        f"FROM hits JOIN {entity_type} USING (id) JOIN {fts} ON {fts}.rowid = id "
        "WHERE score >= ifnull((SELECT score FROM worst), 0) ORDER BY score DESC, document, slug LIMIT ?"
    )
    parameters = [
        value
        for weight, words in sides
        for value in (weight, fts_query_with(fts_query(words), query.phrases), *rare_words, *values)
    ]
    every = fts_query_for_all(query.complete) or _NOTHING
    rows = c.execute(sql, [*parameters, limit - 1, every, limit])
    return [Ranked((d, s), name, score, complete=bool(whole)) for d, s, name, score, whole in rows]
