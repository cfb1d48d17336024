"""Scripts with which a shell completes commands, options, values and the names of filters."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from lorekeeper.cli.command import DONE, Call, Commands, argument
from lorekeeper.editions import LABELS
from lorekeeper.entities import COLLECTIONS
from lorekeeper.filters import bounds_of
from lorekeeper.order import SHORT

if TYPE_CHECKING:
    from lorekeeper.server.tools import Tool

commands = Commands()

SHELLS = ("bash", "zsh", "tcsh", "fish", "powershell")

FILES = frozenset({"paths", "archive", "source_file", "source"})
"""Arguments that are paths, unless they have choices."""

FOLLOWING: Mapping[str, Callable[[], list[str]]] = {
    "filter": lambda: [f"{name}=" for name in filter_names()],
    "order": lambda: ["name", *SHORT],
    "edition": lambda: list(LABELS),
    "tool": lambda: list(_tools()),
    "values": lambda: sorted({f"{name}=" for tool in _tools().values() for name in tool.arguments.model_fields}),
}
"""Arguments whose values are known, though others are allowed: the words to propose for each."""


@commands.add(
    "completion",
    "print a script with which your shell completes commands, options and filters",
    argument("shell", choices=SHELLS, help=", ".join(SHELLS)),
    examples=(
        "lorekeeper completion bash > ~/.bash_completion",
        "lorekeeper completion fish > ~/.config/fish/completions/lorekeeper.fish",
    ),
)
async def completion(call: Call) -> int:
    """Print a completion script."""
    from lorekeeper.cli.main import parser

    print(completion_script(parser(), call.arguments.shell))
    return DONE


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script for one of the `SHELLS`."""
    import shtab

    for action in _actions(parser):
        if action.dest in FOLLOWING and not action.choices:
            action.complete = _words(action.dest, FOLLOWING[action.dest]())  # type: ignore[attr-defined]
        elif action.dest in FILES and not action.choices:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell))


def _tools() -> Mapping[str, Tool]:
    from lorekeeper.server.tools import tools_by_name

    return tools_by_name()


def filter_names() -> list[str]:
    """The names of all filters, those of numbers and dates also with the endings of bounds."""
    fields = {field.name: field for collection in COLLECTIONS.values() for field in collection.fields}
    return sorted(name + end for name, field in fields.items() for end in ("", *bounds_of(field)))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """All arguments of a parser and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)


def _words(name: str, words: list[str]) -> dict[str, object]:
    """What shtab needs to propose some words for an option."""
    listed = " ".join(words)
    return {
        "preamble": {"bash": f'_lorekeeper_{name}() {{\n  compgen -W "{listed}" -- "$1"\n}}\n'},
        "bash": f"_lorekeeper_{name}",
        "zsh": f"({listed})",
        "fish": listed,
    }
