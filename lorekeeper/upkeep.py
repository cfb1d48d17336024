"""The commands that keep a library: migrate, repair. Parse, call, print."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from lorekeeper.settings import Settings


async def migrate(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    """Take over another file; 1 where an entry could not be."""
    from lorekeeper.migration import migrate
    from lorekeeper.screen import Bar, print_migration

    with Bar("Migrating") as bar:
        report = await migrate(
            settings, Path(arguments.source), dry_run=arguments.dry_run, start=bar.start, progress=bar.advance
        )
    if arguments.json:
        print(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
    else:
        print_migration(report, dry_run=arguments.dry_run)
    return 1 if report.failed else 0


async def repair(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    """Find damage, and undo it."""
    from lorekeeper.repair import repair
    from lorekeeper.screen import Bar, print_repair

    with Bar("Repairing") as bar:
        report = await repair(settings, bar.start, bar.advance)
    if arguments.json:
        print(json.dumps(report.as_dict(), ensure_ascii=False, indent=2))
    else:
        print_repair(report)
    return 0
