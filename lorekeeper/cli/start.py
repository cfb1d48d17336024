"""``lorekeeper`` alone: what to do next, in the state that the library is in. Neither library nor model is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from lorekeeper.cli.command import DONE, Call
from lorekeeper.cli.terminal import show
from lorekeeper.printable import one_line, quantity
from lorekeeper.version import VERSION

if TYPE_CHECKING:
    from lorekeeper.cache.places import LibraryStatus

State = Literal["none", "empty", "first", "books", "damaged"]

ASK = ("search falling off a cliff", "ask it anything, in your own words")
SYNC = ("sync open5e", "add thirty more open books")
IMPORT = ("import PATH", "add your books and homebrew")
VAULT = ("vault add FOLDER", "add your notes, such as an Obsidian vault")
INSTALL = ("install", "connect a chat app")

STEPS: Mapping[State, Sequence[tuple[str, str]]] = {
    "none": (("demo", "see what it answers to some questions"), ASK, SYNC, IMPORT, VAULT),
    "empty": (ASK, SYNC, IMPORT, VAULT),
    "first": (SYNC, IMPORT, VAULT, ASK, INSTALL),
    "books": (
        ASK,
        ("show adult red dragon", "read a whole entry"),
        ("documents", "see which books there are"),
        SYNC,
        INSTALL,
    ),
    "damaged": (
        ("doctor", "see what is wrong"),
        ("doctor --fix", "fix what is safe to fix"),
        ("repair", "rebuild the library from everything that is readable"),
        ("restore FILE", "or restore a backup"),
    ),
}
"""What to run next and what for, by state; at most five, so that all of it stays under ten lines."""

NEEDS_NETWORK = "sync"


async def start(call: Call) -> int:
    """Say where the library is and what it holds, and which commands come next."""
    from lorekeeper.composition import library_status

    seen = await asyncio.to_thread(library_status, call.settings)
    show("\n".join(next_steps(seen, offline=call.settings.offline)))
    return DONE


def next_steps(seen: LibraryStatus, *, offline: bool) -> list[str]:
    """What to show, at most ten lines."""
    state = state_of(seen)
    steps = [
        (f"lorekeeper {run}", what) for run, what in STEPS[state] if not (offline and run.startswith(NEEDS_NETWORK))
    ]
    width = max(len(run) for run, _ in steps)
    shared = [f"Process {seen.process} has the library open and shares it with other commands."]
    return [
        f"LoreKeeper {VERSION}. {one_line(_described(state, seen))}",
        *(shared if seen.process else []),
        *(f"  {run:<{width}}  {what}" for run, what in steps),
        "'lorekeeper help' lists all commands, 'lorekeeper doctor' checks everything.",
    ]


def state_of(seen: LibraryStatus) -> State:
    """The state of a library."""
    if seen.problem:
        return "damaged"
    if not seen.found:
        return "none"
    if not seen.documents:
        return "empty"
    return "books" if seen.books else "first"


def _described(state: State, seen: LibraryStatus) -> str:
    entries = sum(seen.documents.values())
    return {
        "none": f"There is no library yet. The first command that needs one creates it in {seen.location}.",
        "empty": f"The library in {seen.location} is empty.",
        "first": f"The library in {seen.location} has the books it began with, {quantity(entries, 'entry')}, and no others yet.",
        "books": f"The library in {seen.location} has {quantity(entries, 'entry')}; documents: {len(seen.documents):,}.",
        "damaged": f"The library in {seen.location} cannot be used: {seen.problem}",
    }[state]
