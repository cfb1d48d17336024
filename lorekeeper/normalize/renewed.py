"""Entities that the current rules make otherwise than earlier versions did: several of one, or none.

`again` makes the filter values of stored entities anew; this is about entities whose identity has changed since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lorekeeper.entities import Entity
from lorekeeper.normalize import UnknownShapeError, normalize_open5e
from lorekeeper.normalize.again import hint_of
from lorekeeper.normalize.build import ref_key
from lorekeeper.normalize.open5e import ENDPOINTS
from lorekeeper.normalize.shared import SHARED_DOCUMENT

Identity = tuple[str, str]


@dataclass(frozen=True)
class Suspects:
    """Entities that an earlier version may have stored under an identity that they no longer have.

    Attributes:
        type: their type.
        document: their document, None for any.
        filters: what they have in common, as `filters.parse_filters` reads it.
        has: whether an identity may be one of theirs; it must not be that of a current entity.
    """

    type: str
    document: str | None
    filters: Mapping[str, object]
    has: Callable[[Identity], bool] = lambda _: True


TABLE_ROW = "-stats"
"""How earlier versions ended the slugs of rows of Open5e's tables of weapons and armour."""

SUSPECTS = (
    Suspects(
        "rules",
        SHARED_DOCUMENT,
        {"kind": [e.kind for e in ENDPOINTS.values() if e.shared], "source_api": ["open5e-v2"]},
    ),
    Suspects(
        "equipment",
        None,
        {"kind": ["weapon", "armor"], "source_api": ["open5e-v2"]},
        lambda identity: identity[1].endswith(TABLE_ROW),
    ),
)
"""What to look for in a library: few entities, found by an index."""


def renewed(entity: Entity) -> list[Entity]:
    """The entities that the stored object of an entity gives under the current rules.

    That is the entity as it is if it still has its identity, if it was filed under another document than its own, or if
    its object is not recognised.
    """
    if not entity.source_api.startswith("open5e") or entity.document != ref_key(entity.data.get("document")):
        return [entity]
    try:
        current = normalize_open5e(entity.data, hint=hint_of(entity))
    except UnknownShapeError:
        return [entity]
    same_type = [e for e in current if e.type == entity.type]
    return [entity] if any(e.identity == entity.identity for e in same_type) else same_type


def later_identities(identity: Identity, documents: list[str]) -> list[Identity]:
    """Where the contents of an entity may be that an earlier version stored under an identity; ``documents`` are all keys."""
    document, slug = identity
    if slug.endswith(TABLE_ROW):
        item = slug.removesuffix(TABLE_ROW)
        return [(document, item), (document, f"{item}-armor")]
    return [(other, slug) for other in documents] if document == SHARED_DOCUMENT else []
