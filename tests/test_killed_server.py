"""A server that is killed while many ask it and notes are saved: tokens, the audit log and the library are intact."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from urllib.parse import quote

import httpx
import pytest

from lorekeeper.composition import people_of
from lorekeeper.server.audit import read_audit
from tests.support.commands import run_inside
from tests.support.libraries import settings, shelf_folder
from tests.support.samples import SAMPLES
from tests.support.service import Serving, message, serving
from tests.support.serving import INITIALIZE
from tests.support.vaults import save
from tests.support.waiting import until
from tests.support.wires import ACCEPTED

CLIENTS = 30
NOTES = 5
FEWEST, MOST = 60, 200
"""Answers until a kill."""

SECONDS_A_NOTE = 0.02

SHARED = "---\nvisibility: players\n---\nThis is {}.\n"


@dataclass
class Load:
    """Clients of a server, and what they were answered.

    Attributes:
        tokens: of the clients.
        answered: the names that were looked up, whose answers have come.
        wrong: answers that are errors.
    """

    tokens: Sequence[str]
    answered: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    async def on(self, server: Serving, vault: Path, kill: int, most: int) -> None:
        """Ask a server, and save notes, until so many more answers have come; then kill it."""
        enough = len(self.answered) + most
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=server.url, timeout=200, verify=False, limits=limits) as http:
            asks = (self.by_rest, self.by_mcp)
            clients = [asks[n % 2](http, self.tokens[n % len(self.tokens)], f"{kill} {n}") for n in range(CLIENTS)]
            tasks = [asyncio.create_task(each) for each in clients]
            for number in itertools.count():
                save(vault / f"Note {number % NOTES}.md", SHARED.format(f"kill {kill}, version {number}"))
                await asyncio.sleep(SECONDS_A_NOTE)
                if len(self.answered) >= enough or self.wrong or all(task.done() for task in tasks):
                    break
            server.process.kill()
            await asyncio.gather(*tasks)

    async def by_rest(self, http: httpx.AsyncClient, token: str, client: str) -> None:
        """Look up names that nobody else does, until the server is gone."""
        for number in itertools.count():
            name = f"lance {client} {number}"
            path = f"/api/v1/lookup_spell?name={quote(name)}"
            try:
                answer = await http.get(path, headers={"Authorization": f"Bearer {token}"})
            except httpx.TransportError:
                return
            self.take(name, answer, '"results"')

    async def by_mcp(self, http: httpx.AsyncClient, token: str, client: str) -> None:
        """The same in a session."""
        headers = {**ACCEPTED, "Authorization": f"Bearer {token}"}
        try:
            begun = await http.post("/mcp", json=message("initialize", **INITIALIZE), headers=headers)
            headers["mcp-session-id"] = begun.headers["mcp-session-id"]
            for number in itertools.count():
                name = f"lance {client} {number}"
                asked = message("tools/call", number, name="lookup_spell", arguments={"name": name})
                self.take(name, await http.post("/mcp", json=asked, headers=headers), '"result"')
        except httpx.TransportError:
            return

    def take(self, name: str, answer: httpx.Response, sign: str) -> None:
        """Note an answer; one that was cut off is none."""
        if answer.status_code == 200 and sign in answer.text:
            self.answered.append(name)
        elif answer.status_code != 200:
            self.wrong.append(f"{answer.status_code} {answer.text[:200]}")


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library of samples and a vault."""
    folder = shelf_folder(tmp_path_factory)
    vault = folder / "saga"
    vault.mkdir()
    for number in range(NOTES):
        save(vault / f"Note {number}.md", SHARED.format("unchanged"))
    assert run_inside(folder, "vault", "add", str(vault)).returncode == 0
    return folder


@pytest.mark.slow
def test_a_killed_server_leaves_tokens_audit_log_and_library_intact(folder: Path, seed: int, kills: int) -> None:
    chance, audit, before = Random(seed), folder / "audit.log", counts(folder)
    assert sum(before.values()) >= len(SAMPLES) + NOTES
    people = people_of(settings(milvus_db_path=folder / "milvus.db"))
    load = Load([people.add(*who)[1] for who in (("Ana", "player"), ("Bo", "player"), ("Geoff", "dm"))])
    for kill in range(kills):
        with serving(folder, AUDIT_LOG=str(audit), RATE_LIMIT="0") as server:
            asyncio.run(load.on(server, folder / "saga", kill, chance.randint(FEWEST, MOST)))
    assert load.wrong == []
    assert len(load.answered) >= FEWEST * kills
    assert missing_in(audit, load.answered) == set()
    with serving(folder, RATE_LIMIT="0") as server:
        # once it has read the notes, which no answer waits for longer than some seconds
        until(lambda: [statuses(server, token) for token in load.tokens] == [(200, NOTES)] * 3)
        assert statuses(server, "lk_" + "x" * 43) == (401, 0)
    assert counts(folder) == before
    doctor = json.loads(run_inside(folder, "doctor", "--json").stdout)
    assert [check for check in doctor["checks"] if not check["ok"]] == []


def counts(folder: Path) -> dict[str, int]:
    """The entries of a library by type."""
    found: dict[str, int] = json.loads(run_inside(folder, "stats", "--json").stdout)["counts"]
    return found


def missing_in(audit: Path, answered: Sequence[str]) -> set[str]:
    """What was answered and is not in a log, which has no damaged lines."""
    log = read_audit(audit)
    assert log.damaged == []
    asked = [entry["asked"] for entry in log.entries]
    return set(answered) - {str((each.get("arguments") or each.get("parameters") or {}).get("name")) for each in asked}


def statuses(server: Serving, token: str) -> tuple[int, int]:
    """What a token brings: a status, and the notes that are as their files are."""
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {token}"}, timeout=200) as http:
        answer = http.get("/api/v1/lookup_note?order=name")
        return answer.status_code, len(answer.json().get("results", ()))
