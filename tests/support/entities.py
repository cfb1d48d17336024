"""Small entities to store, and what a cache holds."""

from __future__ import annotations

from typing import Any

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.entities import Entity
from lorekeeper.filters import clean_fields


def make(
    slug: str,
    desc: str = "",
    *,
    type: str = "spells",  # noqa: A002
    name: str | None = None,
    kind: str | None = None,
    document: str = "own",
    data: dict[str, Any] | None = None,
    **fields: Any,
) -> Entity:
    """A small entity; keyword arguments beside the base ones are its filter fields."""
    title = name if name is not None else slug
    kinds = {"spells": "spell", "creatures": "creature", "equipment": "gear", "character_options": "feat"}
    return Entity(
        type=type,
        slug=slug,
        name=title,
        kind=kind or kinds.get(type, type.removesuffix("s")),
        document=document,
        source_api="lorekeeper",
        data={"name": title, "desc": desc} if data is None else data,
        fields=clean_fields(type, fields),
    )


def batch(prefix: str, start: int, count: int) -> list[Entity]:
    """Numbered spells, of one passage or of several."""
    return [make(f"{prefix}{i}", f"Text {prefix} {i}. " * (1 + i % 3 * 20)) for i in range(start, start + count)]


def versioned(slug: str, version: int) -> Entity:
    """A spell whose data says which version it is, of one passage or of several."""
    text = f"Text {slug}, version {version}. " * (1 + version % 3 * 20)
    return make(slug, data={"desc": text, "version": version})


async def everything(cache: SearchCache, entity_type: str = "spells") -> list[Entity]:
    """All entities of a type, by iteration."""
    return [entity async for batch in cache.iterate(entity_type) for entity in batch]
