"""Commands that share notes with players: share, unshare, shared."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lorekeeper.cli.command import DONE, FAILED, JSON, Argument, Call, Commands, argument
from lorekeeper.cli.people import URL, invited
from lorekeeper.cli.terminal import YES, say, show, typed
from lorekeeper.errors import ConfigError, FilterError, NotFoundError
from lorekeeper.folding import fold
from lorekeeper.printable import one_line, quantity, shown

if TYPE_CHECKING:
    from lorekeeper.library import Library
    from lorekeeper.views.opening import Look, Target

commands = Commands()

WHAT = argument(
    "what",
    metavar="NOTE|FOLDER|TAG",
    help="a path in the vault, the name of a note or folder, '#tag', or '.' for the whole vault",
)
VAULT = argument("--vault", metavar="KEY", help="only in this vault")
DRY_RUN = argument("--dry-run", action="store_true", help="show what players would see, and change nothing")
ASK = "Open {}? y: yes, h: notes and headings, l: lines,\n{}n: no  [n] "
LEAVE_OUT = "a: with all that waits, 1 2 or a name: without this folder or note, "
NO = ("", "n", "no")
UNCONFIRMED = "Nothing was shared."
CONFIRM = "'--yes' confirms what is listed."


def _with(help_: str) -> Argument:
    return argument("--with", dest="people", action="append", metavar="PERSON", help=help_)


@commands.add(
    "share",
    "open a note, a folder or a tag of a vault to players, once you have seen what opens and what waits",
    argument("what", nargs="?", metavar="NOTE|FOLDER|TAG", help=str(WHAT.options["help"])),
    _with("only with this person, or the player of this character (may be repeated); by default with everyone"),
    VAULT,
    argument("--marked", action="store_true", help="open the headings of all notes that are marked for players"),
    argument(
        "--open",
        dest="opens",
        action="append",
        metavar="TEXT",
        help="also open this heading, key or line, which waits for a word or sign in it; '*' for all (may be repeated)",
    ),
    argument(
        "--without",
        action="append",
        metavar="FOLDER|NOTE",
        help="keep this for the game master, such as a folder of plans (may be repeated)",
    ),
    argument("--headings", action="store_true", help="list all notes and headings that open"),
    argument("--lines", action="store_true", help="list the lines that open and have such a word within them"),
    argument(
        "--invite",
        action="append",
        metavar="NAME",
        help="print a link and a QR code that sign in this player's browser, and add the player (may be repeated)",
    ),
    URL,
    argument("--yes", action="store_true", help="confirm without being asked"),
    DRY_RUN,
    JSON,
    examples=(
        "lorekeeper share Places --dry-run",
        "lorekeeper share People/Mira.md --with Ana",
        "lorekeeper share . --without Prep",
        "lorekeeper share Town.md --yes --invite Ana",
        "lorekeeper share Town.md --open 'Secret doors'",
        "lorekeeper share --marked",
    ),
    notes=lambda: (
        "Shares are stored next to the library; nothing is written into the vault. They apply from the next question on, "
        "also to running servers. What is confirmed is what stood there: a later note or heading waits until you look again."
    ),
)
async def share(call: Call) -> int:
    """Share something; FAILED if the user does not want to after all."""
    from lorekeeper.views.opening import store

    _for_game_master(call)
    arguments = call.arguments
    if bool(arguments.what) == arguments.marked:
        raise ConfigError("'lorekeeper share' needs what to share, such as a folder, or --marked, and not both")
    if arguments.marked and (arguments.people or arguments.opens or arguments.without):
        raise ConfigError(
            "--marked goes by the marks in the notes: --with, --open and --without belong to what you name"
        )
    async with call.library() as library:
        if arguments.marked:
            return await _marked(call, library)
        target = await _target(library, arguments)
        people, before = arguments.people or (), await asyncio.to_thread(library.vaults.shares.all)
        found = await asyncio.to_thread(_confirmed, call, library, target, people)
        if found is None:
            return _unconfirmed()
        if not arguments.dry_run:
            await store(library.vaults, before, found.after)
    names = () if arguments.dry_run else arguments.invite or ()
    content = {"vault": target.vault.key, "kind": target.kind, "name": target.name, **found.as_dict()}
    content |= {"with": list(people), "shared": not arguments.dry_run}
    content |= {"invited": [await invited(call, name) for name in names]} if names else {}
    call.show(content, lambda: _show_done(target, dry_run=arguments.dry_run))
    await _warn_of_strangers(call, people)
    return DONE


async def _marked(call: Call, library: Library) -> int:
    """Confirm what authors' marks open, in all vaults or one."""
    from lorekeeper.views.opening import look_at_marked, store

    await library.vaults.sync([])
    content: list[dict[str, Any]] = []
    key = call.arguments.vault
    for vault in await asyncio.to_thread(library.vaults.registry.vaults) if library.vaults.exist else []:
        if key not in (None, vault.key):
            continue
        before = await asyncio.to_thread(library.vaults.shares.all)
        found = await asyncio.to_thread(look_at_marked, library.vaults, vault)
        if not found.open:
            continue
        if not call.json:
            _show(call, found, f"{vault.key}, what is marked for players", ())
        if not (call.arguments.dry_run or await asyncio.to_thread(_answer, call, found, vault.key, ()) == "y"):
            return _unconfirmed()
        if not call.arguments.dry_run:
            await store(library.vaults, before, found.after)
        content.append({"vault": vault.key, **found.as_dict()})
    call.show({"vaults": content}, lambda: show("Done." if content else "No note waits that is marked for players."))
    return DONE


