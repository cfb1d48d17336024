"""Addresses: what an answer calls an entry, and what reads it at any time, "Fireball, srd-2024", or else its path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import COLLECTIONS, SEARCHED, WHOLE_NAME, Entity, uri_of
from lorekeeper.folding import fold
from lorekeeper.printable import one_line
from lorekeeper.text.name_list import NameList

BETWEEN = ", "
"""What stands between a name and the key of its document."""

TYPES = sorted(SEARCHED, key=lambda name: name == "rules")
"""Types in the order in which a name means an entry of them: a note comes before the table that it holds, which is a rule."""

LONGEST = 100
"""Most characters of a name in an address."""


def path_of(entity: Entity) -> str:
    """The uri without its scheme and its percent codes."""
    return f"{entity.type}/{entity.document}/{entity.slug}"


async def addresses(cache: SearchCache, entities: Iterable[Entity]) -> dict[str, str]:
    """The addresses of some entries, by uri: the name with the key of the document where that means the entry."""
    wanted = list(entities)
    named = await _named(cache, {fold(each.name) for each in wanted}, list({each.document for each in wanted}))
    meant = _meant(named)
    found = {}
    for each in wanted:
        is_plain = 0 < len(each.name) <= LONGEST and each.name == one_line(each.name) and BETWEEN not in each.document
        is_meant = meant.get((each.document, fold(each.name))) == each.uri
        found[each.uri] = f"{each.name}{BETWEEN}{each.document}" if is_plain and is_meant else path_of(each)
    return found


def _meant(named: Iterable[Entity]) -> dict[tuple[str, str], str]:
    """The uri that a folded name means in a document: of entries of several types, those of the first; of several of it, none."""
    kept: dict[tuple[str, str], list[Entity]] = {}
    for each in named:
        others = kept.setdefault((each.document, fold(each.name)), [])
        if not others or others[0].type == each.type:
            others.append(each)
    return {name: each.uri for name, (each, *others) in kept.items() if not others}


async def uri_at(cache: SearchCache, address: str) -> str | None:
    """The uri of what is at an address: a uri, a path, or a name with the key of its document; None if it is none of them."""
    text = address.strip()
    if text.startswith("lore://"):
        return text
    parts = text.split("/", 2)
    if len(parts) == len(("type", "document", "slug")) and parts[0] in COLLECTIONS and all(parts):
        return uri_of(*parts)
    name, comma, document = text.rpartition(BETWEEN.strip())
    if not comma or not fold(name):
        return None
    named = _meant(await _named(cache, {fold(name)}, [document.strip()]))
    return named.get((document.strip(), fold(name)))


async def _named(cache: SearchCache, names: set[str], documents: Sequence[str]) -> list[Entity]:
    """The entries of some documents with one of some folded names, of all types that are searched, one after the other."""
    found: list[Entity] = []
    for entity_type in TYPES:
        known = NameList.of(await cache.names(entity_type))
        present: Mapping[str, Any] = {WHOLE_NAME.name: [name for name in names if name in known]}
        if present[WHOLE_NAME.name]:
            found += await cache.get_entities(entity_type, documents, **present)
    return found
