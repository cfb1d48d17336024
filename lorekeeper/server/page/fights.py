"""Encounters on the page: proposals for a party, and the fight itself, whose state stays in the browser."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.encounters.asked import parse_monsters
from lorekeeper.encounters.planning import creature_named
from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError, LoreKeeperError, NotFoundError
from lorekeeper.render.creature import initiative
from lorekeeper.server.encounters import planned
from lorekeeper.server.page.editions import edition_of
from lorekeeper.server.page.entries import found
from lorekeeper.server.page.notes import encounter_in
from lorekeeper.server.page.site import Page, Site, address, entry_address
from lorekeeper.views.view import View

MOST = 60
"""Most combatants."""

CONDITIONS = (
    "blinded charmed deafened exhaustion frightened grappled incapacitated invisible paralyzed petrified poisoned "
    "prone restrained stunned unconscious concentrating"
).split()
"""What may be marked of somebody in a fight."""


@dataclass(frozen=True)
class Combatant:
    """Somebody in a fight.

    Attributes:
        name: with a number, if there are several.
        kind: without it.
        path: of the page of the stat block.
        hit_points: of the stat block, None if it says none.
        armor_class: the same.
        initiative: what a d20 is added to.
    """

    name: str
    kind: str
    path: str
    hit_points: int | None
    armor_class: int | None
    initiative: int


async def _fight(site: Site, request: Request) -> Response:
    """The fight of the creatures of an address, of names, or of the encounter in a note."""
    view, asked = site.view(request), request.query_params
    problems: list[str] = []
    creatures = [(1, await found(view, uri)) for uri in asked.getlist("uri")[:MOST]]
    named = list(filter(str.strip, asked.getlist("monsters")))
    if note := asked.get("note"):
        named += encounter_in(await found(view, note))
    for text in named:
        try:
            creatures += await _named(view, text, request)
        except LoreKeeperError as error:
            problems.append(str(error))
    fighting = await asyncio.to_thread(combatants, creatures)
    return site.page(request, "fight.html", fighting=fighting, conditions=CONDITIONS, problems=problems)


async def _named(view: View, text: str, request: Request) -> list[tuple[int, Entity]]:
    rules = next(iter(edition_of(request) or view.searcher.documents.edition), "")
    return [(count, (await creature_named(view, name, rules))[0]) for count, name in parse_monsters([text])]


def combatants(creatures: Sequence[tuple[int, Entity]]) -> list[Combatant]:
    """Creatures one by one, numbered if there are several of one name."""
    each = list(islice((entity for count, entity in creatures for _ in range(count)), MOST))
    names = [entity.name for entity in each]
    return [
        Combatant(
            f"{entity.name} {names[: place + 1].count(entity.name)}" if names.count(entity.name) > 1 else entity.name,
            entity.name,
            entry_address(entity.uri),
            _number(entity, "hit_points"),
            _number(entity, "armor_class"),
            initiative(entity),
        )
        for place, entity in enumerate(each)
    ]


def _number(entity: Entity, name: str) -> int | None:
    value = entity.fields.get(name)
    return int(value) if isinstance(value, int | float) else None


async def _encounter(site: Site, request: Request) -> Response:
    """Proposals for a party, each of which can be fought at once."""
    asked = {
        name: value.strip()
        for name in ("party", "difficulty", "environment", "monsters")
        if (value := request.query_params.get(name, "")).strip()
    }
    values: dict[str, object] = {"asked": asked, "plan": None, "problem": ""}
    if "party" in asked:
        arguments: dict[str, object] = dict(asked)
        if "monsters" in asked:
            arguments = {"party": asked["party"], "monsters": [asked["monsters"]]}
        try:
            plan = await planned(site.view(request), arguments)
            fights = [
                (
                    each,
                    address(
                        "/fight", uri=list(islice((m.entity.uri for m in each.monsters for _ in range(m.count)), MOST))
                    ),
                )
                for each in plan.encounters
            ]
            values |= {"plan": plan, "fights": fights}
        except (FilterError, NotFoundError) as error:
            values["problem"] = str(error)
    return site.page(request, "encounter.html", **values)


PAGES = (Page("/fight", _fight), Page("/encounter", _encounter))
"""The pages of encounters."""
