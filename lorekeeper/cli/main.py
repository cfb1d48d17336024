"""The ``lorekeeper`` command: parse, call, exit status. Results go to stdout, progress and messages to stderr."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import re
import sys
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any, NoReturn

from lorekeeper.addresses import without_secrets
from lorekeeper.cache import formats
from lorekeeper.cache.protocol import Progress
from lorekeeper.cli import (
    at_table,
    audience,
    audit,
    browser,
    clients,
    completion,
    editions,
    intake,
    lookup,
    maintenance,
    people,
    serving,
    sharing,
    tools,
    vaults,
)
from lorekeeper.cli.command import DONE, FAILED, INTERRUPTED, WRONG_USE, Call, Command, Commands, argument
from lorekeeper.cli.start import start
from lorekeeper.cli.terminal import columns, paged, say, wrapped
from lorekeeper.errors import ConfigError, FilterError, LoreKeeperError
from lorekeeper.filters import unknown_name
from lorekeeper.printable import lines, one_line
from lorekeeper.settings import ignored_file, load_settings
from lorekeeper.system import claim_process, give_way
from lorekeeper.version import VERSION

commands = Commands()

GROUPS = {
    "search and read": (lookup.commands, tools.commands),
    "play": (at_table.commands,),
    "add books and notes": (intake.commands, vaults.commands, editions.commands),
    "connect apps and browsers": (serving.commands, browser.commands, clients.commands),
    "let players ask": (people.commands, audience.commands, sharing.commands, audit.commands),
    "maintain": (maintenance.commands, commands, completion.commands),
}
"""The topics by group, in the order in which the help lists their commands."""

EPILOG = """examples:
  lorekeeper demo
  lorekeeper search "which spell saves us when we fall"
  lorekeeper show adult red dragon

Settings are environment variables, LOREKEEPER_...; 'lorekeeper doctor --json' lists them with their values.
'lorekeeper help COMMAND' explains a command."""

CONTINUES = " Progress is saved; run the same command again to continue."

HELP_WORDS = 2
"""Words of a request for help; more are a question, for example "help me out of a grapple"."""

LASTING = ("serve", "open")
"""Commands that work until they are ended: what they log is shown as a log."""

MAX_USAGE = 1000
"""Longest usage error, in characters."""

_NEGATED = re.compile(r"-\w\w")
"""How a negated test begins; no option does."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status: 0 done, 1 failed, 2 usage error, 130 interrupted."""
    words = _attached(sys.argv[1:] if argv is None else argv)
    is_command = bool(words) and words[0] in COMMANDS and not (words[0] == "help" and len(words) > HELP_WORDS)
    if not words or words[0].startswith("-") or is_command:
        return _guarded(_parsed(words))
    arguments = _parsed(["search", *words])  # what begins with no command is searched for
    arguments.instead_of = words[0]
    return _guarded(arguments)


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    """The arguments of a command line; an option that the command lacks ends it, with the nearest one."""
    arguments, unknown = parser().parse_known_args(words)
    command = next((each for each in declared() if each.name == arguments.command), None)
    option = next((word.partition("=")[0] for word in unknown if word.startswith("--")), "")
    if command and option:
        known = [name for each in command.arguments for name in each.names if name.startswith("--")]
        say(f"lorekeeper: {unknown_name(option, known, f'option of {command.name}')}")
        sys.exit(WRONG_USE)
    return parser().parse_args(words) if unknown else arguments


def _attached(words: Sequence[str]) -> list[str]:
    """The words of a command line; a test such as ``-language:common`` is no option, but what ``--where`` takes.

    A ``#`` alone begins a comment, which zsh, the shell of macOS, passes on when a line is pasted.
    """
    attached: list[str] = []
    for word in words:
        if word == "#":
            break
        if attached[-1:] == ["--where"] and _NEGATED.match(word):
            attached[-1] += f"={word}"
        else:
            attached.append(word)
    return attached


def _guarded(arguments: argparse.Namespace) -> int:
    """Run a command, and turn errors into messages and statuses."""
    claim_process()
    if arguments.saves:
        give_way()
    os.umask(0o077)  # all files that we or an engine create from here on belong to this user alone
    messages = _Messages()
    try:
        return _run(arguments, messages)
    except LoreKeeperError as error:
        messages.show_held(error)
        say(f"lorekeeper: {one_line(str(error))}")
        return WRONG_USE if isinstance(error, ConfigError | FilterError) else FAILED
    except KeyboardInterrupt:
        say(f"Interrupted.{CONTINUES if arguments.saves else ''}")
        return INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return FAILED
    finally:
        messages.show_held()


def _run(arguments: argparse.Namespace, messages: _Messages) -> int:
    settings, origins = load_settings()
    is_log = settings.log_level in ("DEBUG", "INFO") or arguments.command in LASTING
    _log_to_stderr(settings.log_level, _log() if is_log else messages)
    if ignored := ignored_file(settings):
        say(f"lorekeeper: {ignored}")
    formats.shown.set(_show_progress)
    status: int = asyncio.run(arguments.run(Call(arguments, settings, origins)))
    sys.stdout.flush()
    return status


