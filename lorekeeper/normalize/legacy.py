"""Rows of an earlier LoreKeeper's cache to entities: an object as its source wrote it, in a table that says its type."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields
from lorekeeper.normalize import UnknownShapeError, normalize
from lorekeeper.normalize.build import build, slugify
from lorekeeper.normalize.open5e import ENDPOINTS, UNKNOWN_DOCUMENT
from lorekeeper.normalize.orcbrew import TYPES

_ENDPOINTS = {"rule_sections": "sections", "equipment": "items", "subclasses": "classes", "subraces": "races"}
"""Tables that are named otherwise than the endpoint their entries came from."""

_ORCBREW = frozenset({"option-pack", "spell-lists", "casting-time", "hit-points", "armor-class", "hit-die"})
"""Keys of which an OrcBrew object has at least one, and no other source has any."""

_ORCBREW_TYPES = {"creatures": "monsters", "species": "races"}

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
    row = {"slug": slug, "name": name, "document": document, "source_api": source_api}
    if obj.keys() & _ORCBREW:
        return _kept(obj, table, row)
    endpoint = _ENDPOINTS.get(table, table.replace("_", ""))
    try:
        found = normalize(obj, hint=endpoint)
        if document and any(e.document == UNKNOWN_DOCUMENT for e in found):
            found = normalize(obj, hint=endpoint, document=document)
        return found
    except UnknownShapeError:
        known = ENDPOINTS.get(endpoint)
        return [] if known and known.type is None else _kept(obj, table, row)


def _kept(obj: Mapping[str, Any], table: str, row: Mapping[str, str | None]) -> list[Entity]:
    """The object as it is, with those filter fields that can be read under their own names or OrcBrew's."""
    entity_type, kind, orcbrew_fields = TYPES.get(_ORCBREW_TYPES.get(table, table)) or _place(table)
    raw: dict[str, Any] = {f.name: obj.get(f.name) for f in COLLECTIONS[entity_type].fields}
    with contextlib.suppress(FilterError, TypeError, ValueError, AttributeError):
        raw |= {name: value for name, value in orcbrew_fields(obj).items() if value is not None}
    fields: dict[str, Any] = {}
    for name, value in raw.items():
        with contextlib.suppress(FilterError):
            fields |= clean_fields(entity_type, {name: value})
    pack = obj.get("option-pack")
    try:
        return [
            build(
                entity_type,
                obj,
                name=row["name"] or obj.get("name") or "",
                kind=kind,
                slug=row["slug"],
                document=row["document"] or (slugify(pack) if isinstance(pack, str) and pack.strip() else DOCUMENT),
                source_api="orcbrew" if obj.keys() & _ORCBREW else row["source_api"] or "unknown",
                **fields,
            )
        ]
    except FilterError as error:
        raise UnknownShapeError(str(error)) from error


def _place(table: str) -> tuple[str, str, Callable[[Mapping[str, Any]], dict[str, Any]]]:
    """Where entries of a table go that OrcBrew has no word for: equipment by its kind, all else among the rules."""
    known = ENDPOINTS.get(_ENDPOINTS.get(table, table.replace("_", "")))
    entity_type = known.type if known and known.type else "rules"
    kind = known.kind if known and isinstance(known.kind, str) else "gear"
    return entity_type, kind if known else table.replace("_", "-").removesuffix("s"), lambda _: {}


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
