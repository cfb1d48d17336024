"""The party: the players' characters that the viewer sees, side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from starlette.responses import Response

from lorekeeper.entities import Entity
from lorekeeper.records.values import amount
from lorekeeper.render.source import words
from lorekeeper.search.dossier.about import SESSION
from lorekeeper.search.dossier.relations import newest_first
from lorekeeper.search.party import CHARACTERS, current
from lorekeeper.server.page.site import Page, Visit
from lorekeeper.terms import ABILITIES, MOVEMENTS, PASSIVES, SENSES
from lorekeeper.text.facts import lead
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
        speeds, senses: with their feet.
    """

    entity: Entity
    classes: str
    speeds: str
    senses: str

    def listed(self, key: str) -> str:
        """The values of a list of its source, as written there."""
        found = self.entity.data.get(key)
        return ", ".join(map(words, found)) if isinstance(found, (list, tuple)) else ""


async def members(view: View) -> list[Member]:
    """The characters that the viewer sees, by name, companions last: those with a class, and armor class or hit points."""
    found = [_member(each) for each in current(await view.cache.get_entities(CHARACTERS))]
    shown = [each for each in found if each.classes and {"armor_class", "hit_points"} & each.entity.fields.keys()]
    return sorted(shown, key=lambda each: each.entity.kind != "character")[:MOST]


async def played(view: View) -> list[Entity]:
    """The sessions of the campaign that was played last, the latest first."""
    sessions = newest_first(await view.cache.get_entities("notes", limit=500, kind=SESSION))
    return [note for note in sessions if note.document == sessions[0].document]


async def playing(view: View) -> list[Member]:
    """The characters of the campaign that was played last; all of them if it has none."""
    everyone, campaign = await members(view), {note.document for note in await played(view)}
    return [each for each in everyone if each.entity.document in campaign] or everyone


def _member(entity: Entity) -> Member:
    return Member(
        entity,
        lead(as_spelt(entity)),
        _distances(entity, ((kind, f"speed_{kind}") for kind in MOVEMENTS)),
        _distances(entity, ((sense, sense) for sense in SENSES)),
    )


def _distances(entity: Entity, named: Iterable[tuple[str, str]]) -> str:
    found = [(label, entity.fields.get(name)) for label, name in named]
    feet = [(label, value) for label, value in found if isinstance(value, (int, float)) and value]
    return ", ".join(f"{'' if label == 'walk' else f'{label} '}{amount(value)} ft." for label, value in feet)


async def _party(visit: Visit) -> Response:
    view = visit.view
    await view.refresh()
    parties: dict[str, list[Member]] = {}
    for each in await members(view):
        parties.setdefault(each.entity.document_name or each.entity.document, []).append(each)
    return visit.page("party.html", parties=parties, abilities=ABILITIES, passives=PASSIVES)


PAGES = (Page("/party", _party),)
