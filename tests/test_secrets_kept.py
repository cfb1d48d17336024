"""Notes that turn secret or public between two questions, and players at their own machine: over stdio and on the command line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from lorekeeper.audience import Viewer
from tests.support.commands import environment, run_inside
from tests.support.raw_client import RawServer
from tests.support.samples import write_lines
from tests.support.tools import answer
from tests.support.vaults import open_marked, vault_library, write

ANYBODY, ANA = Viewer.player(), Viewer.player("Ana")

SHARED = "---\nvisibility: {}\naliases: [The Ferrywoman]\n---\n# Mira\n\nShe rows the drowned home.\n"
URI = "lore://notes/saga/Mira.md"


CLOSED = (
    *("Player secrets", "Player prep", "Player background secrets", "Players' plans (public)", "Not for players"),
    *(
        "Do not show to players",
        "Nicht für Spieler",
        "Pas pour les joueurs",
        "No para jugadores",
        "Non per i giocatori",
    ),
    *("Não para jogadores", "Niet voor spelers", "Nie dla graczy"),
)
"""Titles about players that are none for them."""

UNSAID = (
    *("My player notes", "Ideas for player handouts", "Notes on player introduction", "Player knowledge check DCs"),
    *(
        "Common Knowledge",
        "Public knowledge is wrong",
        "What the party sees vs what is real",
        "What the players know (wrong)",
    ),
)
"""Titles that have words of those that open a note among others."""

OPENED = ("Public Knowledge", "Player Handout", "For the players", "Player's Handouts")


async def test_only_a_whole_title_is_marked_for_players_and_what_is_about_players_is_not_for_them(
    tmp_path: Path,
) -> None:
    titles = {f"zq{n:02}bell": title for n, title in enumerate((*CLOSED, *UNSAID, *OPENED))}
    notes = {f"{word[2:4]}.md": f"# Ash\n\nAsh.\n\n## {title}\n\n{word} heading.\n" for word, title in titles.items()}
    notes |= {f"{title}/{word[2:4]}.md": f"{word} folder.\n" for word, title in titles.items() if title not in OPENED}
    notes |= {f"open/{path}": f"---\nvisibility: players\n---\n{text}" for path, text in notes.items()}
    async with vault_library(tmp_path, [write(tmp_path / "saga", notes)], "sqlite") as library:
        await library.vaults.sync()
        view = library.view(ANYBODY)
        await view.refresh()
        nothing = [entity async for found in view.cache.iterate("notes") for entity in found]
        assert not [each for each in nothing if "heading." in str(each.data)], "before anybody has looked"
        await open_marked(library)
        await view.refresh()
        seen = [entity async for found in view.cache.iterate("notes") for entity in found]
    assert len(titles) == 25
    for word, title in titles.items():
        shown = {
            entity.slug.rpartition("/")[0] for entity in seen if word in json.dumps(entity.as_record(), default=str)
        }
        expected = {"", "open"} if title in OPENED else {"open", f"open/{title}"} if title in UNSAID else set()
        assert shown <= expected, title
        assert (title in OPENED) <= (shown == expected), title


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_a_note_that_turns_secret_after_a_search_is_as_one_that_never_was(backend: str, tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", {"Mira.md": SHARED.format("players"), "Keep.md": "# Keep\n\nThree words here."})
    async with vault_library(tmp_path, [vault], backend) as library:
        assert URI in await answer(library, ANYBODY, "search_lore", query="rows the drowned home")
        assert "drowned home" in await answer(library, ANYBODY, "get_entity", uri=URI)
        write(vault, {"Mira.md": SHARED.format("dm")})
        missing = await answer(library, ANYBODY, "get_entity", uri=URI.replace("Mira", "Miro"))
        assert await answer(library, ANYBODY, "get_entity", uri=URI) == missing.replace("Miro", "Mira")
        assert "drowned home" in await answer(library, library.asks, "get_entity", uri=URI)
        write(vault, {"Mira.md": SHARED.format("players")})
        assert "drowned home" in await answer(library, ANYBODY, "get_entity", uri=URI)
        (vault / "Mira.md").unlink()
        assert await answer(library, ANYBODY, "get_entity", uri=URI) == missing.replace("Miro", "Mira")


async def test_a_section_that_turns_secret_leaves_nothing_behind(tmp_path: Path) -> None:
    text = SHARED.format("players") + "\n## Debts\n\nShe owes the zqlich.\n"
    vault = write(tmp_path / "saga", {"Mira.md": text})
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        await open_marked(library)
        assert "zqlich" in await answer(library, ANYBODY, "search_lore", query="zqlich")
        write(vault, {"Mira.md": text.replace("## Debts", "## Debts (GM only)")})
        for tool, asked in (("search_lore", {"query": "zqlich"}), ("get_entity", {"uri": URI})):
            told = await answer(library, ANYBODY, tool, **asked)
            assert "Debts" not in told
            assert "owes" not in told


async def test_a_person_who_is_given_a_note_sees_it_and_nobody_else_does(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", {"Mira.md": SHARED.format("dm")})
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        missing = await answer(library, ANA, "get_entity", uri=URI)
        assert missing == await answer(library, ANYBODY, "get_entity", uri=URI)
        write(vault, {"Mira.md": SHARED.format("[Ana]")})
        assert "drowned home" in await answer(library, ANA, "get_entity", uri=URI)
        assert URI in await answer(library, ANA, "lookup_note", name="The Ferrywoman")
        assert await answer(library, ANYBODY, "get_entity", uri=URI) == missing
        assert "Ana" not in await answer(library, ANA, "get_entity", uri=URI), "nor with whom it is shared"
        write(vault, {"Mira.md": SHARED.format("[Bo]")})
        assert await answer(library, ANA, "get_entity", uri=URI) == missing


FACTS = """---
visibility: players
GM note: Loves [[Lich]].
---
# Mira

