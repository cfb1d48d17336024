"""Commands that say who is at the table: people add, list, remove, rotate."""

from __future__ import annotations

import asyncio
import io
import sys
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING

from lorekeeper.audience import ROLES
from lorekeeper.cli.command import DONE, JSON, Call, Commands, Handler, argument, listing
from lorekeeper.cli.serving import PORT
from lorekeeper.cli.terminal import columns, say, show, wrapped
from lorekeeper.errors import ConfigError
from lorekeeper.folding import fold
from lorekeeper.printable import one_line, shown

if TYPE_CHECKING:
    from lorekeeper.people.person import Person

commands = Commands()

ACTIONS = {
    "add": "add a person, and print the token once",
    "list": "list the people with their roles",
    "remove": "remove a person and revoke the token",
    "rotate": "print a new token; the old one stops working",
}

GIVEN = "Token for {name}, shown only once; clients send 'Authorization: Bearer TOKEN'"

LINKED = """This link, also as a QR code, signs in the browser of {name}, once, within seven days.
The browser must be able to reach the server: run 'lorekeeper serve --transport http --host 0.0.0.0'. --url names another one."""

TITLES = {"dm": "game master", "player": "player"}
"""What people read for roles."""

LEAST_BESIDE = 24
"""Columns that words beside a QR code need."""

NOBODY_LEFT = """You removed the last person. A running server still requires tokens. A server that you start from now on answers
every user of this machine, unless LOREKEEPER_HTTP_TOKEN is set."""

OPTIONS = {"role": ("add",), "character": ("add",), "expires": ("add", "rotate"), "url": ("add", "rotate")}
"""The options, with the actions that they belong to."""


URL = argument(
    "--url", metavar="URL", help="where people open the pages (default: port 8765 of this machine in its network)"
)


@commands.add(
    "people",
    "manage the people who may ask a server, and their access tokens",
    argument("action", choices=list(ACTIONS), help=", ".join(ACTIONS)),
    argument("name", nargs="?", metavar="NAME", help="the person: a name, or an e-mail address"),
    argument(
        "--role", choices=list(ROLES), help="dm: sees everything; player: sees what is public or shared with them"
    ),
    argument("--expires", metavar="WHEN", help="for how long, or until when: 90d, 12w, 2027-01-31 (default: no limit)"),
    argument(
        "--character",
        action="append",
        metavar="NAME",
        help="a character of the player, who sees what is shared with that character (may be repeated)",
    ),
    URL,
    JSON,
    examples=(
        "lorekeeper people add Ana --role player --character Kaelen --expires 90d",
        "lorekeeper people rotate Ana",
    ),
    notes=lambda: (
        f"{listing('actions', ACTIONS)}\n\nA person who logs in at LOREKEEPER_OAUTH_ISSUER or at a proxy needs the name of that "
        "login, usually an e-mail address. --expires limits tokens and logins; 'rotate' renews both."
    ),
)
async def people(call: Call) -> int:
    """Do one of the actions."""
    arguments = call.arguments
    if arguments.action == "list" and arguments.name:
        raise ConfigError("'people list' takes no name")
    if arguments.action != "list" and not arguments.name:
        raise ConfigError(f"'people {arguments.action}' needs a name: lorekeeper people {arguments.action} NAME")
    for option, actions in OPTIONS.items():
        if getattr(arguments, option) and arguments.action not in actions:
            raise ConfigError(f"--{option} belongs to 'people {actions[0]}'")
    return await _HANDLERS[arguments.action](call)


async def _give_token(call: Call) -> int:
    """Add or rotate: the token alone on stdout, what there is to say of it on stderr, with the link that signs in a browser."""
    from lorekeeper.composition import people_of
    from lorekeeper.people.person import expiry

    arguments, table = call.arguments, people_of(call.settings)
    is_new = arguments.action == "add"
    if is_new and not arguments.role:
        raise ConfigError("'people add' needs --role dm, who sees everything, or --role player")
    expires = expiry(arguments.expires) if arguments.expires else None
    change = partial(table.add, role=arguments.role, characters=arguments.character or ()) if is_new else table.rotate
    person, token = await asyncio.to_thread(change, arguments.name, expires=expires)
    link = await _show_link(call, person)
    if not call.json:
        say(GIVEN.format(name=shown(person.name)))
    call.show(person.as_dict() | {"token": token, "link": link}, lambda: print(token))
    return DONE


