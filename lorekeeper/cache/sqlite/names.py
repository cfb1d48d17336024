"""The names of a type in memory: which of them contain a text, and which are similar to one without comparing all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from lorekeeper.entities import ALIASES, WHOLE_NAME
from lorekeeper.filters import Condition
from lorekeeper.text.known import KnownNames
from lorekeeper.text.names import SIMILAR, name_key, similar_names

Indices = npt.NDArray[np.int64]
"""Places in a list of names, ascending."""

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 "
"""Characters that are counted one by one; all others share `OTHERS` counts."""

OTHERS = 11

NAMES_AT_ONCE = 4096
"""Names whose characters are counted together."""

MOST_COUNTED = 255

FIRST, WITHIN, SCATTERED, ALIAS = 0.75, 0.75, 0.5, 0.99
"""Least share of a name that begins with a text, and shares that others keep: where it is another word, where its words are
in another order, and where it is an alias."""

_PLACES = np.array([LETTERS.find(chr(point)) for point in range(128)] + [-1])
"""Places of ASCII characters in `LETTERS`; the last is that of all others, -1."""


@dataclass(frozen=True)
class LetterCounts:
    """How often each character occurs in each of some texts.

    The similarity of two texts is twice the length of their longest common subsequence, over the sum of their lengths; and
    that subsequence has no character more often than either of them. So the counts say which texts cannot be similar: the
    counting filter of Jokinen, Tarhio and Ukkonen (A comparison of approximate string matching algorithms, 1996).

    Attributes:
        counts: shape (characters, texts) uint8.
        lengths: of the texts, shape (texts,).
    """

    counts: npt.NDArray[np.uint8]
    lengths: npt.NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str]) -> Self:
        """The counts in some texts."""
        parts = [_counted(texts[start : start + NAMES_AT_ONCE]) for start in range(0, len(texts), NAMES_AT_ONCE)]
        counts = np.concatenate(parts or [_counted([])], axis=1)
        return cls(counts, np.fromiter(map(len, texts), np.int64, len(texts)))

    def reachable(self, text: str) -> Indices:
        """The texts whose similarity to a text of at most `MOST_COUNTED` characters may be `SIMILAR`."""
        least = SIMILAR * (self.lengths + len(text)) - 1e-6
        if not np.any(2 * np.minimum(self.lengths, len(text)) >= least):
            return np.array([], np.int64)  # a sentence, longer than any name
        wanted = _counted([text])[:, 0]
        shared = np.zeros(len(self.lengths), np.uint16)
        for character in np.flatnonzero(wanted):
            shared += np.minimum(self.counts[character], wanted[character])
        return np.flatnonzero(2 * shared >= least)


@dataclass(frozen=True)
class NameIndex:
    """The names of all entities of a type.

    Attributes:
        ids: row ids of the entities, ascending.
        folded: their folded names.
        keys: the same with their words sorted, as `name_key` makes them.
        folded_letters: what the folded names consist of.
        key_letters: what the keys consist of.
        aliased: row ids of the entities by their folded aliases.
    """

    ids: Sequence[int]
    folded: KnownNames
    keys: list[str]
    folded_letters: LetterCounts
    key_letters: LetterCounts
    aliased: Mapping[str, Sequence[int]]

    @classmethod
    def of(cls, rows: Sequence[tuple[int, str, str]], aliases: Iterable[tuple[str, int]] = ()) -> Self:
        """The index of (row id, folded name, key) in the order of the ids, and of (folded alias, row id)."""
        folded, keys = KnownNames(name for _, name, _ in rows), [key for _, _, key in rows]
        aliased: dict[str, list[int]] = {}
        for alias, row in aliases:
            aliased.setdefault(alias, []).append(row)
        letters = LetterCounts.of(folded), LetterCounts.of(keys)
        return cls([row for row, _, _ in rows], folded, keys, *letters, aliased)

    def meeting(self, condition: Condition) -> list[int]:
        """Row ids of the entities that meet a condition of which `is_of_names` is true."""
        texts = [str(value) for value in condition.values]
        if condition.op == "name":
            return self.containing(texts[0])
        if condition.field == WHOLE_NAME:
            return self.among(texts)
        return [row for text in texts for row in self.aliased.get(text, ())]

    def containing(self, text: str) -> list[int]:
        """Row ids of the names that contain a folded text."""
        return [self.ids[place] for place in self.folded.places(text)]

    def among(self, names: Collection[str]) -> list[int]:
        """Row ids of the names that are among some."""
        wanted = frozenset(names)
        return [row for row, name in zip(self.ids, self.folded, strict=True) if name in wanted]

    def beginning(self, text: str) -> list[tuple[int, float]]:
        """(index, share) of the names that somebody may be typing, best first, from a folded text whose last word may go on.

        Names that begin with the text come before those in which another word does, and these before those that have its
        words in another order. The shorter a name, the greater is its share, 0 to 1.
        """
        *whole, last = text.split()
        places = self.folded.with_words(self.folded.words_beginning_with(last))
        for word in whole:
            places &= self.folded.with_words([word])
        found = {place: _begun(text, self.folded[place]) for place in places}
        for alias, rows in self.aliased.items():
            if f" {text}" in f" {alias}":
                for place in (bisect_left(self.ids, row) for row in rows):
                    found[place] = max(found.get(place, 0.0), ALIAS * _begun(text, alias))
        return sorted(found.items(), key=lambda item: (-item[1], self.folded[item[0]], item[0]))

    def similar(self, query: str, limit: int | None) -> list[tuple[int, float]]:
        """(index, similarity) of the names most similar to a folded query, as `similar_names` finds them among all."""
        names = {i: self.folded[i] for i in self.folded_letters.reachable(query).tolist()}
        keys = {i: self.keys[i] for i in self.key_letters.reachable(name_key(query)).tolist()}
        return similar_names(query, names, keys, limit)


def _begun(text: str, name: str) -> float:
    """How much of a name has been typed, the more if it is its beginning."""
    typed = len(text) / len(name) if name else 0.0
    if name.startswith(text):
        return FIRST + (1 - FIRST) * typed
    return (WITHIN if f" {text}" in name else SCATTERED) * typed


def is_of_names(condition: Condition) -> bool:
    """Whether a condition is tested by the names or aliases alone, without reading the table."""
    of_names = condition.op == "name" or condition.field == WHOLE_NAME or condition.field.name == ALIASES
    return of_names and not condition.negate


def _counted(texts: Sequence[str]) -> npt.NDArray[np.uint8]:
    """How often each character occurs in each text, up to `MOST_COUNTED`, shape (characters, texts)."""
    kinds = len(LETTERS) + OTHERS
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    owners = np.repeat(np.arange(len(texts)), np.fromiter(map(len, texts), np.int64, len(texts)))
    places = _PLACES[np.minimum(points, len(_PLACES) - 1)]
    characters = np.where(places >= 0, places, len(LETTERS) + points % OTHERS)
    counts = np.bincount(characters * len(texts) + owners, minlength=kinds * len(texts))
    return np.minimum(counts, MOST_COUNTED).astype(np.uint8).reshape(kinds, len(texts))
