"""Commands that share notes with players: share, unshare, shared."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lorekeeper.cli.command import DONE, FAILED, JSON, Argument, Call, Commands, argument
from lorekeeper.cli.people import URL, invited
from lorekeeper.cli.terminal import say, show
from lorekeeper.errors import ConfigError, NotFoundError
from lorekeeper.folding import fold
from lorekeeper.printable import one_line, quantity, shown

if TYPE_CHECKING:
    from lorekeeper.library import Library
    from lorekeeper.shares import Share
    from lorekeeper.views.sharing import Preview, Target

commands = Commands()

WHAT = argument(
    "what",
    metavar="NOTE|FOLDER|TAG",
    help="a path in the vault, the name of a note or folder, '#tag', or '.' for the whole vault",
)
VAULT = argument("--vault", metavar="KEY", help="only in this vault")
DRY_RUN = argument("--dry-run", action="store_true", help="show what players would see, and change nothing")
ASK = "Share it all the same? [y/N] "


def _with(help_: str) -> Argument:
    return argument("--with", dest="people", action="append", metavar="PERSON", help=help_)


@commands.add(
    "share",
    "share a note, a folder or a tag of a vault with players, and list first what looks like a secret in it",
    WHAT,
    _with("only with this person, or the player of this character (may be repeated); by default with everyone"),
    VAULT,
    argument(
        "--invite",
        action="append",
        metavar="NAME",
        help="print a link and a QR code that sign in this player's browser, and add the player (may be repeated)",
    ),
    URL,
    argument("--fix", action="store_true", help="hide what looks like a secret, and share the rest"),
    argument("--yes", action="store_true", help="do not ask, whatever looks like a secret"),
    DRY_RUN,
    JSON,
    examples=(
        "lorekeeper share Places --dry-run",
        "lorekeeper share People/Mira.md --with Ana",
        "lorekeeper share Town.md --fix --invite Ana",
        "lorekeeper share '#town' --fix",
    ),
    notes=lambda: (
        "Shares are stored next to the library; nothing is written into the vault. They apply from the next question on, "
        "also to running servers. A mark in a shared note still hides what it marks."
    ),
)
async def share(call: Call) -> int:
    """Share something; FAILED if the user does not want to after all."""
    from lorekeeper.vaults.shares import shared
    from lorekeeper.views.sharing import store

    _for_game_master(call)
    arguments = call.arguments
    async with call.library() as library:
        target = await _target(library, arguments)
        people = arguments.people or ()
        before = await asyncio.to_thread(library.vaults.shares.all)
        after = shared(before, target.vault.key, target.kind, target.name, people)
        preview, after = await _previewed(library, target, after, fix=arguments.fix)
        if not call.json:
            _show_preview(preview, target, people, fixed=arguments.fix)
        if not (arguments.dry_run or _is_wanted(call, preview)):
            say("Nothing was shared.")
            return FAILED
        if not arguments.dry_run:
            await store(library.vaults, before, after)
    names = () if arguments.dry_run else arguments.invite or ()
    content = _content(target, preview) | {"with": list(people), "shared": not arguments.dry_run}
    content |= {"invited": [await invited(call, name) for name in names]} if names else {}
    call.show(content, lambda: _show_done(target, dry_run=arguments.dry_run))
    await _warn_of_strangers(call, people)
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
    from lorekeeper.vaults.shares import kept, unshared
    from lorekeeper.views.sharing import still_open, store

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
        after = unshared(before, vault, kind, name, people)
        left = await asyncio.to_thread(still_open, library.vaults, target, after, people)
        if left and people:
            say(
                f"{quantity(len(left), 'note')} of it {'is' if len(left) == 1 else 'are'} open to them by other marks: {_few(left)}"
            )
        elif left:
            after = kept(after, vault, kind, name)
        await store(library.vaults, before, after)
    content = {"vault": vault, "kind": kind, "name": name, "with": list(people), "kept": bool(left) and not people}
    whom = f" with {' and '.join(people)}" if people else ""
    call.show(content, lambda: show(one_line(f"{target.written} is not shared{whom} any more.")))
    return DONE


@commands.add(
    "shared",
    "list what is shared or hidden by these commands, apart from marks in the notes",
    VAULT,
    JSON,
    examples=("lorekeeper shared",),
)
async def shared_list(call: Call) -> int:
    """List the decisions."""
    from lorekeeper.views.sharing import who

    _for_game_master(call)
    async with call.library() as library:
        rows = [
            s for s in await asyncio.to_thread(library.vaults.shares.all) if call.arguments.vault in (None, s.vault)
        ]
    content = [
        {
            "vault": s.vault,
            "kind": s.kind,
            "name": s.name,
            "audience": list(s.audience) if isinstance(s.audience, tuple) else s.audience,
        }
        for s in rows
    ]

    def people() -> None:
        for each in rows:
            show(one_line(f"{each.vault}  {each.kind}  {each.written}  for {who(each.audience)}"))
        if not rows:
            show("Nothing is shared except what marks in the notes open: 'lorekeeper share PLACES --dry-run' tries it.")

    call.show({"shared": content}, people)
    return DONE


def _for_game_master(call: Call) -> None:
    if not call.settings.viewer.sees_all:
        raise ConfigError(f"'lorekeeper {call.arguments.command}' is for the game master: it needs LOREKEEPER_VIEW=dm")


async def _target(library: Library, arguments: Any) -> Target:
    from lorekeeper.views.sharing import target_of

    if not library.vaults.exist:
        raise NotFoundError("there is no vault yet; 'lorekeeper vault add PATH' adds a folder of Markdown notes")
    await library.vaults.sync([])
    return await asyncio.to_thread(target_of, library.vaults, arguments.what, arguments.vault)


async def _previewed(library: Library, target: Target, after: list[Share], *, fix: bool) -> tuple[Preview, list[Share]]:
    """What would be seen, and the decisions; with ``fix`` after what looks like a secret is kept."""
    from lorekeeper.views.sharing import fixed, preview

    seen = await asyncio.to_thread(preview, library.vaults, target.vault, after)
    if fix and seen.secrets:
        after = await asyncio.to_thread(fixed, library.vaults, target.vault, seen.secrets, after)
    return seen, after


def _is_wanted(call: Call, preview: Preview) -> bool:
    """Whether the user wants to share what looks like a secret; asked only where somebody sits at a terminal."""
    arguments = call.arguments
    if arguments.yes or arguments.fix or call.json or not preview.secrets or not sys.stdin.isatty():
        return True
    print(ASK, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes", "j", "ja", "o", "oui", "s", "si", "sim", "t", "tak")


def _content(target: Target, preview: Preview) -> dict[str, Any]:
    return {"vault": target.vault.key, "kind": target.kind, "name": target.name, **preview.as_dict()}


def _show_preview(preview: Preview, target: Target, people: Sequence[str], *, fixed: bool) -> None:
    from lorekeeper.cli.render_audience import print_preview

    print_preview(preview, target.written, " and ".join(people) or "players", fixed=fixed)


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


def _few(paths: Sequence[str]) -> str:
    return ", ".join(map(shown, paths[:3])) + (" ..." if len(paths) > 3 else "")
