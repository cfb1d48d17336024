"""Rows of an earlier LoreKeeper's cache to entities: an object as its source wrote it, in a table that says its type."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields
from lorekeeper.normalize import UnknownShapeError, normalize
from lorekeeper.normalize.build import build
from lorekeeper.normalize.open5e import ENDPOINTS, UNKNOWN_DOCUMENT

_ENDPOINTS = {"rule_sections": "sections", "equipment": "items", "subclasses": "classes", "subraces": "races"}
"""Tables that are named otherwise than the endpoint their entries came from."""

DOCUMENT = "earlier-cache"
"""Where an entry is filed when nothing says what book it is from."""


def entities(
    table: str, data: str, *, slug: str, name: str | None, document: str | None, source_api: str | None
) -> list[Entity]:
    """The entities of one row; an empty list for bookkeeping objects that hold no lore.

    An object whose shape is unknown is kept as a whole all the same, under the type of its table, with those of its values
    that can be filter fields.

    Raises:
        UnknownShapeError: it is no JSON object, or lacks what an entity needs; the message says which.
    """
    obj = _parsed(data)
    endpoint = _ENDPOINTS.get(table, table.replace("_", ""))
    try:
        found = normalize(obj, hint=endpoint)
        if document and any(e.document == UNKNOWN_DOCUMENT for e in found):
            found = normalize(obj, hint=endpoint, document=document)
        return found
    except UnknownShapeError:
        return _kept(obj, endpoint, table, slug=slug, name=name, document=document, source_api=source_api)


def _kept(
    obj: Mapping[str, Any],
    endpoint: str,
    table: str,
    *,
    slug: str,
    name: str | None,
    document: str | None,
    source_api: str | None,
) -> list[Entity]:
    known = ENDPOINTS.get(endpoint)
    if known and known.type is None:
        return []
    entity_type = known.type if known and known.type else "rules"
    kind = known.kind if known and isinstance(known.kind, str) else ""
    if table in ("classes", "races", "subclasses", "subraces", "species"):
        kind = {"classes": "class", "subclasses": "subclass", "subraces": "subrace"}.get(table, "race")
    fields: dict[str, Any] = {}
    for field in COLLECTIONS[entity_type].fields:
        with contextlib.suppress(FilterError):
            fields |= clean_fields(entity_type, {field.name: obj.get(field.name)})
    try:
        return [
            build(
                entity_type,
                obj,
                name=name or obj.get("name") or "",
                kind=kind or ("gear" if entity_type == "equipment" else table.replace("_", "-").removesuffix("s")),
                slug=slug,
                document=document or DOCUMENT,
                source_api=source_api or "unknown",
                **fields,
            )
        ]
    except FilterError as error:
        raise UnknownShapeError(str(error)) from error


def _parsed(data: str) -> Mapping[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON number")

    try:
        obj = json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise UnknownShapeError(f"its data is no valid JSON: {error or 'nested too deeply'}") from error
    if not isinstance(obj, dict):
        raise UnknownShapeError(f"its data must be a JSON object, not {type(obj).__name__}")
    return obj
