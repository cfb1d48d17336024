"""What items, classes, species, backgrounds and feats do to others: the same filter values as those of spells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lorekeeper.normalize.equipment import own_part
from lorekeeper.records import Option, Source, effects, item, option
from lorekeeper.records.grammar import plain


def with_effects(entity_type: str, kind: str, data: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The filter values of an entry that are known, with those that follow from what its texts do where it has none of its own.

    Args:
        data: in the shape of any source.
        fields: its own values; the damage type of a weapon is one that it deals.
    """
    known = {name: value for name, value in fields.items() if value is not None}
    return _effects(entity_type, kind, data, fields) | known


def _effects(entity_type: str, kind: str, data: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    if entity_type == "equipment":
        read = item(Source(data))
        text = own_part(read.name, read.text)
    elif entity_type == "character_options":
        text = "\n".join(_texts(option(Source(data), kind)))
    else:
        return {}
    found = effects(plain(text))
    area = next(iter(found.areas), None)
    weapon = fields.get("damage_type")
    dealt = [*([weapon.lower()] if isinstance(weapon, str) and weapon.strip() else []), *found.damage_types]
    return {
        "damage_types": list(dict.fromkeys(dealt)) or None,
        "saves": list(found.saves) or None,
        "conditions": list(found.conditions) or None,
        "heals": found.heals or None,
        "summons": found.summons or None,
        "area": area.shape if area else None,
        "area_size": area.size if area else None,
        "charge_cost": min(found.charges, default=None),
    }


def _texts(read: Option) -> Iterator[str]:
    """What an option gives to those who choose it. The text before its features tells a story."""
    features = (*read.features, *read.told, *([read.feature] if read.feature else []))
    yield from (each.text for each in features)
    if not features:
        yield read.text
