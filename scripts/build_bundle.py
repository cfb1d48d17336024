"""Builds the bundle for desktop apps, and describes the package for the MCP registry.

    python -m scripts.build_bundle WHEEL            # writes dist/lorekeeper-VERSION.mcpb, with the package of that wheel

The bundle holds the package as it is in the wheel, and its dependencies by name: the app has Python and the dependencies
installed by uv. Its manifest is version 0.4 of <https://github.com/modelcontextprotocol/mcpb>, and server.json is of the
schema of 2025-12-11 (<https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json>).
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import tomllib
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lorekeeper.server.tools import all_tools
from lorekeeper.settings import PREFIX, Settings
from lorekeeper.version import DISTRIBUTION, VERSION

OWNER = "OWNER"
"""Stands for the account that publishes, as long as pyproject.toml has no URL of a repository.

That URL (``[project.urls]``, ``Repository``) is the only place to set: ``python -m scripts.release --write`` writes what follows.
"""

ROOT = Path(__file__).parent.parent

DIST = ROOT / "dist"

MCPB = ("npx", "-y", "@anthropic-ai/mcpb@2.1.2")
"""The official tool for bundles."""

SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"

DESCRIPTION = "Search your tabletop role-playing books and campaign notes by meaning, filters and names. Offline."
"""At most 100 characters, as the registry has it."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Option:
    """A setting that the apps ask for.

    Attributes:
        name: in the manifest.
        setting: of `Settings`; an option whose setting does not exist is left out.
        kind: of the manifest: directory or boolean.
        format: of server.json.
        value: what the variable is set to; None if the values become arguments.
        default: in the app.
    """

    name: str
    setting: str
    kind: str
    format: str
    title: str
    description: str
    value: str | None = None
    default: str | bool | None = None

    @property
    def variable(self) -> str:
        """The environment variable."""
        return PREFIX + self.setting.upper()


OPTIONS = tuple(
    option
    for option in (
        Option(
            "vaults",
            "vaults",
            "directory",
            "string",
            "Folders of your notes",
            "Folders of Markdown notes to search too, for example an Obsidian vault. They are only read.",
        ),
        Option(
            "offline",
            "offline",
            "boolean",
            "boolean",
            "Work offline",
            "Never touch the network. Books can still be imported from files.",
            "${user_config.offline}",
            default=False,
        ),
        Option(
            "library",
            "milvus_db_path",
            "directory",
            "filepath",
            "Library folder",
            "Where LoreKeeper keeps its library. The command line uses the same folder unless you change it.",
            "${user_config.library}/milvus.db",
            default="${HOME}/.lorekeeper",
        ),
    )
    if option.setting in Settings.model_fields
)


def project() -> Json:
    """The table ``project`` of pyproject.toml."""
    table: Json = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def repository() -> str:
    """The address of the repository, "" before it is published."""
    address: str = project().get("urls", {}).get("Repository", "")
    return address


def registry_name() -> str:
    """The name in the MCP registry."""
    match = re.fullmatch(r"https://github\.com/([^/]+)/[^/]+/?", repository())
    return f"io.github.{match[1] if match else OWNER}/lorekeeper"


def manifest() -> Json:
    """The manifest of the bundle; its tools are those of the server."""
    table = project()
    return {
        "manifest_version": "0.4",
        "name": "lorekeeper",
        "display_name": "LoreKeeper",
        "version": VERSION,
        "description": DESCRIPTION,
        "long_description": table["description"],
        "author": {"name": "The LoreKeeper contributors"},
        "license": table["license"],
        "keywords": table["keywords"],
        "server": {"type": "uv", "entry_point": "server.py", "mcp_config": _started()},
        "tools": [{"name": tool.name, "description": tool.description} for tool in all_tools()],
        "user_config": {option.name: _asked(option) for option in OPTIONS},
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": table["requires-python"]},
        },
    }


def _started() -> Json:
    """How an app starts the server; several folders can only be passed as arguments."""
    arguments = [f"${{user_config.{option.name}}}" for option in OPTIONS if option.value is None]
    return {
        "command": "uv",
        "args": ["run", "--directory", "${__dirname}", "server.py", *arguments],
        "env": {option.variable: option.value for option in OPTIONS if option.value is not None},
    }


def _asked(option: Option) -> Json:
    asked: Json = {"type": option.kind, "title": option.title, "description": option.description, "required": False}
    if option.value is None:
        asked["multiple"] = True
    if option.default is not None:
        asked["default"] = option.default
    return asked


def server_json() -> Json:
    """The entry of the MCP registry."""
    package = {
        "registryType": "pypi",
        "identifier": DISTRIBUTION,
        "version": VERSION,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [{"type": "positional", "value": "serve"}],
        "environmentVariables": [
            {"name": option.variable, "description": option.description, "format": option.format} for option in OPTIONS
        ],
    }
    return {
        "$schema": SERVER_SCHEMA,
        "name": registry_name(),
        "title": "LoreKeeper",
        "description": DESCRIPTION,
        "version": VERSION,
        "packages": [package],
    }


def written(content: Json) -> str:
    """A JSON document as it is in files."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def fill(folder: Path, wheel: Path) -> None:
    """Write everything that is in the bundle to a folder, which must not exist yet."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as opened:
        names = [name for name in opened.namelist() if name.startswith("lorekeeper/") and ".." not in name]
        opened.extractall(folder, names)
    (folder / "manifest.json").write_text(written(manifest()), "utf-8")
    (folder / "pyproject.toml").write_text(_bundle_project(), "utf-8")
    shutil.copy(ROOT / "scripts" / "bundle_server.py", folder / "server.py")
    shutil.copy(ROOT / "LICENSE", folder)


def _bundle_project() -> str:
    """What uv reads: the dependencies, and that nothing is to be built; JSON strings are strings of TOML too."""
    table = project()
    return (
        f"[project]\nname = {json.dumps(DISTRIBUTION + '-bundle')}\nversion = {json.dumps(VERSION)}\n"
        f"requires-python = {json.dumps(table['requires-python'])}\n"
        f"dependencies = {json.dumps(table['dependencies'], indent=4)}\n\n[tool.uv]\npackage = false\n"
    )


def pack(folder: Path, bundle: Path) -> None:
    """Check a folder with the official tool, and pack it."""
    subprocess.run([*MCPB, "validate", str(folder / "manifest.json")], check=True)
    subprocess.run([*MCPB, "pack", str(folder), str(bundle)], check=True)


def build(wheel: Path) -> Path:
    """Build the bundle from a wheel, into `DIST`."""
    folder, bundle = DIST / "bundle", DIST / f"lorekeeper-{VERSION}.mcpb"
    shutil.rmtree(folder, ignore_errors=True)
    fill(folder, wheel)
    pack(folder, bundle)
    shutil.rmtree(folder)
    return bundle


def main() -> None:
    """Build what the command line asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "wheel", nargs="?", type=Path, help="the wheel of this version, as 'make wheel' builds it with the model"
    )
    arguments = parser.parse_args()
    if arguments.wheel is None:
        parser.error("which wheel? 'make wheel' builds one, 'make bundle' that and the bundle")
    build(arguments.wheel)


if __name__ == "__main__":
    main()
