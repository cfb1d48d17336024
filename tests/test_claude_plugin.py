"""The plugin for Claude Code: what is committed follows from the package, and is what the format asks for."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from mcp import Client

from lorekeeper.cli.main import parser
from lorekeeper.server.mcp import build_server
from lorekeeper.server.prompts import PROMPTS
from lorekeeper.server.resources import SKILL_FILE, SKILL_URI
from lorekeeper.server.tools import all_tools
from lorekeeper.version import VERSION
from scripts.build_plugin import FOLDER, MANIFEST, MARKETPLACE, SKILL, contents
from scripts.release import CLAUDE
from tests.support.libraries import open_library
from tests.support.tables import each_row

PLUGIN = FOLDER / "lorekeeper"


def front_matter(file: Path) -> tuple[dict[str, str], str]:
    """The YAML at the beginning of a file, and the text after it."""
    _, head, text = file.read_text("utf-8").split("---\n", 2)
    return yaml.safe_load(head), text


def test_the_plugin_is_what_the_script_writes(tmp_path):
    there = {str(file.relative_to(FOLDER)): file.read_text("utf-8") for file in FOLDER.rglob("*") if file.is_file()}
    assert there == contents(), "run 'python -m scripts.release --write'"


def test_the_marketplace_leads_to_the_plugin():
    marketplace = json.loads((FOLDER / MARKETPLACE).read_text("utf-8"))
    (entry,) = marketplace["plugins"]
    assert (FOLDER / entry["source"]).resolve() == PLUGIN
    manifest = json.loads((FOLDER / MANIFEST).read_text("utf-8"))
    assert (entry["name"], manifest["version"]) == (manifest["name"], VERSION)
    assert {marketplace["name"], manifest["name"]} == {"lorekeeper"}


def test_the_server_of_the_plugin_is_a_command_that_there_is():
    (server,) = json.loads((PLUGIN / ".mcp.json").read_text("utf-8"))["mcpServers"].values()
    assert server["command"] == "lorekeeper"
    assert parser().parse_args(server["args"]).command == "serve"


def test_the_skill_is_found_by_its_folder_and_says_when_to_use_it():
    file = PLUGIN / "skills" / SKILL / "SKILL.md"
    head, text = front_matter(file)
    assert head["name"] == file.parent.name
    assert re.fullmatch(r"[a-z0-9-]{1,64}", head["name"])
    assert 100 < len(head["description"]) <= 1024
    assert len(text) < 3000, "a skill is read into every answer that uses it"


def test_the_skill_names_tools_that_there_are_and_each_of_them():
    named = set(
        re.findall(r"`((?:lookup|search|get|list|gather|compare|plan)_\w+|roll)`", SKILL_FILE.read_text("utf-8"))
    )
    assert named == {tool.name for tool in all_tools()}


async def test_the_server_offers_the_same_skill_as_its_last_resource(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library, Client(build_server(library)) as client:
        *_, last = (await client.list_resources()).resources
        (content,) = (await client.read_resource(SKILL_URI)).contents
    head, text = front_matter(SKILL_FILE)
    assert (str(last.uri), last.name) == (SKILL_URI, head["name"])
    assert content.text == text.strip()


@each_row("prompt", PROMPTS.values())
def test_each_prompt_is_a_command_with_its_whole_text(prompt):
    head, text = front_matter(PLUGIN / "commands" / f"{prompt.name.replace('_', '-')}.md")
    assert head["description"] == prompt.description
    assert "$ARGUMENTS" in text
    assert [a.name for a in prompt.arguments if f"<{a.name}>" not in text] == []
    for line in prompt.text.strip().splitlines():
        assert re.sub(r"\{(\w+)\}", r"<\1>", line) in text.splitlines()
    assert re.findall(r"[<\[](\w+)[>\]]", head["argument-hint"]) == [a.name for a in prompt.arguments]


@pytest.mark.slow
def test_the_official_tool_accepts_marketplace_and_plugin(tmp_path):
    if not shutil.which("npx"):
        pytest.skip("npx is not available: the official tool did not check the plugin")
    for folder in (FOLDER, PLUGIN):
        done = subprocess.run(
            [*CLAUDE, "plugin", "validate", "--strict", folder], capture_output=True, text=True, check=False
        )
        if "npm error" in done.stderr:
            pytest.skip(f"{CLAUDE[-1]} is not available: {done.stderr[-200:]}")
        assert done.returncode == 0, done.stdout + done.stderr
