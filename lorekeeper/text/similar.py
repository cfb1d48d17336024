"""Texts that are spelt like another, without comparing all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from lorekeeper.text.names import SIMILAR, name_key, similar_names

Indices = npt.NDArray[np.int64]
"""Places in a list of texts, ascending."""

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789 "
"""Characters that are counted one by one; all others share `OTHERS` counts."""

OTHERS = 11

NAMES_AT_ONCE = 4096
"""Names whose characters are counted together."""

MOST_COUNTED = 255

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
        """The texts whose similarity to a text may be `SIMILAR`; of one whose characters are not all counted, any."""
        least = SIMILAR * (self.lengths + len(text)) - 1e-6
        if not np.any(2 * np.minimum(self.lengths, len(text)) >= least):
            return np.array([], np.int64)  # a sentence, longer than any name
        if len(text) > MOST_COUNTED:
            return np.arange(len(self.lengths))
        wanted = _counted([text])[:, 0]
        shared = np.zeros(len(self.lengths), np.uint16)
        for character in np.flatnonzero(wanted):
            shared += np.minimum(self.counts[character], wanted[character])
        return np.flatnonzero(2 * shared >= least)


@dataclass(frozen=True)
class SimilarTexts:
    """Folded names, or other short texts.

    Attributes:
        texts: as they are.
        keys: the same with their words sorted, as `name_key` makes them.
        text_letters: what the texts consist of.
        key_letters: what the keys consist of.
    """

    texts: Sequence[str]
    keys: Sequence[str]
    text_letters: LetterCounts
    key_letters: LetterCounts

    @classmethod
    def of(cls, texts: Sequence[str], keys: Sequence[str] | None = None) -> Self:
        """Some texts, with their keys if these are known."""
        keys = list(map(name_key, texts)) if keys is None else keys
        return cls(texts, keys, LetterCounts.of(texts), LetterCounts.of(keys))

    def like(self, query: str, limit: int | None) -> list[tuple[int, float]]:
        """(place, similarity) of those most similar to a folded query, as `similar_names` finds them among all."""
        texts = {i: self.texts[i] for i in self.text_letters.reachable(query).tolist()}
        keys = {i: self.keys[i] for i in self.key_letters.reachable(name_key(query)).tolist()}
        return similar_names(query, texts, keys, limit)


def _counted(texts: Sequence[str]) -> npt.NDArray[np.uint8]:
    """How often each character occurs in each text, up to `MOST_COUNTED`, shape (characters, texts)."""
    kinds = len(LETTERS) + OTHERS
    points = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
    owners = np.repeat(np.arange(len(texts)), np.fromiter(map(len, texts), np.int64, len(texts)))
    places = _PLACES[np.minimum(points, len(_PLACES) - 1)]
    characters = np.where(places >= 0, places, len(LETTERS) + points % OTHERS)
    counts = np.bincount(characters * len(texts) + owners, minlength=kinds * len(texts))
    return np.minimum(counts, MOST_COUNTED).astype(np.uint8).reshape(kinds, len(texts))
