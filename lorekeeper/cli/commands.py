"""The ``lorekeeper`` command: parse, call, print. Results go to stdout, progress and messages to stderr."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import lorekeeper
from lorekeeper.addresses import without_secrets
from lorekeeper.cli import maintenance
from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import ConfigError, FilterError, LoreKeeperError
from lorekeeper.printable import json_text, lines, one_line, shown
from lorekeeper.settings import Settings, ignored_file, load_settings
from lorekeeper.system import collector_paused

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130

MAX_USAGE = 1000
"""Longest message about wrong use, in characters."""

Command = Callable[[argparse.Namespace, Settings, dict[str, str]], Awaitable[int]]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 failed, 2 wrong use, 130 interrupted."""
    arguments = _parser().parse_args(argv)
    os.umask(0o077)  # whatever is made from here on, by us or by an engine, belongs to this user alone
    try:
        settings, origins = load_settings()
        _log_to_stderr(settings.log_level)
        if ignored := ignored_file(settings):
            print(f"lorekeeper: {ignored}", file=sys.stderr)
        status: int = asyncio.run(arguments.run(arguments, settings, origins))
        sys.stdout.flush()
        return status
    except (ConfigError, FilterError) as error:
        return _complain(error, WRONG_USE)
    except LoreKeeperError as error:
        return _complain(error, FAILED)
    except KeyboardInterrupt:
        print("Interrupted. What was stored until now is kept; run the same command again to go on.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return FAILED


def _complain(error: Exception, status: int) -> int:
    print(f"lorekeeper: {one_line(str(error))}", file=sys.stderr)
    return status


class _PlainFormatter(logging.Formatter):
    """A record in one line, a traceback in lines, without passwords and without what a terminal would obey."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return one_line(without_secrets(super().formatMessage(record)))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        return lines(without_secrets(super().formatException(ei)))


def _log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_PlainFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("lorekeeper").setLevel(level)
    logging.getLogger("stamina").setLevel(logging.ERROR)


# --- commands --------------------------------------------------------------------------------------------------------


async def _serve(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    with collector_paused():
        from lorekeeper.library import Library
        from lorekeeper.server.mcp import serve_http, serve_stdio

    async with Library.from_settings(settings) as library:
        if arguments.transport == "stdio":
            await serve_stdio(library)
        else:
            await serve_http(library, arguments.host, arguments.port, settings.http_token)
    return DONE


async def _search(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    from lorekeeper.library import Library
    from lorekeeper.search.pipeline import Query
    from lorekeeper.server.tools import SEARCHED, page_content

    query = Query(
        types=arguments.type or SEARCHED,
        text=arguments.query,
        filters=_filters(arguments.filter),
        documents=arguments.document,
        limit=arguments.limit,
        mode=arguments.mode,
    )
    async with Library.from_settings(settings) as library:
        if query.mode != "keyword":
            with contextlib.suppress(LoreKeeperError):  # the search itself says what is missing
                await library.open(query.types)
        page = await library.search(query)
    if arguments.json:
        _print_json(page_content(page))
    else:
        from lorekeeper.cli.render import print_page

        print_page(page)
    return DONE


async def _import(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    from lorekeeper.cli.render import Bar, print_problems, print_report
    from lorekeeper.library import Library

    async with Library.from_settings(settings) as library:
        with Bar("Importing", sizes=True) as bar:
            report = await library.import_paths(
                [Path(p) for p in arguments.paths],
                document=arguments.document,
                dry_run=arguments.dry_run,
                start=bar.start,
                progress=bar.advance,
            )
    if arguments.json:
        print_problems(report, lost=False)
        _print_json(report.as_dict())
    else:
        print_report(report, dry_run=arguments.dry_run)
    return FAILED if report.failed else DONE


async def _sync(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    from lorekeeper.cli.render import Bars, print_problems, print_sync
    from lorekeeper.library import Library

    async with Library.from_settings(settings) as library:
        with Bars() as bars:
            report = await library.sync(arguments.type, arguments.document, bars.step)
    if arguments.json:
        print_problems(report, lost=False)
        _print_json(report.as_dict())
    else:
        print_sync(report)
    return FAILED if report.failed else DONE


async def _schema(arguments: argparse.Namespace, _: Settings, __: dict[str, str]) -> int:
    from lorekeeper.normalize.own import schema

    _print_json(schema(COLLECTIONS[arguments.type]))
    return DONE


async def _stats(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    from lorekeeper.library import Library

    async with Library.from_settings(settings) as library:
        statistics = await library.statistics()
    content = {
        "backend": statistics.backend,
        "location": statistics.location,
        "embedding": statistics.embedding,
        "total": sum(statistics.counts.values()),
        "counts": statistics.counts,
        "kinds": statistics.kinds,
        "passages": statistics.passages,
    }
    if arguments.json:
        _print_json(content)
    else:
        from lorekeeper.cli.render import print_statistics

        print_statistics(statistics)
    return DONE


async def _documents(arguments: argparse.Namespace, settings: Settings, _: dict[str, str]) -> int:
    from lorekeeper.library import Library
    from lorekeeper.server.tools import document_list

    async with Library.from_settings(settings) as library:
        documents = await document_list(library)
    if arguments.json:
        _print_json({"documents": documents})
    else:
        from lorekeeper.cli.render import print_documents

        print_documents(documents)
    return DONE


async def _reindex(_: argparse.Namespace, settings: Settings, __: dict[str, str]) -> int:
    from lorekeeper.cli.render import Bar
    from lorekeeper.library import Library

    async with Library.from_settings(settings) as library:
        with Bar("Embedding") as bar:
            bar.start(sum((await library.statistics()).counts.values()))
            number = await library.reindex(bar.advance)
    print(f"{number} entries embedded with the current model.")
    return DONE


async def _doctor(arguments: argparse.Namespace, settings: Settings, origins: dict[str, str]) -> int:
    from lorekeeper.maintenance.doctor import examine

    findings = await examine(settings, origins)
    if arguments.json:
        _print_json(findings.as_dict())
    else:
        from lorekeeper.cli.render import print_findings

        print_findings(findings)
    return DONE if findings.healthy else FAILED


async def _demo(_: argparse.Namespace, settings: Settings, __: dict[str, str]) -> int:
    from lorekeeper.cli.demo import run_demo

    await run_demo(settings)
    return DONE


# --- parsing ---------------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Repeats no more of an argument than a terminal may be given: it may be the name of a file from anywhere."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message, MAX_USAGE))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="lorekeeper", description="Search your tabletop role-playing shelf by meaning, filters and names."
    )
    parser.add_argument("--version", action="version", version=f"lorekeeper {lorekeeper.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    def command(name: str, run: Command, text: str, *, machine_readable: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.set_defaults(run=run)
        if machine_readable:
            added.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
        return added

    serve = command("serve", _serve, "serve the library to MCP clients", machine_readable=False)
    serve.add_argument("--transport", choices=["stdio", "http"], default="stdio")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on over http (default: 127.0.0.1)")
    serve.add_argument("--port", type=_port, default=8765, help="port over http (default: 8765)")

    search = command("search", _search, "search the library")
    search.add_argument("query", metavar="QUERY", help="what to find, in plain words, or a name")
    search.add_argument("--type", action="append", choices=list(COLLECTIONS), help="only this type (may be repeated)")
    search.add_argument("--document", action="append", metavar="KEY", help="only this document (may be repeated)")
    search.add_argument("--filter", action="append", default=[], metavar="FIELD=VALUE", help="as in level_max=3")
    search.add_argument("--limit", type=int, default=10, help="results, 1 to 50 (default: 10)")
    search.add_argument("--mode", choices=["auto", "semantic", "keyword"], default="auto")

    imported = command(
        "import", _import, "import files and folders: OrcBrew packs, Open5e JSON or JSON lines (also .gz), our own JSON"
    )
    imported.add_argument("paths", nargs="+", metavar="PATH")
    imported.add_argument("--document", metavar="KEY", help="file everything under this document")
    imported.add_argument("--dry-run", action="store_true", help="read and count, store nothing")

    sync = command("sync", _sync, "bring the library up to date with Open5e: what is new, changed or gone")
    sync.add_argument("source", choices=["open5e"], help="where from")
    sync.add_argument("--document", action="append", metavar="KEY", help="only this document (may be repeated)")
    sync.add_argument("--type", action="append", choices=list(COLLECTIONS), help="only this type (may be repeated)")

    shape = command("schema", _schema, "print the JSON Schema of our own shape for homebrew", machine_readable=False)
    shape.add_argument("type", metavar="TYPE", choices=list(COLLECTIONS), help=", ".join(COLLECTIONS))
    maintenance.add_commands(command)

    command("stats", _stats, "count what is in the library")
    command("documents", _documents, "list the source documents with their licences and counts")
    command("reindex", _reindex, "embed everything again with the current model", machine_readable=False)
    command("doctor", _doctor, "show the settings in force, and check the model and the library")
    command("demo", _demo, "load the starter compendium and ask it some questions", machine_readable=False)
    return parser


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError("a port is 1 to 65535")
    return port


def _filters(pairs: Sequence[str]) -> dict[str, Any]:
    """``field=value`` pairs; several values of one field mean any of them."""
    filters: dict[str, Any] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name or not value:
            raise FilterError(f"--filter {shown(pair)} is not FIELD=VALUE, as in level_max=3")
        filters[name] = [*filters[name], value] if name in filters else [value]
    return {k: v[0] if len(v) == 1 else v for k, v in filters.items()}


def _print_json(content: Any) -> None:
    print(json_text(content, indent=2))
