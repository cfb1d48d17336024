"""Names by the stems of their words, and with misspelt words set right: "goblins" is Goblin, "red dragn" is "red dragon".

All texts are folded. The stemmers are Porter's for English, and of words in Cyrillic letters that of Russian.
"""

from __future__ import annotations

from functools import lru_cache
from operator import itemgetter

from lorekeeper.text.keywords import content_words
from lorekeeper.text.name_list import NameList
from lorekeeper.text.names import REMOTE, has_numbers, nearest, similarity, sound
from lorekeeper.text.porter import CYRILLIC, is_cyrillic, porter_stem, stem_of

BEGINNING = 3
"""Letters at the beginning of a stem, without its last one, that all words of the stem have: few names are then stemmed."""

_PLURALS = {"wolves": "wolf", "elves": "elf", "dwarves": "dwarf", "thieves": "thief", "knives": "knife", "men": "man"}
"""Endings of plurals that the stemmer does not know."""


def names_of_stems(text: str, names: NameList) -> tuple[list[str], list[str]]:
    """The names that have the stems of a text's words: those with no other words, and those with others besides."""
    wanted = stems(text)
    beginnings = [_beginning(own) for own in wanted]
    places = frozenset.intersection(*(_with_stem(own, names) for own in wanted)) if wanted else ()
    candidates = dict.fromkeys(names[place] for place in sorted(places))
    found = [(name, stems(name)) for name in candidates if all(beginning in name for beginning in beginnings)]
    return [name for name, own in found if own == wanted], [name for name, own in found if own > wanted]


def _with_stem(wanted: str, names: NameList) -> frozenset[int]:
    """Places of the names that have a word of a stem, which each state of a library is asked for again and again."""
    if wanted not in names.stemmed:
        words = names.words_beginning_with(_beginning(wanted))
        words += [word for end in _PLURALS for word in names.words_ending_with(end)]
        own = (word for word in content_words(" ".join(words)) if stem(word) == wanted)
        names.stemmed[wanted] = frozenset(names.with_words(own))
    return names.stemmed[wanted]


def _beginning(own: str) -> str:
    return own[:-1][:BEGINNING]


@lru_cache(maxsize=20_000)
def stems(text: str) -> frozenset[str]:
    """The stems of the content words of a text."""
    return frozenset(map(stem, content_words(text)))


def corrected(text: str, names: NameList) -> str | None:
    """A text with each word that is in none of the names replaced by the nearest one that is; None if there is none."""
    words = text.split()
    for position, word in enumerate(words):
        if word not in names.words:
            similar = nearest_words(word, names)
            if not similar or not has_numbers(similar[0][0], word):
                return None
            words[position] = similar[0][0]
    return " ".join(words)


def nearest_words(word: str, names: NameList, beginning: str = "") -> list[tuple[str, float]]:
    """The words of names nearest to one that none of them has, and how similar they count, which is the same for all.

    Those are the nearest in spelling of the words that begin so. A name that sounds like the word, or like one form of it, is twice
    as near as its letters say.
    """
    alike = nearest(word, names.words_beginning_with(beginning))
    heard = [(name, own) for own in {word, stem(word)} for name in names.sounds.get(sound(own), ())]
    alike += [(name, (1 + near) / 2) for name, own in heard if (near := similarity(own, name)) >= REMOTE]
    best = max((similar for _, similar in alike), default=0.0)
    return [(name, similar) for name, similar in dict(sorted(alike, key=itemgetter(1))).items() if similar == best]


def names_with_words(text: str, names: NameList) -> list[str]:
    """The names that have every word of a text."""
    places = set.intersection(*(names.with_words([word]) for word in text.split()))
    return [names[place] for place in sorted(places)]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """The stem of a folded word."""
    singular = next((word.removesuffix(end) + one for end, one in _PLURALS.items() if word.endswith(end)), word)
    return stem_of(CYRILLIC, word) if is_cyrillic(word) else porter_stem(singular)
