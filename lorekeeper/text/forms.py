"""The forms of a word in a language that is not English: "реки" and "рек", "incantesimi" and "incantesimo".

Full-text tables stem as English does (Porter). Words of notes in another language are found in their other forms by the stemmers of
the Snowball project, among the words that the notes have: a language is theirs if they have most of its function words.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lorekeeper.languages import languages
from lorekeeper.text.name_list import beginning_with
from lorekeeper.text.porter import CYRILLIC, is_cyrillic, porter_stem, stem_of

MOST_OF = 0.5
"""Share of a language's function words that a vocabulary has which is of that language."""

BEGINNING, FEWEST = 3, 4
"""Letters that all forms of a word begin with, and letters of a word that is looked for in other forms."""


class Forms:
    """The words of a full-text table by their forms."""

    def __init__(self, words: Iterable[str]) -> None:
        self._words = sorted(words)
        known = frozenset(self._words)
        self._languages = [each.name.casefold() for each in languages() if _share(each.own, known) >= MOST_OF]

    def of(self, word: str) -> list[str]:
        """The words that are forms of a folded word, without those that English stems alike."""
        if len(word) < FEWEST:
            return []
        near = beginning_with(word[:BEGINNING], self._words)
        own, names = porter_stem(word), [CYRILLIC] if is_cyrillic(word) else self._languages
        found = (other for name in names for other in near if stem_of(name, other) == stem_of(name, own))
        return [other for other in dict.fromkeys(found) if other != own]


def _share(words: Collection[str], known: Collection[str]) -> float:
    return sum(porter_stem(word) in known for word in words) / len(words)
