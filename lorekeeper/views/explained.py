"""Who sees what of a library, and why: for the game master."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.audience import DM, PLAYERS, Audience, Viewer, narrower, parsed, within
from lorekeeper.cache.protocol import BATCH, Identity, SearchCache
from lorekeeper.entities import AUDIENCE, COLLECTIONS, Entity
from lorekeeper.intake.audiences import Who, stored
from lorekeeper.normalize.notes import SOURCE as VAULT
from lorekeeper.normalize.notes import vault_audiences
from lorekeeper.text.secrecy import sections_seen
from lorekeeper.views.redact import is_visible, redact

UNMARKED = "no mark: a vault is the game master's unless a mark says otherwise"
IMPORTED = "imported or marked for the game master"
NAMED = "its own 'audience' names them"
OPEN = "books and imports are for everyone unless they are marked"

ENTRIES = tuple(name for name in COLLECTIONS if name != "documents")


@dataclass
class Shares:
    """Who sees the entries of a document.

    Attributes:
        document: its key.
        counts: number of entries by "dm" (the game master alone), "part" (players see a part), "named" (people by name) and
            "everybody".
        names: the people, folded.
    """

    document: str
    counts: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)

    def add(self, who: Who) -> None:
        """Count an entry that is kept from somebody."""
        people = set(who) - {DM, PLAYERS}
        self.names |= people
        open_part = "part" if PLAYERS in who else "dm"
        self.counts["named" if people else open_part] += 1

    def as_dict(self) -> dict[str, object]:
        """``{"document", "dm", "part", "named", "everybody", "names": [...]}``."""
        counts = {kind: self.counts[kind] for kind in ("dm", "part", "named", "everybody")}
        return {"document": self.document, **counts, "names": sorted(self.names)}


async def overview(cache: SearchCache) -> list[Shares]:
    """Who sees the entries of each document, by key.

    Raises:
        CacheError: the library cannot be read.
    """
    found: dict[str, Shares] = {}
    for key, by_type in (await cache.documents(ENTRIES)).items():
        found[key] = Shares(key, Counter(everybody=sum(by_type.values())))
    for entity_type in ENTRIES:
        for (document, _), who in (await _kept(cache, entity_type)).items():
            shares = found.setdefault(document, Shares(document))
            shares.add(who)
            shares.counts["everybody"] -= 1
    return [found[key] for key in sorted(found)]


async def _kept(cache: SearchCache, entity_type: str) -> dict[Identity, Who]:
    """The audiences of what is kept from somebody, also where a library of an earlier version has no such field yet."""
    kept = await stored(cache, entity_type)
    vaults = await cache.identities(entity_type, source_api=[VAULT])
    async for entity in _loaded(cache, entity_type, [each for each in vaults if each not in kept]):
        if who := vault_audiences(entity.data):
            kept[entity.identity] = who
    return kept


async def _loaded(cache: SearchCache, entity_type: str, identities: Sequence[Identity]) -> AsyncIterator[Entity]:
    for first in range(0, len(identities), BATCH):
        for entity in await cache.load(entity_type, identities[first : first + BATCH]):
            yield entity


# --- one entry --------------------------------------------------------------------------------------------------------


def explained(entity: Entity) -> dict[str, Any]:
    """Who sees an entry, and why: ``{"uri", "name", "audience", "why"}``, of a note with its sections and what players see.

    An audience is "dm", "players" or a list of names. A note has ``sections``, each ``{"heading", "audience", "why"}``,
    ``players_see``: its facts, aliases, tags and links as far as everybody sees them, and ``seen``: who sees how many of the
    sections, in words, "" if all are for the same people.
    """
    who, why = _whole(entity)
    told: dict[str, Any] = {"uri": entity.uri, "name": entity.name, "audience": _plain(who), "why": why}
    if entity.source_api == VAULT and entity.type == "notes":
        told["sections"] = list(_sections(entity))
        told["seen"] = sections_seen(entity)
        told["players_see"] = _open(entity)
    return told


def _whole(entity: Entity) -> tuple[Audience, str]:
    if entity.source_api != VAULT:
        who = entity.fields.get(AUDIENCE)
        if not isinstance(who, tuple) or PLAYERS in who:
            return PLAYERS, OPEN
        return (DM, IMPORTED) if who == (DM,) else (tuple(name for name in who if name != DM), NAMED)
    if entity.type == "documents":
        return DM, "players know a vault if they see something in it"
    if entity.type == "notes":
        return _decided({}, _mark(entity.data))
    return _decided(entity.data, _mark(entity.data, "note_"))


def _mark(data: Mapping[str, Any], prefix: str = "") -> tuple[Audience | None, str]:
    """What a mark says, and the mark as written."""
    written = data.get(f"{prefix}mark") or data.get(f"{prefix}opened_by") or ""
    return parsed(data.get(f"{prefix}audience")), str(written)


def _decided(part: Mapping[str, Any], whole: tuple[Audience | None, str]) -> tuple[Audience, str]:
    """Who sees a part of something, and the mark that decides on it."""
    own = _mark(part)
    who = within(own[0], whole[0], DM)
    if own[0] is None or whole[0] is None:
        said = own if own[0] is not None else whole
        return who, said[1] if said[0] is not None else UNMARKED
    alike = [mark for audience, mark in (own, whole) if narrower(audience or DM, who) == audience]
    return who, alike[0] if alike else f"{own[1]}; {whole[1]}"


def _sections(entity: Entity) -> Iterator[dict[str, Any]]:
    listed = entity.data.get("sections")
    for section in listed if isinstance(listed, list) else ():
        who, why = _decided(section, _mark(entity.data))
        yield {"heading": str(section.get("name") or ""), "audience": _plain(who), "why": why}


def _open(entity: Entity) -> dict[str, list[str]]:
    """What everybody sees of a note beside its sections."""
    viewer = Viewer.player()
    seen = redact(entity, viewer, lambda _: None) if is_visible(entity, viewer) else None
    data: Mapping[str, Any] = seen.data if seen else {}
    tags = seen.fields.get("tags") if seen else None
    return {
        "facts": list(data.get("facts", {})),
        "aliases": list(data.get("aliases", [])),
        "tags": _texts(tags),
        "links": list(dict.fromkeys(str(link.get("text")) for link in data.get("links", []))),
    }


def _texts(value: object) -> list[str]:
    return list(map(str, value)) if isinstance(value, Iterable) and not isinstance(value, str) else []


def _plain(who: Audience) -> str | list[str]:
    return list(who) if isinstance(who, tuple) else who
