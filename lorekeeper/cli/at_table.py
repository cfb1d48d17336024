"""Commands for the game at the table: roll, spells, compare, encounter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random, SystemRandom
from typing import TYPE_CHECKING

from lorekeeper.cli.command import DOCUMENT, DONE, FAILED, JSON, Call, Commands, JsonObject, answers, argument
from lorekeeper.cli.terminal import show
from lorekeeper.cli.tools import ask_tool
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.folding import fold

if TYPE_CHECKING:
    from lorekeeper.library import Library
    from lorekeeper.views.view import View

commands = Commands()


@commands.add(
    "roll",
    "roll dice, or roll on a table of an entry",
    argument(
        "what",
        nargs="+",
        metavar="DICE_NAME_OR_URI",
        help="dice such as 2d6+3, or the name or uri of an entry with a table",
    ),
    argument("--table", metavar="NAME", help="name or number of one table (default: all tables of the entry)"),
    argument("--times", type=int, default=1, metavar="N", help="number of rolls, 1 to 1000 (default: 1)"),
    argument("--seed", type=int, metavar="N", help="repeat the roll with this seed"),
    JSON,
    examples=("lorekeeper roll 4d6", "lorekeeper roll wand of wonder --seed 7"),
)
async def roll(call: Call) -> int:
    """Roll, and show what came; FAILED if there is no such entry, or it has no table."""
    from lorekeeper.play.dice import throws

    asked, what = call.arguments, " ".join(call.arguments.what)
    random = SystemRandom() if asked.seed is None else Random(asked.seed)  # noqa: S311 - a roll that can be repeated
    if thrown := throws(what, asked.times, random):  # dice need no library
        content, text = thrown
        call.show(content, lambda: show(text))
    else:
        given = {"table": asked.table, "times": asked.times, "seed": asked.seed}
        await ask_tool(call, "roll", {"what": what, **given})
    return DONE


@commands.add(
    "spells",
    "list a class's spells from all books, or a subclass's extra spells",
    argument("name", nargs="+", metavar="CLASS", help="name of a class or subclass"),
    DOCUMENT,
    argument("--markdown", action="store_true", help="print Markdown, for a printer or a file"),
    JSON,
    examples=("lorekeeper spells wizard --document srd-2014", "lorekeeper spells life domain --markdown"),
)
async def spells(call: Call) -> int:
    """List spells by level; FAILED if there is no such class or subclass."""
    from lorekeeper.cli.page import print_markdown

    arguments = call.arguments
    found = await call.answer(listed_spells, {"name": " ".join(arguments.name), "documents": arguments.document})
    call.show(found["content"], lambda: print_markdown(found["markdown"], markdown=arguments.markdown))
    return DONE


@answers
async def listed_spells(library: Library, question: JsonObject) -> JsonObject:
    """The spells of a class, as content and as Markdown."""
    from lorekeeper.spell_lists import spell_list

    view = library.view()
    await view.refresh()
    order = await view.searcher.documents.order()
    listed = await spell_list(view.cache, order, question["name"], question["documents"])
    return {"content": listed.content(), "markdown": listed.markdown()}


@commands.add(
    "compare",
    "show what differs between two to four entries, or between all versions of one",
    argument(
        "entry",
        nargs="+",
        metavar="URI_OR_NAME",
        help="names or uris of the entries; a single name compares all its versions",
    ),
    JSON,
    examples=(
        "lorekeeper compare lore://spells/srd-2014/jump lore://spells/srd-2024/jump",
        "lorekeeper compare healing word",
        "lorekeeper compare goblin hobgoblin",
    ),
)
async def compare(call: Call) -> int:
    """Compare entries."""
    await ask_tool(call, "compare_entries", await call.answer(compared, {"entries": call.arguments.entry}))
    return DONE


@answers
async def compared(library: Library, question: JsonObject) -> JsonObject:
    """The entries that words call, as `compare_entries` takes them: uris, else the versions of one name."""
    given = question["entries"]
    if any(each.startswith("lore://") for each in given):
        return {"uris": given}
    view, name = library.view(), " ".join(given)
    if not await _called_each(view, [name]):
        for names in _separated(given):
            if uris := await _called_each(view, names):
                return {"uris": uris}
    return {"name": name}


def _separated(given: list[str]) -> Iterator[list[str]]:
    """How words may be several names: each argument one, else the words parted in two."""
    if len(given) > 1:
        yield given
    words = " ".join(given).split()
    yield from ([" ".join(words[:n]), " ".join(words[n:])] for n in range(1, len(words)))


async def _called_each(view: View, names: list[str]) -> list[str]:
    """The uris of the entries of some names, all of the first type that has all of them; none if there is no such type."""
    from lorekeeper.entities import SEARCHED
    from lorekeeper.search.resolve_entry import called

    found: list[dict[str, str]] = []
    for name in names:
        try:
            page = await called(view.search, name, SEARCHED)
        except NotFoundError:
            return []
        found.append({})
        for entity in (result.entity for result in page.results):
            if fold(entity.name) == fold(name):
                found[-1].setdefault(entity.type, entity.uri)
    shared = next((each for each in found[0] if all(each in uris for uris in found)), None)
    return [uris[shared] for uris in found] if shared else []


@commands.add(
    "party",
    "remember the levels of the party for encounters, or show the party",
    argument("party", nargs="*", metavar="LEVEL", help="levels of the characters: 3 3 4, or 4x3 for four of level 3"),
    argument("--forget", action="store_true", help="take the library's characters as the party again"),
    JSON,
    examples=("lorekeeper party 4x3", "lorekeeper party", "lorekeeper party --forget"),
)
async def party(call: Call) -> int:
    """Remember the levels of a party, or forget them; show who the party is."""
    arguments = call.arguments
    if arguments.party and arguments.forget:
        raise FilterError("--forget takes no levels; leave one of the two out")
    found = await call.answer(party_of_library, {"levels": arguments.party, "forget": arguments.forget})
    content = {key: found[key] for key in ("levels", "characters")}
    call.show(content, lambda: show("\n".join(found["lines"])))
    return DONE


@answers
async def party_of_library(library: Library, question: JsonObject) -> JsonObject:
    """The party, after it was told or forgotten."""
    from lorekeeper.server.encounters import forget_party, party_content, remember_party

    if question["levels"]:
        await remember_party(library.party, question["levels"])
    elif question["forget"]:
        await forget_party(library.party)
        return {
            "levels": [],
            "characters": [],
            "lines": ["The levels are forgotten; the library's characters are the party."],
        }
    return await party_content(library.view())


@commands.add(
    "encounter",
    "rate monsters for a party, or propose three encounters from the library",
    argument(
        "party",
        nargs="*",
        metavar="LEVEL",
        help="levels of the characters: 3 3 4, or 4x3 (default: the remembered party, else the library's characters)",
    ),
    argument(
        "--monster", action="append", metavar="'N NAME'", help="rate this: '3 goblin', or a uri (may be repeated)"
    ),
    argument("--difficulty", help="easy, medium, hard, deadly (2014); low, moderate, high (2024); day: XP of a day"),
    argument(
        "--rules",
        choices=("2014", "2024"),
        help="encounter rules (default: the edition that has this difficulty, your edition, 2024)",
    ),
    argument(
        "--environment", action="append", metavar="NAME", help="only creatures of this environment (may be repeated)"
    ),
    argument(
        "--creature-type",
        action="append",
        metavar="TYPE",
        help="only creatures of this type: undead, beast, ... (may be repeated)",
    ),
    argument("--cr-min", metavar="CR", help="lowest challenge rating: 2, 1/4"),
    argument("--cr-max", metavar="CR", help="highest challenge rating"),
    argument(
        "--where",
        metavar="CONDITIONS",
        help="only creatures that match these conditions, for example 'speed.fly>=60 -type:dragon'",
    ),
    argument("--like", action="append", metavar="WORDS", help="prefer creatures of this description (may be repeated)"),
    DOCUMENT,
    argument("--seed", type=int, metavar="N", help="repeat the proposals with this seed"),
    JSON,
    examples=(
        "lorekeeper encounter 4x3 --monster '3 goblins' --monster bugbear --rules 2014",
        "lorekeeper encounter 3 3 4 5 --difficulty high --where 'speed.swim>0'",
        "lorekeeper encounter 5x7 --creature-type undead --like 'drains life'",
    ),
)
async def encounter(call: Call) -> int:
    """Rate an encounter, or propose some; FAILED if nothing fits."""
    given = {name: getattr(call.arguments, option) or None for name, option in ENCOUNTER_OPTIONS.items()}
    options = {name: f"--{option.replace('_', '-')}" for name, option in ENCOUNTER_OPTIONS.items() if name != "party"}
    content = await ask_tool(call, "plan_encounter", given, options)
    return DONE if content["encounters"] or content.get("day") else FAILED


ENCOUNTER_OPTIONS: Mapping[str, str] = {
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
