"""`plan_encounter`: encounters for a party, as structured content and as text that says the same."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import BeforeValidator

from lorekeeper.editions import edition_label
from lorekeeper.entities import Entity, FieldType
from lorekeeper.errors import FilterError
from lorekeeper.party import PartyFile
from lorekeeper.play.encounters.arithmetic import day_lines, party_line
from lorekeeper.play.encounters.asked import parse_difficulty, parse_party
from lorekeeper.play.encounters.candidates import CREATURES, Wanted
from lorekeeper.play.encounters.characters import (
    at_the_table,
    is_the_table,
    levels_of,
    matrix_line,
    matrix_row,
    name_of,
)
from lorekeeper.play.encounters.planning import Plan, propose, rate, rules_of
from lorekeeper.play.encounters.proposals import Encounter, Monster, rating_of, xp_of
from lorekeeper.printable import one_line
from lorekeeper.render.creature import defences
from lorekeeper.search.addresses import addresses
from lorekeeper.server.answers import Answer, called, secret_mark
from lorekeeper.server.arguments import (
    WORDINGS,
    FurtherWordings,
    Keys,
    Texts,
    Wordings,
    accepted,
    filters_of,
    wordings_of,
)
from lorekeeper.server.models import Encounters, JsonObject
from lorekeeper.server.tool import Arguments, Tool, model
from lorekeeper.text.facts import format_rating
from lorekeeper.text.secrecy import is_secret
from lorekeeper.views.view import View

FILTERS = {
    "environment": "environments",
    "type": "type",
    "cr_min": "challenge_rating_min",
    "cr_max": "challenge_rating_max",
}
"""Parameters that narrow the proposals, and the filters that they set."""

Party = str | int | list[int | str]
"""Levels of characters, in any of the ways in which callers write them."""

Rules = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]
"""Rules by their year."""

NOTHING = "Nothing found. Take fewer filters, or another difficulty."

SEVERAL = "The party is all {} characters of the library, from {} sources; give levels, or 'lorekeeper party 4x5' remembers them."

DAY = "day"
"""What is asked for as a difficulty by who wants to know the budget of an adventuring day."""

NARROWING = (*FILTERS, "where", "semantic_query", WORDINGS, "documents")


async def plan(view: View, arguments: Arguments) -> Answer:
    """The answer to a call of the tool."""
    found = await planned(view, arguments)
    editions = {
        monster.entity.document: await view.searcher.documents.edition_of(monster.entity.document)
        for encounter in found.encounters
        for monster in encounter.monsters
    }
    content = plan_content(found, editions)
    foes = [monster.entity for encounter in found.encounters for monster in encounter.monsters]
    named = await addresses(view.cache, foes)
    return Answer(Encounters.model_validate(content), plan_text(content, named))


async def planned(view: View, arguments: Arguments) -> Plan:
    """The encounters that a call asks for.

    Raises:
        FilterError: the party, a monster, a filter or the difficulty is wrong, or monsters are given and filters besides documents.
        NotFoundError: there is no monster of a name; the message has the nearest ones.
    """
    monsters = arguments.get("monsters")
    levels, characters = await _party(view, arguments.get("party"))
    asked_rules = arguments.get("rules")
    usual = await rules_of(view, asked_rules)
    if str(arguments.get("difficulty", "")).strip().casefold() == DAY and monsters is None:
        return _of(characters, Plan(levels, usual, None, [], day=day_lines(levels, usual)))
    difficulty = parse_difficulty(arguments.get("difficulty"), asked_rules, usual)
    given = [name for name in (*NARROWING, "seed") if name in arguments and name != "documents"]
    if monsters is not None and given:
        raise FilterError(f"'monsters' cannot be combined with {', '.join(given)}; leave out one of them")
    if monsters is not None:
        if not monsters:
            raise FilterError("monsters is empty; leave it out to get proposals, or list them, for example '3 goblin'")
        named = await rate(view, levels, difficulty.rules, monsters, arguments.get("documents"))
        return _of(characters, _noted(named, difficulty.note))
    wanted = Wanted(
        filters_of(CREATURES, FILTERS, arguments),
        arguments.get("where"),
        wordings_of(arguments, "semantic_query"),
        arguments.get("documents"),
    )
    made = await propose(view, levels, difficulty.rules, difficulty.name, wanted, arguments.get("seed"))
    return _of(characters, _noted(made, difficulty.note))


async def _party(view: View, party: int | str | list[int | str] | None) -> tuple[tuple[int, ...], Sequence[Entity]]:
    """The levels of a party, and the characters if they are the library's; by default as remembered, else of the library.

    Raises:
        FilterError: it is written otherwise, or the library has no characters with a level.
    """
    if party is None and (remembered := await asyncio.to_thread(view.remembered_party)):
        return remembered, ()
    if party is None or is_the_table(party):
        characters = await at_the_table(view)
        return levels_of(characters), characters
    try:
        return parse_party(party if isinstance(party, list) else [party]), ()
    except FilterError:
        name = name_of(party)
        if name and (characters := await at_the_table(view, name)):
            return levels_of(characters), characters
        raise


async def remember_party(file: PartyFile, party: Sequence[int | str]) -> None:
    """Take a party for that of calls that give none; FilterError if it is written otherwise than `parse_party` reads."""
    await asyncio.to_thread(file.remember, parse_party(party))


async def forget_party(file: PartyFile) -> None:
    """Take the library's characters for the party of calls that give none."""
    await asyncio.to_thread(file.remember, ())


async def party_content(view: View) -> JsonObject:
    """The party of calls that give none: ``{"levels", "characters", "lines"}``; FilterError if there is none."""
    levels, characters = await _party(view, None)
    rows = [matrix_row(each) for each in characters]
    return {"levels": list(levels), "characters": rows, "lines": [party_line(levels), *map(matrix_line, rows)]}