@commands.add(
    "unshare",
    "stop sharing a note, a folder or a tag",
    WHAT,
    _with("only this person is not to see it any more (may be repeated)"),
    VAULT,
    JSON,
    examples=("lorekeeper unshare Places", "lorekeeper unshare People/Mira.md --with Ana"),
    notes=lambda: (
        "This also hides a note that is in a shared folder, has a shared tag, or is opened by a mark of its own. "
        "'lorekeeper shared' lists it as hidden, and 'lorekeeper share' opens it again."
    ),
)
async def unshare(call: Call) -> int:
    """Share something no more."""
    from lorekeeper.audience import PLAYERS
    from lorekeeper.views.opening import closed_again, store

    _for_game_master(call)
    arguments = call.arguments
    async with call.library() as library:
        target = await _target(library, arguments)
        vault, kind, name = target.vault.key, target.kind, target.name
        before = await asyncio.to_thread(library.vaults.shares.all)
        people = arguments.people or ()
        open_to_all = any((s.vault, s.kind, s.name, s.audience) == (vault, kind, name, PLAYERS) for s in before)
        if people and open_to_all:
            raise ConfigError(
                f"{shown(target.written)} is shared with everyone: unshare it, then share it with those who may see it"
            )
        after, left = await asyncio.to_thread(closed_again, library.vaults, target, people)
        if left and people:
            verb = "is" if len(left) == 1 else "are"
            few = ", ".join(map(shown, left[:3])) + (" ..." if len(left) > 3 else "")
            say(f"{quantity(len(left), 'note')} of it {verb} open to them by other marks: {few}")
        await store(library.vaults, before, after)
    content = {"vault": vault, "kind": kind, "name": name, "with": list(people), "kept": bool(left) and not people}
    whom = f" with {' and '.join(people)}" if people else ""
    call.show(content, lambda: show(one_line(f"{target.written} is not shared{whom} any more.")))
    return DONE


@commands.add(
    "shared",
    "list what players see of the vaults, and what waits until you look at it",
    VAULT,
    JSON,
    examples=("lorekeeper shared",),
)
async def shared_list(call: Call) -> int:
    """List the decisions, the open notes, and what waits."""
    from lorekeeper.cli.render_audience import print_open
    from lorekeeper.shares import OPENED

    _for_game_master(call)
    async with call.library() as library:
        await library.refresh()
        listed = [s for s in await asyncio.to_thread(library.vaults.shares.all) if s.kind != OPENED]
        vaults = await asyncio.to_thread(library.vaults.registry.vaults) if library.vaults.exist else []
        rows = {vault.key: await asyncio.to_thread(library.vaults.rows, vault.key) for vault in vaults}
    key = call.arguments.vault
    decisions = [s for s in listed if key in (None, s.vault)]
    found = {name: notes for name, notes in rows.items() if key in (None, name)}
    content = [
        {
            "vault": s.vault,
            "kind": s.kind,
            "name": s.name,
            "audience": list(s.audience) if isinstance(s.audience, tuple) else s.audience,
        }
        for s in decisions
    ]
    notes = [
        {"vault": name, "note": path, "open_to": row.open_to, "waits": row.waits}
        for name, each in found.items()
        for path, row in each.items()
        if row.open_to or row.waits
    ]
    call.show({"shared": content, "notes": notes}, lambda: print_open(decisions, found))
    return DONE


