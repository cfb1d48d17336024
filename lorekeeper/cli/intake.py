"""Commands that add entries to the library: import, sync; and schema, which describes their format."""

from __future__ import annotations

from pathlib import Path

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

commands = Commands()


@commands.add(
    "import",
    "import files and folders: OrcBrew packs, Open5e JSON, and JSON as 'schema' describes it (also .gz)",
    argument("paths", nargs="+", metavar="PATH", help="file or folder"),
    argument("--document", metavar="KEY", help="put every entry into this document"),
    argument(
        "--audience",
        choices=[DM, PLAYERS],
        help="who may see it: dm (the game master alone) or players (everybody, unless an entry says otherwise); without it, "
        "new entries are for the players, and what was imported for the game master stays so",
    ),
    DRY_RUN,
    JSON,
    examples=(
        "lorekeeper import homebrew.orcbrew",
        "lorekeeper import ~/books --dry-run",
        "lorekeeper import villains.jsonl --audience dm",
    ),
    saves=True,
)
async def import_files(call: Call) -> int:
    """Import files; FAILED if an entry could not be imported."""
    from lorekeeper.cli.render import Bar, print_problems, print_report

    dry_run = call.arguments.dry_run
    async with call.library() as library:
        with Bar("Importing", sizes=True) as bar:
            report = await library.import_paths(
                [Path(path) for path in call.arguments.paths],
                document=call.arguments.document,
                audience=call.arguments.audience,
                dry_run=dry_run,
                start=bar.start,
                progress=bar.advance,
            )
    if call.json:
        print_problems(report, failed=False)
    call.show(report.as_dict(), lambda: print_report(report, dry_run=dry_run))
    return FAILED if report.failed else DONE


@commands.add(
    "sync",
    "update the library from Open5e: add what is new, replace what has changed, remove what is gone",
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
