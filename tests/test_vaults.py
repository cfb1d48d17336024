"""Vaults: a library equals its folders of notes, whatever happens to these."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

import lorekeeper.vaults.vaults as vaults_module
import lorekeeper.vaults.watch as watch_module
from lorekeeper.embedding import HashingProvider
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError, ImportFileError, NotFoundError
from lorekeeper.intake.changes import of_vault
from lorekeeper.library import Library
from lorekeeper.notes import Note
from lorekeeper.search.query import Query
from lorekeeper.vaults.links import Links
from lorekeeper.vaults.plan import Plan, Read
from lorekeeper.vaults.reading import Content
from lorekeeper.vaults.scan import File, Scan
from lorekeeper.vaults.state import FORMAT, Row, State
from lorekeeper.vaults.status import FOREIGN
from lorekeeper.vaults.vaults import Vaults
from lorekeeper.vaults.watch import Watcher
from tests.support.samples import write_lines
from tests.support.vaults import digests, notes_of, vault_library, write
from tests.support.waiting import eventually

KEEP = {
    "Skara.md": "---\naliases: [The Grey One]\n---\n# Skara\nA warden of the [[Keep]] who fears #undead things.\n",
    "Places/Keep.md": "# Keep\nA ruined tower by the lake. [[skara|Her]] home, and [[Nobody]] else's.\n",
    "Places/Lake.md": "# Lake\nDeep and cold water, as [[The Grey One]] says.\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write(tmp_path / "My Notes", KEEP)


def links(entity: Entity) -> list[str | None]:
    return [link["to"] for link in entity.data["links"]]


async def test_a_vault_is_read_and_a_second_sync_has_nothing_to_do(tmp_path, vault):
    async with vault_library(tmp_path) as library:
        assert (await library.vaults.add(vault)).key == "my-notes"
        report = await library.vaults.sync()
        counts = report.as_dict()
        assert (report.notes, report.stored, report.failed, report.tags) == (3, 3, [], 1)
        assert (counts["links_resolved"], counts["links_dangling"], counts["aliases"]) == (3, 1, 1)
        notes = await notes_of(library)
        assert notes.keys() == KEEP.keys()
        assert links(notes["Places/Keep.md"]) == ["Skara.md", None]
        assert links(notes["Places/Lake.md"]) == ["Skara.md"]
        document = await library.cache.get_entity("documents", "my-notes", "my-notes")
        assert document is not None
        assert (document.name, document.kind) == ("My Notes", "document")
        again = await library.vaults.sync()
        assert (again.stored, again.unchanged, again.embedded, again.removed, again.notes) == (0, 3, 0, 0, 3)
    async with vault_library(tmp_path) as library:
        again = await library.vaults.sync()
        assert (again.stored, again.unchanged, again.embedded) == (0, 3, 0)


async def test_a_question_sees_what_was_saved_before_it(tmp_path, vault):
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        assert (await library.search(Query(("notes",)))).total == 3
        for number in range(5):
            write(vault, {f"new/Note {number}.md": f"# Note {number}\nIt was saved just now.\n"})
            page = await library.search(Query(("notes",), filters={"name": f"Note {number}"}))
            assert [result.entity.name for result in page.results] == [f"Note {number}"]
        write(vault, {"Skara.md": "# Skara\nShe has left for good.\n"})
        (entity,) = await library.entities_at("notes", "my-notes", "Skara.md")
        assert "left for good" in str(entity.data)
        (vault / "Skara.md").unlink()
        assert (await library.search(Query(("notes",), filters={"name": "Skara"}))).total == 0
        assert links((await notes_of(library))["Places/Keep.md"]) == [None, None]


async def test_renamed_notes_and_folders_keep_their_vectors(tmp_path, vault):
    text = "The tower leans over the water, and nobody remembers who built it. " * 30
    write(vault, {"Places/Tower.md": f"{text}\n# Cellar\n{text}\n"})
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        (vault / "Places").rename(vault / "World")
        (vault / "World" / "Tower.md").rename(vault / "The Leaning Tower of the Great Lake.md")
        report = await library.vaults.sync()
        assert (report.embedded, report.renamed, report.removed, report.failed) == (0, 3, 3, [])
        notes = await notes_of(library)
        assert notes.keys() == {
            "Skara.md", "World/Keep.md", "World/Lake.md", "The Leaning Tower of the Great Lake.md"
        }  # fmt: skip
        assert links(notes["Skara.md"]) == ["World/Keep.md"]


async def test_a_library_of_an_earlier_version_takes_in_what_is_written_without_embedding_it_again(tmp_path, vault):
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        current = await notes_of(library)
        assert all("[[" in note.data["sections"][0]["written"] for note in current.values())
        earlier = [
            replace(note, data={**note.data, "sections": [{"name": "", "desc": note.data["sections"][0]["desc"]}]})
            for note in current.values()
        ]
        await library.cache.store_entities(earlier, "notes")
    with closing(sqlite3.connect(next(tmp_path.rglob("*.vaults.db")))) as state:
        assert state.execute("PRAGMA user_version").fetchone() == (FORMAT,)
        state.execute(f"PRAGMA user_version = {FORMAT - 1}")
    async with vault_library(tmp_path) as library:
        report = await library.vaults.sync()
        assert (report.stored, report.embedded, report.removed, report.failed) == (3, 0, 0, [])
        assert await notes_of(library) == current


async def test_vaults_are_added_by_one_program_at_a_time(tmp_path, vault, monkeypatch):
    monkeypatch.setattr("lorekeeper.people.rows.LOCK_SECONDS", 0.01)
    async with vault_library(tmp_path) as library:
        registry = library.vaults.registry
        with FileLock(f"{registry.file}.lock"), pytest.raises(CacheError, match="cannot be written"):
            await library.vaults.add(vault)
        await library.vaults.add(vault)
        assert len(registry.vaults()) == 1


async def test_a_missing_folder_keeps_its_notes_and_is_reported(tmp_path, vault):
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        vault.rename(tmp_path / "unplugged")
        for empty in (False, True):  # a mount point stays when a drive is unplugged
            if empty:
                vault.mkdir()
            report = await library.vaults.sync()
            assert (report.missing, len(report.failed), report.removed) == (["my-notes"], 1, 0)
            assert (await library.search(Query(("notes",)))).total == 3
        assert (await library.vaults.status())[0].state == "in step"
        vault.rmdir()
        assert (await library.vaults.status())[0].state == "folder missing"
        (tmp_path / "unplugged").rename(vault)
        assert (await library.vaults.sync()).stored == 0


async def test_a_note_that_is_online_only_stays_in_the_library_and_is_named(tmp_path, vault):
    async with vault_library(tmp_path, backend="sqlite") as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        (vault / "Skara.md").rename(vault / ".Skara.md.icloud")
        write(vault, {"Places/.Session 12.md.icloud": "bplist00", ".map.png.icloud": "bplist00"})
        report = await library.vaults.sync()
        assert [failure.where for failure in report.failed] == ["my-notes/Skara.md", "my-notes/Places/Session 12.md"]
        assert all("iCloud" in failure.reason for failure in report.failed)
        assert (report.removed, report.passed["hidden"]) == (0, 1)
        assert "Skara.md" in await notes_of(library)
        assert [each.path for each in await library.vaults.check() if each.kind == "unreadable"] == [
            "Places/Session 12.md", "Skara.md"
        ]  # fmt: skip
        (vault / ".Skara.md.icloud").unlink()
        assert (await library.vaults.sync()).removed == 1


async def test_an_emptied_folder_is_emptied_in_the_library_too(tmp_path):
    vault = write(tmp_path / "v", {"Only.md": "# Only\nThe one note of all.\n"})
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        assert (await library.vaults.sync()).notes == 1
        (vault / "Only.md").unlink()
        assert (await library.vaults.sync()).notes == len(await notes_of(library)) == 0


async def test_removing_a_vault_takes_all_of_it_and_leaves_its_folder(tmp_path, vault):
    write(vault, {"Beast.md": "# Beast\nIt bites everybody here.\n```statblock\nname: Beast\nac: 12\n```\n"})
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        assert (await library.vaults.sync()).counts["creatures"] == 1
        before = digests(vault)
        assert await library.vaults.remove("my-notes") == 6
        assert await library.cache.documents() == {}
        assert await library.vaults.status() == []
        assert digests(vault) == before
        assert await library.vaults.fresh() == ""
        assert await library.cache.documents() == {}
        with pytest.raises(NotFoundError, match="no vault yet"):
            await library.vaults.remove("my-notes")


async def test_listed_vaults_keep_their_keys_in_any_order(tmp_path, vault):
    twin = write(tmp_path / "other" / "My Notes", {"Twin.md": "# Twin\nOne more note here.\n"})
    missing, file = tmp_path / "missing", tmp_path / "file"
    file.write_text("x")
    async with vault_library(tmp_path, [vault, twin, missing, file]) as library:
        assert (await library.search(Query(("notes",)))).total == 4
        listed = {status.vault.path: (status.vault.key, status.state) for status in await library.vaults.status()}
        read = {vault: ("my-notes", "in step"), twin: ("my-notes-2", "in step")}
        assert listed == {**read, missing: ("missing", "folder missing")}
        assert [error.reason.split(";")[0] for error in library.vaults.registry.refused.values()] == ["it is a file"]
        with pytest.raises(ImportFileError, match="LOREKEEPER_VAULTS"):
            await library.vaults.remove("my-notes")
    async with vault_library(tmp_path, [twin]) as library:
        assert await library.vaults.fresh() == ""
        states = {status.vault.key: status.state for status in await library.vaults.status()}
        assert states == {"my-notes-2": "in step", "my-notes": "no longer in LOREKEEPER_VAULTS"}
        assert len(await notes_of(library)) == 4
        assert await library.vaults.remove("my-notes") == 4


async def test_folders_that_cannot_be_vaults_are_refused(tmp_path, vault):
    async with vault_library(tmp_path / "lib") as library:
        await library.vaults.add(vault)
        for path, reason in {
            vault / "Places": "inside the vault my-notes",
            vault / "Skara.md": "is a file",
            vault / "nowhere": "no such folder",
            tmp_path: "holds the library",
        }.items():
            with pytest.raises(ImportFileError, match=reason):
                await library.vaults.add(path)
        (tmp_path / "link").symlink_to(vault)
        with pytest.raises(ImportFileError, match="by another name"):
            await library.vaults.add(tmp_path / "link")
        other = write(tmp_path / "Ö & über", {})
        other.mkdir()
        with pytest.raises(ImportFileError, match="is the key of a book or vault"):
            await library.vaults.add(other, key="my-notes")
        with pytest.raises(ImportFileError, match="at most 60"):
            await library.vaults.add(other, key="a b")
        assert (await library.vaults.add(other)).key == "o-uber"


async def test_a_lost_or_damaged_state_costs_no_embedding(tmp_path, vault):
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
    state = tmp_path / "library.vaults.db"
    for damage in (b"nonsense" * 1000, None):
        state.unlink() if damage is None else state.write_bytes(damage)
        (vault / f"gone-{damage is None}.md").touch()
        async with vault_library(tmp_path) as library:
            report = await library.vaults.sync()
            assert (report.embedded, report.stored, report.removed, report.notes) == (0, 0, 0, 3)


async def test_what_the_library_lost_is_stored_again_and_what_it_should_not_have_is_removed(tmp_path, vault):
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        await library.cache.delete_entities("notes", [("my-notes", "Skara.md")])
    (vault / "Places" / "Lake.md").unlink()
    (tmp_path / "library.vaults.db").unlink()
    async with vault_library(tmp_path) as library:
        assert await library.vaults.fresh() == ""
        assert (await notes_of(library)).keys() == {"Skara.md", "Places/Keep.md"}


async def test_an_unreadable_file_is_reported_and_keeps_what_the_library_had(tmp_path, vault):
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        (vault / "Skara.md").write_bytes(b"# Skara\n\xff\xfe broken")
        write(vault, {"Big.md": "# Big\n" + "word " * 500_000, "Good.md": "# Good\n" + "good " * 199_000})
        report = await library.vaults.sync()
        assert sorted(str(error).split(":")[0] for error in report.failed) == ["my-notes/Big.md", "my-notes/Skara.md"]
        notes = await notes_of(library)
        assert "warden" in str(notes["Skara.md"].data)
        assert "Good.md" in notes
        write(vault, KEEP)
        (vault / "Big.md").unlink()
        assert (await library.vaults.sync()).failed == []


async def test_a_change_of_the_same_size_and_time_is_seen_soon_after(tmp_path, vault):
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        file = vault / "Places" / "Lake.md"
        status = file.stat()
        file.write_text(KEEP["Places/Lake.md"].replace("Deep", "Dark"))
        os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
        await library.vaults.sync()
        assert "Dark" in str((await notes_of(library))["Places/Lake.md"].data)


async def test_two_notes_with_one_stat_block_keep_one_creature_until_both_are_gone(tmp_path, vault):
    block = "# Beast\nIt bites {0} of you.\n```statblock\nname: Beast\nac: 12\nbites: {0}\n```\n"
    write(vault, {"A.md": block.format("one"), "B.md": block.format("two")})
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        assert (await library.vaults.sync()).stored == 0
        for gone, left in (("B.md", "one"), ("A.md", None)):
            (vault / gone).unlink()
            await library.vaults.sync()
            creatures = (await notes_of(library, "creatures")).values()
            assert [creature.data["bites"] for creature in creatures] == ([left] if left else [])


async def test_passed_over_files_are_counted_and_links_to_them_are_not_dangling(tmp_path, vault):
    write(
        vault,
        {
            ".obsidian/x.md": "hidden",
            ".trash/Skara.md": "# Skara\nThe old one.",
            "Templates/NPC.md": "# Name of the person\nAll of it.",
            "Loose.md": "# <% tp.file.title %>\nA template in disguise.",
            "Short.md": "# Short\nNo.",
            "CLAUDE.md": "# Instructions\nfor a program only",
            "map.png": "x",
            "Drafts/D.md": "# D\nA draft of something.",
            "Maps.md": "# Maps\nSee [[map.png]] and [[Short]] and [[Draft]].",
            ".lorekeeperignore": "Drafts/\n",
        },
    )
    (vault / "link.md").symlink_to(tmp_path / "outside.md")
    write(tmp_path, {"outside.md": "# Outside\nNot of the vault."})
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault, exclude=["Lake.md"])
        report = await library.vaults.sync()
        assert report.failed == []
        assert (await notes_of(library)).keys() == {"Skara.md", "Places/Keep.md", "Maps.md"}
        assert dict(report.passed) == {
            "hidden": 3, "a template": 2, "fewer than three words": 1, "excluded": 2, "about tools": 1, ".png": 1,
            "a symbolic link": 1,
        }  # fmt: skip
        assert report.counts["links_dangling"] == 2
        write(vault, {".lorekeeperignore": ""})
        assert await library.vaults.fresh() == ""
        assert "Drafts/D.md" in await notes_of(library)


async def test_names_of_all_kinds_are_notes_or_reported(tmp_path):
    vault = write(tmp_path / "v", dict.fromkeys(("a.md", "A.md", "über.md", "n%20[x].MD"), "# X\nThree words here.\n"))
    (vault / "u\u0308ber.md").write_text("# X\nThree words here.\n")
    (vault / os.fsdecode(b"caf\xe9.md")).write_text("# X\nThree words here.\n")
    deep = "/".join(["a long name of a folder"] * 12) + "/x.md"
    write(vault, {deep: "# Deep\nBelow many folders.\n"})
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        report = await library.vaults.sync()
        assert (await notes_of(library)).keys() == {"a.md", "A.md", "über.md", "n%20[x].MD", deep}
        assert len(report.failed) == 2
        assert (await library.vaults.sync()).stored == 0


async def test_nothing_is_imported_into_a_vault_where_the_next_look_at_it_would_remove_it(tmp_path, vault):
    spell = {"collection": "spells", "name": "Peat Step", "level": 1, "description": "You step."}
    file = tmp_path / "own.json"
    write_lines(file, [spell | {"document": "my-notes"}, spell | {"document": "peat"}])
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        await library.vaults.sync()
        with pytest.raises(ImportFileError, match=r"my-notes: 'my-notes' is the key of a vault, .* --document KEY"):
            await library.import_paths([file], document="my-notes")
        report = await library.import_paths([file])
        assert ([failure.reason for failure in report.failed], report.stored) == ([of_vault("my-notes")], 1)
        await library.vaults.sync()
        assert [(e.document, e.name) for e in await library.cache.get_entities("spells")] == [("peat", "Peat Step")]


async def test_nothing_is_asked_of_a_library_without_vaults(tmp_path):
    async with vault_library(tmp_path) as library:
        for _ in range(1000):
            assert await library.vaults.fresh() == ""
        assert not list(tmp_path.glob("library.vaults*"))


async def test_nothing_is_written_into_a_vault(tmp_path, vault):
    before = digests(vault)
    for file in [vault, *vault.rglob("*")]:
        file.chmod(0o500 if file.is_dir() else 0o400)
    try:
        async with vault_library(tmp_path) as library:
            await library.vaults.add(vault)
            assert (await library.search(Query(("notes",)))).total == 3
    finally:
        for file in [vault, *vault.rglob("*")]:
            file.chmod(0o700 if file.is_dir() else 0o600)
    assert digests(vault) == before
    shutil.rmtree(vault)


class SlowProvider(HashingProvider):
    """Takes its time for each text, and counts those that it is done with."""

    seconds_a_text = 0.05
    done = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        time.sleep(self.seconds_a_text * len(texts))
        SlowProvider.done += len(texts)
        return super().embed(texts)


async def is_fresh(library: Library) -> bool:
    return not await library.vaults.fresh()


async def has_notes(library: Library, number: int) -> bool:
    return len(await notes_of(library)) == number


async def test_a_question_does_not_wait_for_a_long_reading(tmp_path, monkeypatch):
    patience: list[float] = []

    async def noted(seconds: float) -> str:
        patience.append(seconds)
        return await Vaults._wait(library.vaults, seconds)

    vault = write(tmp_path / "v", {f"{n}.md": f"# Note {n}\nThree words here, and {n}.\n" for n in range(40)})
    monkeypatch.setattr(vaults_module, "WAIT_SECONDS", 0.2)
    async with vault_library(tmp_path, provider=SlowProvider) as library:
        await library.import_paths([write_lines(tmp_path / "own.jsonl", [{"collection": "spells", "name": "Own"}])])
        await library.vaults.add(vault)
        page = await library.search(Query(("notes",), filters={"name": "Note"}))
        assert (page.total, "still being read" in (page.note or "")) == (0, True)
        with monkeypatch.context() as watched:
            watched.setattr(library.vaults, "_wait", noted)
            for _ in range(4):
                assert "still being read" in await library.vaults.fresh()
        assert 0.0 in patience, "what is known to take long is waited for again"
        await eventually(lambda: is_fresh(library))
        assert len(await notes_of(library)) == 40
    write(vault, {f"more {n}.md": f"# More {n}\nThree words here, and {n}.\n" for n in range(40)})
    async with vault_library(tmp_path, provider=SlowProvider) as library:
        assert "still being read" in await library.vaults.fresh()
        before = SlowProvider.done
    assert SlowProvider.done - before < 40, "closing waits for it"


async def test_folders_that_cannot_be_watched_are_scanned(tmp_path, vault, monkeypatch):
    def refuse(*_: object, **__: object) -> Iterator[None]:
        raise OSError("no more folders can be watched")
        yield

    monkeypatch.setattr(watch_module, "watch", refuse)
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        assert await library.vaults.fresh() == ""
        write(vault, {"New.md": "# New\nThree words more.\n"})
        assert await library.vaults.fresh() == ""
        assert "New.md" in await notes_of(library)
        assert "no more folders" in library.vaults.scanned


async def test_a_server_takes_in_what_is_saved_while_nobody_asks(tmp_path, vault, monkeypatch):
    monkeypatch.setattr(vaults_module, "IDLE_SECONDS", 0.02)
    async with vault_library(tmp_path) as library, library.vaults.watching():
        await library.vaults.add(vault)
        await eventually(lambda: has_notes(library, 3))
        (vault / "Skara.md").unlink()
        await eventually(lambda: has_notes(library, 2))


def test_a_folder_may_have_changed_if_the_system_has_not_reported_in_time_whether_it_has(tmp_path, monkeypatch):
    vault = write(tmp_path / "v", {"A.md": "# A"})
    with Watcher() as watcher:
        assert watcher.changed([vault])
        monkeypatch.setattr(watch_module.Fence, "make", lambda _: str(tmp_path / "a file that is never made"))
        assert [watcher.changed([vault]) for _ in range(2)] == [True, True]
        with saving(vault / "A.md"):
            assert watcher.changed([vault])
        monkeypatch.undo()
        assert not all(watcher.changed([vault]) for _ in range(100))
        assert watcher.problem == ""


@contextmanager
def saving(note: Path) -> Iterator[None]:
    """Save a note over and over, in a thread."""
    ended = threading.Event()

    def save_again() -> None:
        while not ended.is_set():
            note.write_text("# A")

    thread = threading.Thread(target=save_again)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def test_what_programs_write_into_hidden_folders_is_not_noticed(tmp_path):
    vault = write(tmp_path / "v", {".obsidian/workspace.json": "{}", "A.md": "# A"})
    with Watcher() as watcher:
        assert watcher.changed([vault])
        write(vault, {".obsidian/workspace.json": "{1}"})
        assert not any(watcher.changed([vault]) for _ in range(50))
        for number in range(100):
            write(vault, {"A.md": f"# {number}"})
            assert watcher.changed([vault]), f"change {number}"
        assert watcher.problem == ""
        vault.rename(tmp_path / "w")
        vault.mkdir()
        assert watcher.changed([vault])


@pytest.mark.skipif(sys.platform != "linux", reason="reads the mounts of Linux")
def test_network_drives_are_recognised(tmp_path, monkeypatch):
    drive = tmp_path / "my drive"
    write(drive, {"A.md": "# A"})
    monkeypatch.setattr(watch_module, "MOUNTS", tmp_path / "mounts")
    (tmp_path / "mounts").write_text(
        f"tmpfs / tmpfs rw\nhost:/x {str(drive).replace(' ', chr(92) + '040')} nfs4 rw 0 0\n"
    )
    with Watcher() as watcher:
        assert [watcher.changed([drive]) for _ in range(3)] == [True] * 3
        assert "network drive" in watcher.problem


async def test_notes_without_their_folder_are_listed_and_kept_in_step_or_removed(tmp_path):
    """As after a restore in another place: the library has the notes, and nothing says where they are from."""
    vault = write(tmp_path / "vault", {"Ash.md": "# Ash\nA town."})
    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault, "mine", "Mine")
        await library.vaults.sync()
    (tmp_path / "library.vaults").unlink()
    async with vault_library(tmp_path) as library:
        (status,) = await library.vaults.status()
        assert (status.vault.key, status.vault.name, status.folder, status.state) == ("mine", "Mine", "", FOREIGN)
        assert status.summary.notes == 1
        await library.vaults.add(vault, "mine")
        assert (await library.vaults.sync()).unchanged == 1
        assert [(status.folder, status.state) for status in await library.vaults.status()] == [(str(vault), "in step")]
    (tmp_path / "library.vaults").unlink()
    async with vault_library(tmp_path) as library:
        with pytest.raises(NotFoundError):
            await library.vaults.remove("other")
        assert await library.vaults.remove("mine") == 2
        assert (await library.vaults.status(), await notes_of(library)) == ([], {})


def test_whatever_a_link_means_anew_is_among_the_affected_targets(seed):
    chance = random.Random(seed)
    compared = 0
    names = ("keep", "Keep", "lake", "index", "README", "Ärger", "a.b")
    folders = ("", "keep/", "lake/", "keep/lake/", "Lake/keep/")

    def path() -> str:
        return f"{chance.choice(folders)}{chance.choice(names)}.md"

    def vault() -> dict[str, list[str]]:
        return {path(): [chance.choice(names)] * chance.randrange(2) for _ in range(6)}

    targets = [
        *names,
        *(f"{folder}{name}" for folder in folders for name in names),
        "keep.md",
        "..",
        "../keep",
        "./lake#x",
    ]
    targets += ["../..", "lake/..", "", "KEEP\\Lake", " keep ", "nowhere", "keep/"]
    for _ in range(120):
        before = vault()
        after = {**before, **vault()}
        for gone in chance.sample(list(before), 2) if len(before) > 1 else ():
            after.pop(gone)
        rows = {path: Row(0, 0, 0, 0, "", 0.0, aliases=names) for path, names in before.items()}
        kept = {
            path: replace(row, links=dict.fromkeys(targets))
            for path, row in rows.items()
            if after.get(path) == row.aliases
        }
        note = Note("Any.md", "Any", "note")
        read = {
            path: Read(Content("", "", File(path, path, 0, 0, 0), 0), replace(note, aliases=tuple(names)), 0.0)
            for path, names in after.items()
            if path not in kept
        }
        plan = Plan(Scan(), rows, kept, read)
        affected, then = plan.affected_targets(), Links(before)
        for source in kept:
            changed = {
                target for target in targets if then.resolve(target, source) != plan.links.resolve(target, source)
            }
            assert changed <= affected, (before, after, source)
            compared += len(changed)
    assert compared


def test_what_another_process_recorded_is_seen(tmp_path):
    row = Row(1, 2, 3, 4, "digest", 5.0, aliases=["a"], links={"b": None})
    with State(tmp_path / "state") as one, State(tmp_path / "state") as other:
        assert one.rows("v") == other.rows("v") == {}
        one.save("v", {"a.md": row, "b.md": row})
        assert one.rows("v") == other.rows("v") == {"a.md": row, "b.md": row}
        other.save("v", {"c.md": row}, ["a.md"])
        assert one.rows("v").keys() == other.rows("v").keys() == {"b.md", "c.md"}
        one.rows("v").clear()
        one.forget("w")
        assert one.rows("v").keys() == {"b.md", "c.md"}
        other.forget("v")
        assert one.rows("v") == {}
