"""Commands that say who is at the table: people add, list, remove, rotate."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from lorekeeper.audience import ROLES
from lorekeeper.cli.command import DONE, JSON, Call, Commands, argument
from lorekeeper.cli.terminal import say, show
from lorekeeper.errors import ConfigError
from lorekeeper.printable import shown

commands = Commands()

ACTIONS = {
    "add": "add a person, and print the token once",
    "list": "list the people with their roles",
    "remove": "remove a person and revoke the token",
    "rotate": "print a new token; the old one stops working",
}

GIVEN = """Token for {name}; it is shown only once, since only a hash of it is stored.
Clients send it as 'Authorization: Bearer TOKEN' to 'lorekeeper serve --transport http'. Browsers ask for it when they sign in."""

NOBODY_LEFT = """You removed the last person. A running server still requires tokens. A server that you start from now on answers
every user of this machine, unless LOREKEEPER_HTTP_TOKEN is set."""

OPTIONS = {"role": ("add",), "character": ("add",), "expires": ("add", "rotate")}
"""The options, with the actions that they belong to."""


def _notes() -> str:
    width = max(map(len, ACTIONS))
    listed = "\n".join(f"  {name:{width}}  {text}" for name, text in ACTIONS.items())
    return (
        f"actions:\n{listed}\n\nA person who logs in at LOREKEEPER_OAUTH_ISSUER or at a proxy needs the name of that login, "
        "usually\nan e-mail address. --expires limits tokens and logins; 'rotate' renews both."
    )


@commands.add(
    "people",
    "manage the people who may ask a server, and their access tokens",
    argument("action", choices=list(ACTIONS), help=", ".join(ACTIONS)),
    argument("name", nargs="?", metavar="NAME", help="the person: a name, or an e-mail address"),
    argument(
        "--role", choices=list(ROLES), help="dm: sees everything; player: sees what is public or shared with them"
    ),
    argument("--expires", metavar="WHEN", help="for how long, or until when: 90d, 12w, 2027-01-31 (default: for good)"),
    argument(
        "--character",
        action="append",
        metavar="NAME",
        help="a character of the player, who sees what is shared with that character (may be repeated)",
    ),
    JSON,
    examples=(
        "lorekeeper people add Ana --role player --character Kaelen --expires 90d",
        "lorekeeper people rotate Ana",
    ),
    notes=_notes,
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


async def _add(call: Call) -> int:
    from lorekeeper.composition import people_of
    from lorekeeper.people.person import expiry

    arguments = call.arguments
    if not arguments.role:
        raise ConfigError("'people add' needs --role dm, who sees everything, or --role player")
    expires = expiry(arguments.expires) if arguments.expires else None
    table = people_of(call.settings)
    person, token = await asyncio.to_thread(
        table.add, arguments.name, arguments.role, arguments.character or (), expires
    )
    return _show_token(call, person.name, person.as_dict(), token)


async def _rotate(call: Call) -> int:
    from lorekeeper.composition import people_of
    from lorekeeper.people.person import expiry

    expires = expiry(call.arguments.expires) if call.arguments.expires else None
    person, token = await asyncio.to_thread(people_of(call.settings).rotate, call.arguments.name, expires)
    return _show_token(call, person.name, person.as_dict(), token)


def _show_token(call: Call, name: str, content: dict[str, object], token: str) -> int:
    """The token alone on stdout, what there is to say of it on stderr."""
    if not call.json:
        say(GIVEN.format(name=shown(name)))
    call.show(content | {"token": token}, lambda: print(token))
    return DONE


async def _list(call: Call) -> int:
    from lorekeeper.cli.render_people import print_people
    from lorekeeper.composition import people_of

    everyone = await asyncio.to_thread(people_of(call.settings).everyone)
    call.show({"people": [person.as_dict() for person in everyone]}, lambda: print_people(everyone))
    return DONE


async def _remove(call: Call) -> int:
    from lorekeeper.composition import people_of

    table = people_of(call.settings)
    person = await asyncio.to_thread(table.remove, call.arguments.name)
    call.show(person.as_dict(), lambda: show(f"{shown(person.name)} was removed."))
    if not await asyncio.to_thread(table.everyone):
        say(NOBODY_LEFT)
    return DONE


_HANDLERS: dict[str, Callable[[Call], Awaitable[int]]] = {
    "add": _add,
    "list": _list,
    "remove": _remove,
    "rotate": _rotate,
}
