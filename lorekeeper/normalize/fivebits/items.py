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
    many,
    names,
    objects,
    prose,
    text,
    text_of,
    titled,
)
from lorekeeper.normalize.reading import at, commas, mapping, paragraphs
from lorekeeper.records.values import COINS

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
    speed = mapping(o, "speed")
    unit = text(speed, "unit").replace("ft/round", "ft.")
    return {
        **rest,
        "desc": paragraphs(
            text_of(o),
            prose(o, "special"),
            prose(o, "notes"),
            *_uses(o),
            "" if text_of(o) else titled("Contents", commas(*many(o, "contents"))),
        ),
        "category": _category(o),
        "weapon": _weapon(o, properties),
        "armor": _armor(o),
        "cost": _cost(o.get("cost")),
        "weight": None if o.get("weight") is None else str(o["weight"]),
        "weight_unit": "lb",
        **({"speed": f"{speed.get('quantity'):g} {unit}"} if speed else {}),
    }


_REST = "Standard Gear"
"""The group of what is in no other one."""


def _category(o: Object) -> dict[str, str]:
    categories = objects(o, "equipment_categories")
    groups = (*(o.get(key) for key in _GROUPS), o.get("equipment_category"), *categories)
    name = next((label for label in map(text, groups) if label not in ("", _REST)), "")
    if o.get("damage") or "weapon" in map(index_of, groups):
        name = "Weapon"
    elif o.get("armor_class"):
        name = "Armor"
    return {"name": name, "key": slugify(name)}


def _weapon(o: Object, told: Descriptions) -> dict[str, Any] | None:
    if not o.get("properties") and not o.get("damage"):
        return None
    training, kinds = text(o, "weapon_category").lower(), map(index_of, objects(o, "equipment_categories"))
    is_simple = training == "simple" or any(kind.startswith("simple-") for kind in kinds)
    near, thrown = (
        (at(o, f"{key}.normal"), far) if (far := at(o, f"{key}.long")) else None for key in ("range", "throw_range")
    )
    reach = thrown if o.get("throw_range") else near
    ranges = {"thrown": thrown, "ammunition": near}
    details: dict[str, object] = {name: f"{feet[0]}/{feet[1]}" if feet else None for name, feet in ranges.items()}
    details["versatile"] = at(o, "two_handed_damage.damage_dice")
    properties: list[tuple[str, str | None, object]] = [
        (name, None, details.get(name.lower())) for name in names(o, "properties") if name in told or not told
    ]
    properties += [(mastery, "Mastery", None)] if (mastery := text(o, "mastery")) else []
    return {
        "name": o.get("name"),
        "key": index_of(o),
        "damage_dice": at(o, "damage.damage_dice"),
        "damage_type": {"name": text(o, "damage.damage_type"), "key": index_of(o, "damage.damage_type")},
        "properties": [
            {"property": {"name": name, "type": kind, "desc": told.get(name, "")}, "detail": detail}
            for name, kind, detail in properties
        ],
        "is_simple": is_simple,
        "is_martial": not is_simple,
        "is_improvised": False,
        "distance_unit": "feet",
        **({"range": reach[0], "long_range": reach[1]} if reach else {}),
    }


def _armor(o: Object) -> dict[str, Any] | None:
    worn = o.get("armor_class")
    if not isinstance(worn, dict):
        return None
    groups = [text(o, "armor_category"), *map(index_of, objects(o, "equipment_categories"))]
    most = f" (max {worn['max_bonus']})" if worn.get("max_bonus") else ""
    return {
        "name": o.get("name"),
        "key": index_of(o),
        "category": next((suit for suit in _SUITS for group in groups if group.lower().startswith(suit)), ""),
        "ac_base": worn.get("base"),
        "ac_display": f"{worn.get('base')}{' + Dex modifier' if worn.get('dex_bonus') else ''}{most}",
        "ac_add_dexmod": bool(worn.get("dex_bonus")),
        "ac_cap_dexmod": worn.get("max_bonus"),
        "grants_stealth_disadvantage": bool(o.get("stealth_disadvantage")),
        "strength_score_required": o.get("str_minimum") or None,
    }


