"""How far a library covers a query: whether it is about something else altogether, and which of its words no entry has."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from string import ascii_lowercase

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import COLLECTIONS, SEARCHED
from lorekeeper.folding import fold
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.corpora import NOTES
from lorekeeper.search.explanation import OFF_TOPIC, Topic
from lorekeeper.search.retrieved import Retrieved, all_of
from lorekeeper.text.keywords import content_words, subject_words

SHORT_WORD = 3
"""Letters of a word that is too short to be missed."""

MAX_UNKNOWN = 3
"""Most words that a note names."""

MAX_SUBJECT = 4
"""Words of the longest query of which a word that no entry has is the subject."""

LONG = 7
"""Letters from which on a word with one other vowel is taken for the same word; "laser" and "loser" are two."""

_VOWELS = "aeiouy"

_ENDINGS = (
    "s",
    "es",
    "ed",
    "ing",
    "er",
    "ers",
    "ly",
    "ry",
    "lery",
    "ness",
    "less",
    "ful",
    "full",
    "able",
    "ish",
    "ment",
    "y",
)

SLANG = frozenset(
    """
    aint betcha bruh cant cause coulda couldve didja dont dude dunno gimme gonna gotcha gotta hafta innit kinda lemme lotsa lotta
    mighta musta needa nerf nerfed newbie noob nope okay oughta outta please pwned shoulda shouldve sorta stuff thanks things thru
    tryna wanna whatcha woulda wouldve yall yeah yeet yeeted yoink yoinked
    """.split()
)
"""Words of talk, folded: contractions and slang."""

_DEFINED = re.compile(r"\s*(?:what|who)(?:['’]s|\s+(?:is|are|was|were))\s", re.IGNORECASE)
"""How a query begins that asks what something is."""

KEYWORDS = 2
"""Most content words of a query that asks for what has them, whatever it means: "fire", "healing potion"."""

LARGE_LIBRARY = 300
"""Fewest entries with which a query can be off-topic because its words do not occur."""


async def topic_of(
    cache: SearchCache, types: Sequence[str], text: str, retrieved: Retrieved, *, filtered: bool
) -> Topic | None:
    """Whether a text is off-topic: nothing is similar, and few of its words occur.

    None for a name, a note that it names, one or two words that an entry has together, a filtered search or a small library, which
    never are. A question in another language may have no word of the library but a name; of one that the model knows, ``text``
    is "", and similarity alone decides.
    """
    if retrieved.names or retrieved.named or filtered or retrieved.count < LARGE_LIBRARY:
        return None
    words = content_words(fold(text))
    if 0 < len(words) <= KEYWORDS and retrieved.has_all_words:
        return None
    closest = max((ranked.score for ranked in retrieved.semantic.values()), default=0.0)
    best_words = max((ranked.score for ranked in retrieved.keyword.values()), default=0.0)
    phrase = max(retrieved.phrases.values(), default=None)
    evidence = None if phrase is None else phrase + closest / 2 + best_words / 50
    if closest >= OFF_TOPIC[0][0]:
        return Topic(closest, evidence=evidence)
    known = retrieved.occurring.intersection(words)
    if NOTES in types:
        names = {part for word in text.split() if word[:1].isupper() for part in fold(word).split()}
        known |= await _misspelt(cache, [word for word in words if word in names - known])
    share = len(known) / len(words) if words else float(not text)
    off = any(closest < similarity and share <= most for similarity, most in OFF_TOPIC)
    return Topic(closest, share, off, evidence)


async def unknown_words(cache: SearchCache, types: Sequence[str], text: str, retrieved: Retrieved) -> str | None:
    """Which words that no entry has a query is about, for a note; None if there are none, or the library is small.

    A query is about few words: in a long one, a word that no entry has is how its author talks. If it asks what something is, the
    note also says that no entry has all of its words together: it may be nowhere.
    """
    if retrieved.names or retrieved.count < LARGE_LIBRARY or retrieved.has_all_words:
        return None
    words = [word for word in subject_words(fold(text)) if len(word) > SHORT_WORD and word.isalpha()]
    unknown = [word for word in words if word not in retrieved.occurring]
    if unknown and len(words) <= MAX_SUBJECT:
        known = await occurring_in(cache, types, {form for word in unknown for form in _forms(word)})
        unknown = [word for word in unknown if word not in SLANG and known.isdisjoint(_forms(word))][:MAX_UNKNOWN]
        unknown = [word for word in unknown if not await _is_compound(cache, types, word)]
        if unknown:
            return f"{no_entry(types)} has the word {' or '.join(repr(one_line(word, MAX_SHOWN)) for word in unknown)}."
    apart = _DEFINED.match(text) and 1 < len(words) <= MAX_UNKNOWN and not unknown
    if apart:  # the query may have further words, which are too short to be missed
        ranked = await all_of(cache.rank_keyword(each, " ".join(words), 1) for each in types)
        apart = not any(first.complete for hits in ranked for first in hits)
    return f"{no_entry(types)} has {_listed(words)} together; these are the nearest in meaning." if apart else None


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


def _forms(word: str) -> set[str]:
    """Words that a word may be mistyped for, or another form of: a letter missing, doubled or swapped, a wrong vowel, an ending."""
    places = range(len(word) + 1)
    missing = {word[:n] + letter + word[n:] for n in places for letter in ascii_lowercase}
    doubled = {word[:n] + word[n + 1 :] for n in range(len(word) - 1) if word[n] == word[n + 1]}
    swapped = {word[:n] + word[n + 1] + word[n] + word[n + 2 :] for n in range(len(word) - 1)}
    vowels = {
        word[:n] + vowel + word[n + 1 :]
        for n in range(len(word))
        for vowel in _VOWELS
        if word[n] in _VOWELS and len(word) >= LONG
    }
    stems = {
        word[: -len(ending)] for ending in _ENDINGS if word.endswith(ending) and len(word) - len(ending) > SHORT_WORD
    }
    return (missing | doubled | swapped | vowels | stems) - {word}


async def _is_compound(cache: SearchCache, types: Sequence[str], word: str) -> bool:
    """Whether a word is two words of the library in one, as "chainmail" is."""
    splits = [(word[:n], word[n:]) for n in range(SHORT_WORD + 1, len(word) - SHORT_WORD)]
    known = await occurring_in(cache, types, {part for split in splits for part in split})
    return any(known.issuperset(split) for split in splits)


def _listed(words: Sequence[str]) -> str:
    """Words in quotation marks, as a list within a sentence."""
    *first, last = (repr(one_line(word, MAX_SHOWN)) for word in words)
    return f"{', '.join(first)} and {last}"


async def _misspelt(cache: SearchCache, words: Sequence[str]) -> set[str]:
    """The names that are near to a word of a note: a keyword search of notes sets them right."""
    return {word for word in words if await cache.rank_keyword(NOTES, word, 1)}


async def occurring_in(cache: SearchCache, types: Collection[str], words: Collection[str]) -> set[str]:
    """Those of some words that occur in an entry of one of the types."""
    return set[str]().union(*await all_of(cache.known_words(each, words) for each in types if words))


async def occurring(cache: SearchCache, types: Sequence[str], text: str) -> frozenset[str]:
    """The content words of a text that occur in an entry of one of the types."""
    return frozenset(await occurring_in(cache, types, content_words(fold(text))))
