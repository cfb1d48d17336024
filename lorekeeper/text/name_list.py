"""All names of a type, in forms in which they are looked through quickly: as one text, and by the words that they have."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import Self

from lorekeeper.text.names import sound

_LAST = chr(sys.maxunicode)
"""The last character in sorted order."""

_END = "\n"
"""What is around each name in the text of all of them; no folded name has it."""


class NameList(list[str]):
    """Folded names. They are not changed; each form of them is made when it is first needed."""

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """Names as such, unless they are already."""
        return names if isinstance(names, cls) else cls(names)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def places(self, part: str) -> Iterator[int]:
        """Places of the names that contain a text, ascending."""
        position = self._text.find(part)
        while 0 <= position < self._starts[-1]:
            place = bisect_right(self._starts, position) - 1
            yield place
            position = self._text.find(part, self._starts[place + 1])

    def named(self, names: Iterable[str]) -> Iterator[int]:
        """Places of those that are one of some names."""
        return (place for name in names for place in self._places.get(name, ()))

    def beginning_with(self, text: str) -> list[str]:
        """The names that begin with a text."""
        return [self[place] for place in self.places(_END + text)]

    def words_beginning_with(self, text: str) -> list[str]:
        """The words of the names that begin with a text."""
        return beginning_with(text, self.vocabulary)

    def words_ending_with(self, text: str) -> list[str]:
        """The words of the names that end with a text."""
        return [word[::-1] for word in beginning_with(text[::-1], self._reversed)]

    def with_words(self, words: Iterable[str]) -> set[int]:
        """Places of the names that have any of some words."""
        return {place for word in words for place in self.words.get(word, ())}

    @cached_property
    def words(self) -> dict[str, array[int]]:
        """Every word of the names, and the places of those that have it, ascending."""
        words: dict[str, array[int]] = {}
        for place, name in enumerate(self):
            for word in name.split():
                words.setdefault(word, array("L")).append(place)
        return words

    @cached_property
    def stemmed(self) -> dict[str, frozenset[int]]:
        """The places of the names that have a word of a stem, for the stems that were asked for (`text.stems`)."""
        return {}

    @cached_property
    def sounds(self) -> dict[str, list[str]]:
        """The names of one word, by what they sound like."""
        sounds: dict[str, list[str]] = {}
        for name in self._places:
            if name.isalpha() and (heard := sound(name)):
                sounds.setdefault(heard, []).append(name)
        return sounds

    @cached_property
    def vocabulary(self) -> list[str]:
        """Every word of the names, sorted."""
        return sorted(self.words)

    @cached_property
    def _reversed(self) -> list[str]:
        """Every word of the names, written backwards, sorted."""
        return sorted(word[::-1] for word in self.words)

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, name in enumerate(self):
            places.setdefault(name, []).append(place)
        return places

    @cached_property
    def _text(self) -> str:
        return _END + "".join(name + _END for name in self)

    @cached_property
    def _starts(self) -> array[int]:
        """Where each name begins in the text, at the character before it, and where the last one ends."""
        return array("L", accumulate((len(name) + len(_END) for name in self), initial=0))


def beginning_with(text: str, words: list[str]) -> list[str]:
    """Those of sorted words that begin with a text."""
    return words[bisect_left(words, text) : bisect_right(words, text + _LAST)]
