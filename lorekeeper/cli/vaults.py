"""Commands that keep folders of notes in step with the library: vault add, list, remove, sync, check."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lorekeeper.cli.command import DONE, FAILED, JSON, Call, Commands, Handler, argument, listing
from lorekeeper.cli.terminal import YES, show, typed
from lorekeeper.errors import ConfigError
from lorekeeper.printable import quantity, shown

if TYPE_CHECKING:
    from lorekeeper.vaults.registry import Vault

commands = Commands()

ACTIONS = {
    "add": "add a folder of notes; LoreKeeper keeps up with its changes",
    "list": "list the vaults and their status",
    "remove": "remove a vault from the library; its folder stays as it is",
    "sync": "read the vault again now, and check every file",
    "check": "list broken links, ambiguous names, templates and unreadable files",
}

ADDED = """
The vault '{key}' stays up to date by itself: every search sees what you saved before it.
  lorekeeper search "what did the party promise" --document {key}
  lorekeeper vault check {key}"""


@commands.add(
    "vault",
    "manage folders of Markdown notes, such as an Obsidian vault",
    argument("action", choices=list(ACTIONS), help=", ".join(ACTIONS)),
    argument("what", nargs="?", metavar="PATH_OR_KEY", help="the folder to add; else the key of a vault"),
    argument("--key", metavar="KEY", help="key for the new vault (default: from the folder's name)"),
    argument("--name", metavar="NAME", help="title of the new vault (default: the folder's name)"),
    argument(
        "--exclude",
        action="append",
        metavar="PATTERN",
        help="files to skip, in the syntax of .gitignore (may be repeated)",
    ),
    JSON,
    examples=("lorekeeper vault add ~/Campaign --exclude Drafts/", "lorekeeper vault check"),
    notes=lambda: (
        f"{listing('actions', ACTIONS)}\n\nNothing is ever written into a vault. List files to skip in its file "
        ".lorekeeperignore, in the syntax of .gitignore."
    ),
    saves=True,
)
async def vault(call: Call) -> int:
    """Do one of the actions; FAILED if something could not be read, or a check found something."""
    arguments = call.arguments
    if arguments.action in ("add", "remove") and not arguments.what:
        needed = (
            "a folder: lorekeeper vault add PATH" if arguments.action == "add" else "a key: lorekeeper vault remove KEY"
        )
        raise ConfigError(f"'vault {arguments.action}' needs {needed}")
    if arguments.action != "add" and (arguments.key or arguments.name or arguments.exclude):
        raise ConfigError("--key, --name and --exclude belong to 'vault add'")
    return await _HANDLERS[arguments.action](call)


async def _add(call: Call) -> int:
    arguments = call.arguments
    async with call.library() as library:
        await library.begin()  # with the first books, as any library: one that has notes is not new
        added = await library.vaults.add(Path(arguments.what), arguments.key, arguments.name, arguments.exclude or ())
    status = await _synced(call, [added.key])
    if not call.json:
        show(ADDED.format(key=added.key))
        await _tell_marked(call, added)
    return status


async def _tell_marked(call: Call, vault: Vault) -> None:
    """List what the author of a vault has marked for players, and open its headings if the user says so."""
    from lorekeeper.cli.render_audience import print_look
    from lorekeeper.views.opening import look_at_marked, store

    async with call.library() as library:
        found = await asyncio.to_thread(look_at_marked, library.vaults, vault)
        if not found.open:
            return
        before = await asyncio.to_thread(library.vaults.shares.all)
        print_look(found, "Marked for players", "players", headings=False, lines=False)
        headings = sum(len(note.headings) for note in found.open)
        if sys.stdin.isatty():
            question = f"Open {quantity(headings, 'heading')} of them to players now? [y/N] "
            if (await asyncio.to_thread(typed, question)).casefold() in YES:
                await store(library.vaults, before, found.after)
                return
    show(f"Closed so far: {quantity(headings, 'heading')} of these notes. 'lorekeeper share --marked' opens them.")


async def _list(call: Call) -> int:
    from lorekeeper.cli.render_vaults import print_vaults

    async with call.library() as library:
        found = await library.vaults.status()
    call.show({"vaults": [status.as_dict() for status in found]}, lambda: print_vaults(found))
    return DONE


async def _remove(call: Call) -> int:
    key = call.arguments.what
    async with call.library() as library:
        number = await library.vaults.remove(key)
    call.show(
        {"key": key, "removed": number},
        lambda: show(
            f"{shown(key)} was removed from the library, with {quantity(number, 'entry')}; its folder was left alone."
        ),
    )
    return DONE


async def _sync(call: Call) -> int:
    return await _synced(call, [call.arguments.what] if call.arguments.what else [])


async def _synced(call: Call, keys: list[str]) -> int:
    from lorekeeper.cli.render import Bar, print_problems
    from lorekeeper.cli.render_vaults import print_vault_report

    async with call.library() as library:
        with Bar("Reading notes") as bar:
            bar.embedding(library)
            report = await library.vaults.sync(keys, bar.start, bar.advance)
    if call.json:
        print_problems(report, failed=False)
    call.show(report.as_dict(), lambda: print_vault_report(report))
    return FAILED if report.failed else DONE


async def _check(call: Call) -> int:
    from lorekeeper.cli.render_vaults import print_understood, print_vault_findings
    from lorekeeper.vaults.understood import understood

    async with call.library() as library:
        key = call.arguments.what
        findings = await library.vaults.check(key)
        checked = [each for each in await library.vaults.status() if key in (None, each.vault.key)]
        rows = [await asyncio.to_thread(library.vaults.rows, each.vault.key) for each in checked if each.folder]
    notes = sum(each.summary.notes for each in checked)
    lines = [line for each in rows for line in understood(each)]
    content = {"understood": lines, "findings": [finding.as_dict() for finding in findings]}

    def tell() -> None:
        print_understood(lines)
        print_vault_findings(findings, notes)

    call.show(content, tell)
    return FAILED if findings else DONE


_HANDLERS: dict[str, Handler] = {
    "add": _add,
    "list": _list,
    "remove": _remove,
    "sync": _sync,
    "check": _check,
}