def _cost(value: object) -> str | None:
    """A price in gp: of a number of coins, or a number of gp."""
    coins = mapping(value) or {"quantity": value}
    amount = coins.get("quantity")
    if not isinstance(amount, (int, float)):
        return None
    return f"{amount * COINS.get(text(coins, 'unit'), 1):.2f}"


def _uses(o: Object) -> list[str]:
    """What a tool of 2024 is for: its ability, each use with its DC, and what is made with it."""
    uses = (f"{each.get('name')} (DC {at(each, 'dc.dc_value')})" for each in objects(o, "utilize"))
    told = {key: value if isinstance(value := o.get(key), str) else "" for key in ("utilize", "craft")}
    told = {
        "Ability": text(o, "ability"),
        "Utilize": told["utilize"] or ", or ".join(uses),
        "Craft": told["craft"] or ", ".join(names(o, "craft")),
        "Storage": text(o, "storage"),
        "Ammunition": text(o, "ammunition"),
    }
    return [titled(label, words) for label, words in told.items()]


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


def _lacking(own: str, lines: Sequence[str]) -> Iterator[str]:
    """What the book says of each thing that a table of a text lists and it does not explain, such as a card of a deck."""
    listed, told, name = {cell.strip(" *") for cell in re.split(r"[|\n]", own)}, dict[str, list[str]](), ""
    for part in _BEGINS.split(" ".join(lines[:-1])):
        begun, _, rest = f"{part} ".partition(". ")
        name, words = (begun, rest) if begun[:1] and begun in listed else (name, part)
        told.setdefault(name, []).append(words.strip())
    yield from (f"***{each}.*** {' '.join(words)}" for each, words in told.items() if each and f"{each}." not in own)


TOOL_SIGN = re.compile(r" \([^()\n]+\)(?:\nAbility: |\. Includes )")
"""How a tool of 2024, and a pack of 2014, begins behind its name."""

_TOOL_LINE = re.compile(r"(Utilize|Craft|Variants): (.+)")


def tool_as_printed(o: Object, below: Below) -> Object:
    """A tool with the lines that say what it is for, or a pack with what it includes."""
    found = filter(None, map(_TOOL_LINE.fullmatch, below.lines[:5]))
    included = below.lines[0].partition(" gp). ")[2].rpartition(".")[0]  # the next title may follow
    return {**o, **({"desc": f"{included}."} if included else {}), **{match[1].lower(): match[2] for match in found}}


def magic_item(o: Object) -> dict[str, Any]:
    """A magic item, whose first line says what it is, how rare, and who can attune to it."""
    first, _, rest = text_of(o).partition("\n")
    head = _HEAD.match(_ATTUNEMENT.sub("", first.strip())) if len(first) < MAX_HEAD else None
    limited, rarity = o.get("limited-to"), _BONUS.sub(r"\1", text(o, "rarity"))
    attuned = _ATTUNED.search(f"requires attunement by a {limited}" if limited else first)
    told = (head and head["rarity"]) or rarity
    kind = head["kind"] if head else text(o, "equipment_category")
    return {
        "desc": (rest if head else text_of(o)).strip(),
        "category": {"name": kind, "key": slugify(kind.partition(" (")[0])},
        "variants": ", ".join(names(o, "variants")),
        "rarity": {"name": told, "key": slugify((told if _ONE_RARITY.fullmatch(told) else rarity) or "unknown")},
        "requires_attunement": bool(attuned or o.get("attunement")),
        "attunement_detail": attuned[0] if attuned else None,
    }


def poison(o: Object) -> dict[str, Any]:
    """A poison of 2024: its price is in gp, and its kind says how it works."""
    kind = text(o, "type")
    return {
        "desc": paragraphs(f"*{kind.capitalize()} poison*" if kind else "", text_of(o)),
        "category": {"name": "Poison", "key": "poison"},
        "cost": _cost(o.get("cost")),
    }
