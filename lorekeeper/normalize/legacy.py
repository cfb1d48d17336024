"""Rows of an earlier LoreKeeper's cache to entities: objects in their source's shape, in one table per type."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from lorekeeper.entities import AUDIENCE, COLLECTIONS, Entity, parse_json
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields
from lorekeeper.folding import fold
from lorekeeper.normalize import UnknownShapeError, normalize
from lorekeeper.normalize.build import Origin, build, slugify
from lorekeeper.normalize.open5e import ENDPOINTS, UNKNOWN_DOCUMENT, endpoint_of
from lorekeeper.normalize.orcbrew import TYPES

_ENDPOINTS = {"rule_sections": "sections", "equipment": "items", "subclasses": "classes", "subraces": "races"}
"""The endpoints of tables that have another name."""

_ORCBREW = frozenset({"option-pack", "spell-lists", "casting-time", "hit-points", "armor-class", "hit-die"})
"""Keys of OrcBrew objects: each has at least one, and objects of other sources have none."""

_ORCBREW_TYPES = {"creatures": "monsters", "species": "races"}

DOCUMENT = "earlier-cache"
"""The document of entries without one."""

BOOKS = {
    "a5e-ag": ("Adventurer's Guide",),
    "a5e-ddg": ("Dungeon Delver's Guide",),
    "a5e-gpg": ("Gate Pass Gazette",),
    "a5e-mm": ("Monstrous Menagerie",),
    "bfrd": ("Black Flag SRD",),
    "ccdx": ("Creature Codex",),
    "core": ("5e Core Concepts", "5e Core"),
    "deepm": ("Deep Magic for 5th Edition",),
    "deepmx": ("Deep Magic Extended",),
    "kp": ("Kobold Press Compilation",),
    "open5e": ("Open5e Originals",),
    "open5e-2024": ("Open5e Originals",),
    "spells-that-dont-suck": ("Spells That Don't Suck",),
    "srd-2014": ("System Reference Document 5.1", "5e 2014 Rules"),
    "srd-2024": ("System Reference Document 5.2", "5e 2024 Rules"),
    "tdcs": ("Tal'dorei Campaign Setting",),
    "tob": ("Tome of Beasts",),
    "tob-2023": ("Tome of Beasts 1 (2023 Edition)",),
    "tob2": ("Tome of Beasts 2",),
    "tob3": ("Tome of Beasts 3",),
    "toh": ("Tome of Heroes",),
    "vom": ("Vault of Magic",),
    "wz": ("Warlock Zine",),
}
"""Titles of Open5e's documents by key, for caches and libraries without a record of them."""

_PREFIXES = {"srd": "srd-2014", "a5e": "a5e-ag"}
"""Documents by the prefix of their entries' keys, if Open5e uses another one than the document's key."""

Titles = Mapping[str, frozenset[str]]
"""Keys of documents by their folded titles."""


def entities(
    table: str, data: str | bytes, *, slug: str, name: str | None, document: str | None, source_api: str | None
) -> list[Entity]:
    """The entities of one row; an empty list for an object without lore.

    An object of unknown shape is kept as a whole too, under the type of its table, with those filter fields that can be
    read.

    Raises:
        UnknownShapeError: it is not a JSON object, or lacks what an entity needs; the message says which.
    """
    obj = _parsed(data)
    if not obj:
        raise UnknownShapeError("its data is empty")
    row = {"slug": slug, "name": name, "document": document, "source_api": source_api, "title": None}
    if _is_wrapped(obj):
        return _unwrapped(obj, table, row)
    if obj.keys() & _ORCBREW:
        return _kept(obj, table, row)
    endpoint = _ENDPOINTS.get(table, table.replace("_", ""))
    try:
        normalized = normalize(obj, hint=endpoint)
        if document and any(entity.document == UNKNOWN_DOCUMENT for entity in normalized):
            normalized = normalize(obj, hint=endpoint, document=document)
        return normalized
    except UnknownShapeError:
        declaration = ENDPOINTS.get(endpoint)
        return [] if declaration and declaration.type is None else _kept(obj, table, row)


def titles(documents: Iterable[Entity]) -> Titles:
    """The keys of documents by title: of these records of documents, and of `BOOKS`."""
    keys: dict[str, frozenset[str]] = {}

    def add(key: str, names: Iterable[object]) -> None:
        for name in names:
            if isinstance(name, str) and name.strip():
                keys[fold(name)] = keys.get(fold(name), frozenset()) | {key}

    for key, names in BOOKS.items():
        add(key, names)
    for document in documents:
        add(document.slug, (document.name, document.data.get("name"), document.data.get("display_name")))
    return keys


