"""The forms of a word in a language that is not English: "реки" and "рек", "incantesimi" and "incantesimo".

Full-text tables stem as English does (Porter). Words of notes in another language are found in their other forms by the stemmers of
the Snowball project, among the words that the notes have: a language is theirs if they have most of its function words.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable

from lorekeeper.languages import languages
from lorekeeper.text.porter import CYRILLIC, is_cyrillic, porter_stem, stem_of

MOST_OF = 0.5
"""Share of a language's function words that a vocabulary has which is of that language."""

BEGINNING, FEWEST = 3, 4
"""Letters that all forms of a word begin with, and letters of a word that is looked for in other forms."""

_LAST = chr(0x10FFFF)


class Forms:
    """The words of a full-text table by their forms."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words)
        known = frozenset(self._words)
        spoken = (each.name.casefold() for each in languages() if _share(each.own, known) >= MOST_OF)
        self._languages = tuple(spoken)

    def of(self, word: str) -> list[str]:
        """The words that are forms of a folded word, without those that English stems alike."""
        if len(word) < FEWEST:
            return []
        start = word[:BEGINNING]
        near = self._words[bisect_left(self._words, start) : bisect_right(self._words, start + _LAST)]
        own, names = porter_stem(word), [CYRILLIC] if is_cyrillic(word) else self._languages
        found = (other for name in names for other in near if stem_of(name, other) == stem_of(name, own))
        return [other for other in dict.fromkeys(found) if other != own]


def _share(words: Collection[str], known: Collection[str]) -> float:
    return sum(porter_stem(word) in known for word in words) / len(words)
