"""What a command is: a function, and right above it its name, its help and its arguments.

    @commands.add("documents", "list the source documents", JSON, examples=("lorekeeper documents --json",))
    async def documents(call: Call) -> int: ...

A module declares the commands of one topic; `lorekeeper.cli.main` lists the topics. What a command needs is imported when it
runs, so that every other one starts quickly.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lorekeeper.cli.terminal import paged, say
from lorekeeper.entities import COLLECTIONS
from lorekeeper.printable import json_text, one_line
from lorekeeper.settings import Settings

if TYPE_CHECKING:
    from lorekeeper.cli.render import Bar
    from lorekeeper.library import Library
    from lorekeeper.measures import ProgressCounter
    from lorekeeper.search.resolve_entry import Found
    from lorekeeper.views.view import View

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses."""


LOOK_SECONDS = 0.2
"""How often a bar looks how far the reading of notes is."""

JsonObject = dict[str, Any]

Answering = Callable[["Library", JsonObject], Coroutine[Any, Any, JsonObject]]
"""The answer of a library to a question, both as JSON."""


@dataclass(frozen=True)
class Call:
    """One call of a command.

    Attributes:
        arguments: as parsed.
        settings: the effective ones.
        origins: where each setting comes from, by name.
    """

    arguments: argparse.Namespace
    settings: Settings
    origins: Mapping[str, str]

    @property
    def json(self) -> bool:
        """Whether the result is to be printed as JSON."""
        return bool(self.arguments.json)

    def library(self, *, serves: bool = False) -> Library:
        """The configured library, for ``async with``.

        Args:
            serves: whether it answers further questions, so that none has to wait until long changes of notes are read.
        """
        from lorekeeper.library import Library

        library = Library.from_settings(self.settings)
        library.vaults.waiting = None if serves else _reading
        return library

    async def answer(self, answer: Answering, question: JsonObject) -> JsonObject:
        """What a function answers: in a running server of this library, else here, where the library is opened for it.

        Args:
            answer: declared with `answers`.
            question: its argument.
        """
        from lorekeeper.cli.asking import answered

        content = await answered(self.settings, answer, question)
        if content is None:
            async with self.library() as library:
                content = await answer(library, question)
        return content

    def show(self, content: Any, print_for_people: Callable[[], None]) -> None:
        """Print the result: ``content`` as one JSON document, or for people to read."""
        if self.json:
            print_json(content)
        else:
            with paged():
                print_for_people()


Handler = Callable[[Call], Awaitable[int]]
"""Runs a command and returns its exit status."""

ANSWERS: dict[str, Answering] = {}
"""What commands ask a library, by name: a running server answers it too."""


def answers(function: Answering) -> Answering:
    """Declare what a running server may answer; see `Call.answer`."""
    ANSWERS[function.__name__] = function
    return function


@dataclass(frozen=True)
class Argument:
    """One argument of a command: what `argparse.ArgumentParser.add_argument` takes."""

    names: tuple[str, ...]
    options: Mapping[str, Any]


def argument(*names: str, **options: Any) -> Argument:
    """Declare an argument as for `argparse.ArgumentParser.add_argument`."""
    return Argument(names, options)


@dataclass(frozen=True)
class Command:
    """A command as it is declared.

    Attributes:
        name: as it is typed.
        help: what it does, one line.
        arguments: in the order of the help.
        run: the function.
        examples: commands to try, each shown in the help.
        notes: further text for the help, under the arguments.
        saves: whether it saves its progress, so that it continues if it is interrupted and run again.
    """

    name: str
    help: str
    arguments: tuple[Argument, ...]
    run: Handler
    examples: tuple[str, ...] = ()
    notes: Callable[[], str] = str
    saves: bool = False


@dataclass(frozen=True)
class Commands:
    """The commands of one topic, in the order in which they are declared."""

    declared: list[Command] = field(default_factory=list)

    def add(
        self,
        name: str,
        help: str,  # noqa: A002
        *arguments: Argument,
        examples: tuple[str, ...],
        notes: Callable[[], str] = str,
        saves: bool = False,
    ) -> Callable[[Handler], Handler]:
        """Declare the command that the decorated function runs; see `Command`."""

        def declare(run: Handler) -> Handler:
            self.declared.append(Command(name, help, arguments, run, examples, notes, saves))
            return run

        return declare


def listing(title: str, rows: Mapping[str, str]) -> str:
    """Names and what each is, a row each below a title, for the notes of a help."""
    width = max(map(len, rows))
    return "\n".join([f"{title}:", *(f"  {name:{width}}  {text}" for name, text in rows.items())])


JSON = argument("--json", action="store_true", help="print one JSON document and nothing else")
TYPE = argument(
    "--type",
    action="append",
    choices=list(COLLECTIONS),
    metavar="TYPE",
    help=f"only this type (may be repeated): {', '.join(COLLECTIONS)}",
)
DOCUMENT = argument("--document", action="append", metavar="KEY", help="only this document (may be repeated)")
DRY_RUN = argument("--dry-run", action="store_true", help="read and count without storing anything")


@asynccontextmanager
async def _reading(steps: ProgressCounter) -> AsyncIterator[None]:
    """Say that notes are read before the answer, and show how far that is."""
    from lorekeeper.cli.render import Bar

    say("Reading the notes of your vaults first. Ctrl-C stops it; what was read so far stays.")
    with Bar("Reading notes") as bar:
        showing = asyncio.create_task(_shown(steps, bar))
        try:
            yield
        finally:
            showing.cancel()


async def _shown(steps: ProgressCounter, bar: Bar) -> None:
    total = done = 0
    while True:
        bar.start(steps.total - total)
        bar.advance(steps.done - done)
        total, done = steps.total, steps.done
        await asyncio.sleep(LOOK_SECONDS)


async def refreshed(library: Library) -> View:
    """The view of who asks; a player's is compared with the vaults first, so that nothing shows that is secret by now."""
    view = library.view()
    if not view.viewer.sees_all:
        await view.refresh()
    return view


async def find(view: View, wanted: str, types: Sequence[str] | None, documents: Sequence[str] | None) -> Found:
    """The entry of a uri, a name, or an address such as "Fireball, srd-2014"; see `search.resolve_entry.find_entry`."""
    from lorekeeper.entities import SEARCHED
    from lorekeeper.search.addresses import uri_at
    from lorekeeper.search.resolve_entry import find_entry

    wanted = await uri_at(view.cache, wanted) or wanted
    return await find_entry(view.search, view.entities_at, wanted, types or SEARCHED, documents)


def say_note(note: str | None) -> None:
    """Print how a question was understood, if there is anything to say."""
    if note:
        say(one_line(note))


def print_json(content: Any) -> None:
    """Print one JSON document."""
    print(json_text(content, indent=2))
