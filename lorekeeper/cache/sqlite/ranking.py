"""The ranking of entries by the words of a query: what these add to the score of each row, summed up."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.protocol import Ranked
from lorekeeper.cache.sqlite.bounds import Split, split
from lorekeeper.cache.sqlite.columns import Rows
from lorekeeper.cache.sqlite.file import DamagedFileError
from lorekeeper.cache.sqlite.impacts import Impact, Impacts
from lorekeeper.cache.sqlite.sql import quoted
from lorekeeper.cache.sqlite.tokens import read_tokens
from lorekeeper.text.keywords import RELATED, KeywordQuery

ROWS = 6000
"""Rows, added up over the words whose impacts are not kept, up to which all are scored: they take some milliseconds."""

Scores = npt.NDArray[np.float64]
"""Of some rows, shape (rows,)."""


def best_by_words(impacts: Impacts, query: KeywordQuery, limit: int, allowed: Rows | None) -> list[Ranked]:
    """As `Catalogue.rank_keyword`; ``allowed`` are the rows under the filters, None for all."""
    parts = split_of(impacts, query)
    best = ranked_by_words(impacts, query, limit, allowed, parts.common) if parts else []
    decided = parts and len(best) == limit and best[-1].score > parts.rest
    return best if decided else ranked_by_words(impacts, query, limit, allowed)


def split_of(impacts: Impacts, query: KeywordQuery) -> Split | None:
    """The common words of a query; None if all rows are to be scored."""
    if query.phrases or len(impacts.texts.ids) <= ROWS:
        return None
    numbers = {word: impacts.count(quoted(word)) for word in query.weights}
    unknown = sum(number for word, number in numbers.items() if impacts.known(quoted(word)) is None)
    return split(query.weights, numbers, len(impacts.texts.ids)) if unknown > ROWS else None


def ranked_by_words(
    impacts: Impacts, query: KeywordQuery, limit: int, allowed: Rows | None, common: Collection[str] = ()
) -> list[Ranked]:
    """The same, of the rows that have another word than the common ones."""
    phrases = [f"{{name body}} : {quoted(phrase)}" for phrase in query.phrases]
    asked, related = _side(phrases, query.any) or phrases, _side(phrases, query.related)
    often = {quoted(word) for word in common}
    read_tokens([*asked, *related])
    found = {each: impacts.of(each) for each in chain(asked, related) if each not in often}
    rows = _having_all(impacts, [[found[each]] for each in phrases] or [found.values()])
    places = np.flatnonzero(rows if allowed is None else rows & allowed)
    found |= {each: impacts.among(each, places) for each in often}
    shares = {quoted(word): share for word, share in query.shares}
    scores, further = (
        _summed(impacts, [(found[each], shares.get(each, 1.0)) for each in side])[places] for side in (asked, related)
    )
    alone = RELATED if impacts.entity_type == "notes" else query.alone
    scores += np.where(impacts.texts.phrased[places], RELATED, alone) * further
    least = np.partition(scores, -limit)[-limit] if len(scores) > limit else 0.0
    best = scores >= least
    entries = described(impacts.c, impacts.entity_type, impacts.texts.ids[places[best]].tolist())
    complete = _complete(impacts, query.complete, found)[places[best]].tolist()
    hits = [
        Ranked((document, slug), name, score, complete=is_complete)
        for (document, slug, name), score, is_complete in zip(entries, scores[best].tolist(), complete, strict=True)
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.identity))[:limit]


def scores_of_words(impacts: Impacts, words: Iterable[str], rows: Collection[int]) -> dict[int, float]:
    """What words add to the scores of some rows, by their ids; rows that have none of them are left out.

    Words whose impacts are not kept are scored together, on these rows alone: of a common word that takes a fifth of the time.
    """
    ids = np.sort(np.fromiter(rows, np.int64, len(rows)))
    places = np.searchsorted(impacts.texts.ids, ids)
    known = {each: impacts.known(each) for each in map(quoted, words)}
    found = [impact for impact in known.values() if impact]
    unknown = " OR ".join(each for each, impact in known.items() if impact is None)
    if unknown:
        found.append(impacts.among(unknown, places))
    scores = _summed(impacts, [(impact, 1.0) for impact in found])[places].tolist()
    return {row: score for row, score in zip(ids.tolist(), scores, strict=True) if score}


def _side(phrases: Sequence[str], words: Sequence[str]) -> list[str]:
    """What rows are ranked by: words, and phrases, which a row has to have and which so count twice."""
    return [*phrases, *phrases, *map(quoted, words)] if words else []


def _having_all(impacts: Impacts, groups: Iterable[Iterable[Impact]]) -> Rows:
    """The rows that have one word or more of each group."""
    rows = np.ones(len(impacts.texts.ids), np.bool_)
    for group in groups:
        having = np.zeros(len(impacts.texts.ids), np.bool_)
        for impact in group:
            having[impact.places] = True
        rows &= having
    return rows


def _complete(impacts: Impacts, lists: Sequence[Sequence[str]], found: Mapping[str, Impact]) -> Rows:
    """The rows that have all words of one of some lists; ``found`` are impacts of expressions, of some rows at least."""
    rows = np.zeros(len(impacts.texts.ids), np.bool_)
    for words in lists:
        rows |= _having_all(impacts, [[found.get(each) or impacts.of(each)] for each in map(quoted, words)])
    return rows


def _summed(impacts: Impacts, words: Iterable[tuple[Impact, float]]) -> Scores:
    """The scores of all rows by some words, and what each counts, added up in their order, as FTS5 does."""
    scores = np.zeros(len(impacts.texts.ids))
    for word, weight in words:
        scores[word.places] += weight * word.scores
    return scores


def described(c: sqlite3.Connection, entity_type: str, ids: Sequence[int]) -> list[tuple[str, str, str]]:
    """(document, slug, name) of some rows, in their order; DamagedFileError if one of them is not there."""
    fts = f"{entity_type}_fts"
    sql = (
        f"SELECT document, slug, c0 FROM json_each(?) CROSS JOIN {entity_type} ON {entity_type}.id = value "
        f"CROSS JOIN {fts}_content AS texts ON texts.id = value"
    )
    rows = c.execute(sql, (json.dumps(ids),)).fetchall()
    if len(rows) < len(ids):
        raise DamagedFileError(f"an entry of {entity_type} is incomplete")
    return rows
