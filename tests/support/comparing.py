"""Laws that every comparison keeps, whatever it compares."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import permutations

from lorekeeper.entities import Entity
from lorekeeper.play.differences import Differences, Row
from lorekeeper.play.differences.result import Runs, text_of
from lorekeeper.render import markdown
from lorekeeper.text.keywords import STOP_WORDS

Words = list[str]

SHORT, TELLING = 12, 5
"""Fewer words, or fewer that carry meaning, may stand in several passages without being the same sentence."""


def broken_laws(result: Differences) -> list[str]:
    """What is missing, made up, shown though it is equal, or not shown though it differs."""
    return [*_words_lost(result), *_wrong_rows(result), *_shown_twice(result), *_wrong_marks(result)]


def plain_words(text: str) -> Words:
    """Letters and digits of a text, one way of writing for all apostrophes and thousands."""
    text = re.sub(r"(?<=[^\W\d_])['’‘](?=[^\W\d_])", "", text)
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    return re.findall(r"\d+|[^\W\d_]+", text.casefold())


def _words_lost(result: Differences) -> Iterator[str]:
    """Each word of a page is in a fact, a row or a place as often as in the page, and none is made up."""
    for entry, entity in enumerate(result.entities):
        page = Counter(plain_words(_without_headings(markdown(entity, in_style=False))))
        facts = [fact for fact in result.facts if fact.values[entry] is not None]
        told = Counter(word for fact in facts for word in plain_words(f"{fact.label} {text_of(fact.values[entry])}"))
        told += Counter(word for row in _rows(result) for word in plain_words(text_of(row.texts[entry])))
        places = {
            word for passage in result.passages for part in passage.places[entry] or () for word in plain_words(part)
        }
        lost = {word: number for word, number in (page - told).items() if word not in places}
        if lost:
            yield f"{entity.uri} has lost {lost}"


def _without_headings(page: str) -> str:
    return "\n".join(line for line in page.split("\n") if not line.startswith("#"))


def _rows(result: Differences) -> list[Row]:
    return [row for passage in result.passages for row in passage.rows]


def _wrong_rows(result: Differences) -> Iterator[str]:
    for row in _rows(result):
        said = {None if text is None else tuple(_signed(text_of(text))) for text in row.texts}
        if row.differs != (len(said) > 1):
            yield f"{[text_of(text) for text in row.texts]} is said to be {'different' if row.differs else 'equal'}"


def _signed(text: str) -> Words:
    """Words, and numbers with the minus that belongs to them."""
    text = re.sub(r"(?<=\d )[-−–] ?(?=\d)|(?<![\w.)])[-−–](?=\d)|(?<=d\d)[-−–]|(?<=d\d\d)[-−–]", " minus ", text)
    return plain_words(text)


def _shown_twice(result: Differences) -> Iterator[str]:
    """No sentence is shown as one entry's own that another one has as its own."""
    for one, other in permutations(range(len(result.entities)), 2):
        own = [_own(passage.rows, one, other) for passage in result.passages]
        theirs = [_own(passage.rows, other, one) for passage in result.passages]
        long = {key for keys in theirs for key in keys if len(key) >= SHORT and _telling(key) >= TELLING}
        for mine, beside in zip(own, theirs, strict=True):
            for key in mine & (beside | long):
                yield f"shown though it is equal: {' '.join(key)}"


def _telling(words: tuple[str, ...]) -> int:
    """How many words carry meaning; dice are one."""
    dice_as_one = re.sub(r"\b(\d+) d (\d+)\b", r"\1d\2", " ".join(words))
    return sum(word not in STOP_WORDS for word in dice_as_one.split())


def _own(rows: Sequence[Row], one: int, other: int) -> set[tuple[str, ...]]:
    return {tuple(plain_words(text_of(row.texts[one]))) for row in rows if row.texts[one] and not row.texts[other]}


def _wrong_marks(result: Differences) -> Iterator[str]:
    """Of two texts, what is not marked is the same in both, and only equal ones have no mark."""
    if len(result.entities) != 2:
        return
    for row in _rows(result):
        one, other = row.texts
        if one and other and _unmarked(one) != _unmarked(other):
            yield f"unmarked words differ: {text_of(one)} / {text_of(other)}"
        if one and other and row.differs and not any(run.changed for run in (*one, *other)):
            yield f"nothing is marked: {text_of(one)} / {text_of(other)}"
    for fact in result.facts:
        one, other = fact.values
        if one and other and sorted(_unmarked(one)) != sorted(_unmarked(other)):
            yield f"unmarked words differ: {fact.label}: {text_of(one)} / {text_of(other)}"


def _unmarked(runs: Runs) -> Words:
    return [word for run in runs if not run.changed for word in plain_words(run.text)]


def versions(entities: Sequence[Entity], *documents: str) -> list[list[Entity]]:
    """The entries of one type, kind and name that all these documents have."""
    found: dict[tuple[str, str, str], dict[str, Entity]] = {}
    for entity in entities:
        if entity.document in documents:
            found.setdefault((entity.type, entity.kind, entity.name), {})[entity.document] = entity
    return [[books[key] for key in documents] for books in found.values() if len(books) == len(documents)]
