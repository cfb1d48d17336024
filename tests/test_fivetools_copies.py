"""Copies and versions of 5etools: every change that they make, over all files of an import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lorekeeper.normalize.fivetools.mods import MAX_OPERATIONS, modified
from tests.support.homebrew import brew, problems, read

Raw = dict[str, Any]


GUARD: Raw = {
    "name": "Guard",
    "source": "X",
    "cr": "1",
    "dex": 14,
    "size": ["L", "M"],
    "trait": [{"name": "One", "entries": ["the guard"]}, {"name": "Two", "entries": ["{@dc 10} {@hit 3}"]}],
    "languages": ["Common"],
    "hp": {"average": 5, "formula": "1d8"},
    "skill": {"stealth": "+1"},
    "senses": ["darkvision 30 ft."],
    "spellcasting": [{"name": "S", "spells": {"1": {"slots": 2, "spells": ["a", "b"]}}, "daily": {"1": ["c"]}}],
    "note": "x",
}


def test_a_pattern_that_would_take_years_is_given_up() -> None:
    said: list[str] = []
    text = {"trait": [{"name": "x", "entries": ["a" * 60 + "!"]}]}
    changed = modified(text, {"trait": {"mode": "replaceTxt", "replace": "(a|aa|b?a)+$", "with": "x"}}, said.append)
    assert changed == text
    assert "takes too long" in "".join(said)


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_what_is_copied_may_be_in_another_file_of_the_import(tmp_path: Path, order: tuple[str, str]) -> None:
    child = {"name": "Child", "source": "Tide", "cr": "2", "_copy": {"name": "Parent", "source": "tide"}}
    files = [
        brew(tmp_path, order[0], monster=[child]),
        brew(tmp_path, order[1], monster=[{"name": "Parent", "source": "Tide", "ac": [13]}]),
    ]
    entities, report = read(*files)
    assert problems(report) == ""
    assert {e.name: e.fields.get("armor_class") for e in entities if e.type == "creatures"} == {
        "Child": 13,
        "Parent": 13,
    }


def test_of_too_many_changes_the_first_are_made_and_it_is_said():
    said: list[str] = []
    changes = [{"mode": "appendArr", "items": {"name": str(n)}} for n in range(MAX_OPERATIONS + 1)]
    changed = modified(GUARD, {"trait": changes}, said.append)
    assert str(changed["trait"]).endswith(f"{{'name': '{MAX_OPERATIONS - 1}'}}]")
    assert any(f"the first {MAX_OPERATIONS} were made" in each for each in said)
