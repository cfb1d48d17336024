"""What books call the things that players say in everyday words: a parachute is a feather, falling and descent.

The table is `lorekeeper/data/thesaurus.tsv`: in each line everyday words and phrases, separated by bars, a tab, and the words
that books have for them, the most telling first. It is about language, not about particular entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from lorekeeper.folding import fold
from lorekeeper.text.keywords import content_words

THESAURUS = Path(__file__).parent.parent / "data" / "thesaurus.tsv"

LONGEST = 3
"""Content words of the longest phrase."""


def related_words(words: Sequence[str]) -> list[str]:
    """What books call the things that the content words of a question say, without these words; longer phrases come first.

    A word that belongs to a phrase is not looked up alone: a "short break" breaks nothing.
    """
    table, found, start = _table(), dict[str, None](), 0
    while start < len(words):
        phrases = (tuple(words[start : start + length]) for length in range(LONGEST, 0, -1))
        phrase = next((phrase for phrase in phrases if phrase in table), tuple(words[start : start + 1]))
        found |= dict.fromkeys(table.get(phrase, ()))
        start += len(phrase)
    return [word for word in found if word not in words]


@cache
def _table() -> dict[tuple[str, ...], tuple[str, ...]]:
    """The words of books by the content words of each everyday phrase; those of two lines are joined."""
    table: dict[tuple[str, ...], tuple[str, ...]] = {}
    for line in THESAURUS.read_text("utf-8").splitlines():
        everyday, _, books = line.partition("\t")
        for phrase in everyday.split("|"):
            key = tuple(content_words(fold(phrase)))
            table[key] = tuple(dict.fromkeys([*table.get(key, ()), *books.split()]))
    return table
