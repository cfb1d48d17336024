"""Equipment and magic items of 5e-bits in the shape of Open5e."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lorekeeper.normalize.build import slugify
from lorekeeper.normalize.fivebits.printed import Below
from lorekeeper.normalize.fivebits.texts import (
    Object,
    index_of,
    name_of,
    names,
    objects,
    paragraphs,
    prose,
    text_of,
    titled,
)

_GOLD = {"cp": 0.01, "sp": 0.1, "ep": 0.5, "gp": 1.0, "pp": 10.0}

_GROUPS = ("gear_category", "tool_category", "vehicle_category")
"""Where an item of 2014 has the narrower of its two categories."""

_READ = frozenset(
    "index name url image desc description special notes equipment_category equipment_categories cost weight damage range "
    "two_handed_damage throw_range properties mastery weapon_category weapon_range category_range armor_category armor_class "
    "stealth_disadvantage str_minimum contents utilize speed storage ability craft".split()
) | frozenset(_GROUPS)  # fmt: skip

_SUITS = ("light", "medium", "heavy", "shield")

MAX_HEAD = 200
"""Most characters of the line that says what a magic item is."""

_HEAD = re.compile(r"(?P<kind>[^,()\n]{1,60}(?: \([^()\n]{1,200}\))?)(?:, (?P<rarity>[^\n]{1,120}))?$")
_ONE_RARITY = re.compile(r"(?:very |un)?(?:rare|common)|legendary|artifact", re.IGNORECASE)
_ATTUNEMENT = re.compile(r" \(requires attunement[^()\n]{0,120}\)$")
_ATTUNED = re.compile(r"requires attunement[^()\n]{0,120}", re.IGNORECASE)

_BONUS = re.compile(r"^([^(),]{1,20}) \(\+\d\)$")
"""What follows the rarity of an item that is there with several bonuses."""

Descriptions = Mapping[str, str]
"""What properties of weapons say, by their names."""


def item(o: Object, properties: Descriptions) -> dict[str, Any]:
    """Equipment that is not magic; what this does not know stays as it is."""
    rest = {key: value for key, value in o.items() if key not in _READ and isinstance(value, (str, int, float))}
    speed = o.get("speed")
    unit = str(speed.get("unit")).replace("ft/round", "ft.") if isinstance(speed, dict) else ""
    return {
        **rest,
        "name": o.get("name"),
        "desc": paragraphs(text_of(o), prose(o.get("special")), prose(o.get("notes")), *_uses(o), _contents(o)),
        "category": _category(o),
        "weapon": _weapon(o, properties),
        "armor": _armor(o),
        "cost": _cost(o.get("cost")),
        "weight": None if o.get("weight") is None else str(o["weight"]),
        "weight_unit": "lb",
        **({"speed": f"{speed.get('quantity'):g} {unit}"} if isinstance(speed, dict) else {}),
    }


_REST = "Standard Gear"
"""The group of what is in no other one."""


def _category(o: Object) -> dict[str, str]:
    categories = objects(o.get("equipment_categories"))
    groups = [each for key in _GROUPS if (each := o.get(key))]
    name = ""
    for each in (*groups, o.get("equipment_category"), *categories):
        label = each if isinstance(each, str) else name_of(each)
        name = name or ("" if label == _REST else label)
    if o.get("damage") or "weapon" in map(index_of, (o.get("equipment_category"), *categories)):
        name = "Weapon"
    elif o.get("armor_class"):
        name = "Armor"
    return {"name": name, "key": slugify(name)}


def _weapon(o: Object, properties: Descriptions) -> dict[str, Any] | None:
    damage, kinds = o.get("damage"), {*map(index_of, objects(o.get("equipment_categories")))}
    if not o.get("properties") and not damage:
        return None
    training = str(o.get("weapon_category") or "").lower()
    is_simple = training == "simple" or any(kind.startswith("simple-") for kind in kinds)
    damage = damage if isinstance(damage, dict) else {}
    return {
        "name": o.get("name"),
        "key": index_of(o),
        "damage_dice": damage.get("damage_dice"),
        "damage_type": {"name": name_of(damage.get("damage_type")), "key": index_of(damage.get("damage_type"))},
        "properties": _properties(o, properties),
        "is_simple": is_simple,
        "is_martial": not is_simple,
        "is_improvised": False,
        "distance_unit": "feet",
        **_reach(o),
    }


def _reach(o: Object) -> dict[str, Any]:
    thrown = o.get("throw_range") or o.get("range") or {}
    near, far = thrown.get("normal"), thrown.get("long")
    return {"range": near, "long_range": far} if far else {}


def _properties(o: Object, told: Descriptions) -> list[dict[str, Any]]:
    near = o.get("range") or {}
    thrown, two_hands = o.get("throw_range") or {}, o.get("two_handed_damage") or {}
    details = {
        "thrown": f"{thrown.get('normal')}/{thrown.get('long')}" if thrown.get("long") else None,
        "ammunition": f"{near.get('normal')}/{near.get('long')}" if near.get("long") else None,
        "versatile": two_hands.get("damage_dice"),
    }
    found = [
        {"property": {"name": name, "type": None, "desc": told.get(name, "")}, "detail": details.get(name.lower())}
        for name in names(o.get("properties"))
        if name in told or not told
    ]
    mastery = name_of(o.get("mastery"))
    if mastery:
        found.append({"property": {"name": mastery, "type": "Mastery", "desc": told.get(mastery, "")}, "detail": None})
    return found


def _armor(o: Object) -> dict[str, Any] | None:
    worn = o.get("armor_class")
    if not isinstance(worn, dict):
        return None
    groups = [str(o.get("armor_category") or ""), *map(index_of, objects(o.get("equipment_categories")))]
    weight = next((suit for suit in _SUITS for group in groups if group.lower().startswith(suit)), "")
    return {
        "name": o.get("name"),
        "key": index_of(o),
        "category": weight,
        "ac_base": worn.get("base"),
        "ac_display": _shown(worn),
        "ac_add_dexmod": bool(worn.get("dex_bonus")),
        "ac_cap_dexmod": worn.get("max_bonus"),
        "grants_stealth_disadvantage": bool(o.get("stealth_disadvantage")),
        "strength_score_required": o.get("str_minimum") or None,
    }


def _shown(worn: Object) -> str:
    most = f" (max {worn['max_bonus']})" if worn.get("max_bonus") else ""
    return f"{worn.get('base')}{' + Dex modifier' if worn.get('dex_bonus') else ''}{most}"


def _cost(value: object) -> str | None:
    if isinstance(value, (int, float)):
        return f"{value:.2f}"
    if not isinstance(value, dict):
        return None
    return f"{float(value.get('quantity') or 0) * _GOLD.get(str(value.get('unit')), 1.0):.2f}"


def _contents(o: Object) -> str:
    parts = [f"{each.get('quantity')} {name_of(each.get('item'))}" for each in objects(o.get("contents"))]
    return titled("Contents", ", ".join(parts))


def _uses(o: Object) -> list[str]:
    """What a tool of 2024 is for: its ability, each use with its DC, and what is made with it."""
    uses = [f"{each.get('name')} (DC {(each.get('dc') or {}).get('dc_value')})" for each in objects(o.get("utilize"))]
    told, made = o.get("utilize"), o.get("craft")
    return [
        titled("Ability", name_of(o.get("ability"))),
        titled("Utilize", told if isinstance(told, str) else ", or ".join(uses)),
        titled("Craft", made if isinstance(made, str) else ", ".join(names(made))),
        titled("Storage", name_of(o.get("storage"))),
        titled("Ammunition", name_of(o.get("ammunition"))),
    ]


SIGN = re.compile(
    r"\)?\n(?:Armor|Potion|Ring|Rod|Scroll|Staff|Wand|Weapon|Wondrous item)\b[^.\n]*, "
    r"[^.\n]*(?:rare|common|legendary|artifact|varies|\))\n"
)
"""How a magic item begins below its name."""


def as_printed(o: Object, below: Below) -> Object:
    """A magic item with the line that says what it is; a variant has its own."""
    lines = o.get("desc")
    if (
        not below.is_own
        or o.get("variant")
        or not isinstance(lines, list)
        or not _HEAD.match(_ATTUNEMENT.sub("", lines[0]))
    ):
        return o
    return {**o, "desc": [below.lines[0], *lines[1:], *_lacking("\n".join(lines), below.lines)]}


_BEGINS = re.compile(r"(?<=[.!?]) (?=[A-Z][^.!?]{0,40}\. )")
"""Where a sentence may be a name."""


def _lacking(text: str, lines: Sequence[str]) -> Iterator[str]:
    """What the book says of each thing that a table of a text lists and the text does not explain, such as a card of a deck."""
    listed, told, name = {cell.strip(" *") for cell in re.split(r"[|\n]", text)}, dict[str, list[str]](), ""
    for part in _BEGINS.split(" ".join(lines[:-1])):
        begun, _, rest = f"{part} ".partition(". ")
        name, words = (begun, rest) if begun[:1] and begun in listed else (name, part)
        told.setdefault(name, []).append(words.strip())
    yield from (f"***{each}.*** {' '.join(words)}" for each, words in told.items() if each and f"{each}." not in text)


TOOL_SIGN = re.compile(r" \([^()\n]+\)\nAbility: ")
"""How a tool of 2024 begins behind its name."""

_TOOL_LINE = re.compile(r"(Utilize|Craft|Variants): (.+)")


def tool_as_printed(o: Object, below: Below) -> Object:
    """A tool with the lines that say what it is for."""
    found = filter(None, map(_TOOL_LINE.fullmatch, below.lines[:5]))
    return {**o, **{match[1].lower(): match[2] for match in found}}


def magic_item(o: Object) -> dict[str, Any]:
    """A magic item, whose first line says what it is, how rare, and who can attune to it."""
    first, _, rest = text_of(o).partition("\n")
    head = _HEAD.match(_ATTUNEMENT.sub("", first.strip())) if len(first) < MAX_HEAD else None
    limited, rarity = o.get("limited-to"), _BONUS.sub(r"\1", name_of(o.get("rarity")))
    attuned = _ATTUNED.search(f"requires attunement by a {limited}" if limited else first)
    told = (head and head["rarity"]) or rarity
    kind = head["kind"] if head else name_of(o.get("equipment_category"))
    return {
        "name": o.get("name"),
        "desc": (rest if head else text_of(o)).strip(),
        "category": {"name": kind, "key": slugify(kind.partition(" (")[0])},
        "variants": ", ".join(names(o.get("variants"))),
        "rarity": {"name": told, "key": slugify((told if _ONE_RARITY.fullmatch(told) else rarity) or "unknown")},
        "requires_attunement": bool(attuned or o.get("attunement")),
        "attunement_detail": attuned[0] if attuned else None,
    }


def poison(o: Object) -> dict[str, Any]:
    """A poison of 2024: its price is in gp, and its kind says how it works."""
    return {
        "name": o.get("name"),
        "desc": paragraphs(f"*{str(o.get('type', '')).capitalize()} poison*" if o.get("type") else "", text_of(o)),
        "category": {"name": "Poison", "key": "poison"},
        "cost": _cost(o.get("cost")),
    }
