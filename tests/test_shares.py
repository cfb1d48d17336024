"""What the game master shares beside the marks in notes: `lorekeeper share`, `unshare`, `shared`, and what looks like a secret."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.audience import DM, PLAYERS, Audience, Viewer
from lorekeeper.notes import read_note
from lorekeeper.notes.marks import OwnMarks
from lorekeeper.notes.suspicious import SecretNames, in_text, naming_word
from lorekeeper.search.query import Query
from lorekeeper.shares import FOLDER, NOTE, TAG, TEXT, Share, Shares
from lorekeeper.vaults.shares import SharesFile, kept, shared, unshared
from lorekeeper.views.sharing import fixed, preview, suspicious, target_of
from tests.support.commands import environment, run_inside
from tests.support.vaults import digests, vault_library, write

NOTES = {
    "People/Mira.md": "---\ntags: [town/ferry]\n---\n# Mira\n\nShe rows the ferry.\n\nSecretly she wears the mask.\n\n"
    "## DM Notes\n\nShe is a spy.\n\n## Those hidden agendas again\n\nTake the crown.\n",
    "People/Henrik.md": "---\nvisibility: dm\n---\n# Old Duke Henrik\n\nThe villain of it all.\n",
    "Places/Skara.md": "# Skara\n\nA keep in the reeds by the water.\n",
    "Places/Inn.md": "# Inn\n\nOld Duke Henrik drinks here.\n\n- **Final twist**: the barkeep is nobody\n",
    "Places/Deep/Cellar.md": "# Cellar\n\nOpen below the keep, with the old things.\n",
}

ALL = Share("saga", FOLDER, "", PLAYERS)


def sharing(*listed: Share) -> OwnMarks:
    return OwnMarks(shares=Shares(listed))


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


@pytest.mark.parametrize(
    "text",
    [
        "She wears the mask of the duke.",
        "- She wears the mask of the [[Henrik|duke]].",
        "> She wears the **mask** of the duke.",
        "## She wears the mask of the duke\n\nAnd more.",
        "**She wears the mask of the duke**: yes",
    ],
)
def test_a_text_that_is_kept_is_kept_wherever_it_stands(text: str) -> None:
    own = sharing(ALL, Share("saga", TEXT, "she wears the mask of the duke", DM))
    note = read_note("Mira.md", f"# Mira\n\nShe rows.\n\n{text}\n", own)
    assert all("mask" not in section.text for section in note.sections if section.audience is None)
    assert any("mask" in (section.text + section.path) for section in note.sections if section.audience == DM)


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


def decide(library: Any, change: Callable[[list[Share]], list[Share]]) -> None:
    library.vaults.shares.edit(change)


async def test_sharing_counts_at_the_next_question_and_reads_only_what_it_concerns(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", NOTES)
    before = digests(vault)
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        assert await seen(library) == set()
        decide(library, lambda rows: shared(rows, "saga", FOLDER, "Places"))
        assert await seen(library) == {"Places/Skara.md", "Places/Inn.md", "Places/Deep/Cellar.md"}
        report = await library.vaults.sync()
        assert (report.stored, report.unchanged) == (0, 5)
        decide(library, lambda rows: kept(rows, "saga", FOLDER, "Places/Deep"))
        assert await seen(library) == {"Places/Skara.md", "Places/Inn.md"}
        decide(library, lambda rows: shared(rows, "saga", TAG, "town", ["Ana"]))
        assert await seen(library) == {"Places/Skara.md", "Places/Inn.md"}
        assert await seen(library, "Ana") == {"Places/Skara.md", "Places/Inn.md", "People/Mira.md"}
        decide(library, lambda rows: unshared(rows, "saga", FOLDER, ""))
        assert await seen(library, "Ana") == {"People/Mira.md"}
    assert digests(vault) == before


async def test_a_file_of_decisions_that_cannot_be_read_shuts_the_vaults(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", NOTES)
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        decide(library, lambda rows: shared(rows, "saga", FOLDER, "Places"))
        assert await seen(library)
        (tmp_path / "library.shares").write_text('{"format": 1, "shares": [{"vault": 1}]}')
        assert await seen(library) == set()


async def test_what_cannot_be_read_is_not_left_open(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", NOTES)
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        decide(library, lambda rows: shared(rows, "saga", FOLDER, "Places"))
        assert "Places/Inn.md" in await seen(library)
        (vault / "Places/Inn.md").write_bytes(b"# Inn\n\nHalf a \xff\xfe file.\n")
        decide(library, lambda rows: kept(rows, "saga", NOTE, "Places/Inn.md"))
        assert "Places/Inn.md" not in await seen(library)


async def test_a_kept_note_stays_kept_when_it_moves(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", NOTES)
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        decide(library, lambda rows: kept(shared(rows, "saga", FOLDER, ""), "saga", NOTE, "Places/Inn.md"))
        assert "Places/Inn.md" not in await seen(library)
        (vault / "Places/Inn.md").rename(vault / "Places/Tavern.md")
        assert not {"Places/Tavern.md", "Places/Inn.md"} & await seen(library)
        assert (NOTE, "Places/Tavern.md") in [(s.kind, s.name) for s in library.vaults.shares.all()]
        write(vault, {"Places/Tavern.md": "# Tavern\n\nWritten anew, and still kept.\n"})
        assert "Places/Tavern.md" not in await seen(library)


async def test_a_preview_shows_what_players_would_see_and_what_looks_like_a_secret(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", NOTES)
    async with vault_library(tmp_path) as library:
        added = await library.vaults.add(vault)
        await library.vaults.sync()
        after = shared([], "saga", FOLDER, "")
        found = preview(library.vaults, added, after)
        assert sorted(found.notes) == sorted(set(NOTES) - {"People/Henrik.md"})
        assert found.held == [("People/Henrik.md", "visibility: dm")]
        assert {(each.place, each.note, each.word) for each in found.suspicions} == {
            ("line", "saga/People/Mira.md", "secretly"),
            ("heading", "saga/People/Mira.md", "hidden agendas"),
            ("key", "saga/Places/Inn.md", "twist"),
            ("secret note", "saga/Places/Inn.md", "Old Duke Henrik"),
        }
        assert preview(library.vaults, added, []).notes == []
        after = fixed(library.vaults, added, found.secrets, after)
        decide(library, lambda _: after)
        await library.vaults.sync()
        assert [each.place for each in suspicious(library.vaults, added).suspicions] == ["secret note"]
        mira = await library.view(Viewer.player()).entities_at("notes", "saga", "People/Mira.md")
        assert "rows the ferry" in str(mira[0].data)
        assert not [word for word in ("mask", "crown", "spy") if word in str(mira[0].data)]


async def test_a_folder_of_the_game_master_is_listed_once_and_kept_with_what_comes_into_it(tmp_path: Path) -> None:
    notes = {
        "DM Corner/Planes.md": "# Planes\n\nWhat lies beyond the sky.\n",
        "DM Corner/Deep/Tides.md": "# Tides\n\nWhat moves the sea.\n",
        "Temple.md": "# Temple\n\nOld stones.\n\n## Temple of Lost Secrets\n\nDust.\n",
    }
    vault = write(tmp_path / "saga", notes)
    async with vault_library(tmp_path) as library:
        added = await library.vaults.add(vault)
        await library.vaults.sync()
        after = shared([], "saga", FOLDER, "")
        found = preview(library.vaults, added, after)
        assert [(each.place, each.text, each.is_word) for each in found.secrets] == [
            ("folder", "DM Corner", True),
            ("heading", "Temple of Lost Secrets", True),
        ]
        after = fixed(library.vaults, added, [each for each in found.secrets if each.place == "folder"], after)
        assert (FOLDER, "DM Corner", DM) in [(each.kind, each.name, each.audience) for each in after]
        decide(library, lambda _: after)
        assert await seen(library) == {"Temple.md"}
        write(vault, {"DM Corner/New.md": "# New\n\nWritten later.\n"})
        assert await seen(library) == {"Temple.md"}
        opened = shared(after, "saga", NOTE, "DM Corner/Planes.md")
        assert preview(library.vaults, added, opened).notes == ["DM Corner/Planes.md"]
        closed = fixed(library.vaults, added, preview(library.vaults, added, opened).secrets, opened)
        decide(library, lambda _: closed)
        assert await seen(library) == {"Temple.md"}, "of what is fixed nothing stays open by a nearer decision"


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


# --- suspicion --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("The players don't know that he lives.", "line"),
        ("DM notes on the town. She lies.", "line"),
        ("A shelf of jars (DM only).", "line"),
        ("What follows is for the DM's eyes only.", "line"),
        ("Insgeheim dient er dem Feind.", "line"),
        ("Segretamente serve il nemico.", "line"),
        ("Potajemnie służy wrogowi.", "line"),
        ("> [!info]- Some secrets of old\n> text", "callout"),
        ("| Name | Who knows the secret |\n|---|---|\n| a | b |", "column"),
        ("**A few words for GMs**", "heading"),
        ("- Secret door: behind the shelf", "key"),
    ],
)
def test_a_line_that_looks_like_a_secret_is_listed(line: str, place: str) -> None:
    assert [found[0] for found in in_text(line)] == [place]


@pytest.mark.parametrize(
    "line",
    [
        "Ask your DM whether the lock holds.",
        "The keeper of the light is old.",
        "Meister Eder hämmert.",
        "O mestre ferreiro trabalha.",
        "Truth be told, it rains.",
        "El director tira en secreto un d20.",
        "- **Master**: Eder",
        "See [[Mira - DM Notes]] and [[The Duke's Secrets]].",
        "On this site you find my DM notes for the campaign.",
        "Each player secretly rolls a die.",
        "You may secretly swap both cards.",
        "The players can't see him there.",
        "| Name | Price |\n|---|---|\n| a | b |",
    ],
)
def test_everyday_lines_are_not_listed(line: str) -> None:
    assert list(in_text(line)) == []


def test_names_of_secret_notes_are_found_as_whole_words() -> None:
    names = SecretNames(["Old Duke Henrik", "Rats", "Henrika"])
    assert names.within("There **Old Duke Henrik** sat.") == "Old Duke Henrik"
    assert names.within("Old Duke Henriksson and the Rats, and Henrikas.") == ""
    assert naming_word("Ana (mestre)") == "mestre"


# --- the commands -----------------------------------------------------------------------------------------------------


def test_a_vault_is_shared_with_one_command(tmp_path: Path) -> None:
    vault = write(tmp_path / "saga", NOTES)
    env = environment(tmp_path, CACHE_BACKEND="sqlite")

    def run(*arguments: str, status: int = 0, **more: str) -> Any:
        done = run_inside(tmp_path, *arguments, env=env | {f"LOREKEEPER_{k}": v for k, v in more.items()})
        assert done.returncode == status, done.stderr
        return done.stdout

    run("vault", "add", str(vault))
    told = run("share", "Places", "--dry-run")
    assert "seen by players: 3 notes" in told
    assert "Final twist" in told
    assert "Old Duke Henrik (1)" in told
    run("show", "lore://notes/saga/Places/Inn.md", status=1, VIEW="player")
    content = json.loads(run("share", ".", "--fix", "--json"))
    assert (content["kind"], content["shared"], len(content["notes"])) == (FOLDER, True, 4)
    shown = run("show", "lore://notes/saga/Places/Inn.md", VIEW="player")
    assert "drinks here" in shown
    assert "barkeep" not in shown
    run("audience", "--suspicious")
    run("unshare", "Places/Inn.md")
    run("show", "lore://notes/saga/Places/Inn.md", status=1, VIEW="player")
    assert "Inn.md  for the game master alone" in run("shared")
    run("unshare", ".")
    assert json.loads(run("audience", "--json"))["documents"][-1]["everybody"] == 0
    run("share", "Mira", "--with", "Ana")
    run("show", "lore://notes/saga/People/Mira.md", status=1, VIEW="player")
    run("show", "lore://notes/saga/People/Mira.md", VIEW="player", PERSON="Ana")
    run("share", "Places", status=2, VIEW="player")
    for _ in range(2):  # the second time she is known
        told = json.loads(run("share", "Places", "--fix", "--invite", "Ana", "--url", "http://10.0.0.9:80/", "--json"))
        (invited,) = told["invited"]
        assert (invited["name"], invited["link"].partition("=")[0]) == ("Ana", "http://10.0.0.9:80/sign-in?key")
    assert [(each["name"], each["role"]) for each in json.loads(run("people", "list", "--json"))["people"]] == [
        ("Ana", "player")
    ]
    assert "invited" not in json.loads(run("share", "Places", "--dry-run", "--invite", "Bo", "--json"))
    assert "Mistrz" in run("audience", "--marks") or "mistrz" in run("audience", "--marks")


def test_a_library_without_a_file_shares_nothing() -> None:
    file = SharesFile()
    own = OwnMarks()
    assert file.marks("v", own) is own
    assert list(file.all()) == []
