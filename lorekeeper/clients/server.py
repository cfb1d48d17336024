"""What a client has to start: the command by its full path, because apps have another PATH, and its environment."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.clients.table import Client
from lorekeeper.errors import ConfigError
from lorekeeper.printable import shown
from lorekeeper.settings import ADDRESSES, PREFIX, SECRETS, Settings
from lorekeeper.version import DISTRIBUTION

CARRIED = (
    "cache_backend",
    "milvus_db_path",
    "sqlite_db_path",
    "embedding_model",
    "embedding_provider",
    "query_prefix",
    "passage_prefix",
    "offline",
    "edition",
    "vaults",
    "env_file",
)
"""Settings of the current environment that a client gets too: which library, and how it is used. No secrets, no addresses."""

VAULTS = "vaults"
"""The setting that names folders of notes, separated as PATH is."""

MODEL = "embedding_model"
"""The setting that may name a folder, or a model."""

_PASSING = ("archive-v0", "builds-v0", "environments-v2")
"""Folders of uv's cache, in which the environments of ``uvx`` last until the cache is cleaned."""


@dataclass(frozen=True)
class Server:
    """How a client starts our server: a command, its arguments, and variables to set for it."""

    command: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]

    def entry(self, client: Client) -> dict[str, object]:
        """The server as the client writes it down."""
        entry: dict[str, object] = dict(client.extra)
        entry[client.command] = self.command
        entry[client.arguments] = list(self.arguments)
        if self.environment:
            entry[client.environment] = dict(self.environment)
        return entry


def current_server(settings: Settings, origins: Mapping[str, str], vaults: Sequence[str] = ()) -> Server:
    """The server of this installation, with the settings that are in the environment now.

    Args:
        settings: the effective ones.
        origins: where each comes from, by name.
        vaults: folders of notes to add.

    Raises:
        ConfigError: a vault is not a folder, or a path is not text in UTF-8, in which clients read their files.
    """
    command, *arguments = program(Path(sys.executable))
    environment = carried(settings, origins)
    if vaults:
        environment[PREFIX + VAULTS.upper()] = _joined(vaults)
    for value in (command, *arguments, *environment.values()):
        _require_utf8(value)
    return Server(command, (*arguments, "serve"), environment)


def _require_utf8(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"{shown(value)} is not UTF-8, which clients' files require; give that folder another name"
        ) from error


def program(python: Path) -> list[str]:
    """The command line of the ``lorekeeper`` that belongs to a Python, by full paths; links stay links, as environments are."""
    uvx = shutil.which("uvx")
    if uvx and any(part in _PASSING for part in python.parts):
        return [uvx, DISTRIBUTION]
    folder = Path(os.path.abspath(python)).parent
    for name in ("lorekeeper.exe", "lorekeeper"):
        if (folder / name).is_file():
            return [str(folder / name)]
    return [os.path.abspath(python), "-m", "lorekeeper"]


def carried(settings: Settings, origins: Mapping[str, str]) -> dict[str, str]:
    """The variables of `CARRIED` settings that come from the environment; paths in them are absolute."""
    names = [name for name in CARRIED if origins.get(name) == "environment"]
    values = {name: _written(getattr(settings, name)) for name in names}
    if MODEL in values:
        values[MODEL] = _model(values[MODEL])
    return {PREFIX + name.upper(): value for name, value in values.items()}


def left_out(origins: Mapping[str, str]) -> list[str]:
    """The variables of the environment that no client gets, because they may hold a secret."""
    return [PREFIX + name.upper() for name in sorted(SECRETS | ADDRESSES) if origins.get(name) == "environment"]


def _model(name: str) -> str:
    """A model's name, or the full path of its folder: clients start the server in a folder of their own."""
    folder = Path(name).expanduser()
    is_path = "/" in name or os.sep in name
    return os.path.abspath(folder) if is_path and folder.is_dir() else name


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, tuple):
        return os.pathsep.join(map(str, value))
    return str(value)


def _joined(vaults: Sequence[str]) -> str:
    """The value of the setting for these folders."""
    folders = [Path(os.path.abspath(Path(vault).expanduser())) for vault in vaults]
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError(f"the vault {shown(str(folder))} is not a folder")
        if os.pathsep in str(folder):
            raise ConfigError(f"the vault {shown(str(folder))} has {os.pathsep!r} in its path, which separates vaults")
    return os.pathsep.join(map(str, folders))
