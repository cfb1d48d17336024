"""Every pattern by which readers search the texts of strangers takes time in proportion to their length.

Each is tried on runs of the characters that its own source names, alone and in pairs, at 4,000 and at 8,000 characters and within
other text. Quadratic work takes four times as long for twice the text.
"""

from __future__ import annotations

import ast
import importlib
import itertools
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import lorekeeper
from scripts import scans
from tests.support.tables import each_row

PACKAGE = Path(lorekeeper.__file__).parent
FILES = sorted(file for room in scans.ROOMS for file in (PACKAGE / room).rglob("*.py"))

SHORT, LONG, FACTOR = 4_000, 8_000, 2.5
NOTHING = 0.003
"""Seconds of CPU within which a search over the longer run is linear whatever the shorter one takes."""

PROBE, SOON = 2_000, NOTHING / 16
"""Characters of a run over which a search takes less than so many seconds, if it takes less than `NOTHING` over the longer run."""

TIMES = (1, 5, 5, 5)
"""Of how many measurements the least is taken, each time that it has to take longer: other programs may take the time of one."""

AROUND = (("", "x"), ("x ", "\n!"))
STANDING_FOR = {
    "s": " \t\n",
    "w": "a_",
    "d": "1",
    "W": ". -",
    "S": "a.",
    "D": "a",
    "n": "\n",
    "t": "\t",
    "b": "",
    "B": "",
    "Z": "",
}
PAIRED = 24
"""Characters of a pattern that are tried in pairs."""


def patterns_in(value: object, depth: int = 3) -> Iterator[re.Pattern[str]]:
    """The patterns that a constant has, however they lie in it."""
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, Mapping):
        yield from (found for each in value.values() for found in patterns_in(each, depth - 1))
    elif depth and isinstance(value, (tuple, list, frozenset)):
        yield from (found for each in value for found in patterns_in(each, depth - 1))
    elif depth and is_dataclass(value) and not isinstance(value, type):
        yield from (found for each in fields(value) for found in patterns_in(getattr(value, each.name), depth - 1))


def searched_in(file: Path) -> dict[str, re.Pattern[str]]:
    """The patterns that a module searches for, by their sources."""
    tree = ast.parse(file.read_text("utf-8"))
    module = importlib.import_module(".".join(("lorekeeper", *file.relative_to(PACKAGE).with_suffix("").parts)))
    by_name = {name: value for name, value in vars(module).items() if isinstance(value, re.Pattern)}
    listed = (value for name, value in vars(module).items() if name not in by_name and not name.startswith("__"))
    found = [
        *(by_name[name] for name in scans.searched(tree) & by_name.keys()),
        *(pattern for value in listed for pattern in patterns_in(value)),
        *map(re.compile, scans.literals(tree)),
    ]
    return {pattern.pattern: pattern for pattern in found if isinstance(pattern.pattern, str)}


def characters(source: str) -> list[str]:
    """The characters that the source of a pattern names, and one for each class of them."""
    found = [""]
    for before, sign in itertools.pairwise(f" {source}"):
        found += STANDING_FOR.get(sign, sign) if before == "\\" else sign if sign != "\\" else ""
    return [sign for sign in dict.fromkeys((*found, " ", "a", "\n")) if sign]


def seconds(pattern: re.Pattern[str], text: str, times: int) -> float:
    """The least CPU time of some searches for all that a text has, or one that is `NOTHING`."""
    least = float("inf")
    for _ in range(times):
        began = time.process_time()
        for _ in pattern.finditer(text):
            pass
        least = min(least, time.process_time() - began)
        if least < NOTHING:
            break
    return least


def quadratic(pattern: re.Pattern[str], units: Iterable[str]) -> list[tuple[str, str]]:
    """The first of some units a run of which, within other text, takes more than `FACTOR` times as long at twice the length."""
    for unit, (before, behind) in itertools.product(units, AROUND):
        probe, short, long = (f"{before}{unit * (length // len(unit))}{behind}" for length in (PROBE, SHORT, LONG))
        if seconds(pattern, probe, 1) < SOON or seconds(pattern, long, 1) < NOTHING:
            continue
        if all(seconds(pattern, long, times) > FACTOR * seconds(pattern, short, times + 1) for times in TIMES):
            return [(pattern.pattern, unit)]
    return []


@pytest.mark.slow
@each_row("file", FILES)
def test_a_search_takes_twice_as_long_for_a_run_of_twice_the_length(file: Path) -> None:
    patterns = searched_in(file).values()
    assert [found for each in patterns for found in quadratic(each, characters(each.pattern))] == []


@pytest.mark.slow
@each_row("file", FILES)
def test_so_does_one_for_a_run_of_two_characters_in_turn(file: Path) -> None:
    patterns = searched_in(file).values()
    pairs = {
        each.pattern: map("".join, itertools.permutations(characters(each.pattern)[:PAIRED], 2)) for each in patterns
    }
    assert [found for each in patterns for found in quadratic(each, pairs[each.pattern])] == []


def test_a_search_that_looks_ahead_over_a_run_is_found() -> None:
    assert quadratic(re.compile(r"\s*,"), [" "]) == [(r"\s*,", " ")]
    assert quadratic(re.compile(r"(?<!\s)\s*,"), [" "]) == []
    assert characters(r"\s+[,;]x") == [" ", "\t", "\n", "+", "[", ",", ";", "]", "x", "a"]


def test_a_pattern_that_is_made_while_a_text_is_read_is_found() -> None:
    code = (
        "A = re.compile(f'{x}')\n"
        "def f(text):\n"
        "    re.search(f'{text}', text)\n"
        "    re.search('x', text)\n"
        "def g(text):\n"
        "    re.compile(text)\n"
    )
    assert [line for line, _ in scans.faults(ast.parse(code), {"g"})] == [3]
    assert list(scans.literals(ast.parse(code))) == ["x"]
