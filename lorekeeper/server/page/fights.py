"""Encounters on the page: proposals for a party, and the fight itself, which the page runs and the server keeps."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from pathlib import Path

from starlette.responses import Response

from lorekeeper.entities import Entity, parse_json
from lorekeeper.errors import FilterError, LoreKeeperError, NotFoundError
from lorekeeper.folding import fold
from lorekeeper.play.encounters.asked import parse_monsters
from lorekeeper.play.encounters.planning import creature_named
from lorekeeper.render.creature import counters, initiative, spell_save
from lorekeeper.server.encounters import planned
from lorekeeper.server.models import JsonObject
from lorekeeper.server.page.editions import edition_of
from lorekeeper.server.page.entries import found
from lorekeeper.server.page.impersonation import Seen
from lorekeeper.server.page.notes import encounter_in
from lorekeeper.server.page.party import playing
from lorekeeper.server.page.site import HEADERS, PRIVATE, SEEN, Page, Visit, address
from lorekeeper.server.rest.problems import bad_request
from lorekeeper.server.rest.routes import json_response
from lorekeeper.system import private_file
from lorekeeper.text.secrecy import is_secret

MOST = 60
"""Most combatants."""

CONDITIONS = (
    "blinded charmed deafened exhaustion frightened grappled incapacitated invisible paralyzed petrified poisoned "
    "prone restrained stunned unconscious concentrating"
).split()
"""What may be marked of somebody in a fight."""


async def _fight(visit: Visit) -> Response:
    """The fight of the creatures of an address, of names, or of the encounter in a note."""
    view, asked = visit.view, visit.query_params
    if not view.viewer.sees_all and not asked and (table := await _of_the_table(visit)):
        return visit.page("table.html", table=table)
    problems: list[str] = []
    creatures = [(1, await found(view, uri)) for uri in asked.getlist("uri")[:MOST]]
    named = list(filter(str.strip, asked.getlist("monsters")))
    if "party" in asked:
        creatures += [(1, each.entity) for each in await playing(view)]
    if note := asked.get("note"):
        named += encounter_in(await found(view, note))
    rules = next(iter(edition_of(visit) or view.searcher.documents.edition), "")
    for text in named:
        try:
            creatures += [(n, (await creature_named(view, name, rules))[0]) for n, name in parse_monsters([text])]
        except LoreKeeperError as error:
            problems.append(str(error))
    read = {"initiative": initiative, "counters": counters, "spell_save": spell_save, "is_secret": is_secret}
    fighting = combatants(creatures)
    return visit.page("fight.html", fighting=fighting, conditions=CONDITIONS, problems=problems, **read)


def combatants(creatures: Sequence[tuple[int, Entity]]) -> list[tuple[str, Entity]]:
    """Creatures one by one with their names, numbered if there are several of one name."""
    each = list(islice((entity for count, entity in creatures for _ in range(count)), MOST))
    names = [entity.name for entity in each]
    return [
        (f"{name} {names[: place + 1].count(name)}" if names.count(name) > 1 else name, each[place])
        for place, name in enumerate(names)
    ]


def _file(visit: Visit, *whose: object) -> Path | None:
    path = visit.library.party.path
    return path and path.with_name(f"{path.name}.fight-{hashlib.sha256(repr(whose).encode()).hexdigest()[:16]}")


async def _content(file: Path | None) -> bytes:
    return await asyncio.to_thread(lambda: file.read_bytes() if file and file.exists() else b"null")


async def _kept(visit: Visit) -> Response:
    """The fight of a viewer, the same on each of their devices; a change of what is no longer there is not taken."""
    viewer, seen = visit.view.viewer, visit.scope.get(SEEN)
    own = (isinstance(seen, Seen) and seen.chosen, *sorted(viewer.names))
    file = _file(visit) if viewer.sees_all else _file(visit, *own)
    content = await _content(file)
    tag = f'"{hashlib.sha256(content).hexdigest()}"'
    if visit.method == "PUT":
        body = await visit.body()
        try:
            fight = parse_json(body)
        except ValueError:
            fight = None
        if not isinstance(fight, dict):
            raise bad_request("a fight is a JSON object")
        if visit.headers.get("if-match") == tag and file:
            await asyncio.to_thread(private_file(file).write_bytes, body)
            content, tag = body, f'"{hashlib.sha256(body).hexdigest()}"'
        else:
            return Response(status_code=HTTPStatus.PRECONDITION_FAILED, headers=HEADERS)
    if visit.headers.get("if-none-match") == tag:
        return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=HEADERS)
    return Response(content, headers={**HEADERS, **PRIVATE, "etag": tag}, media_type="application/json")


async def _of_the_table(visit: Visit) -> JsonObject | None:
    return seen_by_players(parse_json(await _content(_file(visit))))


def seen_by_players(fight: JsonObject | None) -> JsonObject | None:
    """The fight of the game master for players, as if whom it hides were not there; None unless it is shown to them.

    What is not named here is not theirs: hit points and stat blocks of creatures, what they can still use, and lines of the log
    that the game master alone has, or that name somebody hidden.
    """
    if not fight or not fight.get("shown"):
        return None
    everyone, turn, number = fight["fighting"], fight.get("turn", 0), fight.get("round", 1)
    # whoever had the turn before somebody hidden has it still
    able = [place for place, each in enumerate(everyone) if not each.get("hidden") and not _is_down(each)]
    begun = [place for place in able if place <= turn]
    current = next(reversed(begun or (able if number > 1 else able[:1])), None)
    hidden = [fold(each["name"]) for each in everyone if each.get("hidden")]
    return {
        "round": number if begun or number == 1 else number - 1,
        "fighting": [
            {
                "name": each["name"],
                "hero": bool(each.get("hero")),
                "initiative": each.get("initiative"),
                "current": place == current,
                "down": _is_down(each),
                "states": [state["name"] for state in each.get("states", ())],
                "hit_points": f"{each['now']} / {each['most']}" if each.get("hero") and each.get("most") else "",
            }
            for place, each in enumerate(everyone)
            if not each.get("hidden")
        ],
        "log": [
            line["text"]
            for line in fight.get("log", ())
            if line.get("open") and not any(name in fold(line["text"]) for name in hidden)
        ],
    }


def _is_down(each: Mapping[str, object]) -> bool:
    now = each.get("now")
    return not each.get("hero") and isinstance(now, int) and now <= 0


async def _table(visit: Visit) -> Response:
    """The fight that the game master shows, for whoever is at the table."""
    return visit.page("_table.html", table=await _of_the_table(visit))


async def _table_twin(visit: Visit) -> Response:
    return json_response(visit, await _of_the_table(visit))


async def _encounter(visit: Visit) -> Response:
    """Proposals for a party, each of which can be fought at once."""
    asked = {
        name: value.strip()
        for name in ("party", "difficulty", "environment", "monsters")
        if (value := visit.query_params.get(name, "")).strip()
    }
    values: dict[str, object] = {"asked": asked, "plan": None, "problem": ""}
    if "party" in asked:
        seed = visit.query_params.get("seed", "")
        arguments: dict[str, object] = asked | ({"seed": int(seed[:9])} if seed.isdecimal() else {})
        if "monsters" in asked:
            arguments = {"party": asked["party"], "monsters": [asked["monsters"]]}
        try:
            plan = await planned(visit.view, arguments)
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
    return visit.page("encounter.html", **values)


PAGES = (
    Page("/fight", _fight),
    Page("/fight/kept", _kept, methods=("GET", "PUT")),
    Page("/fight/table", _table, _table_twin),
    Page("/encounter", _encounter),
)
"""The pages of encounters."""