def _of(characters: Sequence[Entity], found: Plan) -> Plan:
    if not characters:
        return found
    found = replace(found, characters=characters)
    sources = len({each.document for each in characters})
    return _noted(found, SEVERAL.format(len(characters), sources)) if sources > 1 else found


def _noted(found: Plan, note: str | None) -> Plan:
    """A plan with a further note before the others."""
    return replace(found, notes=[note, *found.notes]) if note else found


# --- structured content ----------------------------------------------------------------------------------------------


def plan_content(found: Plan, editions: dict[str, str]) -> JsonObject:
    """Encounters as structured content; ``editions`` says of which edition each document is."""
    content: JsonObject = {
        "rules": found.rules,
        "party": list(found.levels),
        "difficulty": found.difficulty,
        "budget": found.limits,
        "arithmetic": found.head,
        "encounters": [_encounter(each, editions) for each in found.encounters],
        "note": one_line(" ".join(found.notes)) or None,
    }
    if found.characters:
        content["characters"] = [matrix_row(each) for each in found.characters]
    if found.day:
        content["day"] = list(found.day)
    return content if found.seed is None else {**content, "seed": found.seed}


def _encounter(encounter: Encounter, editions: dict[str, str]) -> JsonObject:
    return {
        "title": encounter.title,
        "reason": one_line(encounter.reason),
        "monsters": [_monster(monster, editions) for monster in encounter.monsters],
        "difficulty": encounter.rating.difficulty,
        "xp": encounter.rating.xp,
        "adjusted_xp": encounter.rating.adjusted,
        "arithmetic": [one_line(line) for line in encounter.rating.lines],
        "advice": [one_line(line) for line in encounter.rating.advice],
    }


def _monster(monster: Monster, editions: dict[str, str]) -> JsonObject:
    entity: Entity = monster.entity
    content: JsonObject = {
        "count": monster.count,
        "name": one_line(entity.name),
        "uri": entity.uri,
        "cr": rating_of(entity),
        "xp": xp_of(entity),
        "document": entity.document,
        "edition": editions[entity.document],
        "defences": one_line(defences(entity)),
    }
    return {**content, "secret": True} if is_secret(entity) else content


# --- text ------------------------------------------------------------------------------------------------------------


def plan_text(content: JsonObject, named: Mapping[str, str]) -> str:
    """The same for models and people to read; ``content`` is the structured one, ``named`` has addresses by uri."""
    party, *limits = content["arithmetic"]
    parts = [f"{party}. Rules of {content['rules']}: {'; '.join(limits)}"]
    parts += [matrix_line(each) for each in content.get("characters", ())]
    if content["note"]:
        parts.append(f"Note: {content['note']}")
    parts += [f"Day: {line}" for line in content.get("day", ())]
    if not content["encounters"] and "day" not in content:
        parts.append(NOTHING)
    for number, encounter in enumerate(content["encounters"], 1):
        parts += _lines(encounter, number, named)
    return "\n".join(parts)


def _lines(encounter: JsonObject, number: int, named: Mapping[str, str]) -> Iterator[str]:
    if encounter["title"]:
        yield f"{number}. {encounter['title'].capitalize()}: {encounter['difficulty']}. {encounter['reason']}"
    else:
        yield f"Difficulty: {encounter['difficulty']}"
    for monster in encounter["monsters"]:
        yield f"   {monster['count']:,} × {_foe(monster, named)}"
        if monster["defences"]:
            yield f"      {monster['defences']}"
    yield from (f"   {line}" for line in encounter["arithmetic"])
    yield from (f"   Take care: {line}" for line in encounter["advice"])


def _foe(monster: JsonObject, named: Mapping[str, str]) -> str:
    """ "Goblin, srd-2014 (CR 1/4, 50 XP)"."""
    address = one_line(named[monster["uri"]])
    edition = "" if monster["edition"] in monster["document"] else f"; {edition_label(monster['edition'])}"
    return f"{called(monster['name'], address)} ({_worth(monster)}{edition}{secret_mark(monster)})"


def _worth(monster: JsonObject) -> str:
    rating = "CR unknown" if monster["cr"] is None else f"CR {format_rating(monster['cr'])}"
    return rating if monster["xp"] is None else f"{rating}, {monster['xp']:,} XP"


PLAN_ENCOUNTER = Tool(
    name="plan_encounter",
    title="Plan an encounter",
    description="Rate monsters for a party, or propose encounters. Example: party='4x5', monsters=['2 ogre'].",
    arguments=model(
        "plan_encounter",
        {
            "party": (Party | None, None),
            "difficulty": (str | None, None),
            "rules": (Rules | None, None),
            "monsters": (Texts | None, None),
            "environment": (accepted(FieldType.TEXT, several=True), None),
            "type": (accepted(FieldType.TEXT, several=True), None),
            "cr_min": (float | str | None, None),
            "cr_max": (float | str | None, None),
            "where": (str | None, None),
            "semantic_query": (Wordings | None, None),
            WORDINGS: (FurtherWordings | None, None),
            "documents": (Keys | None, None),
            "seed": (int | None, None),
        },
    ),
    function=plan,
    answer=Encounters,
    listed={
        "party": "'4x5', '3,3,4' or 'the table of VAULT'",
        "difficulty": "easy to deadly (2014), low to high (2024), or day",
        "rules": "2014, 2024",
        "monsters": "to rate; without it, the rest proposes",
        "where": "cr<=3 type:undead environment:swamp",
        "semantic_query": "",
        "documents": "",
    },
)
