"""``lorekeeper audience``: who sees what of a library, and why."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import environment, run_inside
from tests.support.samples import write_lines
from tests.support.vaults import write

NOTES = {
    "Mira.md": """---
visibility: players
aliases: [The Ferrywoman]
race: human
gm note: a spy
---
# Mira

She rows.

## Debts (GM only)

She owes [[Skara]] a life.

> [!players] Rumour
> She sings.
""",
    "Skara.md": "# Skara\n\nA keep in the reeds.\n\n## Public Knowledge\n\nIt burned once.\n\n## Cellars\n\nDeep ones.\n",
    "Ana Errand.md": "---\nvisibility: [Ana]\n---\n# Ana's errand\n\nYou owe the ferrywoman.\n",
    "Plain.md": "# Plain\n\nNobody has marked this.\n",
    "Wyrm.md": "---\npublish: true\n---\n# Wyrm\n\n## GM Notes\n\n```statblock\nname: Fen Wyrm\nac: 14\nhp: 60\n```\n",
}

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library: a vault, and homebrew that is open, secret and Ana's."""
    folder = tmp_path_factory.mktemp("audience")
    vault = write(folder / "saga", NOTES)
    spells: list[dict[str, Any]] = [
        {"collection": "spells", "name": f"Spell {n}", "document": "own", "audience": who}
        for n, who in enumerate(("players", "dm", ["Ana", "Bo"]))
    ]
    env = environment(folder, CACHE_BACKEND="sqlite")
    file = write_lines(folder / "own.jsonl", spells)
    for arguments in (["import", str(file)], ["vault", "add", str(vault)], ["share", "--marked", "--yes"]):
        done = run_inside(folder, *arguments, env=env)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def run(folder: Path) -> Run:
    """Runs the command, and gives its JSON, or with ``text`` its words."""

    def run(*arguments: str, status: int = 0, text: bool = False, **settings: str) -> Any:
        env = environment(folder, CACHE_BACKEND="sqlite", **settings)
        done = run_inside(folder, "audience", *arguments, *([] if text else ["--json"]), env=env)
        assert done.returncode == status, done.stderr
        return done.stdout if text or status == 2 else json.loads(done.stdout)

    return run


def test_documents_tell_how_many_entries_are_for_whom(run: Run) -> None:
    shares = {each["document"]: each for each in run()["documents"]}
    assert shares["own"] == {"document": "own", "dm": 1, "part": 0, "named": 1, "everybody": 1, "names": ["ana", "bo"]}
    assert shares["saga"] == {"document": "saga", "dm": 2, "part": 2, "named": 1, "everybody": 1, "names": ["ana"]}
    assert "1 for people by name (ana, bo), 1 for the game master only" in run(text=True)


def test_a_note_tells_of_each_section_which_mark_decides(run: Run) -> None:
    told = run("lore://notes/saga/Mira.md")
    assert (told["audience"], told["why"]) == ("players", "visibility: players")
    assert [(s["heading"], s["audience"], s["why"]) for s in told["sections"]] == [
        ("", "dm", "gm note:"),
        ("", "players", "visibility: players"),
        ("Debts (GM only)", "dm", "Debts (GM only)"),
    ]
    assert told["players_see"] == {"facts": ["race"], "aliases": ["The Ferrywoman"], "tags": [], "links": []}
    assert "Debts (GM only): the game master  (Debts (GM only))" in run("lore://notes/saga/Mira.md", text=True)


def test_a_note_without_marks_is_the_game_masters_but_for_what_is_opened(run: Run) -> None:
    told = run("lore://notes/saga/Skara.md")
    assert (told["audience"], told["why"].startswith("no mark")) == ("dm", True)
    assert [(s["heading"], s["audience"]) for s in told["sections"]] == [
        ("", "dm"),
        ("Public Knowledge", "players"),
        ("Cellars", "dm"),
    ]
    assert told["sections"][1]["why"] == "Public Knowledge"


