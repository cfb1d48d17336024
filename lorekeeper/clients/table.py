"""The clients: where each keeps its servers, and how it writes one down.

Sources are the clients' own manuals, which `docs/clients.md` links.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from lorekeeper.errors import ClientFileError
from lorekeeper.printable import shown

MAC, WINDOWS, LINUX = "darwin", "win32", "linux"
"""Systems, as `sys.platform` names them."""

NAME = "lorekeeper"
"""What our server is called in every client's file."""


@dataclass(frozen=True)
class Client:
    """An MCP client.

    Attributes:
        name: as it is typed.
        title: as its makers write it.
        files: the file with its servers, by system; it begins with one of `roots`.
        servers: names that lead to the servers in that file.
        format: of the file.
        command, arguments, environment: what it calls the parts of a server.
        extra: what else it wants to know of a server.
        next_step: what the user does for a change to take effect.
        moved_by: a variable that names another folder for the file.
    """

    name: str
    title: str
    files: Mapping[str, str]
    servers: str = "mcpServers"
    format: Literal["json", "yaml"] = "json"
    command: str = "command"
    arguments: str = "args"
    environment: str = "env"
    extra: Mapping[str, object] = field(default_factory=dict)
    next_step: str = "Quit the app completely, and start it again."
    moved_by: str | None = None

    @property
    def path(self) -> tuple[str, str]:
        """The names that lead to our server in the file."""
        return self.servers, NAME

    def file(self, system: str, home: Path, environ: Mapping[str, str]) -> Path:
        """The file with the client's servers, which need not exist.

        Args:
            system: `MAC`, `WINDOWS` or `LINUX`.
            home: the user's home folder.
            environ: the environment.

        Raises:
            ClientFileError: the client does not run on that system.
        """
        template = self.files.get(system)
        if template is None:
            raise ClientFileError(f"{self.title} has no known configuration file on this system, {shown(system)}")
        root, _, rest = template.partition("/")
        if self.moved_by and environ.get(self.moved_by):
            return Path(environ[self.moved_by]) / Path(rest).name
        return roots(home, environ)[root] / rest


def roots(home: Path, environ: Mapping[str, str]) -> dict[str, Path]:
    """The folders that paths of the table begin with.

    Args:
        home: the user's home folder.
        environ: APPDATA and XDG_CONFIG_HOME are read, which may move two of them.
    """
    return {
        "~": home,
        "$APPDATA": Path(environ.get("APPDATA") or home / "AppData" / "Roaming"),
        "$XDG_CONFIG_HOME": Path(environ.get("XDG_CONFIG_HOME") or home / ".config"),
    }


def _everywhere(path: str) -> Mapping[str, str]:
    """The same place under the home folder on all systems."""
    return MappingProxyType(dict.fromkeys((MAC, WINDOWS, LINUX), f"~/{path}"))


def _of_application(path: str) -> Mapping[str, str]:
    """The same place in the folder that each system has for the data of applications."""
    return MappingProxyType(
        {
            MAC: f"~/Library/Application Support/{path}",
            WINDOWS: f"$APPDATA/{path}",
            LINUX: f"$XDG_CONFIG_HOME/{path}",
        }
    )


_STDIO = MappingProxyType({"type": "stdio"})

_RELOADS = "The app notices the change. If the tools are missing, restart it."

CLIENTS = {
    client.name: client
    for client in (
        Client("claude-desktop", "Claude Desktop", _of_application("Claude/claude_desktop_config.json")),
        Client(
            "claude-code",
            "Claude Code",
            _everywhere(".claude.json"),
            extra=_STDIO,
            next_step="Start a new session; '/mcp' lists the servers.",
            moved_by="CLAUDE_CONFIG_DIR",
        ),
        Client("cursor", "Cursor", _everywhere(".cursor/mcp.json"), next_step=_RELOADS),
        Client(
            "vscode",
            "VS Code",
            _of_application("Code/User/mcp.json"),
            "servers",
            extra=_STDIO,
            next_step="Run 'MCP: List Servers' from its command palette, and start lorekeeper.",
        ),
        Client(
            "vscode-insiders",
            "VS Code Insiders",
            _of_application("Code - Insiders/User/mcp.json"),
            "servers",
            extra=_STDIO,
            next_step="Run 'MCP: List Servers' from its command palette, and start lorekeeper.",
        ),
        Client("lm-studio", "LM Studio", _everywhere(".lmstudio/mcp.json"), next_step=_RELOADS),
        Client(
            "goose",
            "Goose",
            {
                MAC: "~/.config/goose/config.yaml",
                WINDOWS: "$APPDATA/Block/goose/config/config.yaml",
                LINUX: "$XDG_CONFIG_HOME/goose/config.yaml",
            },
            "extensions",
            "yaml",
            command="cmd",
            environment="envs",
            extra=MappingProxyType({"name": NAME, "type": "stdio", "enabled": True, "timeout": 300}),
            next_step="Start a new session.",
        ),
        Client(
            "windsurf",
            "Windsurf",
            _everywhere(".codeium/windsurf/mcp_config.json"),
            next_step="Press the refresh button in its list of MCP servers, or restart it.",
        ),
        Client(
            "zed",
            "Zed",
            {
                MAC: "~/.config/zed/settings.json",
                WINDOWS: "$APPDATA/Zed/settings.json",
                LINUX: "$XDG_CONFIG_HOME/zed/settings.json",
            },
            "context_servers",
            extra=MappingProxyType({"source": "custom"}),
            next_step=_RELOADS,
        ),
        Client("gemini-cli", "Gemini CLI", _everywhere(".gemini/settings.json"), next_step="Start a new session."),
        Client(
            "cline",
            "Cline",
            _of_application("Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
            next_step=_RELOADS,
        ),
    )
}
"""Every client by its name."""
