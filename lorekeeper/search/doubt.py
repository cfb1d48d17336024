"""Doubt: how well the first hit of a ranking stands for a query, and which words of the query no entry has.

One test decides whether results are shown as unsure: the nearer the hit is in meaning, the rarer the words of the query may be that
it lacks. A question that the library answers has words that many entries have, and mostly those of its answer; a question about
another game, real life, or a creature that no open licence covers has not (``openspec/decisions/2026-11-27-doubt-by-one-test.md``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import COLLECTIONS, SEARCHED, Entity
from lorekeeper.folding import fold
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.corpora import NOTES, corpus_name
from lorekeeper.search.explanation import Doubt
from lorekeeper.search.results import Key
from lorekeeper.search.retrieved import Retrieved, all_of
from lorekeeper.search.wordings import words_of
from lorekeeper.text.evidence import read
from lorekeeper.text.keywords import content_words, subject_words
from lorekeeper.text.matching import STEM, occurring, word_stems

SHORT_WORD = 3
"""Letters of a word that is too short to be missed."""

MAX_UNKNOWN = 3
"""Most words that a note names."""

MAX_SUBJECT = 4
"""Words of the longest query of which a word that no entry has is the subject."""

KEYWORDS = 2
"""Most content words of a query that asks for what has them, whatever it means: "fire", "open locks"."""

LARGE_LIBRARY = 300
"""Fewest entries with which a query can be doubted because its words do not occur."""

HARDLY_CLOSE = "{} is close for sure; these are the nearest."


def is_certain(found: Retrieved, text: str) -> bool:
    """Whether nothing that was found is to be doubted: a name, a note that is named, all of one or two words, a small library."""
    if found.names or found.named or found.count < LARGE_LIBRARY:
        return True
    return found.has_all_words and 0 < len(content_words(fold(text))) <= KEYWORDS


def doubt_of(hit: Key, entity: Entity, found: Retrieved, wordings: Sequence[str]) -> Doubt:
    """How far the first hit of a ranking is to be doubted; of several wordings, that which it fits best counts.

    Args:
        hit: its key.
        entity: the hit.
        found: what the retrievers found.
        wordings: of the query; none if its words say nothing, as those of a question in another language do.
    """
    nearest = found.semantic.get(hit)
    near = found.phrases.get(hit) or (nearest.score if nearest else 0.0)
    text = f"{entity.name} {words_of(entity, read(entity))}"
    doubts = (_of_wording(wording, text, near, found) for wording in wordings)
    return min(doubts, key=lambda doubt: doubt.lacking, default=Doubt(near, 0.0, 1.0))


def _of_wording(wording: str, text: str, near: float, found: Retrieved) -> Doubt:
    stems = word_stems(wording)
    words = [word for word in content_words(fold(wording)) if word[:STEM] in stems]
    if not words:
        return Doubt(near, 1.0, 0.0)
    held = set(occurring(stems, text))
    lacking = sum(rarity(found.occurring.get(word, 0), found.count) for word in words if word[:STEM] not in held)
    return Doubt(near, lacking / len(words), sum(word in found.occurring for word in words) / len(words))


def rarity(number: int, entries: int) -> float:
    """How rare a word is that so many entries have: its weight in BM25, as Lucene counts it, as a share of the highest one."""

    def weight(having: int) -> float:
        return math.log1p((max(entries - having, 0) + 0.5) / (having + 0.5))

    return weight(number) / weight(0)


async def names_a_note(cache: SearchCache, text: str) -> bool:
    """Whether a text has a word like the name of a note: a keyword search of notes sets it right."""
    names = {part for word in text.split() if word[:1].isupper() for part in fold(word).split()}
    return any(await all_of(cache.rank_keyword(NOTES, name, 1) for name in names))


def doubted(types: Sequence[str], documents: Sequence[str] | None, wordings: Sequence[str], found: Retrieved) -> str:
    """What to say of results that are doubted: which words of a short query no entry has, or that nothing is close."""
    words = [w for w in subject_words(fold(" ".join(wordings))) if len(w) > SHORT_WORD and w.isalpha()]
    unknown = [word for word in words if word not in found.occurring][:MAX_UNKNOWN]
    if unknown and len(words) <= MAX_SUBJECT:
        return f"{no_entry(types)} has the word {' or '.join(repr(one_line(word, MAX_SHOWN)) for word in unknown)}."
    return HARDLY_CLOSE.format(nothing(types, documents))


def nothing(types: Sequence[str], documents: Sequence[str] | None) -> str:
    """The subject of a sentence that denies what was searched: "Nothing in the library", or less if less was searched."""
    if documents is not None or 1 < len(types) < len(SEARCHED):
        return "Nothing that was searched"
    return no_entry(types) if len(types) == 1 else "Nothing in the library"


def no_entry(types: Sequence[str]) -> str:
    """The same of entries of some types, whatever their documents: "No entry", "No spell"."""
    if len(types) == 1:
        return f"No {COLLECTIONS[types[0]].label}"
    return "No entry" if len(types) >= len(SEARCHED) else "No entry that was searched"


async def word_counts(cache: SearchCache, types: Collection[str], text: str) -> dict[str, Counter[str]]:
    """How many entries of some types have each content word of a text, in any form, by corpus, without those that none has."""
    counts = {corpus_name(name): Counter[str]() for name in types}
    words = content_words(fold(text))
    if words:
        found = await all_of(cache.word_counts(each, words) for each in types)
        for name, of_type in zip(types, found, strict=True):
            counts[corpus_name(name)].update(of_type)
    return counts


async def known_words(cache: SearchCache, types: Collection[str], text: str) -> set[str]:
    """The content words of a text that an entry of one of the types has, in any form."""
    return set[str]().union(*(await word_counts(cache, types, text)).values())
