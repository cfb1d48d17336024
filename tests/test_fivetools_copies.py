"""Copies and versions of 5etools: every change that they make, over all files of an import."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.normalize.fivetools.copies import Copies, versions
from lorekeeper.normalize.fivetools.mods import MAX_OPERATIONS, MODES, modified
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

CHANGES: list[tuple[str, str, Raw, str, object]] = [
    (
        "replaceTxt",
        "trait",
        {"replace": "the (g)uard", "with": "the $1oose", "flags": "i"},
        "trait.0.entries",
        ["the goose"],
    ),
    ("replaceName", "trait", {"replace": "One", "with": "1"}, "trait.0.name", "1"),
    ("appendStr", "note", {"str": "y", "joiner": ", "}, "note", "x, y"),
    ("prefixSuffixStringProp", "hp", {"prop": "formula", "prefix": "2*(", "suffix": ")"}, "hp.formula", "2*(1d8)"),
    ("prependArr", "languages", {"items": "Elvish"}, "languages", ["Elvish", "Common"]),
    ("appendArr", "languages", {"items": ["Elvish"]}, "languages", ["Common", "Elvish"]),
    ("appendIfNotExistsArr", "languages", {"items": ["Common", "Orc"]}, "languages", ["Common", "Orc"]),
    ("insertArr", "languages", {"index": 0, "items": "Orc"}, "languages", ["Orc", "Common"]),
    ("replaceArr", "trait", {"replace": "Two", "items": {"name": "2"}}, "trait.1", {"name": "2"}),
    ("replaceArr", "trait", {"replace": {"index": 0}, "items": {"name": "2"}}, "trait.0", {"name": "2"}),
    ("replaceArr", "trait", {"replace": {"regex": "^T"}, "items": {"name": "2"}}, "trait.1", {"name": "2"}),
    ("replaceOrAppendArr", "languages", {"replace": "Orc", "items": "Elvish"}, "languages", ["Common", "Elvish"]),
    ("removeArr", "trait", {"names": ["Two"]}, "trait", [{"name": "One", "entries": ["the guard"]}]),
    ("renameArr", "trait", {"renames": {"rename": "Two", "with": "Too"}}, "trait.1.name", "Too"),
    ("setProp", "_", {"prop": "hp.average", "value": 9}, "hp.average", 9),
    ("setProps", "_", {"props": {"cr": "2"}}, "cr", "2"),
    ("scalarAddProp", "skill", {"prop": "*", "scalar": 2}, "skill.stealth", "+3"),
    ("scalarMultProp", "hp", {"prop": "average", "scalar": 0.5, "floor": True}, "hp.average", 2),
    ("calculateProp", "skill", {"prop": "x", "formula": "(<$prof_bonus$> * 2) + <$dex_mod$>"}, "skill.x", "+6"),
    ("addSenses", "_", {"senses": {"type": "darkvision", "range": 60}}, "senses", ["darkvision 60 ft."]),
    ("addSaves", "_", {"saves": {"dex": 1}}, "save", {"dex": "+4"}),
    ("addAllSaves", "_", {"saves": 2}, "save.dex", "+6"),
    ("addSkills", "_", {"skills": {"stealth": 2}}, "skill.stealth", "+6"),
    ("addAllSkills", "_", {"skills": 1}, "skill.acrobatics", "+4"),
    (
        "addSpells",
        "_",
        {"spells": {"1": {"spells": ["d"]}}, "will": ["e"]},
        "spellcasting.0.spells.1.spells",
        ["a", "b", "d"],
    ),
    ("removeSpells", "_", {"daily": {"1": ["c"]}}, "spellcasting.0.daily.1", []),
    (
        "replaceSpells",
        "_",
        {"spells": {"1": [{"replace": "a", "with": ["z"]}]}},
        "spellcasting.0.spells.1.spells",
        ["z", "b"],
    ),
    ("scalarAddHit", "_", {"scalar": 2}, "trait.1.entries", ["{@dc 10} {@hit 5}"]),
    ("scalarAddDc", "_", {"scalar": 2}, "trait.1.entries", ["{@dc 12} {@hit 3}"]),
    ("maxSize", "_", {"max": "M"}, "size", ["M"]),
    ("scalarMultXp", "_", {"scalar": 0.5, "floor": True}, "cr", {"cr": "1", "xp": 50}),
]


def at(value: Any, path: str) -> object:
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


@pytest.mark.parametrize(("mode", "where", "operation", "path", "expected"), CHANGES)
def test_every_change_of_a_copy_does_what_the_format_says(
    mode: str, where: str, operation: Raw, path: str, expected: object
) -> None:
    said: list[str] = []
    base = {**GUARD, "cr": {"cr": "1", "xp": 100}} if mode == "scalarMultXp" else GUARD
    before = json.dumps(base)
    changed = modified(base, {where: {"mode": mode, **operation}}, said.append)
    assert (at(changed, path), said) == (expected, [])
    assert json.dumps(base) == before


def test_all_modes_of_the_format_are_tried() -> None:
    assert {change[0] for change in CHANGES} == set(MODES)


@pytest.mark.parametrize(
    ("mods", "reason"),
    [
        ({"action": {"mode": "noSuchMode"}}, "the mode 'noSuchMode' is unknown"),
        ({"trait": {"mode": "removeArr", "names": "Absent"}}, "there is no 'Absent' to remove"),
        ({"hp": 17}, "it must be an object with a mode, or 'remove', not 17"),
        ({"trait": {"mode": "replaceTxt", "replace": "(", "with": ""}}, "is not valid"),
        ({"trait": {"mode": "replaceTxt", "replace": "guard", "with": "$9"}}, "is not valid"),
        ({"note": {"mode": "scalarAddProp", "prop": "x", "scalar": 1}}, "has no properties"),
        ({"_": {"mode": "calculateProp", "prop": "x", "formula": "2 ** 99"}}, "sums and products"),
        ({"_": {"mode": "calculateProp", "prop": "x", "formula": "__import__('os')"}}, "sums and products"),
        ({"_": {"mode": "addSpells", "spells": 3}}, ""),
    ],
)
def test_a_change_that_cannot_be_made_is_told_and_the_others_are_made(mods: Raw, reason: str) -> None:
    said: list[str] = []
    changed = modified(GUARD, {**mods, "languages": {"mode": "appendArr", "items": "Orc"}}, said.append)
    assert reason in "".join(said)
    assert changed["languages"] == ["Common", "Orc"]


def test_a_pattern_that_would_take_years_is_given_up() -> None:
    said: list[str] = []
    text = {"trait": [{"name": "x", "entries": ["a" * 60 + "!"]}]}
    changed = modified(text, {"trait": {"mode": "replaceTxt", "replace": "(a|aa|b?a)+$", "with": "x"}}, said.append)
    assert changed == text
    assert "takes too long" in "".join(said)


def test_a_copy_keeps_its_own_values_and_not_the_pages_of_what_it_copies() -> None:
    parent = {**GUARD, "page": 3, "environment": ["urban"], "hasToken": True}
    copies = Copies(lambda kind, name, source: [parent] if (kind, name, source) == ("monster", "Guard", "X") else [])
    child = {"name": "Child", "source": "Y", "cr": "9", "languages": None, "_copy": {"name": "Guard", "source": "X"}}
    whole = copies.whole("monster", child, pytest.fail)
    assert (whole["name"], whole["cr"], whole["dex"]) == ("Child", "9", 14)
    assert not {"page", "environment", "hasToken", "_copy", "languages"} & whole.keys()
    kept = copies.whole(
        "monster", {**child, "_copy": {"name": "Guard", "source": "X", "_preserve": {"page": True}}}, pytest.fail
    )
    assert kept["page"] == 3


def test_versions_have_what_their_object_has_with_their_own_changes() -> None:
    obj = {
        **GUARD,
        "_versions": [
            {"name": "Guard; Old", "_mod": {"trait": {"mode": "removeArr", "names": "One"}}},
            {
                "_abstract": {"name": "Guard; {{colour}}", "cr": "{{cr}}"},
                "_implementations": [{"_variables": {"colour": "Red", "cr": 2}}],
            },
        ],
    }
    found: list[Any] = list(versions(obj, pytest.fail))
    old, red = found
    assert [old["name"], len(list(old["trait"])), red["name"], red["cr"], red["dex"]] == [
        "Guard; Old",
        1,
        "Guard; Red",
        "2",
        14,
    ]


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


def test_copies_in_a_circle_or_of_nothing_keep_what_they_have_and_say_so(tmp_path: Path) -> None:
    def copy(name: str, of: str) -> Raw:
        return {"name": name, "source": "Tide", "ac": [11], "_copy": {"name": of, "source": "Tide"}}

    entities, report = read(
        brew(tmp_path, monster=[copy("A", "B"), copy("B", "A"), copy("Me", "Me"), copy("Orphan", "Nobody")])
    )
    assert {e.name: e.fields["armor_class"] for e in entities if e.type == "creatures"} == dict.fromkeys(
        ("A", "B", "Me", "Orphan"), 11
    )
    said = problems(report)
    assert said.count("a copy of itself") == 3
    assert "tide.json: monster[3]: 'Orphan': it is a copy of 'Nobody' of 'Tide', which is not in the files" in said


def test_of_too_many_changes_the_first_are_made_and_it_is_said():
    said: list[str] = []
    changes = [{"mode": "appendArr", "items": {"name": str(n)}} for n in range(MAX_OPERATIONS + 1)]
    changed = modified(GUARD, {"trait": changes}, said.append)
    assert str(changed["trait"]).endswith(f"{{'name': '{MAX_OPERATIONS - 1}'}}]")
    assert any(f"the first {MAX_OPERATIONS} were made" in each for each in said)