async def invited(call: Call, name: str) -> dict[str, object]:
    """A link that signs in the browser of a person, who is added as a player if nobody is called so; printed, and as JSON."""
    from lorekeeper.composition import people_of

    table = people_of(call.settings)
    everyone = await asyncio.to_thread(table.everyone)
    person = next((each for each in everyone if fold(each.name) == fold(name)), None)
    if person is None:
        person = (await asyncio.to_thread(table.add, name, "player", (), None))[0]
    return {"name": person.name, "link": await _show_link(call, person)}


async def _show_link(call: Call, person: Person) -> str:
    """A link that signs in the browser of a person, on stderr also as a QR code."""
    from lorekeeper.cli.running import network_address
    from lorekeeper.composition import people_of
    from lorekeeper.people.sessions import Sessions

    key = await asyncio.to_thread(Sessions(people_of(call.settings)).link, person)
    address = (call.arguments.url or f"http://{network_address()}:{PORT}").rstrip("/")
    link = f"{address}/sign-in?key={key}"
    if not call.json:
        said = LINKED.format(name=shown(person.name))
        if sys.stderr.isatty():
            _print_code(link, said)
        else:
            say(said)
        say(one_line(link))
    return link


def _print_code(link: str, said: str) -> None:
    """A link as a QR code, for the camera of a phone, with what is said of it beside it, so that both are on one screen."""
    import segno

    drawn = io.StringIO()
    code = segno.make(link, error="l")
    code.terminal(out=drawn, border=2, compact=True)
    rows, size = drawn.getvalue().splitlines(), int(code.symbol_size(border=2)[0])
    room = (columns(sys.stderr) or 80) - size - 2
    is_beside = room >= LEAST_BESIDE
    beside = wrapped(said, room).splitlines() if is_beside else []
    for row, line in zip_longest(rows, beside, fillvalue=""):
        print(f"{row or ' ' * size}  {line}".rstrip(), file=sys.stderr)
    if not is_beside:
        say(said)


async def _list(call: Call) -> int:
    from lorekeeper.composition import people_of

    everyone = await asyncio.to_thread(people_of(call.settings).everyone)
    call.show({"people": [person.as_dict() for person in everyone]}, lambda: _print_people(everyone))
    return DONE


def _print_people(people: list[Person]) -> None:
    """Who is at the table: names, roles, characters and times."""
    from rich.table import Table

    from lorekeeper.cli.render import console, plain
    from lorekeeper.dates import written

    if not people:
        console.print("No people yet. Add one: lorekeeper people add NAME --role player")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("name", "role", "characters", "added", "expires", "new token"):
        table.add_column(title, overflow="fold")  # nothing of an address is left out
    for person in people:
        expires = "never" if person.expires is None else written(person.expires)
        table.add_row(
            plain(person.name),
            TITLES[person.role],
            plain(", ".join(person.characters)),
            written(person.created),
            f"[red]expired {expires}[/]" if person.expired else expires,
            written(person.rotated) if person.rotated else "",
        )
    console.print(table)


async def _remove(call: Call) -> int:
    from lorekeeper.composition import people_of

    table = people_of(call.settings)
    person = await asyncio.to_thread(table.remove, call.arguments.name)
    call.show(person.as_dict(), lambda: show(f"{shown(person.name)} was removed."))
    if not await asyncio.to_thread(table.everyone):
        say(NOBODY_LEFT)
    return DONE


_HANDLERS: dict[str, Handler] = {"add": _give_token, "list": _list, "remove": _remove, "rotate": _give_token}
