"""Addresses: what an answer calls an entry, and what reads it at any time, "Fireball, srd-2024", or else its path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import unquote

from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.editions import parts_of
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


_URI = re.compile(r"lore://([^\s\"'<>()\[\]]+)")


def as_paths(text: str) -> str:
    """A text with each uri as the path that it is, without its scheme and its percent codes."""
    return _URI.sub(lambda match: unquote(match[1]), text)


async def addresses(cache: SearchCache, entities: Iterable[Entity]) -> dict[str, str]:
    """The addresses of some entries, by uri: the name with the key of the document where that means the entry."""
    held = {(each.type, each.identity): each for each in entities}
    last = max((TYPES.index(each.type) for each in held.values() if each.type in TYPES), default=-1)
    names, documents = {fold(each.name) for each in held.values()}, {each.document for each in held.values()}
    meant = _meant(await _named(cache, names, documents, TYPES[: last + 1], held))
    found = {}
    for each in held.values():
        is_plain = each.name == one_line(each.name, LONGEST) and BETWEEN not in each.document
        keys = (key for key in (parts_of(each.document)[0], each.document) if is_plain)
        means = next((key for key in keys if meant.get((key, fold(each.name))) == each.uri), None)
        found[each.uri] = f"{each.name}{BETWEEN}{means}" if each.name and means else as_paths(each.uri)
    return found


def _meant(named: Iterable[Entity]) -> dict[tuple[str, str], str]:
    """The uri that a folded name means in a document: of entries of several types, those of the first; of several of it, none.

    In the key of a book it means what another part of the book (`editions.TWINS`) has, where the part of that key lacks it.
    """
    kept: dict[tuple[str, str], list[Entity]] = {}
    for each in named:
        others = kept.setdefault((each.document, fold(each.name)), [])
        if not others or others[0].type == each.type:
            others.append(each)
    meant = {at: each.uri for at, (each, *others) in kept.items() if not others}
    of_books = {(parts_of(document)[0], name): uri for (document, name), uri in meant.items()}
    return {at: uri for at, uri in of_books.items() if at not in kept} | meant


async def uri_at(cache: SearchCache, address: str, types: Sequence[str] = TYPES) -> str | None:
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
    named = _meant(await _named(cache, {fold(name)}, [document.strip()], types))
    return named.get((document.strip(), fold(name)))


async def _named(
    cache: SearchCache,
    names: set[str],
    documents: Iterable[str],
    types: Sequence[str] = TYPES,
    held: Mapping[tuple[str, Identity], Entity] = MappingProxyType({}),
) -> list[Entity]:
    """The entries of some documents with one of some folded names, of the types one after the other; those held are not read."""
    found: list[Entity] = []
    parts = list({part for document in documents for part in parts_of(document)})
    for entity_type in types:
        known = NameList.of(await cache.names(entity_type))
        present: Mapping[str, Any] = {WHOLE_NAME.name: [name for name in names if name in known]}
        at = await cache.identities(entity_type, parts, **present) if present[WHOLE_NAME.name] else []
        found += [held[entity_type, each] for each in at if (entity_type, each) in held]
        if further := [each for each in at if (entity_type, each) not in held]:
            found += await cache.load(entity_type, further)
    return found
