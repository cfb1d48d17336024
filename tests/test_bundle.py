"""The bundle for desktop apps and the entry of the MCP registry: valid, of one version, and a server that answers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lorekeeper.server.tools import all_tools
from lorekeeper.settings import Settings, load_settings
from lorekeeper.version import DISTRIBUTION, VERSION
from scripts.build_bundle import MCPB, OPTIONS, ROOT, fill, manifest, pack, project, registry_name, server_json
from scripts.bundle_server import UNSET
from tests.support.serving import INITIALIZE

SCHEMA = ROOT / "tests" / "data" / "server-2025-12-11.schema.json"

README = (ROOT / "README.md").read_text("utf-8")


def test_every_version_is_the_version():
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    versions = [manifest()["version"], entry["version"], *(package["version"] for package in entry["packages"])]
    assert versions == [VERSION] * 3


def test_server_json_is_valid():
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker()).validate(server_json())


def test_the_page_of_the_package_names_the_entry():
    """As the registry checks who may publish it: the text must be on the package's page, which is README."""
    assert re.findall(r"<!-- mcp-name: (\S+) -->", README) == [registry_name()]
    assert project()["readme"] == "README.md"


def test_uvx_finds_a_command_under_the_name_of_the_package():
    assert project()["scripts"][DISTRIBUTION] == project()["scripts"]["lorekeeper"]
    assert server_json()["packages"][0]["identifier"] == DISTRIBUTION


def test_the_manifest_has_the_tools_of_the_server_and_the_settings_that_exist():
    assert [tool["name"] for tool in manifest()["tools"]] == [tool.name for tool in all_tools()]
    assert {"library", "offline"} <= set(manifest()["user_config"])
    assert {option.setting for option in OPTIONS} <= set(Settings.model_fields)
    assert "vaults" in manifest()["user_config"]


def test_every_setting_that_the_app_asks_for_reaches_the_server():
    started = json.dumps(manifest()["server"]["mcp_config"])
    assert set(re.findall(r"\$\{user_config\.(\w+)\}", started)) == set(manifest()["user_config"])


@pytest.mark.parametrize(
    ("name", "told", "setting"),
    [
        ("offline", "true", True),
        ("offline", "false", False),
        ("library", "/home/me/lore", Path("/home/me/lore/milvus.db")),
    ],
)
def test_what_the_app_writes_for_a_setting_is_accepted(name, told, setting):
    option = next(option for option in OPTIONS if option.name == name)
    value = str(option.value).replace(f"{UNSET}{name}}}", told)
    settings, origins = load_settings({option.variable: value}, Path(os.devnull))
    assert (getattr(settings, option.setting), origins[option.setting]) == (setting, "environment")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle unpacked; its wheel holds the package as it is here."""
    made = tmp_path_factory.mktemp("bundle")
    with zipfile.ZipFile(made / "lorekeeper.whl", "w") as wheel:
        for file in (ROOT / "lorekeeper").rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts:
                wheel.write(file, file.relative_to(ROOT))
        wheel.writestr(f"lorekeeper_rpg-{VERSION}.dist-info/METADATA", "")
    fill(made / "bundle", made / "lorekeeper.whl")
    return made / "bundle"


def test_the_bundle_names_its_dependencies_and_needs_no_build(folder):
    table = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    assert table["project"]["dependencies"] == project()["dependencies"]
    assert table["project"]["version"] == VERSION
    assert table["tool"]["uv"]["package"] is False
    assert sorted(path.name for path in folder.iterdir()) == [
        "LICENSE",
        "lorekeeper",
        "manifest.json",
        "pyproject.toml",
        "server.py",
    ]


def ask(folder: Path, home: Path, *requests: dict[str, Any]) -> list[dict[str, Any]]:
    """What the server of an unpacked bundle answers; an app's uv is replaced by this Python, which has the dependencies."""
    config = json.loads((folder / "manifest.json").read_text("utf-8"))["server"]["mcp_config"]
    assert (config["command"], config["args"][:3]) == ("uv", ["run", "--directory", "${__dirname}"])
    told = {"library": str(home), "offline": "true"}
    env = {
        name: re.sub(r"\$\{user_config\.(\w+)\}", lambda m: told[m[1]], value) for name, value in config["env"].items()
    }
    with subprocess.Popen(
        [sys.executable, *config["args"][3:]],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), **env},
        text=True,
    ) as server:
        assert server.stdin
        assert server.stdout
        answers = []
        for number, request in enumerate(requests):
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, **request}) + "\n")
            server.stdin.flush()
            answers.append(json.loads(server.stdout.readline()))
        server.stdin.close()
    assert server.returncode == 0
    return answers


@pytest.mark.slow
def test_the_unpacked_bundle_answers(folder, tmp_path):
    initialized, tools = ask(
        folder, tmp_path, {"method": "initialize", "params": INITIALIZE}, {"method": "tools/list", "params": {}}
    )
    assert initialized["result"]["serverInfo"]["version"] == VERSION
    listed = {tool["name"]: tool["description"] for tool in tools["result"]["tools"]}
    assert listed == {tool["name"]: tool["description"] for tool in manifest()["tools"]}


def test_settings_left_empty_count_as_not_set(folder, tmp_path):
    program = (
        "import os, server, lorekeeper; server.main = lambda words: print(words, lorekeeper.__file__, "
        "*sorted(n for n in os.environ if n.startswith('LOREKEEPER_')), os.environ.get('LOREKEEPER_VAULTS')) or 0; "
        "server.serve(['${user_config.vaults}', 'a', 'b'])"
    )
    env = {"LOREKEEPER_OFFLINE": "${user_config.offline}", "LOREKEEPER_EDITION": "2014", "PATH": "/usr/bin"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=env, capture_output=True, text=True, check=True, timeout=200
    )
    place = folder / "lorekeeper" / "__init__.py"
    assert done.stdout.split("\n")[0] == f"['serve'] {place} LOREKEEPER_EDITION LOREKEEPER_VAULTS a{os.pathsep}b"


@pytest.mark.slow
def test_the_official_tool_validates_and_packs_the_bundle_and_what_it_packed_answers(folder, tmp_path):
    if not shutil.which("npx"):
        pytest.skip("npx is not at hand: the official tool did not check the bundle")
    tried = subprocess.run([*MCPB, "--version"], capture_output=True, text=True, timeout=200, check=False)
    if tried.returncode:
        pytest.skip(f"{MCPB[-1]} is not to be had: {tried.stderr[-200:]}")
    bundle = tmp_path / f"lorekeeper-{VERSION}.mcpb"
    pack(folder, bundle)
    with zipfile.ZipFile(bundle) as packed:
        packed.extractall(tmp_path / "unpacked")
    (answer,) = ask(tmp_path / "unpacked", tmp_path, {"method": "initialize", "params": INITIALIZE})
    assert answer["result"]["serverInfo"]["name"] == "lorekeeper"
