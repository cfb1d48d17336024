"""Commands that add entries to the library: import, sync; and schema, which describes their format."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from lorekeeper.audience import DM, PLAYERS
from lorekeeper.cli.command import (
    DOCUMENT,
    DONE,
    DRY_RUN,
    FAILED,
    JSON,
    TYPE,
    Call,
    Commands,
    argument,
    print_json,
)
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import ImportFileError

commands = Commands()


@commands.add(
    "import",
    "import books and homebrew from files, folders or pasted text",
    argument("paths", nargs="+", metavar="PATH", help="file or folder; - for text that is pasted or piped"),
    argument("--document", metavar="KEY", help="store every entry in this document"),
    argument(
        "--audience",
        choices=[DM, PLAYERS],
        help="who may see the entries: dm or players (default: players for new entries, and no change for existing ones)",
    ),
    argument("--yes", action="store_true", help="do not ask before text is stored"),
    DRY_RUN,
    JSON,
    examples=(
        "lorekeeper import homebrew.orcbrew",
        "lorekeeper import - < statblock.txt",
        "lorekeeper import ~/books --dry-run",
        "lorekeeper import villains.jsonl --audience dm",
    ),
    saves=True,
)
async def import_files(call: Call) -> int:
    """Import files; FAILED if an entry could not be imported."""
    if "-" not in call.arguments.paths:
        return await _import(call, [Path(path) for path in call.arguments.paths])
    from lorekeeper.intake.formats.markdown import PASTED

    if sys.stdin.isatty():
        print("Paste a stat block, a spell or an item, then press Ctrl-D on a line of its own:", file=sys.stderr)
    text = await asyncio.to_thread(sys.stdin.buffer.read)
    with TemporaryDirectory() as folder:
        pasted = Path(folder, PASTED)
        await asyncio.to_thread(pasted.write_bytes, text)
        paths = [pasted if path == "-" else Path(path) for path in call.arguments.paths]
        return await _import(call, paths, within=f"{folder}{os.sep}")


async def _import(call: Call, paths: list[Path], within: str = "") -> int:
    """Import files; problems of those ``within`` a folder are reported without it."""
    from lorekeeper.cli.render import Bar, print_problems, print_report
    from lorekeeper.intake.formats.markdown import SUFFIXES

    dry_run = call.arguments.dry_run
    if all(path.name.lower().endswith(SUFFIXES) for path in paths) and not call.json:
        shown = await asyncio.to_thread(_show_entries, paths, call.arguments.document)
        asks = sys.stdin.isatty() and sys.stdout.isatty() and not (call.arguments.yes or dry_run)
        if shown and asks and not await asyncio.to_thread(_agrees):
            print("Nothing was stored.")
            return DONE
    async with call.library() as library:
        with Bar("Reading", sizes=True) as bar:
            bar.embedding(library)
            report = await library.import_paths(
                paths,
                document=call.arguments.document,
                audience=call.arguments.audience,
                dry_run=dry_run,
                start=bar.start,
                progress=bar.advance,
            )
    for problems in (report.failed, report.warnings) if within else ():
        problems[:] = [ImportFileError(each.where.replace(within, ""), each.reason) for each in problems]
    if call.json:
        print_problems(report, failed=False)
    whole = call.settings.library_path.with_name("last-import.txt")
    call.show(report.as_dict(), lambda: print_report(report, dry_run=dry_run, whole=whole))
    return FAILED if report.failed else DONE


def _show_entries(paths: list[Path], document: str | None) -> int:
    """Show what is read from texts, an entry a line; the number of entries. Blocking."""
    from lorekeeper.cli.render import console, plain
    from lorekeeper.intake.files import Reader
    from lorekeeper.intake.reports import ImportReport
    from lorekeeper.text.facts import facts

    entities = [entry.entity for entry in Reader(paths, document, ImportReport()).read()]
    found = [entity for entity in entities if entity.type != "documents"]
    for entity in found[:SHOWN_ENTRIES]:
        said = facts(entity)
        console.print(
            f"[bold]{plain(entity.name)}[/]  [green]{plain(entity.kind)}{' · ' if said else ''}{plain(said)}[/]"
        )
        parts = [f"{label} {len(entity.data[key])}" for key, label in _PARTS.items() if entity.data.get(key)]
        if parts:
            console.print_indented(f"[dim]{plain(', '.join(parts))}[/]", 2)
    if len(found) > SHOWN_ENTRIES:
        console.print(f"... and {len(found) - SHOWN_ENTRIES:,} more")
    return len(found)


SHOWN_ENTRIES = 12
"""Most entries of a text that are shown before they are stored."""

_PARTS = {
    "traits": "traits:",
    "actions": "actions:",
    "bonus_actions": "bonus actions:",
    "reactions": "reactions:",
    "legendary_actions": "legendary actions:",
}


def _agrees() -> bool:
    """Whether the user, who is asked, wants to store what was shown."""
    print("Store it? [Y/n] ", end="", flush=True)
    return sys.stdin.readline().strip().lower() in ("", "y", "yes")


@commands.add(
    "sync",
    "update the library from Open5e, which has the open books",
    argument("source", choices=["open5e"], help="the source: open5e"),
    DOCUMENT,
    TYPE,
    JSON,
    examples=("lorekeeper sync open5e", "lorekeeper sync open5e --document srd-2024 --type spells"),
    saves=True,
)
async def sync(call: Call) -> int:
    """Sync; FAILED if a list or an entry could not be synced."""
    from lorekeeper.cli.render import Bars, print_problems, print_sync

    async with call.library() as library:
        with Bars() as bars:
            bars.embedding(library)
            report = await library.sync(call.arguments.type, call.arguments.document, bars.step)
    if call.json:
        print_problems(report, failed=False)
    call.show(report.as_dict(), lambda: print_sync(report))
    return FAILED if report.failed else DONE


@commands.add(
    "schema",
    "print the JSON Schema of entries of one type, for homebrew",
    argument("type", metavar="TYPE", choices=list(COLLECTIONS), help=", ".join(COLLECTIONS)),
    examples=("lorekeeper schema spells",),
)
async def schema(call: Call) -> int:
    """Print a JSON Schema."""
    from lorekeeper.normalize.own import schema

    print_json(schema(COLLECTIONS[call.arguments.type]))
    return DONE
