"""What the game master opens to players: `lorekeeper share`, `unshare`, `shared`, and that nothing else is open."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.audience import DM, PLAYERS, Audience, Viewer
from lorekeeper.entities import AUDIENCE
from lorekeeper.errors import FilterError
from lorekeeper.maintenance import archive
from lorekeeper.maintenance.backup import backup, restore
from lorekeeper.notes import read_note
from lorekeeper.notes.marks import LOOKED_AT, RULES, OwnMarks
from lorekeeper.search.query import Query
from lorekeeper.settings import load_settings
from lorekeeper.shares import FOLDER, NOTE, TAG, Share, Shares
from lorekeeper.vaults.scan import scan
from lorekeeper.vaults.shares import kept, shared, unshared
from lorekeeper.vaults.state import State
from lorekeeper.views.opening import EVERYTHING, look, store, target_of
from tests.support import forking
from tests.support.commands import HANG_SECONDS, environment, run_inside, variables
from tests.support.vaults import digests, open_to, vault_library, write

ANYBODY = Viewer.player()

NOTES = {
    "People/Mira.md": "---\ntags: [town/ferry]\n---\n# Mira\n\nShe rows the ferry.\n\nSecretly she wears the mask.\n\n"
    "## Looks\n\nTall and grey.\n\n## DM Notes\n\nShe is a spy.\n\n## Those hidden agendas again\n\nTake the crown.\n",
    "People/Henrik.md": "---\nvisibility: dm\n---\n# Old Duke Henrik\n\nThe villain of it all.\n",
    "Places/Skara.md": "# Skara\n\nA keep in the reeds by the water.\n",
    "Places/Inn.md": "# Inn\n\nOld Duke Henrik drinks here.\n\n- **Final twist**: the barkeep is nobody\n",
    "Places/Deep/Cellar.md": "# Cellar\n\nOpen below the keep, with the old things.\n",
}

ALL = Share("saga", FOLDER, "", PLAYERS)


def sharing(*listed: Share) -> OwnMarks:
    return replace(LOOKED_AT, shares=Shares(listed))


# --- decisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "who"),
    [
        ([], None),
        ([ALL], PLAYERS),
        ([Share("v", FOLDER, "People", PLAYERS)], PLAYERS),
        ([Share("v", FOLDER, "Peop", PLAYERS)], None),
        ([Share("v", TAG, "town", PLAYERS)], PLAYERS),
        ([Share("v", TAG, "town ferry", PLAYERS)], None),
        ([ALL, Share("v", FOLDER, "People", DM)], DM),
        ([ALL, Share("v", TAG, "town", DM)], DM),
        ([Share("v", FOLDER, "People", DM), Share("v", NOTE, "People/Mira.md", PLAYERS)], PLAYERS),
        ([Share("v", FOLDER, "People", DM), Share("v", TAG, "town", PLAYERS)], DM),
        ([Share("v", FOLDER, "People", ("Ana",)), Share("v", TAG, "town", ("Bo",))], ("Ana", "Bo")),
        ([Share("v", FOLDER, "People", ("Ana",)), Share("v", TAG, "town", PLAYERS)], PLAYERS),
        ([Share("v", NOTE, "People/Mira.md", ("Ana",)), ALL], PLAYERS),
        ([Share("v", FOLDER, "People", ("Ana",)), Share("v", FOLDER, "", DM)], ("Ana",)),
        ([ALL, Share("v", TAG, "town", DM), Share("v", NOTE, "People/Mira.md", ("Ana",))], ("Ana",)),
    ],
)
def test_the_nearest_decision_holds_and_what_is_kept_before_what_is_shared(
    listed: list[Share], who: Audience | None
) -> None:
    assert Shares(listed).decided("People/Mira.md", ["town/ferry"])[1] == who


@pytest.mark.parametrize(
    ("front", "listed", "who"),
    [
        ("", ALL, PLAYERS),
        ("visibility: dm", ALL, DM),
        ("visibility: [Bo]", ALL, ("Bo",)),
        ("visibility: players", Share("v", FOLDER, "", ("Ana",)), PLAYERS),
        ("visibility: players", Share("v", NOTE, "Mira.md", DM), DM),
        ("visibility: [Ana", ALL, DM),
    ],
)
def test_marks_in_a_note_hold_and_a_share_opens_only_what_has_none(front: str, listed: Share, who: Audience) -> None:
    note = read_note("Mira.md", f"---\n{front}\n---\n# Mira\n\nShe rows.\n\n## GM Notes\n\nA spy.\n", sharing(listed))
    assert note.audience == who
    assert [section.audience for section in note.sections] == [None, DM]


def test_a_tag_in_a_secret_section_shares_nothing() -> None:
    own = sharing(Share("v", TAG, "town", PLAYERS))
    assert read_note("Mira.md", "# Mira\n\nShe rows.\n\n## GM Notes\n\nA spy in #town now.\n", own).audience is None
    assert read_note("Mira.md", "# Mira\n\nShe rows in #town now.\n", own).audience == PLAYERS


def test_decisions_add_up_and_are_taken_back() -> None:
    rows = shared([], "v", FOLDER, "People", ["Ana"])
    rows = shared(rows, "v", FOLDER, "People", ["Bo", "ana"])
    assert [row.audience for row in rows] == [("ana", "Bo")]
    assert unshared(rows, "v", FOLDER, "People", ["ANA"])[0].audience == ("Bo",)
    assert unshared(rows, "v", FOLDER, "People", ["Ana", "Bo"]) == []
    rows = shared(shared(rows, "v", NOTE, "People/Mira.md"), "v", NOTE, "Peoples.md")
    assert [row.name for row in unshared(rows, "v", FOLDER, "People")] == ["Peoples.md"]
    assert kept(rows, "v", NOTE, "Peoples.md")[-1].audience == DM
    assert shared(shared([], "v", NOTE, "a.md"), "v", NOTE, "a.md", ["Ana"])[0].audience == PLAYERS


# --- in a library -----------------------------------------------------------------------------------------------------


async def seen(library: Any, *names: str) -> set[str]:
    """The paths of the notes that a player finds."""
    page = await library.view(Viewer.player("", names)).search(Query(("notes",), limit=50))
    return {result.entity.slug for result in page.results}


async def told(library: Any, path: str) -> str:
    """What a player sees of a note; "" for nothing."""
    view = library.view(ANYBODY)
    await view.refresh()
    found = await view.entities_at("notes", "saga", path)
    return json.dumps(found[0].as_record(), default=str) if found else ""


def decide(library: Any, change: Callable[[list[Share]], list[Share]]) -> None:
    library.vaults.shares.edit(change)


async def test_sharing_counts_at_the_next_question_and_opens_only_what_was_looked_at(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", NOTES)
    before = digests(vault)
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        assert await seen(library) == set()
        decide(library, lambda rows: shared(rows, "saga", FOLDER, "Places"))
        assert await seen(library) == set(), "a folder by itself opens nothing that nobody has looked at"
        await open_to(library, "Places")
        assert await seen(library) == {"Places/Skara.md", "Places/Inn.md", "Places/Deep/Cellar.md"}
        report = await library.vaults.sync()
        assert (report.stored, report.unchanged) == (0, 5)
        await open_to(library, "Places")
        assert "barkeep" not in await told(library, "Places/Inn.md"), "shared again, what waits is not opened"
        decide(library, lambda rows: kept(rows, "saga", FOLDER, "Places/Deep"))
        assert await seen(library) == {"Places/Skara.md", "Places/Inn.md"}
        await open_to(library, "#town", ["Ana"])
        assert await seen(library) == {"Places/Skara.md", "Places/Inn.md"}
        assert await seen(library, "Ana") == {"Places/Skara.md", "Places/Inn.md", "People/Mira.md"}
        decide(library, lambda rows: unshared(rows, "saga", FOLDER, ""))
        decide(library, lambda rows: [row for row in rows if row.kind != TAG])
        assert await seen(library, "Ana") == set()
    assert digests(vault) == before


async def test_a_file_of_decisions_that_cannot_be_read_shuts_the_vaults(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", NOTES)
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await open_to(library, "Places")
        assert await seen(library)
        (tmp_path / "library.shares").write_text('{"format": 1, "shares": [{"vault": 1}]}')
        assert await seen(library) == set()


async def test_what_cannot_be_read_is_not_left_open(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", NOTES)
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await open_to(library, "Places")
        assert "Places/Inn.md" in await seen(library)
        (vault / "Places/Inn.md").write_bytes(b"# Inn\n\nHalf a \xff\xfe file.\n")
        decide(library, lambda rows: kept(rows, "saga", NOTE, "Places/Inn.md"))
        assert "Places/Inn.md" not in await seen(library)


async def test_what_is_looked_at_says_what_opens_and_what_waits_by_which_word(tmp_path: Path) -> None:
    notes = NOTES | {
        "Player Secrets/Ana.md": "# Ana\n\nShe is the heir.\n",
        "Session 9 prep.md": "# Session 9\n\nThe duke strikes.\n",
        "Sources/The Heart.md": "".join(
            f"## {heading}\n\nThe zqheart beats.\n\n" for heading in ("Openings", "Climax", "Clues", "Possible ends")
        ),
        "Quests/The Wolf.md": "---\nquestStatus: In Progress\n---\n\nzqbehind: the miller pays it.\n",
        "Quests/The Well.md": "# The Well\n\n- [x] Find the rope\n\nIt is dry.\n\n## DM Notes\n\nThe rope breaks.\n",
        "Quests/The Bride.md": "---\nvisibility: players\n---\n\nShe asked for a ring.\n",
    }
    vault = write(tmp_path / "saga", notes)
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        found = look(library.vaults, target_of(library.vaults, "."))
        done_or_given = {"Quests/The Well.md", "Quests/The Bride.md"}
        assert {note.path for note in found.open} == {path for path in NOTES if "Henrik" not in path} | done_or_given
        assert {(note.path, note.why, note.plan) for note in found.closed} == {
            ("People/Henrik.md", "visibility: dm", False),
            ("Player Secrets/Ana.md", "Player Secrets/ (secrets)", False),
            ("Session 9 prep.md", "Session 9 prep.md (prep)", True),
            ("Sources/The Heart.md", "prep (prep)", True),
            ("Quests/The Wolf.md", "a quest that is not done (prep)", True),
        }
        assert {(each.place, each.text, each.stem) for note in found.open for each in note.held} == {
            ("text", "Secretly she wears the mask.", "secretly"),
            ("heading", "DM Notes", "dm"),
            ("heading", "Those hidden agendas again", "hidden"),
            ("text", "**Final twist**: the barkeep is nobody", "twist"),
        }
        assert next((each.text, sorted(paths)) for each, paths in found.held) == (
            "DM Notes",
            ["People/Mira.md", "Quests/The Well.md"],
        )
        await open_to(library, ".")
        assert library.vaults.rows("saga")["People/Mira.md"].waits == []
        mira = await told(library, "People/Mira.md")
        assert "rows the ferry" in mira
        assert not [word for word in ("mask", "crown", "spy") if word in mira]
        await open_to(library, "Mira", opens=["DM Notes"])
        mira = await told(library, "People/Mira.md")
        assert ("spy" in mira, "mask" in mira, "crown" in mira) == (True, False, False)
        await open_to(library, "Player Secrets", opens=[EVERYTHING])
        assert "heir" in await told(library, "Player Secrets/Ana.md")
        again = look(library.vaults, target_of(library.vaults, "."))
        assert len(again.open) == 7, "what is shared already is looked at again as a whole"
        assert "zqbehind" not in await told(library, "Quests/The Wolf.md")
        await open_to(library, "The Wolf")
        assert "zqbehind" in await told(library, "Quests/The Wolf.md"), "a quest that is shared by itself was given"


async def test_folders_and_notes_are_named_with_what_opens_of_them_and_can_be_left_out(tmp_path: Path) -> None:
    vault = write(
        tmp_path / "saga",
        NOTES | {"Acts/One.md": "# One\n\nA fair.\n", "Acts/Late/Two.md": "# Two\n\nA fire in the barn.\n"},
    )
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        await open_to(library, "Acts/Late")
        whole, acts, inn = (target_of(library.vaults, what) for what in (".", "Acts", "Places/Inn.md"))
        assert look(library.vaults, whole).parts == [
            ("Acts/", 2),
            ("Acts/Late/", 1),
            ("People/", 1),
            ("Places/", 3),
            ("Places/Deep/", 1),
        ]
        assert look(library.vaults, acts).parts == [("Acts/Late/", 1), ("Acts/One.md", 1)]
        assert "Acts/Late/Two.md" in await seen(library)
        with pytest.raises(FilterError, match="folder by folder"):
            look(library.vaults, whole, ["Ana"], without=[acts])
        found = look(library.vaults, whole, without=[acts, inn])
        assert {note.path for note in found.closed if "kept" in note.why} == {
            "Acts/One.md",
            "Acts/Late/Two.md",
            "Places/Inn.md",
        }
        await store(library.vaults, library.vaults.shares.all(), found.after)
        left = {"People/Mira.md", "Places/Skara.md", "Places/Deep/Cellar.md"}
        assert await seen(library) == left, "what was open in a folder that is left out is closed again"
        write(vault, {"Acts/Three.md": "# Three\n\nA flood of the fields.\n"})
        await open_to(library, ".")
        assert await seen(library) == left, "and stays so when the vault is shared again"
        await open_to(library, "Acts")
        assert "Acts/Three.md" in await seen(library)


async def test_what_is_new_in_an_open_note_or_folder_waits_is_reported_and_opens_by_one_look(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", {**NOTES, "Places/Mill.md": "# Mill\n\nIt grinds.\n\n## Owner\n\nOtto zqfirst.\n"})
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await open_to(library, "Places")
        text = (vault / "Places/Mill.md").read_text()
        for changed, shown in (
            (f"{text}\n## Debts\n\nOtto zqnew owes.\n", True),
            (text.replace("## Owner", "## The owner of it"), False),
            (f"{text}\n## Owner\n\nOtto zqnew owes.\n", False),
            (text.replace("It grinds.", "It grinds.\n\n### Owner\n\nOtto zqnew owes."), False),
            (text, False),  # what stood closed for a time waits to be looked at, too
        ):
            write(vault, {"Places/Mill.md": changed})
            mill = await told(library, "Places/Mill.md")
            assert "It grinds" in mill
            assert ("zqnew" in mill, "zqfirst" in mill) == (False, shown), changed
        await open_to(library, "Mill")
        assert "zqfirst" in await told(library, "Places/Mill.md")
        write(
            vault,
            {
                "Places/Mill.md": f"{text}\n## Debts\n\nOtto zqnew owes.\n",
                "Places/Tower.md": "# Tower\n\nTall and old.\n",
            },
        )
        assert "Tall" not in await told(library, "Places/Tower.md")
        report = await library.vaults.sync()
        assert report.as_dict()["waiting"] == {"notes": 1, "headings": 1}
        rows = library.vaults.rows("saga")
        assert (rows["Places/Inn.md"].waits, rows["Places/Skara.md"].waits) == ([], [])
        assert (rows["Places/Mill.md"].waits, rows["Places/Tower.md"].waits) == (["Debts"], [""])
        await open_to(library, "Tower")
        await open_to(library, "Mill")
        assert "Tall" in await told(library, "Places/Tower.md")
        assert "zqnew" in await told(library, "Places/Mill.md")


async def test_a_heading_that_three_notes_of_a_folder_have_opens_in_the_others(tmp_path: Path) -> None:
    notes = {f"People/{name}.md": f"# {name}\n\nHere.\n\n## Looks\n\nTall.\n" for name in ("Ana", "Bo", "Cy", "Di")}
    notes["People/Di.md"] = "# Di\n\nHere she stands.\n"
    notes["Places/Inn.md"] = "# Inn\n\nWarm and dry.\n"
    async with vault_library(tmp_path) as library:
        vault = write(tmp_path / "saga", notes)
        await library.vaults.add(vault)
        await open_to(library, ".")
        new = "\n## Looks\n\nzqgrey.\n\n## Fears\n\nzqfire.\n"
        write(vault, {path: notes[path] + new for path in ("People/Di.md", "Places/Inn.md")})
        di, inn = await told(library, "People/Di.md"), await told(library, "Places/Inn.md")
        assert ("zqgrey" in di, "zqfire" in di) == (True, False)
        assert "Warm" in inn
        assert ("zqgrey" in inn, "zqfire" in inn) == (False, False)


async def test_what_waits_opens_to_those_with_whom_it_is_shared_and_to_nobody_else(tmp_path: Path) -> None:
    async with vault_library(tmp_path) as library:
        vault = write(tmp_path / "saga", NOTES)
        await library.vaults.add(vault)
        await open_to(library, "Places", ["Ana"])
        write(vault, {"Places/Well.md": "# Well\n\nIt is deep.\n"})
        assert "Places/Well.md" not in await seen(library, "Ana")
        await open_to(library, "Well")
        assert "Places/Well.md" in await seen(library, "Ana")
        assert await seen(library) == set()
        await open_to(library, "Well")
        assert await seen(library) == {"Places/Well.md"}, "now that nothing of it waits, it is shared with everybody"


async def test_what_moves_out_of_a_closed_part_stays_closed(tmp_path: Path) -> None:
    closed = "She sold the zqmap to the duke."
    text = f"# Mira\n\nShe rows.\n\n## Looks\n\nTall.\n\n## GM Notes\n\n{closed}\n"
    async with vault_library(tmp_path) as library:
        vault = write(tmp_path / "saga", {"Mira.md": text})
        await library.vaults.add(vault)
        await open_to(library, "Mira")
        for moved in (
            text.replace("Tall.", f"Tall.\n\n{closed}").replace(f"## GM Notes\n\n{closed}\n", ""),
            text.replace("## GM Notes\n", ""),
            text.replace("She rows.", f"She rows.\n\n- {closed}"),
        ):
            write(vault, {"Mira.md": moved})
            mira = await told(library, "Mira.md")
            assert "rows" in mira
            assert "zqmap" not in mira, moved
            write(vault, {"Mira.md": text})
            assert "zqmap" not in await told(library, "Mira.md")
        write(vault, {"Mira.md": text.replace("## GM Notes\n", "")})
        await open_to(library, "Mira")
        assert "zqmap" in await told(library, "Mira.md")


async def test_a_heading_with_the_words_of_a_closed_line_still_closes_what_stands_below_it(tmp_path: Path) -> None:
    text = "# Mira\n\nShe rows.\n\n## Looks\n\nTall.\n\n## GM Notes\n\nThe zqduke.\n\n> [!warning]- GM Notes\n> The zqheir.\n"
    async with vault_library(tmp_path) as library:
        await library.vaults.add(write(tmp_path / "saga", {"Mira.md": text}))
        await open_to(library, "Mira")
        for changed in (text, f"{text}\nMore of it.\n"):
            write(tmp_path / "saga", {"Mira.md": changed})
            mira = await told(library, "Mira.md")
            assert ("Tall" in mira, "zq" in mira) == (True, False)


async def test_what_was_opened_or_kept_stays_so_when_a_note_moves(tmp_path: Path) -> None:
    async with vault_library(tmp_path) as library:
        vault = write(tmp_path / "saga", NOTES)
        await library.vaults.add(vault)
        await open_to(library, ".")
        decide(library, lambda rows: kept(rows, "saga", NOTE, "Places/Inn.md"))
        assert "Places/Inn.md" not in await seen(library)
        for old, new in (("Places/Inn.md", "Places/Tavern.md"), ("People/Mira.md", "People/MIRA.md")):
            (vault / old).rename(vault / new)
        (vault / "Places/Skara.md").rename(vault / "Skara.md")
        assert await seen(library) == {"People/MIRA.md", "Skara.md", "Places/Deep/Cellar.md"}
        assert "Tall and grey" in await told(library, "People/MIRA.md")
        assert (NOTE, "Places/Tavern.md") in [(s.kind, s.name) for s in library.vaults.shares.all()]
        write(vault, {"Places/Tavern.md": "# Tavern\n\nWritten anew, and still kept.\n"})
        assert "Places/Tavern.md" not in await seen(library)
        (vault / "Skara.md").rename(vault / "Adventures of Skara.md")
        assert "Adventures of Skara.md" not in await seen(library), "a name with a stem closes, whatever was opened"
        text = (vault / "People/MIRA.md").read_text()
        write(vault, {"People/MIRA.md": f"---\nvisibility: dm\n---\n{text}", "People/MIRA 2.md": text})
        assert await seen(library) == {"Places/Deep/Cellar.md"}, "a copy that a sync program left opens nothing"


async def test_what_was_decided_on_a_folder_holds_for_it_by_another_name_and_a_note_that_leaves_it_is_closed(
    tmp_path: Path,
) -> None:
    async with vault_library(tmp_path) as library:
        vault = write(tmp_path / "saga", NOTES)
        await library.vaults.add(vault)
        await open_to(library, "Places")
        decide(library, lambda rows: kept(rows, "saga", FOLDER, "Places/Deep"))
        assert await seen(library) == {"Places/Skara.md", "Places/Inn.md"}
        (vault / "Places").rename(vault / "Realm")
        (vault / "Realm/Inn.md").rename(vault / "Realm/Tavern.md")
        (vault / "Realm/Deep").rename(vault / "Realm/Below")
        assert await seen(library) == {"Realm/Skara.md", "Realm/Tavern.md"}, "renamed with its folder, and still open"
        (vault / "Realm/Tavern.md").rename(vault / "Realm/Alehouse.md")
        assert await seen(library) == {"Realm/Skara.md", "Realm/Alehouse.md"}, "renamed once more"
        write(vault, {"Realm/Dock.md": "# Dock\n\nA later note that nobody has looked at.\n"})
        (vault / "Realm/Skara.md").rename(vault / "People/Skara.md")
        assert await seen(library) == {"Realm/Alehouse.md"}
        (vault / "Realm").rename(vault / "GM only")
        assert await seen(library) == set(), "a name with a stem closes, whatever was opened"


async def test_another_note_at_the_path_of_an_open_one_is_closed_and_the_same_note_is_open_again(
    tmp_path: Path,
) -> None:
    inn, dock = "# Inn\n\nAle is cheap here.\n", "# Dock\n\nThe zqduke is dead.\n"
    async with vault_library(tmp_path) as library:
        vault = write(tmp_path / "saga", {"Inn.md": inn})
        await library.vaults.add(vault)
        await open_to(library, ".")
        write(vault, {"Dock.md": dock})
        assert await seen(library) == {"Inn.md"}
        (vault / "Inn.md").rename(vault / "x.tmp")
        (vault / "Dock.md").rename(vault / "Inn.md")
        (vault / "x.tmp").rename(vault / "Dock.md")
        assert await seen(library) == {"Dock.md"}, "they have changed places"
        assert "cheap" in await told(library, "Dock.md")
        (vault / "Dock.md").unlink()
        assert await seen(library) == set()
        write(vault, {"Dock.md": "# Dock\n\nThe zqheir is alive.\n"})
        assert await seen(library) == set(), "a later note waits, whatever stood at its path"
        write(vault, {"Dock.md": inn})
        await open_to(library, "Dock")
        (vault / "Dock.md").unlink()
        assert await seen(library) == set()
        write(vault, {"Dock.md": inn})
        assert await seen(library) == {"Dock.md"}
        (vault / "Dock.md").unlink()
        assert await seen(library) == set()
        write(vault, {"Deep/Tavern.md": inn})
        assert await seen(library) == {"Deep/Tavern.md"}


async def test_a_vault_that_was_moved_is_the_same_and_what_differs_in_it_waits(tmp_path: Path) -> None:
    others = {f"Town {number}.md": f"# Town {number}\n\nA town of number {number} by the sea.\n" for number in range(4)}
    async with vault_library(tmp_path) as library:
        vault = write(tmp_path / "saga", NOTES | others)
        await library.vaults.add(vault)
        await open_to(library, ".")
        was = await seen(library)
        shared_here = library.vaults.shares.all()
        copy = write(tmp_path / "copy", NOTES | others)
        assert (await library.vaults.add(copy)).key == "copy", "the first one is still there: this one is another"
        await library.vaults.remove("copy")
        vault.rename(tmp_path / "Saga of the Sea")
        assert (await library.vaults.sync()).missing == ["saga"]
        write(
            tmp_path / "Saga of the Sea",
            {"Town 1.md": "# Town 1\n\nThe zqduke lives.\n", "New.md": "# New\n\nAn inn.\n"},
        )
        moved = await library.vaults.add(tmp_path / "Saga of the Sea")
        assert (moved.key, moved.path) == ("saga", tmp_path / "Saga of the Sea")
        assert await seen(library) == was - {"Town 1.md"}
        assert [each for each in library.vaults.shares.all() if each.name != "Town 1.md"] == [
            each for each in shared_here if each.name != "Town 1.md"
        ]
        write(tmp_path / "Saga of the Sea", {"Town 1.md": others["Town 1.md"]})
        assert await seen(library) == was
        (tmp_path / "Saga of the Sea").rename(tmp_path / "gone")
        foreign = dict.fromkeys(NOTES, "# Mira\n\nAnother one.\n") | {"Town 2.md": others["Town 2.md"]}
        assert (await library.vaults.add(write(tmp_path / "other", foreign))).key == "other"
        await library.vaults.sync()
        assert {row.open_to for row in library.vaults.rows("other").values()} == {""}, (
            "one note alike makes it no other vault"
        )


async def test_a_restored_backup_shows_no_note_that_is_closed_by_now(tmp_path: Path) -> None:
    settings, _ = load_settings(variables(tmp_path, "milvus"), tmp_path / "no-env-file")
    vault = write(tmp_path / "saga", {"Inn.md": "# Inn\n\nAle is cheap here.\n"})
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await open_to(library, ".")
        assert await seen(library) == {"Inn.md"}
    await backup(settings, tmp_path / "all.zip")
    write(vault, {"Inn.md": "---\nvisibility: dm\n---\n# Inn\n\nAle is cheap here.\n"})
    await restore(settings, tmp_path / "all.zip")
    async with vault_library(tmp_path) as library:
        assert await told(library, "Inn.md") == ""


@pytest.mark.parametrize("rules", [RULES, RULES - 1])
async def test_what_other_rules_had_open_is_restored_closed_until_it_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: int
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    vault = write(tmp_path / "saga", {"Inn.md": "# Inn\n\nAle is cheap here.\n"})
    async with vault_library(here) as library:
        await library.vaults.add(vault)
        await open_to(library, ".")
    with monkeypatch.context() as earlier:
        earlier.setattr(archive, "RULES", rules)
        await backup(load_settings(variables(here, "milvus"), tmp_path / "no-env-file")[0], tmp_path / "all.zip")
    await restore(load_settings(variables(there, "milvus"), tmp_path / "no-env-file")[0], tmp_path / "all.zip")
    async with vault_library(there) as library:
        assert await seen(library) == ({"Inn.md"} if rules == RULES else set())
    await restore(load_settings(variables(here, "milvus"), tmp_path / "no-env-file")[0], tmp_path / "all.zip")
    async with vault_library(here) as library:
        await library.vaults.sync()
        assert await seen(library) == {"Inn.md"}


async def test_a_mark_of_the_author_opens_the_main_text_and_its_headings_wait(tmp_path: Path) -> None:
    async with vault_library(tmp_path) as library:
        note = "---\ndg-publish: true\n---\n# Mira\n\nShe rows.\n\n## Looks\n\nTall.\n"
        vault = write(
            tmp_path / "saga", {"Mira.md": note, "Bo.md": note.replace("dg-publish: true", "visibility: player-safe")}
        )
        await library.vaults.add(vault)
        report = await library.vaults.sync()
        assert (report.marked, report.waiting) == (2, {"notes": 0, "headings": 2})
        for path in ("Mira.md", "Bo.md"):
            assert "rows" in await told(library, path)
            assert "Tall" not in await told(library, path)


async def test_what_was_open_in_a_library_of_an_earlier_version_counts_as_looked_at(tmp_path: Path) -> None:
    notes = {
        "Mira.md": "# Mira\n\nShe rows.\n\n## Looks\n\nTall zqlooks.\n\n## The hidden room\n\nA zqroom.\n",
        "Bo.md": "# Bo\n\nHe sleeps zqbo.\n\n## Public Knowledge\n\nHe snores zqloud.\n",
    }
    async with vault_library(tmp_path) as library:
        vault = write(tmp_path / "saga", notes)
        await library.vaults.add(vault)
        await library.vaults.sync()
        for (
            path
        ) in notes:  # as the earlier version stored them, which shared Mira as a whole and opened a section of Bo
            (stored,) = await library.cache.load("notes", [("saga", path)])
            sections = [
                dict(each) | ({"audience": "players", "opened": "Public Knowledge"} if "Public" in each["name"] else {})
                for each in stored.data["sections"]
            ]
            whole = {"audience": "players", "opened_by": "shared: the whole vault"} if path == "Mira.md" else {}
            data = (
                {key: value for key, value in stored.data.items() if key != "audience"} | {"sections": sections} | whole
            )
            fields = {key: value for key, value in stored.fields.items() if key != AUDIENCE}
            await library.cache.store_entities([replace(stored, data=data, fields=fields)], "notes")
        decide(library, lambda _: [Share("saga", NOTE, "Mira.md", PLAYERS)])
        with State(tmp_path / "library.vaults.db") as state:
            state.save_summary("saga", replace(state.summary("saga"), marks="7"))
    async with vault_library(tmp_path) as library:
        mira, bo = await told(library, "Mira.md"), await told(library, "Bo.md")
        assert ("zqlooks" in mira, "zqroom" in mira) == (True, False), "but for what a stem closes"
        assert ("zqloud" in bo, "zqbo" in bo) == (True, False)
        write(vault, {"Mira.md": notes["Mira.md"] + "\n## Later\n\nzqlater.\n"})
        assert "zqlater" not in await told(library, "Mira.md")


async def test_what_is_meant_is_never_guessed(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", {**NOTES, "People/Skara.md": "# Skara the Elder\n\nAn old woman of the reeds.\n"})
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()

        def meant(what: str) -> tuple[str, str]:
            target = target_of(library.vaults, what)
            return target.kind, target.name

        assert meant(".") == (FOLDER, "")
        assert meant("places/") == (FOLDER, "Places")
        assert meant("Deep") == meant(str(vault / "Places/Deep")) == (FOLDER, "Places/Deep")
        assert (
            meant("Mira")
            == meant("People/Mira")
            == meant("lore://notes/saga/People/Mira.md")
            == (NOTE, "People/Mira.md")
        )
        assert meant("#Town") == (TAG, "town")
        for wrong, reason in (("Skara", "may be"), ("Mirra", "no vault has"), ("#tow", "no vault has")):
            with pytest.raises(Exception, match=reason):
                meant(wrong)


@pytest.mark.parametrize(
    "name",
    [
        *("Mira 2.md", "Mira (1).md", "Mira_conflict-20261101-101500.md", "Mira-DESKTOP-7H2K.md", "Mira - Copy.md"),
        *("Mira copy.md", "Copy of Mira.md", "Mira_BACKUP_1234.md", "Mira.orig.md", "Mira~.md"),
        *("Mira.sync-conflict-20261101-101500-ABCDEF.md", "Mira (conflicted copy 2026-11-01).md"),
    ],
)
def test_a_copy_of_a_note_is_passed_over_and_a_note_that_is_only_called_like_one_is_not(
    name: str, tmp_path: Path
) -> None:
    text = "# Mira\n\nShe rows the ferry by night.\n\nShe asks for a song.\n"
    vault = write(
        tmp_path / "saga", {"Mira.md": f"---\nvisibility: dm\n---\n{text}", name: f"{text}\nAn older line of it.\n"}
    )
    found = scan(vault)
    assert (set(found.files), found.conflicts) == ({"Mira.md"}, [name])
    assert found.passed["copies of other notes"] == 1
    write(vault, {name: "# Another\n\nA mill stands by the water here.\n\nIt grinds rye and wheat.\n"})
    is_named = "sync-conflict" in name or "conflicted" in name
    assert set(scan(vault).files) == ({"Mira.md"} if is_named else {"Mira.md", name})


def test_numbered_notes_of_one_template_are_notes(tmp_path: Path) -> None:
    template = (
        "# Session\n\nWho was at the table today?\n\nWhat did the party promise whom?\n\nWhich rumours are new?\n"
    )
    names = {f"Session {number}.md" for number in (*range(1, 4), *range(10, 14), 100)} | {"Session1.md", "Session12.md"}
    vault = write(tmp_path / "saga", dict.fromkeys(names, template) | {"Sessions.md": "# Sessions\n\nAll of them.\n"})
    assert set(scan(vault).files) == {*names, "Sessions.md"}


# --- the commands -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_folders_are_left_out_by_their_numbers_and_names_until_it_is_confirmed(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", NOTES | {"Acts/One.md": "# One\n\nA fair.\n"})
    env = environment(tmp_path, CACHE_BACKEND="sqlite") | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    assert run_inside(tmp_path, "vault", "add", str(vault), env=env).returncode == 0
    ours, theirs = os.openpty()
    with subprocess.Popen(
        forking.command("lorekeeper", "share", "."),
        cwd=tmp_path,
        env=env,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        os.close(theirs)
        os.write(ours, b"nowhere\n1, 4\nSkara\nh\ny\n")
        out, _ = process.communicate(timeout=HANG_SECONDS)
        os.close(ours)
    said = " ".join(out.split())
    assert process.returncode == 0, out
    assert "no vault has a note, a folder or a tag 'nowhere'" in said
    assert "1 Acts/ (1) 2 People/ (1) 3 Places/ (3), 4 Deep/ (1)" in said
    assert "1 note stays closed: kept: Acts/ Acts/One.md" in said
    assert "What opens: 1 People/ (1) 2 Places/ (1)" in said
    shown = {
        each["note"]: each["open_to"]
        for each in json.loads(run_inside(tmp_path, "shared", "--json", env=env).stdout)["notes"]
    }
    assert {path for path, who in shown.items() if who == PLAYERS} == {"People/Mira.md", "Places/Inn.md"}


def test_a_vault_is_shared_with_one_command(tmp_path: Path) -> None:
    vault = write(
        tmp_path / "saga", NOTES | {"Open.md": "---\npublish: true\n---\n# Open\n\nAll see it.\n\n## More\n\nzqmore.\n"}
    )
    env = environment(tmp_path, CACHE_BACKEND="sqlite")

    def run(*arguments: str, status: int = 0, **more: str) -> Any:
        done = run_inside(tmp_path, *arguments, env=env | {f"LOREKEEPER_{k}": v for k, v in more.items()})
        assert done.returncode == status, done.stderr
        return done.stdout

    added = run("vault", "add", str(vault))
    assert "1 heading" in added
    assert "share --marked" in added
    assert "zqmore" not in run("show", "lore://notes/saga/Open.md", VIEW="player")
    assert "Marked for players" in run("share", "--marked", "--yes") or True
    assert "zqmore" in run("show", "lore://notes/saga/Open.md", VIEW="player")
    looked = run("share", ".", "--dry-run", "--without", "Places/Deep")
    assert "What opens: 1 People/ (1) 2 Places/ (2) 3 Open.md" in " ".join(looked.split())
    assert "1 note stays closed: kept: Places/Deep/ Places/Deep/Cellar.md" in " ".join(looked.split())
    run("share", ".", "--without", "Place", status=1)
    looked = run("share", "Places", "--dry-run")
    assert "opens to players: 3 notes" in looked
    assert "text **Final twist**: the barkeep is nobody (twist) Inn.md" in " ".join(looked.split())
    assert "look like plans" not in looked
    run("show", "lore://notes/saga/Places/Inn.md", status=1, VIEW="player")
    assert "opens to players: 5 notes" in run("share", ".", status=1), "without a terminal nothing is confirmed"
    run("show", "lore://notes/saga/Places/Inn.md", status=1, VIEW="player")
    content = json.loads(run("share", ".", "--yes", "--json"))
    assert (content["kind"], content["shared"], len(content["notes"])) == (FOLDER, True, 5)
    shown = run("show", "lore://notes/saga/Places/Inn.md", VIEW="player")
    assert "drinks here" in shown
    assert "barkeep" not in shown
    write(vault, {"Places/Well.md": "# Well\n\nIt is deep.\n"})
    listed = run("shared")
    assert "Well.md  waits" in listed
    assert "Inn.md  for everyone" in listed
    run("share", "Inn", "--open", "Final twist", "--yes")
    assert "barkeep" in run("show", "lore://notes/saga/Places/Inn.md", VIEW="player")
    run("unshare", "Places/Inn.md")
    run("show", "lore://notes/saga/Places/Inn.md", status=1, VIEW="player")
    assert "Inn.md  for the game master alone" in run("shared")
    run("unshare", ".")
    assert json.loads(run("audience", "--json"))["documents"][-1]["everybody"] == 0
    run("share", "Mira", "--with", "Ana", "--yes")
    run("show", "lore://notes/saga/People/Mira.md", status=1, VIEW="player")
    run("show", "lore://notes/saga/People/Mira.md", VIEW="player", PERSON="Ana")
    run("share", "Places", status=2, VIEW="player")
    run("share", status=2)
    for _ in range(2):  # the second time she is known
        said = json.loads(run("share", "Places", "--yes", "--invite", "Ana", "--url", "http://10.0.0.9:80/", "--json"))
        (invited,) = said["invited"]
        assert (invited["name"], invited["link"].partition("=")[0]) == ("Ana", "http://10.0.0.9:80/sign-in?key")
    assert [(each["name"], each["role"]) for each in json.loads(run("people", "list", "--json"))["people"]] == [
        ("Ana", "player")
    ]
    assert "invited" not in json.loads(run("share", "Places", "--dry-run", "--invite", "Bo", "--json"))
    assert "spielleit-" in run("audience", "--marks")
