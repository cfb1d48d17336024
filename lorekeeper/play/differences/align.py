"""Which sentences of several texts say the same thing: alignment by similarity, reworded and split sentences included.

The method is that of W. A. Gale and K. W. Church, "A Program for Aligning Sentences in Bilingual Corpora" (1993): dynamic
programming over beads of one to three sentences on either side, here scored by the words that they share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import NamedTuple

from lorekeeper.play.differences.words import keys

STOP_WORDS = frozenset(
    "a an and are as at be by can do does for from has have if in is it its of on or that the then there this to with you"
    " your".split()
)
"""Words that nearly every sentence has."""

STOP_WEIGHT = 0.25
"""What such a word counts beside another one."""

ALIKE = 0.35
"""Least similarity of two sentences of the same passage that are reworded."""

MAX_PAIRS = 120_000
"""Most pairs of sentences that one comparison looks at, some seconds' work. Beyond, only equal sentences are found."""

CELLS = " | "
"""What stands between the cells of a row of a table."""

BEADS = ((1, 1), (2, 1), (1, 2), (3, 1), (1, 3))
"""Numbers of rows and of sentences that say the same thing."""


class Bag(NamedTuple):
    """The words of a text, each with its number among equal ones.

    Attributes:
        telling: those that carry meaning.
        stops: stop words.
        weight: of all.
        is_row: whether it is a row of a table, which is no sentence.
    """

    telling: frozenset[tuple[str, int]]
    stops: frozenset[tuple[str, int]]
    weight: float
    is_row: bool


NOTHING = Bag(frozenset(), frozenset(), 0.0, is_row=False)


@dataclass(eq=False)
class Draft:
    """A row in the making: by entry, the text that says what the others say."""

    texts: dict[int, str]

    def bags(self) -> list[Bag]:
        """The words of each text."""
        return [bag_of(text) for text in self.texts.values()]

    def joined(self, other: Draft) -> Draft:
        """A row with the texts of both, one after the other."""
        entries = [*self.texts, *(entry for entry in other.texts if entry not in self.texts)]
        parts = ((entry, (self.texts.get(entry), other.texts.get(entry))) for entry in entries)
        return Draft({entry: " ".join(filter(None, texts)) for entry, texts in parts})

    def lacking(self, other: Draft) -> dict[int, str]:
        """The texts of another row that belong to this one: all, or if both have an entry, more equal ones than there."""
        if not self.texts.keys() & other.texts.keys():
            return other.texts
        mine, theirs = ({entry: keys(text) for entry, text in row.texts.items()} for row in (self, other))
        for key in {*mine.values()} & {*theirs.values()}:
            moved = {entry: other.texts[entry] for entry in theirs.keys() - mine.keys() if theirs[entry] == key}
            if moved and [*mine.values()].count(key) + len(moved) > [*theirs.values()].count(key):
                return moved
        return {}


@dataclass
class Effort:
    """Counts the pairs that were looked at, so that no entry takes more than some seconds."""

    left: int = MAX_PAIRS

    def take(self, pairs: int) -> bool:
        """Whether there is time for as many pairs, which then are counted."""
        if pairs > self.left:
            return False
        self.left -= pairs
        return True


@dataclass
class _Cell:
    """The best alignment up to some row and sentence: its score, and the last bead."""

    score: float
    bead: tuple[int, int] = (0, 0)


def bag_of(text: str) -> Bag:
    """The words of a text."""
    seen: dict[str, int] = {}
    telling: list[tuple[str, int]] = []
    stops: list[tuple[str, int]] = []
    for key in keys(text):
        seen[key] = seen.get(key, 0) + 1
        (stops if key in STOP_WORDS else telling).append((key, seen[key]))
    return Bag(frozenset(telling), frozenset(stops), len(telling) + STOP_WEIGHT * len(stops), CELLS in text)


def similarity(one: Bag, other: Bag) -> float:
    """Dice coefficient of the words of two texts, 0 to 1; stop words weigh little."""
    if one.is_row is not other.is_row:
        return 0.0
    shared = len(one.telling & other.telling) + STOP_WEIGHT * len(one.stops & other.stops)
    total = one.weight + other.weight
    return 2 * shared / total if total else 0.0