**Home:** [[Keep]]
**Secret:** Serves [[Wyrm]].

She rows.
"""


async def test_secret_keys_of_facts_hide_the_links_in_them(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", {"Mira.md": FACTS})
    async with vault_library(tmp_path, [vault], "sqlite") as library:
        await library.view(ANYBODY).refresh()
        (mira,) = await library.view(ANYBODY).entities_at("notes", "saga", "Mira.md")
        assert [link["target"] for link in mira.data["links"]] == ["Keep"]
        assert mira.fields["links"] == ("keep",)


# --- a player's own machine -------------------------------------------------------------------------------------------

NOTES = {
    "Mira.md": SHARED.format("players") + "\n## Debts (GM only)\n\nShe owes the zqlich.\n",
    "Sessions/Session 2.md": "---\npublish: true\nsession: 2\ndate: 2026-11-01\n---\n# Session 2\n\nThe party crossed.\n",
    "Lich.md": "# The zqlich\n\nHe sleeps below the ferry.\n",
    "Ana Errand.md": "---\nvisibility: [Ana]\n---\n# Errand\n\nBring the ferrywoman zqmilk.\n",
}
SECRETS = ("zqlich", "Lich", "Debts", "owes")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library: a vault, and homebrew of which one document is secret."""
    folder = tmp_path_factory.mktemp("player")
    vault = write(folder / "saga", NOTES)
    spells = [
        {"collection": "spells", "name": "Ferry Ward", "document": "own", "description": "It wards a ferry."},
        {
            "collection": "spells",
            "name": "zqlich's Bane",
            "document": "hidden",
            "audience": "dm",
            "description": "Bane.",
        },
    ]
    env = environment(folder, CACHE_BACKEND="sqlite")
    for arguments in (["import", str(write_lines(folder / "own.jsonl", spells))], ["vault", "add", str(vault)]):
        assert run_inside(folder, *arguments, env=env).returncode == 0
    return folder


def environ(folder: Path, person: str = "") -> dict[str, str]:
    chosen = {"VIEW": "player", **({"PERSON": person} if person else {})}
    return environment(folder, CACHE_BACKEND="sqlite", **chosen)


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RawServer]:
    """A server over stdio on a player's machine."""
    with RawServer(environ(folder), folder / "server.log") as server:
        yield server


COMMANDS = (
    ["search", "who rows the ferry to the zqli"],
    ["show", "Mira"],
    ["topic", "Mira"],
    ["recent"],
    ["documents"],
    ["stats"],
)


@pytest.mark.alike(2)
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_player_on_the_command_line_meets_no_secret(folder: Path, arguments: list[str]) -> None:
    done = run_inside(folder, *arguments, "--json", env=environ(folder))
    assert done.returncode == 0, done.stderr
    content = json.dumps(json.loads(done.stdout)) + done.stderr
    assert [secret for secret in (*SECRETS, "zqmilk", '"hidden"') if secret in content] == []
    expected = {"documents": '"own"', "stats": '"notes": 2', "recent": "Session%202.md"}
    assert expected.get(arguments[0], "Mira") in content
    whole = run_inside(folder, *arguments, "--json", env=environment(folder, CACHE_BACKEND="sqlite")).stdout
    assert json.loads(whole) != json.loads(done.stdout)


def test_a_person_on_the_command_line_sees_what_was_given_to_them(folder: Path) -> None:
    done = run_inside(folder, "search", "bring the ferrywoman", "--json", env=environ(folder, "Ana"))
    assert "zqmilk" in done.stdout
    assert "zqlich" not in done.stdout


@pytest.mark.alike(1)
@pytest.mark.parametrize(
    "arguments", [["recent"], ["documents"], ["stats"], ["show", URI], ["search", "rows the drowned"]]
)
def test_commands_of_a_player_see_that_a_note_has_turned_secret(folder: Path, arguments: list[str]) -> None:
    note = folder / "saga" / "Mira.md"
    try:
        before = run_inside(folder, *arguments, "--json", env=environ(folder)).stdout
        write(folder / "saga", {"Mira.md": NOTES["Mira.md"].replace("visibility: players", "visibility: dm")})
        os.utime(note)
        after = run_inside(folder, *arguments, "--json", env=environ(folder)).stdout
        assert "Mira" not in after
        assert before != after or arguments == ["documents"]
    finally:
        write(folder / "saga", {"Mira.md": NOTES["Mira.md"]})
