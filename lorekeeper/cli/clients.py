"""Commands that connect MCP clients: install, uninstall."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lorekeeper.cli.command import DONE, JSON, Call, Commands, argument, listing
from lorekeeper.cli.terminal import say, show
from lorekeeper.clients.table import CLIENTS, Client
from lorekeeper.printable import lines, one_line

if TYPE_CHECKING:
    from lorekeeper.clients.install import Change
    from lorekeeper.clients.server import Server

commands = Commands()


def _notes() -> str:
    return listing("clients", {client.name: client.title for client in CLIENTS.values()})


@commands.add(
    "install",
    "add LoreKeeper to a chat app or another MCP client, or list the clients",
    argument("--client", choices=list(CLIENTS), metavar="CLIENT", help="the client; without it, all are listed"),
    argument("--vault", action="append", metavar="FOLDER", help="folder of notes to search as well (may be repeated)"),
    argument("--print", action="store_true", help="only show what would be written, and where"),
    JSON,
    examples=(
        "lorekeeper install",
        "lorekeeper install --client claude-desktop",
        "lorekeeper install --client vscode --print",
    ),
    notes=_notes,
)
async def install(call: Call) -> int:
    """Merge the server into a client's file; LoreKeeper's settings of the environment go along."""
    from lorekeeper.clients.install import installation
    from lorekeeper.clients.server import current_server

    if call.arguments.client is None:
        return _list(call)
    client = CLIENTS[call.arguments.client]
    server = current_server(call.settings, call.origins, call.arguments.vault or ())
    _tell_left_out(call)
    if call.arguments.print:
        call.show({**_where(client), "entry": server.entry(client)}, lambda: _print_entry(client, server))
        return DONE
    change = installation(client, _file(client), server)
    change.apply()
    call.show(_told(change), lambda: _print_installed(change, server))
    return DONE


@commands.add(
    "uninstall",
    "remove LoreKeeper from an MCP client; the library stays",
    argument("--client", choices=list(CLIENTS), metavar="CLIENT", required=True, help="the client"),
    JSON,
    examples=("lorekeeper uninstall --client claude-desktop",),
    notes=_notes,
)
async def uninstall(call: Call) -> int:
    """Take the server out of a client's file."""
    from lorekeeper.clients.install import removal

    client = CLIENTS[call.arguments.client]
    change = removal(client, _file(client))
    change.apply()
    call.show({**_told(change), "next": f"Restart {client.title} if it is running."}, lambda: _print_removed(change))
    return DONE


def _file(client: Client) -> Path:
    return client.file(sys.platform, Path.home(), os.environ)


def _where(client: Client) -> dict[str, str]:
    return {"client": client.name, "file": str(_file(client)), "servers": client.servers}


def _told(change: Change) -> dict[str, object]:
    """A change for ``--json``."""
    return {
        "client": change.client.name,
        "file": str(change.file),
        "changed": change.before != change.after,
        "copy": str(change.copy_file) if change.copy_file.exists() else None,
        "next": change.client.next_step,
    }


def _list(call: Call) -> int:
    """All clients, and in which of them LoreKeeper is."""
    listed = [{**_where(client), "state": _state(client)} for client in CLIENTS.values()]
    call.show(listed, lambda: _print_list(listed))
    return DONE


def _state(client: Client) -> str:
    """ "installed", "there" (the client has been used here) or "not found"."""
    from lorekeeper.clients.install import is_installed

    file = _file(client)
    if is_installed(client, file):
        return "installed"
    return "there" if _exists(file) or (file.parent != Path.home() and _exists(file.parent)) else "not found"


def _exists(path: Path) -> bool:
    """Whether there is such a file or folder; False if this user may not know."""
    try:
        return path.exists()
    except OSError:
        return False


def _print_list(listed: list[dict[str, str]]) -> None:
    width, wide = (max(len(each[key]) for each in listed) for key in ("client", "state"))
    for each in listed:
        file = Path(each["file"])
        said = f"~/{file.relative_to(Path.home())}" if file.is_relative_to(Path.home()) else str(file)
        show(f"  {each['client']:{width}}  {each['state']:{wide}}  {one_line(said)}")
    show("'lorekeeper install --client CLIENT' adds LoreKeeper to one.")


def _tell_left_out(call: Call) -> None:
    """Name the variables without which the client's server may have another library or model than this command."""
    from lorekeeper.clients.server import left_out
    from lorekeeper.settings import own_file

    if names := left_out(call.origins):
        file = one_line(str(own_file(call.settings.env_file)))
        say(f"Left out because they may hold secrets: {', '.join(names)}. Set them in {file}")


def _print_entry(client: Client, server: Server) -> None:
    from lorekeeper.clients.install import new_file

    print(lines(new_file(client, server)), end="")
    say(f"Nothing was written. Add this to {one_line(str(_file(client)))}")


def _print_installed(change: Change, server: Server) -> None:
    client, file = change.client, one_line(str(change.file))
    if change.before == change.after:
        show(f"LoreKeeper is in {client.title} already: {file}")
        return
    show(f"Added LoreKeeper to {client.title}: {file}")
    show(f"  command: {one_line(' '.join((server.command, *server.arguments)))}")
    for name, value in server.environment.items():
        show(f"  {name}={one_line(value)}")
    if change.copy is not None:
        show(f"  the file as it was: {one_line(str(change.copy_file))}")
    show(f"Next, in {client.title}: {client.next_step}")


def _print_removed(change: Change) -> None:
    client, file = change.client, one_line(str(change.file))
    if change.before == change.after:
        show(f"LoreKeeper is not in {client.title}: {file}")
        return
    done = "keeps its other entries"
    if change.restores:
        done = "is removed again" if change.after is None else "is restored"
    show(f"Removed LoreKeeper from {client.title}: {file} {done}")
    show(f"If {client.title} is running, restart it: until then it has the server.")