def test_who_sees_a_note_is_counted_from_its_sections(run: Run, folder: Path) -> None:
    told = run("lore://notes/saga/Skara.md")
    assert told["seen"] == "players see 1 of 3 sections: Public Knowledge"
    assert run("lore://notes/saga/Mira.md")["seen"] == "players see 1 of 2 sections: a part of the beginning"
    for alike in ("Ana%20Errand.md", "Plain.md"):
        assert run(f"lore://notes/saga/{alike}")["seen"] == "", alike
    said = run("lore://notes/saga/Skara.md", text=True)
    assert "players see 1 of 3 sections: Public Knowledge" in said
    assert "where no mark of a section decides: the game master" in said
    env = environment(folder, CACHE_BACKEND="sqlite")
    shown = run_inside(folder, "show", "lore://notes/saga/Skara.md", env=env).stdout
    assert "(players see 1 of 3 sections: Public Knowledge)" in shown
    assert "no mark shares it" not in shown
    assert "(secret: no mark shares it" in run_inside(folder, "show", "lore://notes/saga/Plain.md", env=env).stdout


def test_the_overview_and_what_a_player_sees_count_the_same_entries(run: Run) -> None:
    seen = {each["document"]: each["entries"] for each in run("--as", "player")["documents"]}
    listed = run()["documents"]
    assert seen == {each["document"]: each["everybody"] + each["part"] for each in listed}


@pytest.mark.parametrize(
    ("uri", "audience", "why"),
    [
        ("notes/saga/Ana%20Errand.md", ["Ana"], "visibility: Ana"),
        ("notes/saga/Plain.md", "dm", "no mark"),
        ("spells/own/spell-0", "players", "books and imports"),
        ("spells/own/spell-1", "dm", "imported or marked"),
        ("spells/own/spell-2", ["ana", "bo"], "its own 'audience'"),
    ],
)
def test_every_entry_tells_who_sees_it_and_why(run: Run, uri: str, audience: object, why: str) -> None:
    told = run(f"lore://{uri}")
    assert told["audience"] == audience
    assert told["why"].startswith(why)


def test_a_stat_block_tells_of_its_own_mark_and_that_of_its_note(run: Run, folder: Path) -> None:
    env = environment(folder, CACHE_BACKEND="sqlite")
    found = json.loads(run_inside(folder, "search", "Fen Wyrm", "--type", "creatures", "--json", env=env).stdout)
    (wyrm,) = [each for each in found["results"] if each["document"] == "saga"]
    told = run(wyrm["uri"])
    assert (told["audience"], told["why"]) == ("dm", "GM Notes")


@pytest.mark.slow
def test_the_entry_is_shown_as_a_player_would_see_it(run: Run) -> None:
    seen = run("lore://notes/saga/Mira.md", "--as", "player")
    assert seen["visible"]
    assert "She rows" in json.dumps(seen)
    assert "life" not in json.dumps(seen)
    assert run("lore://spells/own/spell-2", "--person", "Ana")["visible"]
    assert run("lore://spells/own/spell-2", "--person", "Cy, Bo")["visible"], "Bo is a character of Cy's"
    for name in ("Cy", "dm"):
        assert not run("lore://spells/own/spell-2", "--person", name, status=1)["visible"]
    assert "Cy cannot see this entry" in run("lore://spells/own/spell-2", "--person", "Cy", status=1, text=True)


@pytest.mark.slow
def test_the_documents_are_shown_as_a_player_would_see_them(run: Run) -> None:
    def counts(*arguments: str) -> dict[str, int]:
        return {
            each["document"]: each["entries"] for each in run(*arguments)["documents"] if each["document"] != "srd-2014"
        }

    assert counts("--as", "player") == {"own": 1, "saga": 3}
    assert counts("--person", "Ana") == {"own": 2, "saga": 4}


def test_it_is_not_for_players(run: Run, folder: Path) -> None:
    for arguments in ((), ("lore://notes/saga/Plain.md",), ("--person", "Ana")):
        assert run(*arguments, status=2, VIEW="player") == ""
    env = environment(folder, CACHE_BACKEND="sqlite")
    done = run_inside(folder, "audience", "lore://notes/saga/None.md", env=env)
    assert (done.returncode, "there is no lore://notes/saga/None.md" in done.stderr) == (1, True)
