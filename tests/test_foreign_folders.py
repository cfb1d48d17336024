"""Folders of strangers: what their names lead to is read only if it is a regular file, within limits, and never waited for."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import lorekeeper.vaults.sync as sync_module
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.regular_files import open_within, read_regular
from lorekeeper.vaults.ignoring import MAX_CHARS, Ignored, parse
from lorekeeper.vaults.reading import UnreadableError, content
from lorekeeper.vaults.scan import IGNORE_BYTES, scan
from tests.support.tables import each_row, rows
from tests.support.vaults import vault_library, write

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")

NOTES = {"Keep.md": "# Keep\nA ruined tower by the grey lake.\n", "Drafts/Lake.md": "# Lake\nDeep, cold water.\n"}


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path.parent)  # a path of a socket has about 100 characters at most
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)


def outside(path: Path) -> None:
    other = path.parent.parent / "outside"
    other.write_text("Keep.md\n")
    path.symlink_to(other)


def huge(path: Path) -> None:
    path.write_text("x\n" * IGNORE_BYTES)


STAND_INS: dict[str, tuple[Callable[[Path], None], str]] = {
    "pipe": (pipe, "it is a pipe, not a regular file"),
    "device": (endless, "it is a symbolic link, not a regular file"),
    "socket": (listening, "it is a socket, not a regular file"),
    "link": (outside, "it is a symbolic link, not a regular file"),
    "folder": (Path.mkdir, "it is a folder, not a regular file"),
    "huge": (huge, f"it has more than {IGNORE_BYTES:,} bytes"),
}


# --- the file of patterns ----------------------------------------------------------------------------------------------


@each_row(
    ("line", "path"),
    [
        ("*a" * 17 + "*b", "a" * 200),
        ("?*" * 40 + "z", "a" * 250),
        ("[a-c]*" * 30 + "!", "abc" * 80),
        ("**/a/" * 60 + "b", "a/" * 400 + "c"),
        ("/" + "*/**/" * 100 + "b", "a/" * 400 + "c"),
        ("*" * (MAX_CHARS - 1) + "b", "a" * 250),
    ],
)
def test_patterns_with_many_stars_are_compared_without_backtracking(line, path):
    assert not Ignored(filter(None, [parse(line)])).has(path, is_folder=False)  # which backtracking would not end


@each_row(
    ("lines", "path", "is_folder", "expected"),
    rows("ignored_paths"),
)
def test_patterns_mean_what_git_means(lines, path, is_folder, expected):
    """The expectations are what `git check-ignore` says."""
    assert Ignored(filter(None, map(parse, lines))).has(path, is_folder=is_folder) is expected


# --- notes and folders ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stand_in", ["pipe", "device", "socket", "link", "folder"])
def test_what_takes_the_place_of_a_note_after_the_scan_is_not_read(tmp_path, stand_in):
    vault = write(tmp_path / "vault", NOTES)
    file = scan(vault).files["Keep.md"]
    (vault / "Keep.md").unlink()
    make, reason = STAND_INS[stand_in]
    make(vault / "Keep.md")
    with pytest.raises(UnreadableError, match=reason):
        content(vault, file)


def test_a_folder_that_becomes_a_link_after_the_scan_is_not_read(tmp_path):
    vault, other = write(tmp_path / "vault", NOTES), write(tmp_path / "other", {"Lake.md": "Not of this vault.\n"})
    file = scan(vault).files["Drafts/Lake.md"]
    (vault / "Drafts" / "Lake.md").unlink()
    (vault / "Drafts").rmdir()
    (vault / "Drafts").symlink_to(other)
    with pytest.raises(UnreadableError):
        content(vault, file)


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """A folder that is removed at the end by what can, unlike Python."""
    yield tmp_path
    subprocess.run(["rm", "-rf", str(tmp_path)], check=True)


def nested(folder: Path, depth: int, name: str, text: str) -> None:
    """Folders within each other, the innermost one with a file; their path is longer than the system takes at once."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=here), "w") as file:
        file.write(text)
    os.close(here)


def test_folders_nested_beyond_what_the_system_can_open_are_a_problem_of_their_own(deep):
    vault = write(deep / "vault", NOTES)
    nested(vault, 3_000, "Deep.md", "# Deep\nNobody has come down here.\n")
    found = scan(vault)
    assert sorted(found.files) == sorted(NOTES)
    assert [problem.reason for problem in found.problems] == ["the folder cannot be read: File name too long"]
    assert len(found.unreadable) == 1


@pytest.mark.alike(1)
@pytest.mark.parametrize("depth", [3_000, 1_500])
def test_a_deeply_nested_folder_is_imported_as_far_as_it_can_be_opened(deep, depth):
    ward = '{"collection": "rules", "kind": "rule", "name": "%s Ward", "description": "A ward against the cold."}'
    write(deep / "books", {"a.jsonl": ward % "Grey"})
    nested(deep / "books", depth, "b.jsonl", ward % "Deep")
    report = ImportReport()
    names = [entry.entity.name for entry in Reader([deep / "books"], "wards", report).read()]
    assert "Grey Ward" in names
    assert ("Deep Ward" in names) is (depth < 2_000)
    assert ["File name too long" in str(problem) for problem in report.failed] == [True] * (depth > 2_000)


# --- what does not answer ------------------------------------------------------------------------------------------------


async def test_a_library_closes_while_the_scan_of_a_vault_does_not_answer(tmp_path, monkeypatch):
    vault, begun, never = write(tmp_path / "vault", NOTES), threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        begun.set()
        never.wait()

    async with vault_library(tmp_path) as library:
        await library.vaults.add(vault)
        monkeypatch.setattr(sync_module, "scan", hang)
        task = asyncio.create_task(library.vaults.sync())
        await asyncio.to_thread(begun.wait)
        threads = [thread for thread in threading.enumerate() if thread.name == "hang"]
        assert [thread.daemon for thread in threads] == [True]
        task.cancel()
    never.set()


# --- other files whose names others know -----------------------------------------------------------------------------------


def test_only_regular_files_are_opened_and_not_more_than_the_limit(tmp_path):
    whole = tmp_path / "whole"
    whole.write_bytes(b"12345")
    (tmp_path / "link").symlink_to(whole)
    assert read_regular(tmp_path / "link", 5) == b"12345"
    with pytest.raises(OSError, match="it has more than 4 bytes"):
        read_regular(whole, 4)
    with pytest.raises(OSError, match="it is a symbolic link"), open_within(tmp_path, "link"):
        pass
    with pytest.raises(OSError, match="it is a device"):
        read_regular(Path("/dev/zero"), 4)
