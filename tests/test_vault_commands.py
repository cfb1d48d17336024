"""The commands about vaults, in processes of their own or as one, and programs that are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import forking
from tests.support.commands import environment, run_inside, run_lorekeeper
from tests.support.vault_fire import edits_under_fire
from tests.support.vaults import digests, notes_of, vault_library, write

Command = Callable[..., tuple[int, str, str]]

NOTES = {
    "Skara.md": "# Skara\nA warden who fears nothing.\n## Home\nIn the [[Kep]] by the lake.\n",
    "North/Keep.md": "# Keep\nA ruined tower by the lake.\n## Cellar\nSee [[Lake]] for more.\n",
    "North/Lake.md": "# Lake\nDeep and cold water.\n",
    "South/Lake.md": "# Lake\nShallow and warm water.\n",
    "Loose.md": "# {{title}}\nA template that nobody marked.\n",
    "Broken.md": "---\nname: Broken\nno key\n---\n# Broken\nIts front matter cannot be read.\n",
    "Latin.md": "",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    write(tmp_path / "vault", NOTES)
    (tmp_path / "vault" / "Latin.md").write_bytes(b"caf\xe9")
    return tmp_path / "vault"


@pytest.fixture
def command(tmp_path, embeddings) -> Command:
    """Run a command on the library of the test; status, stdout and stderr."""

    def start(*arguments: str, **settings: str) -> tuple[int, str, str]:
        chosen = {"EMBEDDING_PROVIDER": "http", "EMBEDDING_URL": embeddings.url, **settings}
        done = run_inside(tmp_path, *arguments, env=environment(tmp_path, **chosen))
        return done.returncode, done.stdout, done.stderr

    return start


def test_a_vault_is_added_listed_checked_and_removed(command, vault):
    before = digests(vault)
    status, out, _ = command("vault", "add", str(vault), "--key", "mine", "--name", "My World", "--json")
    added = json.loads(out)
    assert (status, added["notes"], added["stored"], added["vaults"]) == (1, 5, 5, ["mine"])
    assert [failure["where"] for failure in added["failed"]] == ["mine/Latin.md"]
    assert added["passed"] == {"a template": 1}
    (listed,) = json.loads(command("vault", "list", "--json")[1])["vaults"]
    assert (listed["key"], listed["name"], listed["state"], listed["notes"]) == ("mine", "My World", "in step", 5)
    status, out, _ = command("vault", "check", "mine", "--json")
    found = {(finding["kind"], finding["path"]): finding for finding in json.loads(out)["findings"]}
    assert status == 1
    assert list(found) == [
        ("unreadable", "Latin.md"),
        ("front-matter", "Broken.md"),
        ("template", "Loose.md"),
        ("dangling", "Skara.md"),
        ("ambiguous", "North/Keep.md"),
    ]
    dangling = found["dangling", "Skara.md"]
    assert (dangling["what"], dangling["section"], dangling["near"]) == ("Kep", "Home", ["North/Keep.md"])
    assert "My World" in command("documents", "--json")[1]
    assert json.loads(command("stats", "--json")[1])["vaults"][0]["key"] == "mine"
    assert json.loads(command("vault", "remove", "mine", "--json")[1]) == {"key": "mine", "removed": 6}
    assert json.loads(command("stats", "--json")[1])["total"] == 0
    assert digests(vault) == before


def test_people_read_the_same(command, vault):
    status, out, err = command("vault", "add", str(vault), "--exclude", "Latin.md")
    assert status == 0
    assert "5 notes, " in out
    assert "Skipped: excluded 1, a template 1" in out
    assert "front matter" in err
    assert "up to date; 5 notes" in command("vault", "list")[1]
    status, out, _ = command("vault", "check")
    assert status == 1
    assert "broken links (1): there is no such note" in out
    for name in ("Broken.md", "Loose.md", "Skara.md", "South/Lake.md"):
        (vault / name).unlink()
    assert command("vault", "sync")[0] == 0
    assert command("vault", "sync")[1].splitlines()[-3:-1] == [
        "All notes are up to date.",
        "  1 place, 1 note of no kind",
    ]
    assert command("vault", "check")[:2] == (0, "  1 place, 1 note of no kind\nNo problems found in 2 notes.\n")
    assert '"vault vault"' in command("doctor", "--json")[1]
    assert "The files of the vaults" in " ".join(command("backup", "b.zip")[1].split())


def test_ambiguous_names_are_listed(command, tmp_path):
    places = {
        "A/Keep.md": "# K\nOne of two keeps.",
        "B/Keep.md": "# K\nTwo of two keeps.",
        "I.md": "# I\nSee the [[Keep]].",
    }
    write(tmp_path / "v", places)
    command("vault", "add", "v")
    (found,) = json.loads(command("vault", "check", "--json")[1])["findings"]
    assert (found["kind"], found["what"], found["near"]) == ("ambiguous", "Keep", ["A/Keep.md", "B/Keep.md"])


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["add"], 2, "needs a folder"),
        (["remove"], 2, "needs a key"),
        (["remove", "other"], 1, "there is no vault yet"),
        (["sync", "other"], 1, "there is no vault yet"),
        (["list", "--key", "x"], 2, "belong to 'vault add'"),
        (["add", "nowhere"], 1, "there is no such folder"),
        (["add", "."], 1, "it holds the library itself"),
    ],
)
def test_wrong_use_says_what_to_do(command, arguments, status, said):
    done, _, err = command("vault", *arguments)
    assert (done, said in err) == (status, True), err


def test_a_book_keeps_its_key(command, tmp_path):
    book = {
        "collection": "rules",
        "kind": "rule",
        "name": "Falling",
        "document": "vault",
        "description": "It hurts a lot.",
    }
    (tmp_path / "book.json").write_text(json.dumps(book))
    assert command("import", "book.json")[0] == 0
    write(tmp_path / "vault", {"A.md": "# A\nThree words here."})
    status, _, err = command("vault", "add", "vault")
    assert (status, "is the key of a book" in err) == (1, True)
    assert command("vault", "add", "vault", "--key", "mine")[0] == 0
    assert command("vault", "remove", "mine")[0] == 0
    listed = {"VAULTS": str(tmp_path / "vault")}
    assert "vault-2" in command("vault", "list", "--json", **listed)[1]
    assert command("vault", "list", **listed)[1].endswith("  not read yet\n")


def test_a_restored_library_is_brought_in_step_again(command, vault, tmp_path):
    command("vault", "add", str(vault))
    command("backup", "b.zip")
    (vault / "Skara.md").unlink()
    write(vault, {"New.md": "# New\nThree words more."})
    command("vault", "sync")
    command("restore", "b.zip")
    assert json.loads(command("stats", "--json")[1])["counts"]["notes"] == 5
    restored = json.loads(command("vault", "sync", "--json")[1])
    assert (restored["stored"], restored["removed"], restored["embedded"], restored["notes"]) == (1, 1, 0, 5)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kills processes by signal")
def test_a_sync_that_was_killed_is_completed_by_the_next(tmp_path, embeddings, seed, kills):
    chance, vault = random.Random(seed), tmp_path / "vault"
    environ = environment(tmp_path, EMBEDDING_PROVIDER="http", EMBEDDING_URL=embeddings.url, VAULTS=str(vault))
    texts = {f"{n % 7}/Note {n}.md": f"# Note {n}\nEdition 0 of [[Note {n + 1}]].\n" for n in range(900)}
    write(vault, texts)
    for edition in range(1, 2 * kills + 1):
        for path in chance.sample(sorted(texts), 300):
            texts[path] = texts[path].split("Edition")[0] + f"Edition {edition} of [[Note {chance.randrange(900)}]].\n"
            write(vault, {path: texts[path]})
        process = subprocess.Popen(forking.command("lorekeeper", "vault", "sync"), env=environ, cwd=tmp_path)
        time.sleep(0.3 + chance.random())
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = run_lorekeeper(tmp_path, "vault", "sync", "--json", env=environ)
    assert (done.returncode, json.loads(done.stdout)["notes"]) == (0, 900), done.stderr
    again = json.loads(run_lorekeeper(tmp_path, "vault", "sync", "--json", env=environ).stdout)
    assert (again["stored"], again["removed"], again["embedded"]) == (0, 0, 0)


@pytest.mark.slow
def test_a_library_equals_a_vault_that_was_edited_while_servers_answered(tmp_path, embeddings, seed):
    environ = environment(tmp_path, EMBEDDING_PROVIDER="http", EMBEDDING_URL=embeddings.url)
    outcome = edits_under_fire(tmp_path, environ, edits=150, seconds=6, servers=2, seed=seed)
    assert outcome.faultless, f"--seed={seed}: {outcome}"


async def test_two_libraries_of_one_folder_take_turns(tmp_path):
    vault = write(tmp_path / "v", {f"Note {n}.md": f"# Note {n}\nThree words here.\n" for n in range(20)})
    async with vault_library(tmp_path, backend="sqlite") as one, vault_library(tmp_path, backend="sqlite") as other:
        await one.vaults.add(vault)
        for number in range(3):
            write(vault, {f"New {number}.md": "# New\nThree words more.\n"})
            assert [await library.vaults.fresh() for library in (one, other)] == ["", ""]
            assert len(await notes_of(other)) == 21 + number