def likeness(row: Sequence[Bag], text: Bag) -> float:
    """Similarity of a text to that one of a row which is nearest to it."""
    return max(similarity(each, text) for each in row)


def aligned(rows: Sequence[Draft], sentences: Sequence[str], entry: int, effort: Effort) -> list[Draft]:
    """Rows with the sentences of one more entry: beside what they reword, or in rows of their own, in order.

    Args:
        rows: of the entries before.
        sentences: in order.
        entry: the number of the entry that they are from.
        effort: counts.
    """
    if not rows or not sentences or not effort.take(len(rows) * len(sentences)):
        return _with_equal(rows, sentences, entry)
    table = _table(rows, sentences)
    result: list[Draft] = []
    row, sentence = len(rows), len(sentences)
    while row or sentence:
        used, said = table[row][sentence].bead
        result.append(_bead(rows[row - used : row], sentences[sentence - said : sentence], entry))
        row, sentence = row - used, sentence - said
    return result[::-1]


def _table(rows: Sequence[Draft], sentences: Sequence[str]) -> list[list[_Cell]]:
    """The best alignment of every beginning of the rows with every beginning of the sentences."""
    row_bags = {length: _bags_of_rows(rows, length) for length in (1, 2, 3)}
    text_bags = {length: _bags_of_texts(sentences, length) for length in (1, 2, 3)}
    table = [[_Cell(0.0) for _ in range(len(sentences) + 1)] for _ in range(len(rows) + 1)]
    for row, sentence in product(range(len(rows) + 1), range(len(sentences) + 1)):
        options = [_Cell(table[row][sentence - 1].score, (0, 1))] if sentence else []
        if row:
            options.append(_Cell(table[row - 1][sentence].score, (1, 0)))
        for used, said in BEADS:
            if row < used or sentence < said:
                continue
            alike = likeness(row_bags[used][row - used], text_bags[said][sentence - said])
            if alike >= ALIKE:
                options.append(_Cell(table[row - used][sentence - said].score + alike, (used, said)))
        if options:
            table[row][sentence] = max(options, key=lambda cell: cell.score)
    return table


def _bags_of_rows(rows: Sequence[Draft], length: int) -> list[list[Bag]]:
    """The words of every so many rows that follow each other, as one."""
    groups = [rows[start : start + length] for start in range(len(rows) - length + 1)]
    return [_apart(reduce(Draft.joined, group).bags(), length) for group in groups]


def _bags_of_texts(texts: Sequence[str], length: int) -> list[Bag]:
    joined = [" ".join(texts[start : start + length]) for start in range(len(texts) - length + 1)]
    return _apart(map(bag_of, joined), length)


def _apart(bags: Iterable[Bag], length: int) -> list[Bag]:
    """Bags of several texts, none of them of rows of a table: these are never one."""
    return [NOTHING if bag.is_row and length > 1 else bag for bag in bags]


def _bead(rows: Sequence[Draft], sentences: Sequence[str], entry: int) -> Draft:
    """One row of some rows and the sentences that say the same."""
    draft = reduce(Draft.joined, rows, Draft({}))
    return Draft({**draft.texts, entry: " ".join(sentences)}) if sentences else draft


def _with_equal(rows: Sequence[Draft], sentences: Iterable[str], entry: int) -> list[Draft]:
    """The same with equal sentences only, in linear time."""
    places: dict[tuple[str, ...], list[int]] = {}
    for number, row in enumerate(rows):
        for key in {keys(text) for text in row.texts.values()}:
            places.setdefault(key, []).append(number)
    result = [Draft(dict(row.texts)) for row in rows]
    for sentence in sentences:
        free = [number for number in places.get(keys(sentence), ())[:1] if entry not in result[number].texts]
        if free:
            places[keys(sentence)].pop(0)
            result[free[0]].texts[entry] = sentence
        else:
            result.append(Draft({entry: sentence}))
    return result
