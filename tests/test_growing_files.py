"""Files that multiply themselves: small ones that would give gigabytes cost little, and say why they are left out."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import lorekeeper.normalize.allowance as allowance_module
from lorekeeper.errors import FilterError
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize.allowance import Allowance, size_of
from lorekeeper.normalize.fivetools.mods import MAX_TEXT, modified
from tests.support.tables import each_row

Raw = dict[str, Any]

MEGABYTE = 1 << 20


def guard(**more: object) -> Raw:
    return {"name": "Guard", "source": "X", "cr": "1", "size": ["M"], "type": "humanoid", **more}


def imported(folder: Path, **lists: list[Raw]) -> tuple[dict[str, str], list[str]]:
    """The texts of the entities that a file of homebrew gives, by name, and its problems."""
    path, report = folder / "brew.json", ImportReport()
    path.write_text(json.dumps({"_meta": {"sources": [{"json": "X", "full": "Book of X"}]}, **lists}))
    texts = {entry.entity.name: json.dumps(entry.entity.data) for entry in Reader([path], None, report).read()}
    return texts, [str(problem) for problem in (*report.failed, *report.warnings)]


@contextmanager
def little_memory(most: int) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


@each_row(
    ("value", "operation"),
    [
        ("x" * 300, {"mode": "replaceTxt", "replace": "x", "with": "a" * MEGABYTE}),
        ("x" * 50_000, {"mode": "replaceTxt", "replace": "x", "with": "a" * 9_000}),
        ("x" * 100_000, {"mode": "replaceTxt", "replace": "(.+)", "with": "$1" * 1_000}),
        ("x" * 100_000, {"mode": "replaceTxt", "replace": "(?=(.+))", "with": "$1"}),
        ("x" * (MAX_TEXT - 5), {"mode": "appendStr", "str": "a" * 10}),
    ],
)
def test_a_change_that_would_make_a_text_of_megabytes_is_left_out_before_it_is_made(value, operation):
    told: list[str] = []
    with little_memory(8 * MEGABYTE):
        result = modified({"trait": value}, {"trait": operation}, told.append)
    assert (result["trait"], len(told)) == (value, 1)


def test_texts_of_one_property_are_limited_together():
    told: list[str] = []
    traits = [{"name": f"T{number}", "entries": ["x" * 100]} for number in range(1_000)]
    operation = {"mode": "replaceTxt", "replace": "x", "with": "a" * 1_000}
    with little_memory(16 * MEGABYTE):
        assert modified({"trait": traits}, {"trait": operation}, told.append)["trait"] == traits
    assert "it makes a text too long" in told[0]


def test_replacements_within_the_limits_are_made():
    operation = {"mode": "replaceTxt", "replace": "the (g)uard", "with": "the $1oose, $&", "flags": "i"}
    assert modified({"trait": "The guard"}, {"trait": operation}, pytest.fail)["trait"] == "the goose, The guard"


def test_variables_that_contain_each_other_are_filled_up_to_a_limit(tmp_path):
    variables = {f"v{number}": f"{{{{v{number + 1}}}}}" * 2 for number in range(60)}
    version = {"_abstract": {"name": "{{v0}}"}, "_implementations": [{"_variables": variables}]}
    texts, problems = imported(tmp_path, monster=[guard(_versions=[version]), {**guard(), "name": "Cook"}])
    assert "Cook" in texts
    assert "divide the file" in problems[0]


def test_features_that_contain_each_other_twice_are_written_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(allowance_module, "FREE_CHARS", MEGABYTE)
    own = {"source": "X", "className": "C", "classSource": "X", "level": 1}

    def feature(number: int) -> Raw:
        inner = {"type": "refClassFeature", "classFeature": f"F{number + 1}|C|X|1"}
        return {"name": f"F{number}", **own, "entries": ["a", inner, inner]}

    found = [*map(feature, range(40)), {"name": "F40", **own, "entries": ["the last"]}]
    first = {"name": "C", "source": "X", "classFeatures": ["F0|C|X|1"]}
    _, problems = imported(tmp_path, classFeature=found, **{"class": [first]})
    assert "divide the file" in problems[0]


def test_copies_have_as_much_together_as_the_file_allows(tmp_path, monkeypatch):
    monkeypatch.setattr(allowance_module, "FREE_CHARS", MEGABYTE)
    whole = guard(trait=[{"name": "Long", "entries": ["word " * 40_000]}])
    copies = [{"name": f"C{number}", "source": "X", "_copy": {"name": "Guard", "source": "X"}} for number in range(50)]
    texts, problems = imported(tmp_path, monster=[whole, *copies, {**guard(), "name": "Cook"}])
    assert {"Guard", "C0", "Cook"} <= texts.keys()
    assert sum(map(len, texts.values())) < 4 * MEGABYTE
    left_out = {f"C{number}" for number in range(50)} - texts.keys()
    assert sum("divide the file" in problem for problem in problems) == len(left_out) > 30


def test_a_value_that_texts_repeat_by_its_key_is_short(tmp_path):
    variant: Raw = {"name": "Great", "type": "GV|X", "requires": [{"weapon": True}]}
    variant["inherits"] = {"source": "X", "bonus": "+1", "big": "b" * 10_000, "entries": ["{=bonus} {=big}" * 500]}
    texts, problems = imported(tmp_path, magicvariant=[variant])
    assert (len(texts), problems) == (2, [])
    assert all(len(text) < 10_000 for text in texts.values())


def test_lists_of_thousands_are_not_compared_item_by_item():
    told: list[str] = []
    traits = [{"name": f"T{number}"} for number in range(5_000)]
    operation = {"mode": "removeArr", "items": [{"name": f"U{number}"} for number in range(5_000)]}
    assert modified({"trait": traits}, {"trait": operation}, told.append)["trait"] == traits
    assert "too many to look for" in told[0]


def test_the_allowance_of_a_file_grows_with_it():
    value = {"a": ["bcd", {"e": None}], "f": 1}
    assert size_of(value) == 6 + len("abcdef")
    small, large = Allowance(0), Allowance(MEGABYTE)
    most = allowance_module.FREE_CHARS
    small.take(most)
    large.take(most + 4 * MEGABYTE)
    for used_up in (small, large):
        with pytest.raises(FilterError, match="divide the file"):
            used_up.take(1)
