"""Facts side by side, and the words of texts that others do not have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import combinations

from lorekeeper.play.differences.result import Fact, Run, Runs
from lorekeeper.play.differences.words import keys, words

_PART = re.compile(r"(?:[^,;()]|(?<=\d),(?=\d{3}(?!\d))|\([^()]*\)|[()])+")
"""A value of a list: what is between commas and semicolons, those in brackets left alone."""

MAX_WORD_PAIRS = 1_000_000
"""Most pairs of words that are compared one by one; longer texts are marked as a whole."""

Marks = set[int]
"""Numbers of the words that are changed."""

Changed = Callable[[str, str], tuple[Marks, Marks]]
"""Gives the words of each of two texts that the other does not have."""


def facts(pages: Sequence[Sequence[tuple[str, str]]], printed: Sequence[Sequence[tuple[str, str]]]) -> list[Fact]:
    """The lines of several pages, each label once, in the order of the first page that has it; ``printed`` has those in print."""
    rows: dict[tuple[tuple[str, ...], int], list[str | None]] = {}
    labels: dict[tuple[tuple[str, ...], int], str] = {}
    for entry, page in enumerate(pages):
        seen: Counter[tuple[str, ...]] = Counter()
        for label, value in page:
            key = keys(label), seen[keys(label)]
            seen[keys(label)] += 1
            labels.setdefault(key, label)
            rows.setdefault(key, [None] * len(pages))[entry] = value
    return [_elsewhere(fact(labels[key], values), printed) for key, values in rows.items()]


def _elsewhere(found: Fact, pages: Sequence[Sequence[tuple[str, str]]]) -> Fact:
    """A fact that says of a page without its line in which one it stands there: one with fewer words, or more."""
    own, values = {*keys(found.label)}, list(found.values)
    for entry, page in enumerate(pages):
        if values[entry] is None and (
            others := [label for label, _ in page if own < (its := {*keys(label)}) or its < own]
        ):
            values[entry] = runs(f"in {', '.join(others)}", set())
    return replace(found, values=tuple(values))


def fact(label: str, values: Sequence[str | None]) -> Fact:
    """One line of several entries."""
    said = {None if value is None else value_key(value) for value in values}
    return Fact(label, marked(values, listed), len(said) > 1)


def value_key(value: str) -> tuple[str, ...]:
    """The comparable form of a value: equal for lists whose parts are equal, in any order."""
    return tuple(sorted(part_key(part[0]) for part in _PART.finditer(value) if keys(part[0])))


def part_key(part: str) -> str:
    """The comparable form of a part; what it has in brackets is a list too."""
    outside, _, inside = part.partition("(")
    return repr((keys(outside), sorted(keys(each[0]) for each in _PART.finditer(inside))))


def marked(texts: Sequence[str | None], changed: Changed) -> tuple[Runs | None, ...]:
    """Texts in stretches, with marks where one of the others differs. A text that is the only one has none.

    Args:
        texts: of each entry, None for one without.
        changed: gives the changed words of two of them.
    """
    marks: list[Marks] = [set() for _ in texts]
    for (one, text), (other, beside) in combinations(enumerate(texts), 2):
        if text is not None and beside is not None:
            for entry, found in zip((one, other), changed(text, beside), strict=True):
                marks[entry] |= found
    return tuple(None if text is None else runs(text, found) for text, found in zip(texts, marks, strict=True))


def listed(one: str, other: str) -> tuple[Marks, Marks]:
    """The changed words of two lists: those of parts that only one has, as far as they differ from the other's."""
    mine, theirs = _numbered_parts(one), _numbered_parts(other)
    own = [number for key, numbers in mine if key not in dict(theirs) for number in numbers]
    others = [number for key, numbers in theirs if key not in dict(mine) for number in numbers]
    own_keys, other_keys = keys(one), keys(other)
    found = _unmatched([own_keys[number] for number in own], [other_keys[number] for number in others])
    return {own[place] for place in found[0]}, {others[place] for place in found[1]}


def _numbered_parts(value: str) -> list[tuple[str, range]]:
    """The comparable forms of the parts of a list, with the numbers of their words in the whole."""
    result, start = [], 0
    for part in _PART.finditer(value):
        count = len(keys(part[0]))
        result.append((part_key(part[0]), range(start, start + count)))
        start += count
    return result


def reworded(one: str, other: str) -> tuple[Marks, Marks]:
    """The words of two sentences that do not stand in the other one in the same order."""
    return _unmatched(keys(one), keys(other))


def _unmatched(one: Sequence[str], other: Sequence[str]) -> tuple[Marks, Marks]:
    left = set(range(len(one))), set(range(len(other)))
    if one == other:
        return set(), set()
    if len(one) * len(other) > MAX_WORD_PAIRS:
        return left
    for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        left[0].difference_update(range(block.a, block.a + block.size))
        left[1].difference_update(range(block.b, block.b + block.size))
    return left


def runs(text: str, marks: Marks) -> Runs:
    """A text in stretches of changed and unchanged words. Signs and brackets of changed words are changed too."""
    stretches: list[Run] = []
    done = 0
    found = words(text)
    for first, last in _ranges(marks):
        start, end = found[first].start, found[last].end
        start -= text[done:start].endswith("+") or (text[done:start].endswith("(") and text[end : end + 1] == ")")
        end += text[end : end + 1] == ")" and text[start:end].count("(") > text[start:end].count(")")
        stretches += [Run(text[done:start], changed=False), Run(text[start:end], changed=True)]
        done = end
    return tuple(run for run in [*stretches, Run(text[done:], changed=False)] if run.text)


def _ranges(numbers: Marks) -> list[tuple[int, int]]:
    """First and last of each row of numbers that follow each other."""
    firsts = sorted(number for number in numbers if number - 1 not in numbers)
    lasts = sorted(number for number in numbers if number + 1 not in numbers)
    return list(zip(firsts, lasts, strict=True))
