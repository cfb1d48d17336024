"""The commands that keep a library: migrate, repair, backup, restore. Parse, call, print."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from lorekeeper.printable import json_text
from lorekeeper.settings import Settings


class Report(Protocol):
    """What a command has done."""

    def as_dict(self) -> dict[str, Any]:
        """Its public shape."""
        ...


async def migrate(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    """Take over another file; 1 where an entry could not be."""
    from lorekeeper.cli.render import Bar, print_migration
    from lorekeeper.maintenance.migrate import migrate

    with Bar("Migrating") as bar:
        report = await migrate(
            settings, Path(arguments.source), dry_run=arguments.dry_run, start=bar.start, progress=bar.advance
        )
    _show(arguments, report, lambda: print_migration(report, dry_run=arguments.dry_run))
    return 1 if report.failed else 0


async def repair(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    """Find damage, and undo it."""
    from lorekeeper.cli.render import Bar, print_repair
    from lorekeeper.maintenance.repair import repair

    with Bar("Repairing") as bar:
        report = await repair(settings, bar.start, bar.advance)
    _show(arguments, report, lambda: print_repair(report))
    return 0


async def backup(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    """Write an archive."""
    from lorekeeper.cli.render import Bar, print_backup
    from lorekeeper.maintenance.backup import backup

    with Bar("Writing") as bar:
        report = await backup(settings, Path(arguments.archive), bar.start, bar.advance)
    _show(arguments, report, lambda: print_backup(report))
    return 0


async def restore(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    """Make the library hold what an archive holds."""
    from lorekeeper.cli.render import Bar, print_restore
    from lorekeeper.maintenance.backup import restore

    with Bar("Restoring") as bar:
        report = await restore(settings, Path(arguments.archive), bar.start, bar.advance)
    _show(arguments, report, lambda: print_restore(report))
    return 0


def _show(arguments: argparse.Namespace, report: Report, print_it: Callable[[], None]) -> None:
    """A report as one JSON document, or for people."""
    if arguments.json:
        print(json_text(report.as_dict(), indent=2))
    else:
        print_it()


def add_commands(command: Callable[..., argparse.ArgumentParser]) -> None:
    """Declare the commands; ``command`` adds one by name, function and help."""
    migrated = command("migrate", migrate, "take over a SQLite library or an earlier cache into this library")
    migrated.add_argument("source", metavar="FILE", help="a SQLite file, or the folder of an embedded Milvus library")
    migrated.add_argument("--dry-run", action="store_true", help="read and count, store nothing")

    written = command("backup", backup, "write the whole library to one archive, which any backend can restore")
    written.add_argument("archive", metavar="FILE", help="the archive to write, as in shelf.zip")
    read = command("restore", restore, "make the library hold what an archive of 'backup' holds, and nothing else")
    read.add_argument("archive", metavar="FILE", help="the archive to read")
    command("repair", repair, "find damage to the library, and build it anew from all that can still be read")
