"""Names: what duplicates of an entry have in common, and which names are similar to a query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from jellyfish import metaphone
from rapidfuzz import fuzz, process

from lorekeeper.folding import fold
from lorekeeper.text.keywords import content_words

SIMILAR = 0.78
"""Least similarity at which a query counts as a name: one wrong letter in five."""

REMOTE = 0.6
"""Least similarity at which a name is suggested."""

REORDERED = 0.99
"""Share of its similarity that a name keeps if it is similar only with the words of both in alphabetical order."""

_NUMBERED = re.compile(r"\b(\d+)[^\W\d_]*\b")
"""A word of a folded name that begins with a number: the 3 of "level 3" and of "3rd"."""

_HARDLY_HEARD = str.maketrans("", "", "HWY")

_VARIANT = re.compile(r"\s*\([^()]*\)\s*$")


@lru_cache(maxsize=50_000)
def base_name(name: str) -> str:
    """A name, folded, without the variant in brackets: "Adamantine Armor (Plate)" is "adamantine armor"."""
    return fold(_VARIANT.sub("", name) or name)


@lru_cache(maxsize=50_000)
def name_key(folded: str) -> str:
    """The content words of a folded name in alphabetical order: "cloak displacement" for "cloak of displacement"."""
    return " ".join(sorted(content_words(folded))) or folded


def canonical_name(name: str) -> str:
    """The same for all duplicates of an entry: its name without brackets, whatever the order of its words."""
    return name_key(base_name(name))


def has_numbers(name: str, wanted: str) -> bool:
    """Whether a folded name has all numbers of another: what has other ones is another thing, however similar its name."""
    return set(_NUMBERED.findall(wanted)) <= set(_NUMBERED.findall(name))


def unnumbered(name: str) -> str:
    """A folded name without the words that begin with a number."""
    return _NUMBERED.sub("", name)


def similar_names(
    query: str, names: Mapping[int, str], keys: Mapping[int, str], limit: int | None
) -> list[tuple[int, float]]:
    """(number, similarity) of the names most similar to a folded query, best first; all of them without a limit.

    Similarity is 0 to 1: the better of the normalised indel similarity (Levenshtein's without substitutions) of the
    names as written and, times `REORDERED`, that of their `name_key`. Names below `SIMILAR` are left out. Both are given by
    number, in ascending order.
    """
    best: dict[int, float] = {}
    for text, choices, share in ((query, names, 1.0), (name_key(query), keys, REORDERED)):
        matches = process.extract(text, choices, scorer=fuzz.ratio, score_cutoff=SIMILAR * 100, limit=limit)
        for _, score, number in matches:
            best[number] = max(best.get(number, 0.0), share * score / 100)
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))[:limit]


def similarity(one: str, other: str) -> float:
    """The normalised indel similarity of two texts, 0 to 1."""
    return fuzz.ratio(one, other) / 100


def nearest(text: str, names: Sequence[str]) -> list[tuple[str, float]]:
    """The names nearest to a folded text and their similarity, which is the same for all and at least `SIMILAR`.

    Empty if no name is similar. Similarity is 0 to 1: the normalised indel similarity.
    """
    matches = process.extract(text, names, scorer=fuzz.ratio, score_cutoff=SIMILAR * 100, limit=None)
    return [(name, score / 100) for name, score, _ in matches if score == matches[0][1]]


def sound(word: str) -> str:
    """What a word sounds like: Metaphone (Philips 1990), without the letters that are hardly heard; "" of one in other letters."""
    return metaphone(word).translate(_HARDLY_HEARD)


def closest(text: str, names: Sequence[str], limit: int) -> list[tuple[str, float]]:
    """The names that come closest to a folded text, best first, and their similarity, as of `nearest`, from `REMOTE` on."""
    matches = process.extract(text, set(names), scorer=fuzz.ratio, score_cutoff=REMOTE * 100, limit=limit)
    return [(name, score / 100) for name, score, _ in sorted(matches, key=lambda match: (-match[1], match[0]))]
