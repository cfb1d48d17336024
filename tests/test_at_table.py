"""The commands for the game at the table: what they print, and their exit statuses."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from functools import partial

import pytest

from lorekeeper.cli.command import DONE, FAILED, WRONG_USE
from tests.support.commands import environment, run_inside
from tests.support.libraries import shelf_folder
from tests.support.samples import ALMANAC, ATLAS
from tests.support.tables import each_row

LANDINGS = [f"lore://spells/{book}/soft-landing" for book in (ATLAS, ALMANAC)]

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    """Run a command on the shelf."""
    folder = shelf_folder(tmp_path_factory)
    return partial(run_inside, folder, env=environment(folder))


@pytest.mark.parametrize("asked", [LANDINGS, ["soft", "landing"]], ids=["uris", "name"])
def test_versions_of_a_spell_are_compared(run, asked):
    done = run("compare", *asked)
    assert done.returncode == DONE, done.stderr
    for text in (
        f". Soft Landing, {ATLAS}",
        f". Soft Landing, {ALMANAC}",
        "\n- Level: A: ",
        ": 1 transmutation",
        ": 2 transmutation",
        "30 feet",
        "60 feet",
        "like feathers",
    ):
        assert text in done.stdout
    assert "lore://" not in done.stdout
    (same,) = (line for line in done.stdout.splitlines() if "reaction" in line.lower())
    assert same.startswith("- Both: ")
    assert "0 sentences" not in done.stdout


@each_row(
    ("asked", "status", "said"),
    [
        (LANDINGS[:1], WRONG_USE, "give 2 to 4 uris"),
        (LANDINGS[:1] * 2, WRONG_USE, "twice"),
        ([*LANDINGS, "lore://spells/none/none"], FAILED, "there is no lore://spells/none/none"),
        (["tide", "lance"], FAILED, "only one entry is called Tide Lance"),
        (["plimpfork"], FAILED, "no entry is called 'plimpfork'"),
    ],
)
def test_what_cannot_be_compared_is_said(run, asked, status, said):
    done = run("compare", *asked)
    assert (done.returncode, said in done.stderr, done.stdout) == (status, True, "")


def test_monsters_are_rated(run):
    done = run("encounter", "4x3", "--monster", "2 mire hulks", "--rules", "2014")
    assert done.returncode == DONE, done.stderr
    assert "Adjusted: 3,600 × 1.5 (2 monsters) = 5,400 XP" in done.stdout


def test_encounters_are_proposed(run):
    done = run("encounter", "4x5", "--environment", "swamp", "--difficulty", "high", "--seed", "4", "--json")
    content = json.loads(done.stdout)
    assert (done.returncode, content["seed"], content["difficulty"]) == (DONE, 4, "high")
    assert {monster["name"] for each in content["encounters"] for monster in each["monsters"]} <= {
        "Mire Hulk",
        "Brine Hound",
    }
    assert content["encounters"]


def test_the_party_is_told_once_and_forgotten(run):
    assert run("party", "4x5").stdout == "4 characters: 4 of level 5\n"
    assert json.loads(run("party", "--json").stdout)["levels"] == [5, 5, 5, 5]
    assert run("party", "--forget").returncode == DONE
    assert run("party").returncode == WRONG_USE


def test_a_note_calls_what_selects_other_rules_as_the_command_does(run):
    done = run("encounter", "4x3", "--difficulty", "hard", "--seed", "3")
    assert "--rules 2024 selects the others" in " ".join(done.stdout.split())
    assert "rules=2024" not in done.stdout
    assert "rules=2024" in run("ask", "plan_encounter", "party=4x3", "difficulty=hard").stdout


def test_dice_are_shown(run):
    total, *fell = map(int, re.findall(r"\d+", run("roll", "4d6").stdout.removeprefix("4d6: ")))
    assert (len(fell), sum(fell)) == (4, total)
    assert re.fullmatch(r"2d20\+5 keep highest 1: \d+ \(dice: .*\)\n", run("roll", "d20+5", "advantage").stdout)
    assert "lacks the number of sides" in run("roll", "4d").stderr


def test_any_tool_is_asked_and_any_is_listed(run):
    asked, typed = run("ask", "roll", "what=4d6", "seed=7", "--json"), run("roll", "4d6", "--seed", "7", "--json")
    assert (asked.returncode, asked.stdout) == (DONE, typed.stdout)
    both = json.loads(run("ask", "compare_entries", *(f"uris={uri}" for uri in LANDINGS), "--json").stdout)
    assert [entry["uri"] for entry in both["entries"]] == LANDINGS
    listed = json.loads(run("ask", "--json").stdout)
    assert "level_max" in listed["lookup_spell"]["parameters"]
    for given, said in (
        (["rol"], "known: lookup_spell"),
        (["roll", "4d6"], "not NAME=VALUE"),
        (["roll"], "what is required"),
    ):
        refused = run("ask", *given)
        assert (refused.returncode, said in refused.stderr) == (WRONG_USE, True), refused.stderr


def test_dice_are_rolled_up_to_a_thousand_times(run):
    assert len(json.loads(run("roll", "1d4", "--times", "1000", "--json").stdout)["numbers"]) == 1000
    for times in ("0", "1001"):
        refused = run("roll", "1d4", "--times", times)
        assert refused.returncode == WRONG_USE
        assert "times must be " in refused.stderr
