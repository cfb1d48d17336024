"""A server process: what schemathesis makes of the gateway's description, and the examples of the manual."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import stamina

from lorekeeper.audience import Role
from lorekeeper.composition import people_of
from tests.support.campaign import NOTES
from tests.support.commands import ROOT, run_lorekeeper
from tests.support.libraries import settings, shelf_folder
from tests.support.serving import SECONDS, http_server

EXAMPLES = {"dm": 3, "player": 5}
"""Random requests for each operation, by role: a player's answers have the same shapes, and fewer rows."""

PHASES = {"dm": "coverage,fuzzing", "player": "fuzzing"}

SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of samples, and a vault of a few notes."""
    folder = shelf_folder(tmp_path_factory)
    for note in NOTES:
        path = folder / "vault" / note.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n\n".join([f"# {note.name}", *(section.text for section in note.sections)]), "utf-8")
    added = run_lorekeeper(folder, "vault", "add", str(folder / "vault"))
    assert added.returncode == 0, added.stderr
    return folder


@pytest.fixture
def table(library: Path, tmp_path: Path) -> Path:
    """A copy of that library that has people."""
    return shutil.copytree(library, tmp_path / "table")


@pytest.mark.slow
@pytest.mark.parametrize("role", ["dm", "player"])
def test_the_gateway_keeps_its_description(table: Path, seed: int, tmp_path: Path, role: Role) -> None:
    _, token = people_of(settings(milvus_db_path=table / "milvus.db")).add("Ana", role)
    with http_server(table, RATE_LIMIT="0") as url:
        address = url.removesuffix("/mcp")
        for attempt in stamina.retry_context(on=httpx.HTTPStatusError, attempts=None, timeout=SECONDS, wait_max=0.2):
            with attempt:
                httpx.get(f"{address}/readyz").raise_for_status()
        command = [str(SCHEMATHESIS), "--config-file", str(ROOT / "schemathesis.toml"), "run"]
        options = ["--seed", str(seed), "--max-examples", str(EXAMPLES[role]), "--no-color"]
        options += ["--phases", PHASES[role], "--header", f"Authorization: Bearer {token}"]
        done = subprocess.run(
            [*command, f"{address}/api/v1/openapi.json", *options],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=400,
        )
    assert done.returncode == 0, done.stdout
    assert "Tested: 29" in done.stdout
    assert re.search(r"(\d{3,}) generated, \1 passed", done.stdout), done.stdout


@pytest.fixture(scope="module")
def address(library: Path) -> Iterator[str]:
    with http_server(library) as url:
        yield url.removesuffix("/mcp")


@pytest.mark.slow
def test_every_example_of_the_manual_is_answered(address: str) -> None:
    page = (ROOT / "docs/rest.md").read_text("utf-8").replace("http://127.0.0.1:8000", address)
    commands = re.findall(r"^curl (?:.*\\\n)*.*$", page, re.MULTILINE)
    assert len(commands) > 10
    answers = [
        subprocess.run(["sh", "-c", each], capture_output=True, check=True, timeout=SECONDS) for each in commands
    ]
    contents = [json.loads(answer.stdout) for answer in answers]
    problems = [content["detail"] for content in contents if "detail" in content]
    assert len(problems) == 1
    assert problems[0].startswith("unknown parameter of lookup_spell: 'levl'; did you mean 'level'?")
