"""Encounters on the page: proposals for a party, and the fight itself, which the page runs and the server keeps."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import islice

from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.encounters.asked import parse_monsters
from lorekeeper.encounters.planning import creature_named
from lorekeeper.entities import Entity, parse_json
from lorekeeper.errors import FilterError, LoreKeeperError, NotFoundError
from lorekeeper.render.creature import counters, initiative
from lorekeeper.search.party import CHARACTERS
from lorekeeper.server.browsers import is_own
from lorekeeper.server.encounters import planned
from lorekeeper.server.page.editions import edition_of
from lorekeeper.server.page.entries import found
from lorekeeper.server.page.impersonation import Seen
from lorekeeper.server.page.notes import encounter_in
from lorekeeper.server.page.party import members
from lorekeeper.server.page.site import HEADERS, PRIVATE, SEEN, Page, Site, address, entry_address
from lorekeeper.server.rest.problems import RefusedError, bad_request
from lorekeeper.system import private_file
from lorekeeper.views.view import View

MOST = 60
"""Most combatants."""

MOST_BYTES = 200_000
"""Largest fight that is kept."""

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
        entity: whose stat block or sheet it is.
        counters: what can be used so often, as "Fire Breath: Recharge 5-6".
    """

    name: str
    kind: str
    path: str
    hit_points: int | None
    armor_class: int | None
    initiative: int
    entity: Entity
    counters: Sequence[str]

    @property
    def is_hero(self) -> bool:
        """Whether a player has it."""
        return self.entity.type == CHARACTERS


async def _fight(site: Site, request: Request) -> Response:
    """The fight of the creatures of an address, of names, or of the encounter in a note."""
    view, asked = site.view(request), request.query_params
    problems: list[str] = []
    creatures = [(1, await found(view, uri)) for uri in asked.getlist("uri")[:MOST]]
    named = list(filter(str.strip, asked.getlist("monsters")))
    if "party" in asked:
        creatures += [(1, each.entity) for each in await members(view)]
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
            entity,
            counters(entity),
        )
        for place, entity in enumerate(each)
    ]


async def _kept(site: Site, request: Request) -> Response:
    """The fight of a viewer, the same on each of their devices; a change of what is no longer there is not taken."""
    viewer, seen = site.view(request).viewer, request.scope.get(SEEN)
    whose = repr((isinstance(seen, Seen) and seen.chosen, sorted(viewer.names)))
    path = site.library.party.path
    file = path and path.with_name(f"{path.name}.fight-{hashlib.sha256(whose.encode()).hexdigest()[:16]}")
    content = await asyncio.to_thread(file.read_bytes) if file and file.exists() else b"null"
    tag = f'"{hashlib.sha256(content).hexdigest()}"'
    if request.method == "PUT":
        if not is_own(request.scope):
            raise RefusedError(HTTPStatus.FORBIDDEN, "this was sent from a page of another site")
        body = await request.body()
        try:
            fight = parse_json(body)
        except ValueError:
            fight = None
        if len(body) > MOST_BYTES or not isinstance(fight, dict):
            raise bad_request(f"a fight is a JSON object of at most {MOST_BYTES:,} bytes")
        if request.headers.get("if-match") == tag and file:
            await asyncio.to_thread(private_file(file).write_bytes, body)
            content, tag = body, f'"{hashlib.sha256(body).hexdigest()}"'
        else:
            return Response(status_code=HTTPStatus.PRECONDITION_FAILED, headers=HEADERS)
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=HEADERS)
    return Response(content, headers={**HEADERS, **PRIVATE, "etag": tag}, media_type="application/json")


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
        seed = request.query_params.get("seed", "")
        arguments: dict[str, object] = asked | ({"seed": int(seed[:9])} if seed.isdecimal() else {})
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


PAGES = (Page("/fight", _fight), Page("/fight/kept", _kept, methods=("GET", "PUT")), Page("/encounter", _encounter))
"""The pages of encounters."""
