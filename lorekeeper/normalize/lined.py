"""Entries whose values are lines of text: as books print them, and as compendiums in XML have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.normalize import equipment, spells, statblocks
from lorekeeper.normalize.build import Origin, build, without_empty
from lorekeeper.records.printed import CREATURE, SPELL, Printed

SOURCE = "printed"
"""``Entity.source_api`` of what was printed."""


def entity(entry: Printed, origin: Origin) -> tuple[Entity, list[str]]:
    """The entity of a printed entry, and what of it could not be read.

    Raises:
        FilterError: it cannot be stored; the message says why.
    """
    problems = [f"not understood: {line}" for line in entry.left]
    if entry.kind == CREATURE:
        made, more = statblocks.creature(entry.values, origin)
        return made, [*problems, *more]
    return (spell if entry.kind == SPELL else item)(entry.values, origin), problems


def spell(values: Mapping[str, Any], origin: Origin) -> Entity:
    """A spell.

    Values: ``level``, ``school``, ``ritual``, ``concentration``, ``classes``, ``archetype``; lines ``time``, ``range``,
    ``components``, ``duration``; ``text``.

    Raises:
        FilterError: it cannot be stored; the message says why.
    """
    text, higher, time, reach, written, duration = (
        str(values.get(key) or "") for key in ("text", "higher_level", "time", "range", "components", "duration")
    )
    initials, _, material = written.partition("(")
    classes = list(values.get("classes") or ())
    data = {
        **{key: values.get(key) for key in ("name", "level", "school", "ritual")},
        "casting_time": time,
        "range": reach,
        "components": initials.strip(" ,"),
        "material": material.rstrip(") "),
        "duration": duration,
        "concentration": values.get("concentration") or ("concentration" in duration.casefold() if duration else None),
        "dnd_class": ", ".join(classes),
        "classes": classes,
        "archetype": values.get("archetype"),
        "desc": text,
        "higher_level": higher,
        "book": values.get("book"),
    }
    return build(
        "spells", without_empty(data), origin, name=str(values["name"]), kind="spell", fields=spells.read(data)
    )


def item(values: Mapping[str, Any], origin: Origin) -> Entity:
    """A magic item: ``category``, ``which`` kinds of it, ``rarity``, ``attunement``, ``text``.

    Raises:
        FilterError: it cannot be stored; the message says why.
    """
    name, text, which = str(values["name"]), str(values.get("text") or ""), values.get("which")
    data = {
        "name": name,
        "category": f"{values.get('category')} ({which})" if which else values.get("category"),
        "rarity": values.get("rarity"),
        "requires_attunement": bool(values.get("attunement")),
        "attunement_detail": values.get("attunement"),
        "desc": text,
    }
    fields = equipment.read_magic(data)
    data["requires_attunement"] = fields["requires_attunement"]
    return build("equipment", without_empty(data), origin, name=name, kind="magic-item", fields=fields)
