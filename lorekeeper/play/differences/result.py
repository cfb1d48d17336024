"""What a comparison has found. In every tuple the entries stand in the order in which they were given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lorekeeper.entities import Entity
from lorekeeper.play.differences.words import keys


@dataclass(frozen=True)
class Run:
    """A stretch of a text; ``changed`` if not all the others have its words."""

    text: str
    changed: bool


Runs = tuple[Run, ...]
"""A whole text in stretches."""


@dataclass(frozen=True)
class Fact:
    """A line with a label, such as "Armor Class".

    Attributes:
        label: of the line.
        values: of each entry, None for one that does not have it.
        differs: whether they say different things. The order of a list, case and punctuation say nothing.
    """

    label: str
    values: tuple[Runs | None, ...]
    differs: bool


@dataclass(frozen=True)
class Row:
    """Sentences that say the same thing, in the words of each entry.

    Attributes:
        texts: of each entry, None for one that has no such sentence.
        differs: whether they differ in a word or a number.
    """

    texts: tuple[Runs | None, ...]
    differs: bool


@dataclass(frozen=True)
class Passage:
    """A trait, an action, or the text under a heading.

    Attributes:
        places: of each entry, the headings above it and its name, () for the main text; None for one that does not have it.
        rows: its sentences in order.
        moved: whether it has another name, or stands under another heading, in one of the entries that have it.
    """

    places: tuple[tuple[str, ...] | None, ...]
    rows: tuple[Row, ...]
    moved: bool

    @property
    def differs(self) -> bool:
        """Whether there is anything to show."""
        return self.moved or any(row.differs for row in self.rows)


@dataclass(frozen=True)
class Differences:
    """Everything that the pages of some entries have, said once where they agree.

    Attributes:
        entities: that were compared.
        facts: their lines with labels, in the order of the first page.
        passages: their texts, in the order of the first page.
    """

    entities: tuple[Entity, ...]
    facts: tuple[Fact, ...]
    passages: tuple[Passage, ...]

    @property
    def differing_facts(self) -> list[Fact]:
        """The facts to show."""
        return [fact for fact in self.facts if fact.differs]

    @property
    def shared_facts(self) -> list[tuple[str, str]]:
        """Labels and values of the facts that all have alike, in the first entry's words."""
        return [(fact.label, text_of(fact.values[0])) for fact in self.facts if not fact.differs]

    @property
    def differing_passages(self) -> Iterator[tuple[Passage, list[Row]]]:
        """The passages to show, each with the rows that differ."""
        for passage in self.passages:
            if passage.differs:
                yield passage, [row for row in passage.rows if row.differs]

    @property
    def same_facts(self) -> int:
        """Number of facts that all have alike."""
        return sum(not fact.differs for fact in self.facts)

    @property
    def same_sentences(self) -> int:
        """Number of sentences that all have alike."""
        return sum(not row.differs for passage in self.passages for row in passage.rows)


def text_of(runs: Runs | None) -> str:
    """A text in one piece, "" for none."""
    return "".join(run.text for run in runs or ())


def same_texts(texts: Sequence[str | None]) -> list[tuple[list[int], str | None]]:
    """Texts with the numbers of the entries that have them; those that say the same are given once, in the first's words."""
    found: dict[tuple[str, ...] | None, tuple[list[int], str | None]] = {}
    for number, text in enumerate(texts):
        key = None if text is None else keys(text)
        found.setdefault(key, ([], text))[0].append(number)
    return list(found.values())
