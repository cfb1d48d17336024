"""The ``lorekeeper`` command: parse, call, exit status. Results go to stdout, progress and messages to stderr."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import NoReturn

from lorekeeper.addresses import without_secrets
from lorekeeper.cache import formats
from lorekeeper.cache.protocol import Progress
from lorekeeper.cli import intake, lookup, maintenance, serving
from lorekeeper.cli.command import FAILED, INTERRUPTED, WRONG_USE, Call
from lorekeeper.errors import ConfigError, FilterError, LoreKeeperError
from lorekeeper.printable import lines, one_line
from lorekeeper.settings import ignored_file, load_settings
from lorekeeper.system import claim_process
from lorekeeper.version import VERSION

TOPICS = (serving.commands, lookup.commands, intake.commands, maintenance.commands)
"""All commands, in the order in which the help lists them."""

MAX_USAGE = 1000
"""Longest usage error, in characters."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 failed, 2 usage error, 130 interrupted."""
    arguments = parser().parse_args(argv)
    claim_process()
    os.umask(0o077)  # all files that we or an engine create from here on belong to this user alone
    try:
        return _run(arguments)
    except (ConfigError, FilterError) as error:
        return _complain(error, WRONG_USE)
    except LoreKeeperError as error:
        return _complain(error, FAILED)
    except KeyboardInterrupt:
        print("Interrupted. What was stored so far is kept; run the same command again to continue.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return FAILED


def _run(arguments: argparse.Namespace) -> int:
    settings, origins = load_settings()
    _log_to_stderr(settings.log_level)
    if ignored := ignored_file(settings):
        print(f"lorekeeper: {ignored}", file=sys.stderr)
    formats.shown.set(_show_upgrade)
    status: int = asyncio.run(arguments.run(Call(arguments, settings, origins)))
    sys.stdout.flush()
    return status


@contextlib.contextmanager
def _show_upgrade(what: str, total: int) -> Iterator[Progress]:
    """A progress bar for upgrades of the library, in every command."""
    from lorekeeper.cli.render import Bar

    with Bar(what) as bar:
        bar.start(total)
        yield bar.advance


def _complain(error: Exception, status: int) -> int:
    print(f"lorekeeper: {one_line(str(error))}", file=sys.stderr)
    return status


def parser() -> argparse.ArgumentParser:
    """The parser of all commands, from their declarations."""
    top = _Parser(
        prog="lorekeeper",
        description="Search your tabletop role-playing library by meaning, exact filters and names.",
    )
    top.add_argument("--version", action="version", version=f"lorekeeper {VERSION}")
    parsers = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in (command for topic in TOPICS for command in topic.declared):
        added = parsers.add_parser(command.name, help=command.help, description=command.help)
        added.set_defaults(run=command.run)
        for argument in command.arguments:
            added.add_argument(*argument.names, **argument.options)
    return top


class _Parser(argparse.ArgumentParser):
    """Makes a message safe to print: an argument may be the name of an untrusted file."""

    def error(self, message: str) -> NoReturn:
        super().error(one_line(message, MAX_USAGE))


class PlainFormatter(logging.Formatter):
    """A log record as one line, a traceback as lines, without passwords and control characters."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return one_line(without_secrets(super().formatMessage(record)))

    def formatException(  # noqa: N802
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return lines(without_secrets(super().formatException(ei)))


def _log_to_stderr(level: str) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(PlainFormatter("%(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("lorekeeper").setLevel(level)
    logging.getLogger("stamina").setLevel(logging.ERROR)
