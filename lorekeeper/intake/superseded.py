"""What of the packages' entries (see `data_packages`) Open5e's entries take the place of, once a sync has brought a type whole.

Both give the same two documents. Most things have one key in both. The others are known by their names and forms: "Adamantine
Armor" by the suits that are made of it, "Werebear, Bear Form" by the werebear.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.normalize import fivebits, lined

DOCUMENTS = ("srd-2014", "srd-2024")
"""The two documents."""

SHARED = "core"
"""The document in which Open5e keeps what both editions have, such as languages."""

SOURCES = frozenset({fivebits.SOURCE, lined.SOURCE})
"""`Entity.source_api` of what the packages give."""

OPEN5E = "open5e"
"""How that of Open5e's entries begins."""

FORMS = frozenset({"equipment", "creatures", "character_options"})
"""Types of things that have forms."""

_PRINTED, _NOTED, _ROWS = ("gear", "subtype"), "(", "\n|"
"""Keys that only the printed entries have, and signs of a remark and of a table."""

_ONE_KIND = {"section": "rule"}
"""Kinds that the sources tell apart differently."""


def is_packaged(entity: Entity) -> bool:
    """Whether an entry of one of the two documents is from a package, or from a file in the same format."""
    return entity.document in DOCUMENTS and entity.source_api in SOURCES


async def remove_superseded(
    cache: SearchCache, entity_type: str, documents: Sequence[str]
) -> tuple[list[Identity], list[Entity]]:
    """Remove the packages' entries of a type that Open5e's cover, all in one call; (what was removed, what stays).

    Args:
        cache: the library's.
        entity_type: has been read whole from Open5e.
        documents: keys of those of the two documents that were.
    """
    entities = await cache.get_entities(entity_type, [*documents, SHARED])
    theirs = [each for each in entities if each.source_api.startswith(OPEN5E)]
    covered, kept = list[Identity](), list[Entity]()
    for document in documents:
        if not any(each.document == document for each in theirs):
            continue
        known = Known(theirs, document)
        for each in entities:
            if each.document == document and is_packaged(each):
                covered += [each.identity] if known.covers(each) else []
                kept += [] if known.covers(each) else [each]
    if covered:
        await cache.delete_entities(entity_type, covered)
    return covered, kept


def with_printed(data: Mapping[str, Any], printed: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object of Open5e with what only the printed entry of its key has: the same object if that has no more.

    These are what a creature carries, the tags of its type, remarks on its senses, and the tables of a text that has none.
    """
    added = {key: printed[key] for key in _PRINTED if printed.get(key) and not data.get(key)}
    if _NOTED in str(printed.get("senses")) and not data.get("senses"):
        added["senses"] = printed["senses"]
    text, tables = data.get("desc"), [each for each in str(printed.get("desc")).split("\n\n") if _ROWS in each]
    if isinstance(text, str) and tables and "|" not in text:
        added["desc"] = "\n\n".join([text, *tables])
    return {**data, **added} if added else data


class Known:
    """What Open5e has of a document, by kind.

    Args:
        entities: of a library, of one type.
        document: the document.
    """

    def __init__(self, entities: Iterable[Entity], document: str) -> None:
        slugs: dict[str, list[str]] = {}
        self._names: set[tuple[str, str]] = set()
        for each in entities:
            if each.document not in (document, SHARED) or not each.source_api.startswith(OPEN5E):
                continue
            kind = _ONE_KIND.get(each.kind, each.kind)
            slugs.setdefault(kind, []).append(each.slug)
            self._names.add((kind, fold(each.name)))
        self._tails = {kind: by_tail(own) for kind, own in slugs.items()}

    def covers(self, entity: Entity) -> bool:
        """Whether an entry is there under its name, or as forms or as the form of something."""
        kind = _ONE_KIND.get(entity.kind, entity.kind)
        if (kind, fold(entity.name)) in self._names:
            return True
        tails = self._tails.get(kind, {})
        return bool(successor(entity.type, entity.slug, tails) or _base(entity.type, entity.slug, tails))


def by_tail(slugs: Iterable[str]) -> dict[str, str]:
    """Slugs of a document by what they are without the chapter that they begin with; of equal ones the first in the alphabet."""
    return {_tail(slug): slug for slug in sorted(slugs, reverse=True)}


def successor(entity_type: str, slug: str, tails: Mapping[str, str]) -> str | None:
    """The slug, among others (see `by_tail`), of what has the key of an entry, or is the first of its forms; None if nothing is."""
    own = _tail(slug)
    if own in tails:
        return tails[own]
    if entity_type not in FORMS:
        return None
    words = own.split("-")
    forms = [
        each for each in tails if {*words} <= {*each.split("-")} and (len(words) > 1 or each.startswith(f"{own}-"))
    ]
    return tails[min(forms)] if forms else None


def _base(entity_type: str, slug: str, tails: Mapping[str, str]) -> str | None:
    """The slug, among others, of what an entry is a form of: whose words begin its own; of real entries only."""
    if entity_type not in FORMS:
        return None
    words = _tail(slug).split("-")
    shorter = ("-".join(words[:number]) for number in range(len(words) - 1, 0, -1))
    return next((tails[each] for each in shorter if each in tails), None)


def _tail(slug: str) -> str:
    """A slug without the chapter that it begins with."""
    return slug.rpartition("_")[2]
