"""Rows of an earlier LoreKeeper's cache to entities: objects in their source's shape, in one table per type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lorekeeper.entities import AUDIENCE, Entity, parse_json
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.normalize import UnknownShapeError, normalize
from lorekeeper.normalize.build import Origin, build, readable, slugify
from lorekeeper.normalize.derive_fields import Read, by_name
from lorekeeper.normalize.open5e import ENDPOINTS, UNKNOWN_DOCUMENT, endpoint_of
from lorekeeper.normalize.orcbrew import SOURCE as ORCBREW
from lorekeeper.normalize.orcbrew import TYPES
from lorekeeper.normalize.reading import Words

word = Words(__file__)

_ORCBREW = frozenset({"option-pack", "spell-lists", "casting-time", "hit-points", "armor-class", "hit-die"})
"""Keys of OrcBrew objects: each has at least one, and objects of other sources have none."""

DOCUMENT = "earlier-cache"
"""The document of entries without one."""

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
    inner = obj.get("data")
    if isinstance(inner, Mapping) and (obj.get("source_api") == ORCBREW or inner.keys() & _ORCBREW):
        return _kept(inner, table, row | _of_pack(inner, obj, document))
    if obj.keys() & _ORCBREW:
        return _kept(obj, table, row)
    endpoint = _endpoint(table)
    try:
        normalized = normalize(obj, hint=endpoint)
        if document and any(entity.document == UNKNOWN_DOCUMENT for entity in normalized):
            normalized = normalize(obj, hint=endpoint, document=document)
        return normalized
    except UnknownShapeError:
        declaration = ENDPOINTS.get(endpoint)
        return [] if declaration and declaration.type is None else _kept(obj, table, row)


def _endpoint(table: str) -> str:
    return word("endpoints of tables", table, table.replace("_", ""))


def _of_pack(entry: Mapping[str, Any], wrapped: Mapping[str, Any], document: str | None) -> dict[str, str | None]:
    """The row of an entry of an OrcBrew pack, wrapped with a copy of the values that the earlier cache searched."""
    named = (entry.get("option-pack"), document, wrapped.get("document"), wrapped.get("source"))
    title = next((t.strip() for t in named if isinstance(t, str) and t.strip()), None)
    return {"document": slugify(title) if title else None, "title": title, "source_api": ORCBREW}


def titles(documents: Iterable[Entity]) -> Titles:
    """The keys of documents by title: of these records of documents, and of Open5e's."""
    named = [(key, names) for key, names in word["titles of documents"].items()]
    named += [(each.slug, (each.name, each.data.get("name"), each.data.get("display_name"))) for each in documents]
    keys: dict[str, frozenset[str]] = {}
    for key, names in named:
        for name in names:
            if isinstance(name, str) and name.strip():
                keys[fold(name)] = keys.get(fold(name), frozenset()) | {key}
    return keys


def corrected(entity: Entity, by_title: Titles) -> Entity | None:
    """An entry of an earlier cache with its true identity; None if it has it already, or is not such an entry.

    The earlier LoreKeeper filed entries of Open5e's API v2 under the title of their document instead of its key, with the
    entry's whole key, document prefix included, as the slug.
    """
    is_whole = entity.type == "documents" or entity.data.keys() & {"key", "document__slug"}
    if is_whole or not entity.source_api.startswith("open5e") or not (document := _document_of(entity, by_title)):
        return None
    endpoint = endpoint_of(entity.data)
    return replace(
        entity,
        slug=entity.slug.split("_", 1)[1] + (endpoint.slug_suffix if endpoint else ""),
        document=document,
        source_api="open5e-v2",
        document_name=entity.document_name or (None if entity.document == UNKNOWN_DOCUMENT else entity.document),
    )


def _document_of(entity: Entity, by_title: Titles) -> str | None:
    """The key of the document of an entry of Open5e's API v2; None if it is not certain."""
    prefix, _, rest = entity.slug.partition("_")
    is_title = entity.document == UNKNOWN_DOCUMENT or entity.document != slugify(entity.document)
    if not rest or not is_title:
        return None
    key = word("documents of prefixes", prefix)
    titled = by_title.get(fold(entity.document), frozenset())
    if key in titled:
        return key
    if titled:
        return next(iter(titled)) if key != prefix and len(titled) == 1 else None
    return key if any(key in keys for keys in by_title.values()) else None


def _kept(obj: Mapping[str, Any], table: str, row: Mapping[str, str | None]) -> list[Entity]:
    """The object as it is, with those filter fields that can be read."""
    entity_type, kind, read = TYPES.get(word("packs of tables", table)) or _type_of(table)
    pack = obj.get("option-pack")
    pack_key = slugify(pack) if isinstance(pack, str) and pack.strip() else None
    fields = readable(entity_type, by_name(entity_type, obj, read), lambda _: None)
    try:
        entity = build(
            entity_type,
            obj,
            Origin(
                ORCBREW if obj.keys() & _ORCBREW else row["source_api"] or "unknown",
                row["document"] or pack_key or DOCUMENT,
                row["title"],
            ),
            name=row["name"] or obj.get("name") or "",
            kind=kind,
            slug=row["slug"],
            fields={**fields, AUDIENCE: None},
        )
    except FilterError as error:
        raise UnknownShapeError(str(error)) from error
    return [entity]


def _type_of(table: str) -> tuple[str, str, Read | None]:
    """(collection, kind, fields) of entries of a table unknown to OrcBrew: of its endpoint, else a rule named like it."""
    endpoint = ENDPOINTS.get(_endpoint(table))
    if endpoint is None:
        return "rules", table.replace("_", "-").removesuffix("s"), None
    return endpoint.type or "rules", endpoint.kind if isinstance(endpoint.kind, str) else "gear", None


def _parsed(data: str | bytes) -> Mapping[str, Any]:
    try:
        obj = parse_json(data)
    except ValueError as error:
        raise UnknownShapeError(f"its data is invalid JSON: {error}") from error
    if not isinstance(obj, dict):
        raise UnknownShapeError(f"its data must be a JSON object, not {type(obj).__name__}")
    return obj
