"""Commands for the game at the table: compare, encounter."""

from __future__ import annotations

from contextlib import suppress

from lorekeeper.cli.command import DOCUMENT, DONE, FAILED, JSON, Call, Commands, argument
from lorekeeper.errors import LoreKeeperError

commands = Commands()


@commands.add(
    "compare",
    "show what differs between two to four entries, or between all versions of one name",
    argument("entry", nargs="+", metavar="URI_OR_NAME", help="uris of the entries, or the words of one name"),
    JSON,
    examples=(
        "lorekeeper compare lore://spells/srd-2014/fireball lore://spells/srd-2024/fireball",
        "lorekeeper compare healing word",
    ),
)
async def compare(call: Call) -> int:
    """Compare entries."""
    from lorekeeper.cli.render_at_table import print_comparison
    from lorekeeper.server.comparisons import COMPARE_ENTRIES

    given = call.arguments.entry
    uris = any(each.startswith("lore://") for each in given)
    async with call.library() as library:
        answer = await COMPARE_ENTRIES.run(library.view(), {"uris": given} if uris else {"name": " ".join(given)})
    call.show(answer.structured, lambda: print_comparison(answer.structured))
    return DONE


@commands.add(
    "encounter",
    "rate monsters for a party, or propose three encounters from the library",
    argument("party", nargs="+", metavar="LEVEL", help="levels of the characters: 3 3 4, or 4x3 for four of level 3"),
    argument(
        "--monster", action="append", metavar="'N NAME'", help="rate this: '3 goblin', or a uri (may be repeated)"
    ),
    argument("--difficulty", help="easy, medium, hard, deadly (2014); low, moderate, high (2024)"),
    argument(
        "--rules", choices=("2014", "2024"), help="whose arithmetic (default: the edition of your table, else 2024)"
    ),
    argument("--environment", action="append", metavar="NAME", help="propose creatures that are met there"),
    argument(
        "--creature-type", action="append", metavar="TYPE", help="propose creatures of this type: undead, beast, ..."
    ),
    argument("--cr-min", metavar="CR", help="propose creatures of at least this challenge rating: 2, 1/4"),
    argument("--cr-max", metavar="CR", help="propose creatures of at most this one"),
    argument(
        "--where", metavar="TESTS", help="propose creatures under these tests, as in 'speed.fly>=60 -type:dragon'"
    ),
    argument("--like", action="append", metavar="WORDS", help="propose creatures that are like this (may be repeated)"),
    DOCUMENT,
    argument("--seed", type=int, metavar="N", help="repeat proposals"),
    JSON,
    examples=(
        "lorekeeper encounter 4x3 --monster '3 goblins' --monster 'bugbear' --rules 2014",
        "lorekeeper encounter 3 3 4 5 --difficulty high --environment swamp",
        "lorekeeper encounter 5x7 --creature-type undead --like 'drains life' --seed 7",
    ),
)
async def encounter(call: Call) -> int:
    """Rate an encounter, or propose some; FAILED if nothing fits."""
    from lorekeeper.cli.render_at_table import print_plan
    from lorekeeper.server.encounters import PLAN_ENCOUNTER

    given = {name: getattr(call.arguments, option) for name, option in ENCOUNTER_OPTIONS.items()}
    arguments = PLAN_ENCOUNTER.check(given)
    async with call.library() as library:
        if arguments.get("semantic_query"):
            with suppress(LoreKeeperError):  # the search itself reports what is missing
                await library.open(["creatures"])
        answer = await PLAN_ENCOUNTER.run(library.view(), arguments)
    call.show(answer.structured, lambda: print_plan(answer.structured))
    return DONE if answer.structured["encounters"] else FAILED


ENCOUNTER_OPTIONS = {
    "party": "party",
    "monsters": "monster",
    "difficulty": "difficulty",
    "rules": "rules",
    "environment": "environment",
    "type": "creature_type",
    "cr_min": "cr_min",
    "cr_max": "cr_max",
    "where": "where",
    "semantic_query": "like",
    "documents": "document",
    "seed": "seed",
}
"""The parameters of `plan_encounter`, and the arguments that set them."""