@contextlib.contextmanager
def _show_progress(what: str, total: int) -> Iterator[Progress]:
    """A progress bar for what is done with the library before it answers, in every command."""
    from lorekeeper.cli.render import Bar

    with Bar(what) as bar:
        bar.start(total)
        yield bar.advance


@commands.add(
    "help",
    "explain a command",
    argument("about", nargs="?", metavar="COMMAND", help="the command; without it, all are listed"),
    examples=("lorekeeper help search",),
)
async def help_(call: Call) -> int:
    """Print the help of a command, or of all."""
    with paged(), contextlib.suppress(SystemExit):
        parser().parse_args([*filter(None, [call.arguments.about]), "--help"])
    return DONE


def parser() -> argparse.ArgumentParser:
    """The parser of all commands, from their declarations."""
    top = _Parser(
        prog="lorekeeper",
        description="Search your tabletop role-playing books and campaign notes by meaning, exact filters and names.",
        epilog=EPILOG,
        formatter_class=_HelpFormatter,
    )
    top.set_defaults(run=start, saves=False, instead_of="")
    top.add_argument("--version", action="version", version=f"lorekeeper {VERSION}")
    parsers = top.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for command in declared():
        added = parsers.add_parser(
            command.name,
            help=command.help,
            description=command.help,
            epilog="\n\n".join(filter(None, [command.notes(), "\n  ".join(["examples:", *command.examples])])),
            formatter_class=_HelpFormatter,
        )
        added.set_defaults(run=command.run, saves=command.saves)
        for option in command.arguments:
            added.add_argument(*option.names, **option.options)
    return top


def declared() -> list[Command]:
    """All commands, in the order in which the help lists them."""
    return [command for group in GROUPS.values() for topic in group for command in topic.declared]


COMMANDS = tuple(command.name for command in declared())

LONGEST = 4 + max(map(len, COMMANDS))
"""Columns of the longest command, as the help indents it."""

HEADINGS = {topics[0].declared[0].name: title for title, topics in GROUPS.items()}
"""The heading of each group, by its first command."""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Breaks lines between words only, also those that are shown as they are written, and lists commands in groups."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        self._action_max_length = max(self._action_max_length, LONGEST)

    def _format_action(self, action: argparse.Action) -> str:
        listed = super()._format_action(action)
        is_command = action.dest == action.metavar  # arguments have another placeholder
        heading = HEADINGS.get(action.dest) if is_command else None
        return f"\n  {heading}:\n{listed}" if heading else listed

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrapped(" ".join(text.split()), width).split("\n")

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return wrapped(super()._fill_text(text, width, indent), width)


class _Parser(argparse.ArgumentParser):
    """Suggests what was meant, and makes messages safe to print: an argument may be the name of an untrusted file."""

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        say(f"{self.prog}: error: {one_line(message, MAX_USAGE)}")
        sys.exit(WRONG_USE)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """The base class's list of choices, with the nearest one before it."""
        if action.choices is not None and value not in action.choices:
            what = "command" if action.dest == "command" else "value"
            raise argparse.ArgumentError(action, unknown_name(str(value), [str(c) for c in action.choices], what))


class PlainFormatter(logging.Formatter):
    """A log record as one line, a traceback as lines, without passwords and control characters."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        return one_line(without_secrets(super().formatMessage(record)))

    def formatException(  # noqa: N802
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return lines(without_secrets(super().formatException(ei)))


class _Messages(logging.StreamHandler):  # type: ignore[type-arg]
    """Shows what is logged while a command works as its messages. What follows from an error is shown at the end, once."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(PlainFormatter("lorekeeper: %(message)s"))
        self._held: dict[str, logging.LogRecord] = {}

    def emit(self, record: logging.LogRecord) -> None:
        given = record.args if isinstance(record.args, tuple) else ()
        cause = next((each for each in given if isinstance(each, LoreKeeperError)), None)
        if cause is None:
            super().emit(record)
        else:
            self._held.setdefault(str(cause), record)

    def format(self, record: logging.LogRecord) -> str:
        return wrapped(super().format(record), columns(sys.stderr))

    def show_held(self, error: Exception | None = None) -> None:
        """Show what was held back, but for what an error says that is shown itself."""
        held, self._held = self._held, {}
        for cause, record in held.items():
            if error is None or cause not in str(error):
                super().emit(record)


def _log() -> logging.Handler:
    """A log for whoever looks after a server, with the module of each record."""
    handler = logging.StreamHandler()
    handler.setFormatter(PlainFormatter("%(levelname)s %(name)s: %(message)s"))
    return handler


def _log_to_stderr(level: str, handler: logging.Handler) -> None:
    logging.basicConfig(level=level, handlers=[handler])
    logging.getLogger("lorekeeper").setLevel(level)
    logging.getLogger("stamina").setLevel(logging.ERROR)