def corrected(entity: Entity, by_title: Titles) -> Entity | None:
    """An entry of an earlier cache with its true identity; None if it has it already, or is not such an entry.

    The earlier LoreKeeper filed entries of Open5e's API v2 under the title of their document instead of its key, with the
    entry's whole key, document prefix included, as the slug. And it wrapped entries of OrcBrew packs.
    """
    if not entity.source_api.startswith("open5e"):
        return None
    if _is_wrapped(entity.data):
        return _rewrapped(entity)
    document = None
    if entity.type != "documents" and not entity.data.keys() & {"key", "document__slug"}:
        document = _document_of(entity, by_title)
    if document is None:
        return None
    endpoint = endpoint_of(entity.data)
    slug = entity.slug.split("_", 1)[1] + (endpoint.slug_suffix if endpoint else "")
    title = None if entity.document == UNKNOWN_DOCUMENT else entity.document
    return replace(
        entity,
        slug=slug,
        document=document,
        source_api="open5e-v2",
        document_name=entity.document_name or title,
    )


def _document_of(entity: Entity, by_title: Titles) -> str | None:
    """The key of the document of an entry of Open5e's API v2; None if it is not certain."""
    prefix, _, rest = entity.slug.partition("_")
    if not rest or not is_title(entity.document):
        return None
    key = _PREFIXES.get(prefix, prefix)
    titled = by_title.get(fold(entity.document), frozenset())
    if key in titled:
        return key
    if titled:
        return next(iter(titled)) if prefix in _PREFIXES and len(titled) == 1 else None
    return key if any(key in keys for keys in by_title.values()) else None


def is_title(document: str) -> bool:
    """Whether the document key of an entry is a title instead of a key, or says that the document is unknown."""
    return document == UNKNOWN_DOCUMENT or document != slugify(document)


def _is_wrapped(obj: Mapping[str, Any]) -> bool:
    """Whether it is an entry of an OrcBrew pack, wrapped with a copy of the values that the earlier cache searched."""
    inner = obj.get("data")
    return isinstance(inner, Mapping) and bool(obj.get("source_api") == "orcbrew" or inner.keys() & _ORCBREW)


def _unwrapped(obj: Mapping[str, Any], table: str, row: Mapping[str, str | None]) -> list[Entity]:
    """The entry of a wrapped OrcBrew object, as an import of its pack would create it."""
    inner = obj["data"]
    named = (inner.get("option-pack"), row["document"], obj.get("document"), obj.get("source"))
    title = next((t.strip() for t in named if isinstance(t, str) and t.strip()), None)
    document = slugify(title) if title else None
    return _kept(inner, table, {**row, "document": document, "title": title, "source_api": "orcbrew"})


def _rewrapped(entity: Entity) -> Entity | None:
    """The same for an entry of a library."""
    kinds = {(entity_type, kind): content for content, (entity_type, kind, _) in TYPES.items()}
    table = kinds.get((entity.type, entity.kind))
    row = {"slug": entity.slug, "name": entity.name, "document": entity.document, "source_api": None}
    with contextlib.suppress(UnknownShapeError):
        return _unwrapped(entity.data, table, row)[0] if table else None
    return None


def _kept(obj: Mapping[str, Any], table: str, row: Mapping[str, str | None]) -> list[Entity]:
    """The object as it is, with those filter fields that can be read."""
    entity_type, kind, orcbrew_fields = TYPES.get(_ORCBREW_TYPES.get(table, table)) or _type_of(table)
    pack = obj.get("option-pack")
    pack_key = slugify(pack) if isinstance(pack, str) and pack.strip() else None
    document = row["document"] or pack_key or DOCUMENT
    source_api = "orcbrew" if obj.keys() & _ORCBREW else row["source_api"] or "unknown"
    try:
        entity = build(
            entity_type,
            obj,
            Origin(source_api, document, row["title"]),
            name=row["name"] or obj.get("name") or "",
            kind=kind,
            slug=row["slug"],
            fields=_readable_fields(entity_type, obj, orcbrew_fields),
        )
    except FilterError as error:
        raise UnknownShapeError(str(error)) from error
    return [entity]


def _readable_fields(
    entity_type: str, obj: Mapping[str, Any], orcbrew_fields: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> dict[str, Any]:
    """The filter fields that can be read under their own names or OrcBrew's."""
    raw = {f.name: obj.get(f.name) for f in COLLECTIONS[entity_type].fields if f.name != AUDIENCE}
    with contextlib.suppress(FilterError, TypeError, ValueError, AttributeError):
        raw |= {name: value for name, value in orcbrew_fields(obj).items() if value is not None}
    fields: dict[str, Any] = {}
    for name, value in raw.items():
        with contextlib.suppress(FilterError):
            fields |= clean_fields(entity_type, {name: value})
    return fields


def _type_of(table: str) -> tuple[str, str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
    """(collection, kind, fields) of entries of a table unknown to OrcBrew: of its endpoint, else a rule named like it."""
    endpoint = ENDPOINTS.get(_ENDPOINTS.get(table, table.replace("_", "")))
    if endpoint is None:
        return "rules", table.replace("_", "-").removesuffix("s"), lambda _: {}
    return endpoint.type or "rules", endpoint.kind if isinstance(endpoint.kind, str) else "gear", lambda _: {}


def _parsed(data: str | bytes) -> Mapping[str, Any]:
    try:
        obj = parse_json(data)
    except ValueError as error:
        raise UnknownShapeError(f"its data is invalid JSON: {error}") from error
    if not isinstance(obj, dict):
        raise UnknownShapeError(f"its data must be a JSON object, not {type(obj).__name__}")
    return obj
