"""The manual of the clients, held against their table."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from lorekeeper.clients.install import new_file
from lorekeeper.clients.server import Server
from lorekeeper.clients.table import CLIENTS, LINUX, MAC, WINDOWS, Client
from lorekeeper.version import DISTRIBUTION

ROOT = Path(__file__).parent.parent

PAGE = (ROOT / "docs" / "clients.md").read_text("utf-8")

README = (ROOT / "README.md").read_text("utf-8")

SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))

every_client = pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda client: client.name)


OTHERS = ["Over HTTP", "Tell the assistant to look things up"]
"""The sections after those of the clients."""


def test_every_client_has_a_section_in_the_order_of_the_table():
    assert list(SECTIONS) == [client.title for client in CLIENTS.values()] + OTHERS
    assert [name for name in CLIENTS if f"`{name}`" not in README] == []
    assert "\n| initiative and hit points in a fight | yes, in the browser: [a fight](docs/page.md) |" in README


@every_client
def test_a_section_has_the_command_and_what_to_add_by_hand(client: Client):
    section = SECTIONS[client.title]
    assert f"```sh\nlorekeeper install --client {client.name}\n```" in section
    written = new_file(client, Server("/full/path/to/lorekeeper", ("serve",), {}))
    assert f"```{client.format}\n{written}```" in section
    assert f"Afterwards: {client.next_step}" in section


@every_client
def test_a_section_names_the_files(client: Client):
    rows = dict(re.findall(r"^\| (.+?) \| `(.+?)` \|$", SECTIONS[client.title], re.MULTILINE))
    if "every system" in rows:
        assert set(client.files.values()) == {rows["every system"]}
        return
    named = {MAC: rows["macOS"], WINDOWS: rows["Windows"].replace("\\", "/"), LINUX: rows["Linux"]}
    for system, file in client.files.items():
        written = file.replace("$APPDATA", "%APPDATA%").replace("$XDG_CONFIG_HOME", "~/.config")
        assert named[system] == written


@every_client
def test_a_section_says_whether_it_was_tried(client: Client):
    assert re.search(r"^(Tried: version \d|Not tried in the app\.)", SECTIONS[client.title], re.MULTILINE)


def test_links_of_one_click_start_the_published_package():
    links, in_readme = (re.findall(r"\]\((https://[^)]*name=lorekeeper[^)]*)\)", page) for page in (PAGE, README))
    assert len(links) == 3
    assert in_readme == [], "README names no package that is not published yet"
    for link in links:
        (config,) = parse_qs(urlsplit(link).query)["config"]
        text = config if config.startswith("{") else base64.b64decode(config, validate=True).decode()
        server = json.loads(text)
        assert (server["command"], server["args"]) == ("uvx", [DISTRIBUTION, "serve"])
