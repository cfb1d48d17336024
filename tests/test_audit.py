"""The audit log: what is in it, who may read it, rotation, several processes, and damage."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lorekeeper.audience import Viewer
from lorekeeper.server.audit import AuditLog, read_audit, rotated
from lorekeeper.server.exchange import Exchange, Recorder, RecordingError
from lorekeeper.server.limits import VIEWER, RateLimit
from lorekeeper.server.recording import Recording
from tests.support.commands import ROOT, environment, run_lorekeeper
from tests.support.tables import each_row

ANA = Viewer.player("Ana")


def exchange(**asked: Any) -> Exchange:
    return Exchange("mcp", "127.0.0.1", ANA, "search_lore", asked)


async def written(path: Path, *exchanges: Exchange, **options: int) -> list[str]:
    with closing(AuditLog(path, **options)) as log:
        for each in exchanges:
            await log.record(each)
    return path.read_text("utf-8").splitlines()


async def test_a_request_is_one_line_of_json_that_only_this_user_can_read(tmp_path: Path) -> None:
    asked = exchange(tool="search_lore", arguments={"query": "a lance"})
    asked.returned({"results": [{"uri": "lore://spells/b/tide-lance"}], "mode": "hybrid", "total": 9})
    path = tmp_path / "new" / "audit.log"
    (line,) = await written(path, asked)
    entry = json.loads(line)
    assert entry.pop("time").endswith("Z")
    assert entry.pop("ms") >= 0
    assert entry == {
        "person": "Ana",
        "view": "player",
        "how": "mcp",
        "address": "127.0.0.1",
        "asked": {"tool": "search_lore", "arguments": {"query": "a lance"}},
        "results": 1,
        "uris": ["lore://spells/b/tide-lance"],
        "outcome": "answered",
        "status": None,
        "refused": None,
    }
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_what_was_asked_forges_no_line_and_contains_no_token(tmp_path: Path) -> None:
    query = 'x"}\n{"time": "2026-01-01T00:00:00Z"}\r\n\x1b[2J\u2028\u202e'
    asked = exchange(arguments={"query": query, "access_token": "hunter2"}, Authorization="Bearer hunter2")
    (line,) = await written(tmp_path / "audit.log", asked)
    assert line.isprintable()
    assert "hunter2" not in line
    assert json.loads(line)["asked"]["arguments"]["query"] == query


async def test_a_file_that_is_full_is_rotated_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    await written(path, *(exchange(number=n) for n in range(60)), max_bytes=2000, kept=3)
    assert {p.name for p in tmp_path.glob("audit.log*")} == {
        "audit.log",
        "audit.log.lock",
        *(p.name for p in rotated(path, 3)),
    }
    assert max(p.stat().st_size for p in tmp_path.glob("audit.log*")) <= 2000
    numbers = [entry["asked"]["number"] for entry in read_audit(path).entries]
    assert numbers == list(range(numbers[0], 60))
    assert 0 < numbers[0] < 50
    if os.name == "posix":
        assert {stat.S_IMODE(p.stat().st_mode) for p in tmp_path.glob("audit.log*")} == {0o600}


WRITER = """
import asyncio, sys
from pathlib import Path
from lorekeeper.server.audit import AuditLog
from lorekeeper.server.exchange import Exchange
async def main():
    log = AuditLog(Path(sys.argv[1]), max_bytes=20_000)
    for number in range(int(sys.argv[3])):
        await log.record(Exchange("mcp", asked={"writer": sys.argv[2], "number": number}))
        print(number, flush=True)
