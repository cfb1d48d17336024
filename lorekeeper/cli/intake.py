"""Commands that add entries to the library: import, sync; and schema, which describes their format."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

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
from lorekeeper.cli.terminal import YES, typed
from lorekeeper.entities import COLLECTIONS, Entity

if TYPE_CHECKING:
    from lorekeeper.intake.reports import ImportReport

commands = Commands()


@commands.add(
    "import",
    "import books and homebrew from files, folders or pasted text",
    argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="file or folder; - for text that is pasted or piped; srd-2014, srd-2024: all of that SRD",
    ),
    argument("--document", metavar="KEY", help="store every entry in this document"),
    argument(
        "--audience",
        choices=[DM, PLAYERS],
        help="who may see the entries: dm or players (default: no change for existing entries; of new ones players, of a PDF dm)",
    ),
    argument("--title", help="what the book of a PDF is called (default: as the file says it)"),
    argument(
        "--edition",
        metavar="GAME",
        help="edition of its game: 2014, 2024, or the name of another game (default: as its text says it)",
    ),
    argument("--yes", action="store_true", help="do not ask before text is stored"),
    DRY_RUN,
    JSON,
    examples=(
        "lorekeeper import homebrew.orcbrew",
        "lorekeeper import - < statblock.txt",
        "lorekeeper import ~/books --dry-run",
        "lorekeeper import villains.jsonl --audience dm",
        'lorekeeper import peat.pdf --title "The Peat Marches" --edition 2014',
        "lorekeeper import srd-2014 srd-2024",
    ),
    saves=True,
)
async def import_files(call: Call) -> int:
    """Import files; FAILED if an entry could not be imported."""
    from lorekeeper.cli.render import Bar
    from lorekeeper.intake.formats.text_file import Asked
    from lorekeeper.intake.superseded import DOCUMENTS

    dry_run, agreed = call.arguments.dry_run, True
    if set(call.arguments.paths) <= set(DOCUMENTS):  # ./srd-2014 is a folder of that name
        async with call.library() as library:
            with Bar("Reading", sizes=True) as bar:
                bar.embedding(library)
                report = await library.import_documents(call.arguments.paths, dry_run=dry_run)
        return _shown(call, report)
    paths = [await asyncio.to_thread(_pasted) if path == "-" else Path(path) for path in call.arguments.paths]
    async with call.library() as library:
        with Bar("Reading", sizes=True) as bar:
            bar.embedding(library)

            async def agree(entities: Sequence[Entity]) -> bool:
                nonlocal agreed
                with bar.hidden():
                    agreed = not _show(entities) or not _asks(call) or await asyncio.to_thread(_agrees)
                return agreed

            def ask() -> tuple[str | None, str | None]:
                with bar.hidden():
                    return _said_of_book()

            asked = Asked(call.arguments.title, call.arguments.edition, pages=partial(bar.step, "Pages"))
            if len(paths) == 1 and _asks(call):
                asked = replace(asked, ask=ask)
            report = await library.import_paths(
                paths,
                document=call.arguments.document,
                audience=call.arguments.audience,
                dry_run=dry_run,
                start=bar.start,
                progress=bar.advance,
                asked=asked,
                agree=agree if all(map(_is_text, paths)) and not call.json else None,
            )
    if not agreed:
        print("Nothing was stored.")
        return DONE
    return _shown(call, report)


def _asks(call: Call) -> bool:
    given = call.arguments
    return sys.stdin.isatty() and sys.stdout.isatty() and not (given.yes or given.dry_run or call.json)


def _said_of_book() -> tuple[str | None, str | None]:
    """Title and edition of a book as PDF, as the user says who is asked for them."""
    title = typed("Title [as the file states it]:")
    return title or None, typed("Edition 2014 or 2024, or the name of another game [as the text shows it]:") or None


def _shown(call: Call, report: ImportReport) -> int:
    """Show what an import did; its exit status."""
    from lorekeeper.cli.render import print_problems, print_report

    if call.json:
        print_problems(report, failed=False)
    whole = call.settings.library_path.with_name("last-import.txt")
    call.show(report.as_dict(), lambda: print_report(report, dry_run=call.arguments.dry_run, whole=whole))
    return FAILED if report.failed else DONE


def _pasted() -> bytes:
    """The text that is pasted or piped. Blocking."""
    if sys.stdin.isatty():
        print("Paste a stat block, a spell or an item, then press Ctrl-D on a line of its own:", file=sys.stderr)
    return sys.stdin.buffer.read()


def _is_text(path: Path | bytes) -> bool:
    from lorekeeper.intake.formats.markdown import SUFFIXES

    return isinstance(path, bytes) or path.name.lower().endswith(SUFFIXES)


def _show(entities: Sequence[Entity]) -> int:
    """Show what was read from texts, an entry a line; the number of entries."""
    from lorekeeper.cli.render import console, plain
    from lorekeeper.text.facts import facts

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
    return typed("Store it? [Y/n]").casefold() in ("", *YES)


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
