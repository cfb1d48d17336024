"""Saves, renames and deletes notes while servers answer questions about them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lorekeeper.library import Library
from lorekeeper.settings import load_settings
from tests.support.commands import run_lorekeeper
from tests.support.raw_client import RawServer
from tests.support.vaults import digests, notes_of, write

NOTES = 60
"""Notes in the vault when the program begins; it keeps about as many."""

FOLDERS = ("", "People", "Places/North", "Places/South", "Sessions")

WORDS = "tower lake keep warden night river stone gold king ruin sword captain harbour oath lantern raven".split()


@dataclass
class Outcome:
    """What came of it.

    Attributes:
        questions: how many were answered.
        errors: what went wrong in the servers.
        unequal: paths of notes that are not in the library as they are in the folder.
        touched: paths of files that are not as the program left them.
        left: entries that a last sync still had to store or remove.
    """

    questions: int = 0
    errors: list[str] = field(default_factory=list)
    unequal: list[str] = field(default_factory=list)
    touched: list[str] = field(default_factory=list)
    left: int = 0

    @property
    def faultless(self) -> bool:
        """Whether the library equals the folder, and nothing went wrong."""
        return not (self.errors or self.unequal or self.touched or self.left) and self.questions > 0


class Editor:
    """Edits a vault, and remembers what it should hold."""

    def __init__(self, vault: Path, seed: int) -> None:
        self._vault, self._chance = vault, random.Random(seed)
        self.notes: dict[str, str] = {}
        self._number = 0
        for _ in range(NOTES):
            self._save_new()

    def edit(self) -> None:
        """One edit: half of them change a note, the others make, rename or delete one."""
        kinds = (self._change, self._change, self._change, self._rename, self._delete, self._save_new)
        self._chance.choice(kinds if len(self.notes) > NOTES // 2 else (self._save_new,))()

    def _text(self) -> str:
        self._number += 1
        words = " ".join(self._chance.choice(WORDS) for _ in range(40))
        link = self._chance.choice([*self.notes, "nowhere"]).rsplit("/", 1)[-1].removesuffix(".md")
        return f"# Heading\nEdition {self._number} of [[{link}]].\n## Part\n{words}.\n"

    def _path(self) -> str:
        self._number += 1
        folder = self._chance.choice(FOLDERS)
        return f"{folder}/Note {self._number}.md".lstrip("/")

    def _write(self, path: str) -> None:
        self.notes[path] = self._text()
        write(self._vault, {path: self.notes[path]})

    def _save_new(self) -> None:
        self._write(self._path())

    def _change(self) -> None:
        path = self._chance.choice(list(self.notes))
        if self._chance.random() < 0.5:
            self._write(path)
        else:  # as editors do that never leave half a file
            self.notes[path] = self._text()
            target = self._vault / f"{path}.tmp"
            target.write_text(self.notes[path])
            target.replace(self._vault / path)

    def _rename(self) -> None:
        old, new = self._chance.choice(list(self.notes)), self._path()
        (self._vault / new).parent.mkdir(parents=True, exist_ok=True)
        (self._vault / old).rename(self._vault / new)
        self.notes[new] = self.notes.pop(old)

    def _delete(self) -> None:
        path = self._chance.choice(list(self.notes))
        (self._vault / path).unlink()
        del self.notes[path]


class Asker(threading.Thread):
    """Asks its own server until it is told that it is enough."""

    def __init__(self, environ: Mapping[str, str], log: Path, outcome: Outcome) -> None:
        super().__init__()
        self.server, self._outcome = RawServer(environ, log), outcome
        self.server.greet()
        self.enough = threading.Event()

    def run(self) -> None:
        while not self.enough.is_set():
            try:
                self._ask(WORDS[self._outcome.questions % len(WORDS)])
            except Exception as error:
                self._outcome.errors.append(repr(error))
                return

    def _ask(self, query: str) -> None:
        answer = self.server.ask("search_lore", query=query)
        if answer.is_error:
            self._outcome.errors.append(f"{query}: {answer.text[:300]}")
        self._outcome.questions += 1


def edits_under_fire(
    folder: Path, environ: Mapping[str, str], *, edits: int, seconds: float, servers: int, seed: int
) -> Outcome:
    """Edit a vault in a folder while servers answer, then compare the library with it.

    Args:
        folder: for the vault and the logs.
        environ: of the servers; says where the library is.
        edits: how many.
        seconds: over which time.
        servers: how many processes.
        seed: of the edits.
    """
    vault, outcome = folder / "vault", Outcome()
    editor = Editor(vault, seed)
    environ = {**environ, "LOREKEEPER_VAULTS": str(vault)}
    run_lorekeeper(folder, "vault", "sync", "--json", env=environ)
    askers = [Asker(environ, folder / f"server-{number}.log", outcome) for number in range(servers)]
    for asker in askers:
        asker.start()
    _edit(editor, edits, seconds)
    for asker in askers:
        asker.enough.set()
    for asker in askers:
        asker.join()
        asker.server.ask("search_lore", query="tower")
    _compare(folder, environ, editor, vault, outcome)
    for asker in askers:
        status, said = asker.server.end()
        outcome.errors += [f"exit status {status}: {said}"] if status or said else []
    return outcome


def _edit(editor: Editor, edits: int, seconds: float) -> None:
    began = time.monotonic()
    for number in range(edits):
        editor.edit()
        time.sleep(max(0.0, began + (number + 1) * seconds / edits - time.monotonic()))


def _compare(folder: Path, environ: Mapping[str, str], editor: Editor, vault: Path, outcome: Outcome) -> None:
    outcome.unequal = asyncio.run(_unequal(environ, editor.notes))
    left = json.loads(run_lorekeeper(folder, "vault", "sync", "--json", env=environ).stdout)
    outcome.left = left["stored"] + left["removed"]
    expected = {path: hashlib.sha256(text.encode()).hexdigest() for path, text in editor.notes.items()}
    found = digests(vault)
    outcome.touched = sorted(path for path in found.keys() | expected.keys() if found.get(path) != expected.get(path))


async def _unequal(environ: Mapping[str, str], notes: Mapping[str, str]) -> list[str]:
    settings, _ = load_settings(environ, Path(os.devnull))
    async with Library.from_settings(settings) as library:
        found = {path: str(entity.data) for path, entity in (await notes_of(library)).items()}
    differing = [path for path, text in notes.items() if text.split("\n")[3][:-1] not in found.get(path, "")]
    return sorted({*differing, *(found.keys() - notes.keys())})