asyncio.run(main())
"""


def write_elsewhere(path: Path, name: str, number: int) -> Sequence[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(number)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=200)
    return done.stdout.split()


def test_processes_share_a_file_line_by_line_while_it_is_rotated(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    with ThreadPoolExecutor(3) as threads:
        said = list(threads.map(lambda name: write_elsewhere(path, name, 120), "abc"))
    found = read_audit(path)
    asked = [(entry["asked"]["writer"], entry["asked"]["number"]) for entry in found.entries]
    assert [len(each) for each in said] == [120] * 3
    assert rotated(path)[1].exists()
    assert found.damaged == []
    assert sorted(asked) == [(name, number) for name in "abc" for number in range(120)]
    assert all([n for w, n in asked if w == name] == list(range(120)) for name in "abc")


async def test_a_damaged_line_is_reported_and_the_next_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    await written(path, exchange(number=1))
    with path.open("a") as file:
        file.write('{"time": "2026-1')
    assert read_audit(path).damaged == ["audit.log:2"]
    await written(path, exchange(number=2))
    found = read_audit(path)
    assert [entry["asked"]["number"] for entry in found.entries] == [1, 2]
    assert found.damaged == ["audit.log:2"]


async def test_the_command_shows_one_person_since_a_date(tmp_path: Path) -> None:
    path, other = tmp_path / "audit.log", exchange(tool="search_lore", arguments={"query": "\x1b[31mred"})
    other.viewer = Viewer("dm")
    await written(path, exchange(tool="lookup_spell", arguments={"name": "wish"}), other)
    env = environment(tmp_path, AUDIT_LOG=str(path))
    shown = run_lorekeeper(tmp_path, "audit", "--person", "ana", "--since", "7d", env=env)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.count("\n") == 1
    assert 'Ana  mcp  lookup_spell {"name": "wish"}  (answered, 0 results' in shown.stdout
    everything = run_lorekeeper(tmp_path, "audit", env=env).stdout
    assert everything.count("\n") == 2
    assert "\x1b" not in everything


# --- around an application -------------------------------------------------------------------------------------------


class Kept:
    """A recorder that keeps what it gets, or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        self.exchanges: list[Exchange] = []
        self.fails = fails

    async def record(self, exchange: Exchange) -> None:
        if self.fails:
            raise RecordingError("the device is full")
        self.exchanges.append(exchange)


async def search(request: Request) -> JSONResponse:
    await request.body()
    found = [{"uri": "lore://spells/b/tide-lance", "entity": {"uri": "lore://spells/b/tide-lance"}}]
    return JSONResponse({"results": found, "mode": "keyword"})


async def page(_: Request) -> StreamingResponse:
    return StreamingResponse(iter([b"<p>", b"</p>"]), media_type="text/html")


async def alive(_: Request) -> Response:
    return Response("alive")


ROUTES = [
    Route("/api/v1/search", search, methods=["GET", "POST"]),
    Route("/page/{name}", page),
    Route("/healthz", alive),
]


def recorded(recorder: Recorder) -> httpx.AsyncClient:
    app = RateLimit(Starlette(routes=ROUTES), "0", 0)

    async def identified(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, VIEWER: ANA}, receive, send)

    transport = httpx.ASGITransport(Recording(identified, [recorder]))
    return httpx.AsyncClient(transport=transport, base_url="http://library")


async def test_requests_over_http_are_recorded_with_what_was_asked_and_returned() -> None:
    kept = Kept()
    async with recorded(kept) as asking:
        assert (await asking.get("/api/v1/search?q=a+lance&type=spells&type=rules")).json()["mode"] == "keyword"
        await asking.post("/api/v1/search?detail=full", json={"query": "a lance"})
        assert (await asking.get("/page/notes")).text == "<p></p>"
        assert (await asking.get("/nowhere")).status_code == 404
        assert (await asking.get("/healthz")).status_code == 200
    assert [(e.how, e.name, e.outcome, e.status, e.results, e.viewer) for e in kept.exchanges] == [
        ("rest", "GET /api/v1/search", "answered", 200, 1, ANA),
        ("rest", "POST /api/v1/search", "answered", 200, 1, ANA),
        ("page", "GET /page/{name}", "answered", 200, 0, ANA),
        ("page", "", "failed", 404, 0, ANA),
    ]
    assert kept.exchanges[0].asked["parameters"] == {"q": "a lance", "type": ["spells", "rules"]}
    assert kept.exchanges[1].asked["parameters"] == {"detail": "full", "query": "a lance"}
    assert kept.exchanges[0].uris == ["lore://spells/b/tide-lance"]
    assert kept.exchanges[2].asked["route"] == "GET /page/notes"


@each_row("path", ["/api/v1/search", "/page/notes", "/nowhere"])
async def test_what_cannot_be_recorded_is_not_answered(path: str) -> None:
    async with recorded(Kept(fails=True)) as asking:
        response = await asking.get(path)
    assert response.status_code == 503
    assert "lore://" not in response.text
    assert "<p>" not in response.text
