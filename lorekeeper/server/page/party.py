"""The party: the players' characters that the viewer sees, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from lorekeeper.entities import Entity
from lorekeeper.records.values import amount
from lorekeeper.render.source import words
from lorekeeper.search.party import CHARACTERS, current
from lorekeeper.server.page.site import Page, Site
from lorekeeper.terms import ABILITIES, MOVEMENTS, PASSIVES, SENSES
from lorekeeper.text.facts import hit_points, lead
from lorekeeper.text.spelling import as_spelt
from lorekeeper.views.view import View

MOST = 60
"""Most characters of the page."""


@dataclass(frozen=True)
class Member:
    """A character as the page shows it; "" or None for what is unknown.

    Attributes:
        entity: the character.
        classes: its classes with their levels.
        hit_points: "14 of 32", or the maximum alone.
        is_hurt: whether it lacks some.
        speeds, senses: with their feet.
        passives, saves: in the order of `PASSIVES` and `ABILITIES`.
    """

    entity: Entity
    classes: str
    hit_points: str
    is_hurt: bool
    speeds: str
    senses: str
    passives: tuple[int | None, ...]
    saves: tuple[int | None, ...]

    def listed(self, key: str) -> str:
        """The values of a list of its source, as written there."""
        found = self.entity.data.get(key)
        return ", ".join(map(words, found)) if isinstance(found, (list, tuple)) else ""


async def members(view: View) -> list[Member]:
    """The characters that the viewer sees, by name, their companions last."""
    found = current(await view.cache.get_entities(CHARACTERS))[:MOST]
    return [_member(each) for each in sorted(found, key=lambda each: each.kind != "character")]


def _member(entity: Entity) -> Member:
    return Member(
        entity,
        lead(as_spelt(entity)),
        hit_points(entity),
        (_whole(entity, "hit_points_lost") or 0) > 0,
        _distances(entity, ((kind, f"speed_{kind}") for kind in MOVEMENTS)),
        _distances(entity, ((sense, sense) for sense in SENSES)),
        tuple(_whole(entity, f"passive_{skill}") for skill in PASSIVES),
        tuple(_whole(entity, f"save_{ability}") for ability in ABILITIES),
    )


def _whole(entity: Entity, name: str) -> int | None:
    value = entity.fields.get(name)
    return value if isinstance(value, int) else None


def _distances(entity: Entity, named: Iterable[tuple[str, str]]) -> str:
    found = [(label, entity.fields.get(name)) for label, name in named]
    feet = [(label, value) for label, value in found if isinstance(value, (int, float)) and value]
    return ", ".join(f"{'' if label == 'walk' else f'{label} '}{amount(value)} ft." for label, value in feet)


async def _party(site: Site, request: Request) -> Response:
    view = site.view(request)
    await view.refresh()
    return site.page(request, "party.html", members=await members(view), abilities=ABILITIES, passives=PASSIVES)


PAGES = (Page("/party", _party),)
