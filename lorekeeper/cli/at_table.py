"""Commands for the game at the table: roll, spells, compare, encounter."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

from lorekeeper.cli.command import (
    DOCUMENT,
    DONE,
    FAILED,
    JSON,
    TYPE,
    Call,
    Commands,
    JsonObject,
    answers,
    argument,
    entry_of,
)
from lorekeeper.cli.terminal import show
from lorekeeper.errors import FilterError, LoreKeeperError, NotFoundError
from lorekeeper.folding import fold
from lorekeeper.printable import shown

if TYPE_CHECKING:
    from lorekeeper.library import Library
    from lorekeeper.rolling.dice import Formula
    from lorekeeper.server.answers import Answer
    from lorekeeper.views.view import View

commands = Commands()

MAX_TIMES = 1000
"""Most rolls at once."""

_LIKE_DICE = re.compile(r"(?=.*\d)[\d\s.,dDxX×*+−–%-]+")
"""Digits with what dice are written with: no name of an entry is made of these alone."""

_NO_SIDES = re.compile(r"(\d+)\s*[dD]")


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
    argument("--times", type=int, default=1, metavar="N", help=f"number of rolls, 1 to {MAX_TIMES} (default: 1)"),
    argument("--seed", type=int, metavar="N", help="repeat the roll with this seed"),
    TYPE,
    DOCUMENT,
    JSON,
    examples=("lorekeeper roll 4d6", "lorekeeper roll lore://rules/srd-2014/madness --table short-term --seed 7"),
)
async def roll(call: Call) -> int:
    """Roll, and show what came; FAILED if there is no such entry, or it has no table."""
    from lorekeeper.rolling.tables import chosen

    arguments, what = call.arguments, " ".join(call.arguments.what)
    if not 1 <= arguments.times <= MAX_TIMES:
        raise FilterError(f"--times is {shown(str(arguments.times))}; give 1 to {MAX_TIMES}")
    seed = secrets.randbelow(2**31) if arguments.seed is None else arguments.seed
    random, dice = Random(seed), _dice(what)  # noqa: S311
    if dice is not None:
        numbers = [dice.throw(random)[0] for _ in range(arguments.times)]
        content = {"dice": str(dice), "numbers": numbers, "seed": seed}
        call.show(content, lambda: show(f"{dice}: {', '.join(map(str, numbers))}"))
        return DONE
    async with call.library() as library:
        entity = (await entry_of(call, library.view(), what)).entity
    rolled = [table.roll(random) for _ in range(arguments.times) for table in chosen(entity, arguments.table)]
    content = {"uri": entity.uri, "rolls": [each.content() for each in rolled], "seed": seed}
    call.show(content, lambda: show("\n".join([*(each.line() for each in rolled), f"{entity.uri}, --seed {seed}"])))
    return DONE


def _dice(text: str) -> Formula | None:
    """The dice that a text is; None if it is a name.

    Raises:
        FilterError: it is meant to be dice, by its characters, and is none.
    """
    from lorekeeper.rolling.dice import formula_of, parsed_formula

    if _LIKE_DICE.fullmatch(text) and formula_of(text) is None:
        sides = _NO_SIDES.fullmatch(text.strip())
        if sides:
            raise FilterError(f"{shown(text)} lacks the number of sides: did you mean {sides[1]}d6 or {sides[1]}d20?")
        return parsed_formula(text)
    return formula_of(text)


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
    from lorekeeper.cli.render_at_table import print_comparison

    content = await call.answer(comparison, {"entries": call.arguments.entry})
    call.show(content, lambda: print_comparison(content))
    return DONE


@answers
async def comparison(library: Library, question: JsonObject) -> JsonObject:
    """What `compare_entries` says of uris or names."""
    return (await _compared(library.view(), question["entries"])).structured


async def _compared(view: View, given: list[str]) -> Answer:
    """The entries of uris and names, else the versions of one name, compared."""
    from lorekeeper.server.comparisons import COMPARE_ENTRIES

    if any(each.startswith("lore://") for each in given):
        return await COMPARE_ENTRIES.run(view, {"uris": given})
    name = " ".join(given)
    if not await _called_each(view, [name]):
        for names in _separated(given):
            if uris := await _called_each(view, names):
                return await COMPARE_ENTRIES.run(view, {"uris": uris})
    return await COMPARE_ENTRIES.run(view, {"name": name})


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
        "lorekeeper encounter 3 3 4 5 --difficulty high --environment swamp",
        "lorekeeper encounter 5x7 --creature-type undead --like 'drains life'",
    ),
)
async def encounter(call: Call) -> int:
    """Rate an encounter, or propose some; FAILED if nothing fits."""
    from lorekeeper.cli.render_at_table import print_plan

    given = {name: getattr(call.arguments, option) for name, option in ENCOUNTER_OPTIONS.items()}
    given["party"] = given["party"] or None
    content = await call.answer(encounter_plan, given)
    call.show(content, lambda: print_plan(content))
    return DONE if content["encounters"] else FAILED


@answers
async def encounter_plan(library: Library, question: JsonObject) -> JsonObject:
    """What `plan_encounter` says of its arguments."""
    from lorekeeper.server.encounters import PLAN_ENCOUNTER

    arguments = PLAN_ENCOUNTER.check(question)
    if arguments.get("semantic_query"):
        with suppress(LoreKeeperError):  # the search itself reports what is missing
            await library.open(["creatures"])
    return (await PLAN_ENCOUNTER.run(library.view(), arguments)).structured


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
