"""Who may see what is imported: what the import says, what the entry says itself, and what the library has it for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from lorekeeper.audience import DM
from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.entities import AUDIENCE, COLLECTIONS, Entity

ListedAudience = Literal["dm", "players"]
"""Who may see all of an import."""

Who = tuple[str, ...]
"""Value of the filter field of audiences."""

SECRET: Who = (DM,)


@dataclass(frozen=True)
class Audiences:
    """Decides who may see each entry of an import.

    Attributes:
        chosen: what the import says; None for nothing.
        stored: the audiences of entries that the library keeps from somebody, by type and identity.
    """

    chosen: ListedAudience | None = None
    stored: Mapping[tuple[str, Identity], Who] = field(default_factory=dict)

    def decided(self, entity: Entity) -> Entity:
        """An entry with its audience.

        An import for the game master keeps all of it secret, one for the players leaves what entries say themselves. An import
        that says nothing opens nothing that is the game master's alone, and keeps the people of an entry that names none.
        """
        own = entity.fields.get(AUDIENCE)
        who = self._who(entity, own if isinstance(own, tuple) else None)
        if who == own:
            return entity
        return _with(entity, who)

    def _who(self, entity: Entity, own: Who | None) -> Who | None:
        if self.chosen is not None:
            return SECRET if self.chosen == DM else own
        stored = self.stored.get((entity.type, entity.identity))
        return stored if stored == SECRET else own or stored


async def audiences_for(cache: SearchCache, chosen: ListedAudience | None) -> Audiences:
    """Who may see the entries of an import into a library.

    Raises:
        CacheError: the library cannot be read.
    """
    if chosen is not None:
        return Audiences(chosen)
    return Audiences(
        None, {(t, identity): who for t in COLLECTIONS for identity, who in (await stored(cache, t)).items()}
    )


async def stored(cache: SearchCache, entity_type: str) -> dict[Identity, Who]:
    """The audiences of the entries of a type that are kept from somebody, by identity."""
    found: dict[Identity, list[str]] = {}
    counted = (await cache.count_values(entity_type, AUDIENCE)).counts
    for who in {DM, *map(str, counted)}:  # counts may be older than the entries
        for identity in await cache.identities(entity_type, audience=[who]):
            found.setdefault(identity, []).append(who)
    return {identity: tuple(sorted(who)) for identity, who in found.items()}


def as_secret_as(entity: Entity, present: Entity) -> Entity:
    """An entity from a source, kept from the same people as the entry of the library that it replaces."""
    who = present.fields.get(AUDIENCE)
    return _with(entity, who) if isinstance(who, tuple) else entity


def _with(entity: Entity, who: Who | None) -> Entity:
    fields = {name: value for name, value in entity.fields.items() if name != AUDIENCE}
    return replace(entity, fields={**fields, AUDIENCE: who} if who else fields)
