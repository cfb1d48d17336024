"""Words as a Milvus server ranks them: what is put into its words column, and what is asked of its BM25 function.

Every server has the analyzer "standard", but not every one has a stemmer. So words are folded and stemmed here, when they
are stored and when they are asked for, by Porter's algorithm, whose author has frozen it: all clients stem alike.

What matters of how servers rank: they count rows, not entities, so that passages, which have no words, lower the mean length
of a text, and `milvus_schema.WORDS_INDEX` makes up for it. Milvus has scores above 0, the server of Milvus Lite the same
below 0; both put the best first, so the magnitude is the score. The latter has statistics of its own for each of its files
instead of for the whole collection, and reads index parameters only where they stand within "params".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

from snowballstemmer.porter_stemmer import PorterStemmer

from lorekeeper.cache.milvus.backend import WordSearch
from lorekeeper.cache.milvus.schema import WORDS, WORDS_BYTES, identity
from lorekeeper.cache.protocol import Ranked
from lorekeeper.cache.sqlite.catalogue import words_of
from lorekeeper.entities import Entity, fold
from lorekeeper.text.keywords import KeywordQuery

REPEATS = (4, 1, 1, 1)
"""How often a word is put down for each time it stands in the name, the text, the phrases, the description of the hint."""

SHORT = 3
"""Letters below which a word has no ending."""


def stored_words(entity: Entity) -> str:
    """The stems of an entry's words, each as often as it counts, at most `WORDS_BYTES` of UTF-8.

    BM25 reads no order: every stem stands there once before any stands there twice, so that what is cut off an overlong
    entry is what counts least.
    """
    counts: Counter[str] = Counter()
    for text, times in zip(words_of(entity), REPEATS, strict=True):
        for word in fold(text).split():
            counts[_stem(word)] += times
    return " ".join(_fitting(counts, WORDS_BYTES))


def query_stems(words: Sequence[str]) -> list[str]:
    """The stems of the words of a query, each once; "words" of other characters than letters and digits have none."""
    return list(dict.fromkeys(_stem(word) for word in words if word.isalnum()))


def rank_words(
    server: WordSearch, entity_type: str, expression: str, query: KeywordQuery, limit: int
) -> list[Ranked]:
    """The entities that have any word of a query, best first; the server's BM25 scores, above 0.

    ``expression`` is one for the entity records that are searched.
    """
    stems, required = query_stems(query.any), set(query_stems(query.words))
    if not stems:
        return []
    fields = ["document", "slug", "name", WORDS]
    ranking = []
    for row in server.search_words(entity_type, " ".join(stems), expression, limit, fields):
        complete = bool(required) and required.issubset(row[WORDS].split())
        ranking.append(Ranked(identity(row), row["name"], abs(float(row["distance"])), complete=complete))
    return sorted(ranking, key=lambda ranked: (-ranked.score, ranked.identity))


def _fitting(counts: Counter[str], size: int) -> Iterator[str]:
    """Words as often as they are counted, in rounds, until they and the spaces between them have so many bytes."""
    turn = 0
    while counts:
        for word in counts:
            size -= len(word.encode("utf-8")) + 1
            if size < -1:
                return
            yield word
        turn += 1
        counts = Counter({word: number for word, number in counts.items() if number > turn})


@lru_cache(maxsize=100_000)
def _stem(word: str) -> str:
    """The stem of a folded word; short ones are left alone, as by every Porter stemmer but this one."""
    return word if len(word) < SHORT else str(PorterStemmer().stemWord(word))
