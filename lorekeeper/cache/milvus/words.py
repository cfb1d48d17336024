"""Lexical ranking by a Milvus server: what is stored in its words column, and how its BM25 function is queried.

Every server has the analyzer "standard", but not every one has a stemmer. So words are folded and stemmed here, both for
storing and for searching: all clients stem alike.

Servers count rows, not entities, so that passages, which have no words, lower the average length of a text;
`layout_v3.WORDS_INDEX` compensates for it. Milvus returns scores above 0, Milvus Lite's own server the same ones negated;
both return the best first, so the magnitude is the score. Milvus Lite's server has separate statistics for each of its files
instead of for the whole collection, and reads index parameters only within "params".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from lorekeeper.cache.milvus.backend import WordSearch
from lorekeeper.cache.milvus.layout_v3 import WORDS, WORDS_BYTES, identity
from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.cache.sqlite.keywords import words_of
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.text.keywords import RELATED, KeywordQuery
from lorekeeper.text.porter import porter_stem

REPEATS = (4, 1, 1, 1)
"""How often a word is stored for each time it occurs in the name, the text, the phrases, the description of the hint."""

RELATED_ROWS = 4
"""How many times as many rows as are asked for are read of a query some of whose words count less: scores are added up here."""

SHORT = 3
"""Shorter words are not stemmed, in letters."""


def stored_words(entity: Entity) -> str:
    """The stems of an entry's words, repeated by its weight, at most `WORDS_BYTES` of UTF-8.

    BM25 ignores order: every stem is stored once before any is stored twice, so that what is omitted of an overlong entry counts
    least.
    """
    counts: Counter[str] = Counter()
    for text, times in zip(words_of(entity), REPEATS, strict=True):
        for word in fold(text).split():
            counts[_stem(word)] += times
    return " ".join(_fitting(counts, WORDS_BYTES))


def query_stems(words: Sequence[str]) -> list[str]:
    """The stems of the words of a query, each once; words without letters and digits have none."""
    return list(dict.fromkeys(_stem(word) for word in words if word.isalnum()))


def rank_words(server: WordSearch, entity_type: str, expression: str, query: KeywordQuery, limit: int) -> list[Ranked]:
    """The entities that have any word of a query, or a related one, best first; the server's BM25 scores, above 0.

    ``expression`` is one for the entity records that are searched.
    """
    sides = [*((words, weight) for weight, words in query.by_weight.items()), (query.related, RELATED)]
    number = RELATED_ROWS * limit if query.related or query.shares else limit
    fields = ["document", "slug", "name", WORDS]
    required = [set(query_stems(words)) for words in query.complete]
    ranking: dict[Identity, Ranked] = {}
    for words, weight in sides:
        stems = query_stems(words)
        for row in server.search_words(entity_type, " ".join(stems), expression, number, fields) if stems else []:
            key, held = identity(row), frozenset(row[WORDS].split())
            score = weight * abs(float(row["distance"])) + (ranking[key].score if key in ranking else 0.0)
            complete = any(words and words <= held for words in required)
            ranking[key] = Ranked(key, row["name"], score, complete=complete)
    return sorted(ranking.values(), key=lambda ranked: (-ranked.score, ranked.identity))[:limit]


def _fitting(counts: Counter[str], size: int) -> Iterator[str]:
    """Words repeated by their counts, round by round, up to a number of bytes with the spaces between them."""
    done = 0
    while counts:
        for word in counts:
            size -= len(word.encode("utf-8")) + 1
            if size < -1:
                return
            yield word
        done += 1
        counts = Counter({word: number for word, number in counts.items() if number > done})


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    """The stem of a folded word. Short words are not changed, as in every Porter stemmer except this library's."""
    return word if len(word) < SHORT else porter_stem(word)