def _for_game_master(call: Call) -> None:
    if not call.settings.viewer.sees_all:
        raise ConfigError(f"'lorekeeper {call.arguments.command}' is for the game master: it needs LOREKEEPER_VIEW=dm")


async def _target(library: Library, arguments: Any) -> Target:
    from lorekeeper.views.opening import target_of

    if not library.vaults.exist:
        raise NotFoundError("there is no vault yet; 'lorekeeper vault add PATH' adds a folder of Markdown notes")
    await library.vaults.sync([])
    return await asyncio.to_thread(target_of, library.vaults, arguments.what, arguments.vault)


def _confirmed(call: Call, library: Library, target: Target, people: Sequence[str]) -> Look | None:
    """What opens of a target, once the user has seen it and has left out what is his; None if he does not want to. Blocking."""
    from lorekeeper.views.opening import EVERYTHING, look, target_of

    vaults, said = library.vaults, list(call.arguments.without or ())
    kept: list[Target] = []
    opens, found = call.arguments.opens or (), None
    while True:
        try:
            more = [*kept, *(target_of(vaults, each, target.vault.key) for each in said)]
            found = look(vaults, target, people, opens, without=more)
            kept = more
        except (FilterError, NotFoundError) as error:
            if found is None:
                raise
            say(str(error))
        else:
            if not call.json:
                _show(call, found, target.written, people)
        answer = "y" if call.arguments.dry_run else _answer(call, found, target.written, people, LEAVE_OUT)
        if answer.casefold() == "a":
            return look(vaults, target, people, (EVERYTHING,), without=kept)
        if answer in ("", "y"):
            return found if answer else None
        parts = [name for name, _ in found.parts]
        numbers = answer.replace(",", " ").split()
        are_parts = all(each.isdecimal() and 0 < int(each) <= len(parts) for each in numbers)
        said = [parts[int(each) - 1] for each in numbers] if are_parts else [answer]


def _unconfirmed() -> int:
    say(UNCONFIRMED if sys.stdin.isatty() else f"{UNCONFIRMED} {CONFIRM}")
    return FAILED


def _answer(call: Call, found: Look, what: str, people: Sequence[str], more: str = "") -> str:
    """What the user wants: "y", "a", what to leave out, or "" for nothing; asked only at a terminal. Blocking."""
    if call.arguments.yes:
        return "y"
    while sys.stdin.isatty() and not call.json:
        opens = quantity(len(found.open), "note")
        opens += f" except {quantity(found.waiting, 'part')}" if found.waiting else ""
        said = typed(ASK.format(opens, more))
        key = said.casefold()
        if key not in ("h", "l"):
            return {**dict.fromkeys(YES, "y"), **dict.fromkeys(NO, "")}.get(key, said)
        _show(call, found, what, people, headings=key == "h", lines=key == "l")
    return ""


def _show(
    call: Call, found: Look, what: str, people: Sequence[str], *, headings: bool = False, lines: bool = False
) -> None:
    from lorekeeper.cli.render_audience import print_look

    print_look(
        found,
        what,
        " and ".join(people) or found.whom,
        headings=headings or call.arguments.headings,
        lines=lines or call.arguments.lines,
    )


def _show_done(target: Target, *, dry_run: bool) -> None:
    if not dry_run:
        what = target.written if target.kind == "tag" else target.name or "."
        show(f'Shared. To undo it: lorekeeper unshare "{one_line(what)}"')


async def _warn_of_strangers(call: Call, people: Sequence[str]) -> None:
    from lorekeeper.composition import people_of

    everyone = await asyncio.to_thread(people_of(call.settings).everyone)
    known = {fold(name) for person in everyone for name in (person.name, *person.characters)}
    for name in people:
        if fold(name) not in known:
            remedy = f"'lorekeeper people add {name} --role player' adds them"
            say(one_line(f"No person is called {name} yet: {remedy}."))
