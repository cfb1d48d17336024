"""``lorekeeper open``: a server that runs, one that is started, ports of others, and who gets to know the link."""

from __future__ import annotations

import http.server
import json
import re
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import httpx
import pytest
import stamina

from tests.support import forking
from tests.support.commands import environment, run_inside
from tests.support.loopback import QuietServer, running
from tests.support.service import Serving, serving

SQLITE = {"CACHE_BACKEND": "sqlite"}
SIGNS_IN = re.compile(r"(https?://127\.0\.0\.1:\d+)/sign-in\?key=(lk_[\w-]{22})\n")
SECONDS = 60

BROWSER = """\
import json, os, re, stat, sys, urllib.request
(address,) = sys.argv[1:]
file = address.removeprefix("file://")
link = re.search('href="([^"]*)"', open(file).read())[1] if address.startswith("file:") else address
seen = {"arguments": sys.argv[1:], "link": link}
if address.startswith("file:"):
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (file, os.path.dirname(file))]
    seen |= {"modes": modes, "status": urllib.request.urlopen(urllib.request.Request(link, headers={"Accept": "text/html"})).status}
json.dump(seen, open("seen.json", "w"))
"""
"""A browser that keeps what it was called with, and opens the link."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serving(tmp_path_factory.mktemp("open"), **SQLITE) as started:
        yield started


def opened(server: Serving, *arguments: str, port: int | None = None, folder: Path | None = None, **more: str) -> Any:
    """What ``lorekeeper open`` does beside a server, or with the library of another folder."""
    env = environment(folder or server.log.parent, **SQLITE, **more)
    options = ("--port", str(port or server.port), *arguments)
    return run_inside(folder or server.log.parent, "open", *options, env=env)


def get(address: str) -> httpx.Response:
    verify = ssl._create_unverified_context() if address.startswith("https") else False
    return httpx.get(address, headers={"Accept": "text/html"}, verify=verify, timeout=SECONDS)


@pytest.mark.slow
def test_a_server_that_runs_is_opened_with_a_link_that_signs_in_once(server):
    done = opened(server, "--no-browser")
    assert done.returncode == 0
    link = SIGNS_IN.fullmatch(done.stdout)
    assert link, done.stderr
    assert link[1] == server.url
    first, second = get(link[0].strip()), get(link[0].strip())
    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert "httponly" in first.headers["set-cookie"].lower()
    assert second.status_code == 401
    assert link[2] not in server.log.read_text()


def test_a_port_of_another_library_is_refused(server, tmp_path):
    done = opened(server, "--no-browser", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(r"port \d+ .* is in use .*another library.*--port", done.stderr)


class Relay(http.server.BaseHTTPRequestHandler):
    """Answers as a real server does, by asking one; it would like to be opened in its place."""

    real = ""
    served: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        with urllib.request.urlopen(self.real + self.path) as response:
            body = response.read()
        assert json.loads(body)["answers"], "the real server answers"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.served.append(self.path)

    def log_message(self, *_: object) -> None:
        pass


def test_what_passes_the_challenge_on_to_a_server_is_not_taken_for_it(server):
    Relay.real = server.url
    Relay.served.clear()
    with running(QuietServer(("127.0.0.1", 0), Relay)) as address:
        done = opened(server, "--no-browser", port=urlsplit(address).port)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(Relay.served) == 1


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def started(folder: Path, *arguments: str, **variables: str) -> tuple[subprocess.Popen[str], str]:
    """``lorekeeper open`` where nothing runs, and the link that it prints once it does."""
    (folder / "browser.py").write_text(BROWSER)
    env = environment(folder, **SQLITE, **variables) | {"BROWSER": f"{sys.executable} {folder / 'browser.py'} %s"}
    command = forking.command("lorekeeper", "open", "--port", free_port(), *arguments)
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log
        )
    assert process.stdout
    return process, process.stdout.readline().strip()


def ended(process: subprocess.Popen[str]) -> int:
    """The status after Ctrl-C."""
    process.send_signal(signal.SIGINT)
    status = process.wait(timeout=SECONDS)
    assert process.stdout
    process.stdout.close()
    return status


@pytest.mark.slow
def test_the_browser_is_led_to_the_link_and_no_other_user_sees_the_key(tmp_path):
    process, link = started(tmp_path, HTTP_TOKEN="master")
    try:
        key = link.partition("key=")[2]
        wait_for(tmp_path / "seen.json")
        seen = json.loads((tmp_path / "seen.json").read_text())
        assert (seen["link"], seen["modes"]) == (link, [0o600, 0o700])
        assert key
        assert key not in str(seen["arguments"])
        wait_for(Path(seen["arguments"][0].removeprefix("file://")), there=False)
        assert get(link).status_code == 401, "the browser has used it"
    finally:
        status = ended(process)
    assert status == 0
    written = "".join(file.read_text("utf-8", "replace") for file in tmp_path.iterdir() if file.name != "seen.json")
    assert key not in written
    assert key not in process_list()


def wait_for(file: Path, *, there: bool = True) -> None:
    for attempt in stamina.retry_context(on=AssertionError, attempts=None, timeout=SECONDS, wait_max=0.1):
        with attempt:
            assert file.exists() == there


def process_list() -> str:
    """The arguments of all processes that can be seen."""
    files = [entry / "cmdline" for entry in Path("/proc").iterdir() if entry.name.isdecimal()]
    return "".join(file.read_text("utf-8", "replace") for file in files if file.exists())
