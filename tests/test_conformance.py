"""The official tools of the protocol: its conformance suite over HTTP, its inspector over stdio and HTTP.

They come from the npm registry, at a fixed version; without npx or the registry these tests are skipped.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.composition import people_of
from lorekeeper.server.prompts import PROMPTS
from lorekeeper.server.tools import all_tools
from tests.support import forking
from tests.support.commands import ROOT, environment, run_lorekeeper
from tests.support.libraries import settings
from tests.support.samples import ATLAS, TITLES, write_lines
from tests.support.serving import SERVE, http_server
from tests.support.token_relay import with_token

NODE = "node@24"
SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"

BASELINE = Path(__file__).parent / "conformance.yml"
"""What does not apply, and why."""

pytestmark = pytest.mark.slow


@functools.cache
def command(package: str, program: str) -> tuple[str, ...]:
    """How to run a program of an npm package, without npx, which takes as long as the program; skipped if it is not to be had."""
    npx = shutil.which("npx")
    if npx is None:
        pytest.skip("npx is not installed")
    words = (npx, "--yes", "--package", NODE, "--package", package, "--")
    paths = ["sh", "-c", f"command -v node && command -v {program} && {program} --version"]
    tried = subprocess.run([*words, *paths], capture_output=True, text=True, timeout=300)
    if tried.returncode:
        pytest.skip(f"npx does not get {package}: {tried.stderr[-200:]}")
    return tuple(tried.stdout.splitlines()[:2])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("conformance")
    run_lorekeeper(folder, "import", str(write_lines(folder / "shelf.jsonl")))
    return folder


@pytest.fixture(scope="module")
def table(library: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A library with people, and a player's token."""
    folder = shutil.copytree(library, tmp_path_factory.mktemp("people") / "table")
    return folder, people_of(settings(milvus_db_path=folder / "milvus.db")).add("Ana", "player")[1]


@pytest.fixture(params=["open", "token"])
def url(request: pytest.FixtureRequest, library: Path, table: tuple[Path, str]) -> Iterator[str]:
    """Where a server is reached, that of a table as with a player's token: the suite sends none."""
    if request.param == "open":
        with http_server(library) as address:
            yield address
    else:
        folder, token = table
        with http_server(folder, RATE_LIMIT="0") as address, with_token(address, token) as relayed:
            yield relayed


def test_the_official_suite_passes_but_for_what_does_not_apply(url: str, tmp_path: Path) -> None:
    words = command(SUITE, "conformance")
    options = ["--suite", "all", "--expected-failures", str(BASELINE), "--output-dir", str(tmp_path)]
    done = subprocess.run([*words, "server", "--url", url, *options], capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-4000:]
    checks = [c for path in tmp_path.glob("*/checks.json") for c in json.loads(path.read_text())]
    assert sum(check["status"] == "SUCCESS" for check in checks) > 100


@pytest.fixture
def target(request: pytest.FixtureRequest, library: Path, table: tuple[Path, str]) -> Iterator[list[str]]:
    """How the inspector reaches a server."""
    if request.param == "token":
        folder, token = table
        with http_server(folder, RATE_LIMIT="0") as url:
            yield ["--server-url", url, "--transport", "http", "--header", f"Authorization: Bearer {token}"]
    elif request.param == "http":
        with http_server(library) as url:
            yield ["--server-url", url, "--transport", "http"]
    else:
        settings = {name: value for name, value in environment(library).items() if name.startswith("LOREKEEPER_")}
        settings |= forking.variables() or {"PYTHONPATH": str(ROOT)}
        settings |= {name: os.environ[name] for name in ("PYTHONPATH",) if os.environ.get(name)}
        pairs = [word for name, value in settings.items() for word in ("-e", f"{name}={value}")]
        yield [*pairs, "--", *SERVE]


def inspect(target: list[str], method: str, *options: str, era: str = "legacy") -> Any:
    """What the inspector prints of an answer."""
    words = command(INSPECTOR, "mcp-inspector")
    asked = ["--cli", "--quiet", "--format", "json", "--protocol-era", era, "--method", method, *options]
    asked += ["--connect-timeout", "120000"]
    done = subprocess.run([*words, *asked, *target], capture_output=True, text=True, timeout=120, cwd=os.sep)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("target", "era"),
    [("stdio", "legacy"), ("stdio", "modern"), ("http", "modern"), ("token", "legacy")],
    indirect=["target"],
)
def test_the_inspector_finds_no_error_and_gets_its_answers(target: list[str], era: str) -> None:
    tools = inspect(target, "tools/list", "--strict", era=era)
    assert [tool["name"] for tool in found(tools, "tools")] == [tool.name for tool in all_tools()]
    prompts = inspect(target, "prompts/list", era=era)
    assert [prompt["name"] for prompt in found(prompts, "prompts")] == list(PROMPTS)
    called = inspect(target, "tools/call", "--tool-name", "lookup_spell", "--tool-arg", "name=tide lance", era=era)
    assert "Tide Lance" in json.dumps(called)
    read = inspect(target, "resources/read", "--uri", f"lore://spells/{ATLAS}", era=era)
    assert f"# Spells of {TITLES[ATLAS]}" in json.dumps(read)
    filled = inspect(target, "prompts/get", "--prompt-name", "stat_block", "--prompt-args", "creature=wolf", era=era)
    assert "Show me the stat block of: wolf" in json.dumps(filled)


def found(answer: Any, name: str) -> list[dict[str, Any]]:
    """The list of that name, in the inspector's envelope or out of it."""
    content = answer.get("result", answer)
    listed: list[dict[str, Any]] = content[name]
    return listed
