"""Commands for the table: roll, spells."""

from __future__ import annotations

import secrets
from random import Random

from lorekeeper.cli.command import DOCUMENT, DONE, JSON, TYPE, Call, Commands, argument
from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.printable import shown

commands = Commands()

MAX_TIMES = 1000
"""Most rolls at once."""


@commands.add(
    "roll",
    "roll on a table of an entry, or throw dice",
    argument(
        "what", metavar="DICE_NAME_OR_URI", help="dice, as in 2d6+3; else the name or uri of an entry with a table"
    ),
    argument(
        "--table", metavar="NAME", help="the one table to roll on, by name or number (default: each of the entry's)"
    ),
    argument("--times", type=int, default=1, metavar="N", help=f"how often, 1 to {MAX_TIMES} (default: 1)"),
    argument("--seed", type=int, metavar="N", help="to roll the same again"),
    TYPE,
    DOCUMENT,
    JSON,
    examples=("lorekeeper roll 4d6", "lorekeeper roll lore://rules/srd-2014/madness --table short-term --seed 7"),
)
async def roll(call: Call) -> int:
    """Roll, and show what came; FAILED if there is no such entry, or it has no table."""
    from lorekeeper.rolling.dice import dice_of
    from lorekeeper.rolling.tables import chosen

    arguments = call.arguments
    if not 1 <= arguments.times <= MAX_TIMES:
        raise FilterError(f"--times is {shown(str(arguments.times))}; give 1 to {MAX_TIMES}")
    seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
    random, dice = Random(seed), dice_of(arguments.what)  # noqa: S311
    if dice is not None:
        numbers = [dice.roll(random) for _ in range(arguments.times)]
        content = {"dice": str(dice), "numbers": numbers, "seed": seed}
        call.show(content, lambda: print(f"{dice}: {', '.join(map(str, numbers))}"))
        return DONE
    entity = await _entry(call)
    rolled = [table.roll(random) for _ in range(arguments.times) for table in chosen(entity, arguments.table)]
    content = {"uri": entity.uri, "rolls": [each.content() for each in rolled], "seed": seed}
    call.show(content, lambda: print("\n".join([*(each.line() for each in rolled), f"{entity.uri}, --seed {seed}"])))
    return DONE


async def _entry(call: Call) -> Entity:
    from lorekeeper.search.one import find_entry
    from lorekeeper.server.tools import SEARCHED

    arguments = call.arguments
    async with call.library() as library:
        view = library.view()
        types = arguments.type or SEARCHED
        found = await find_entry(view.search, view.entities_at, arguments.what, types, arguments.document)
    return found.entity


@commands.add(
    "spells",
    "list the spells of a class over all books, or those that a subclass brings",
    argument("name", metavar="CLASS", help="name of a class or subclass"),
    DOCUMENT,
    argument("--markdown", action="store_true", help="print Markdown, to print or keep"),
    JSON,
    examples=("lorekeeper spells wizard --document srd-2014", 'lorekeeper spells "Life Domain" --markdown'),
)
async def spells(call: Call) -> int:
    """List spells by level; FAILED if there is no such class or subclass."""
    from lorekeeper.cli.page import print_markdown
    from lorekeeper.spell_lists import spell_list

    arguments = call.arguments
    async with call.library() as library:
        view = library.view()
        await view.refresh()
        order = await view.searcher.documents.order()
        listed = await spell_list(view.cache, order, arguments.name, arguments.document)
    call.show(listed.content(), lambda: print_markdown(listed.markdown(), markdown=arguments.markdown))
    return DONE
