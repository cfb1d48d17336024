"""Equipment of 5etools in the shape in which items are kept, and the filter values of that shape."""

from __future__ import annotations

import re

from lorekeeper.normalize import equipment
from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.fivetools.subject import Data, Subject
from lorekeeper.normalize.fivetools.values import Object, capital, coins, listed, mapping, number, text, uid
from lorekeeper.records.values import first_number as leading
from lorekeeper.records.values import gold

TYPES = {
    "A": "ammunition",
    "AF": "ammunition",
    "AIR": "vehicle (air)",
    "AT": "artisan's tools",
    "EM": "eldritch machine",
    "EXP": "explosive",
    "FD": "food and drink",
    "G": "adventuring gear",
    "GS": "gaming set",
    "GV": "generic variant",
    "HA": "heavy armor",
    "IDG": "illegal drug",
    "INS": "instrument",
    "LA": "light armor",
    "M": "melee weapon",
    "MA": "medium armor",
    "MNT": "mount",
    "MR": "master rune",
    "OTH": "other",
    "P": "potion",
    "R": "ranged weapon",
    "RD": "rod",
    "RG": "ring",
    "S": "shield",
    "SC": "scroll",
    "SCF": "spellcasting focus",
    "SHP": "vehicle (water)",
    "SPC": "vehicle (space)",
    "T": "tools",
    "TAH": "tack and harness",
    "TB": "trade bar",
    "TG": "trade good",
    "VEH": "vehicle (land)",
    "WD": "wand",
    "$": "treasure",
    "$A": "art object",
    "$C": "coinage",
    "$G": "gemstone",
}
"""Types of items by their codes."""

PROPERTIES = {
    "2H": "two-handed",
    "A": "ammunition",
    "AF": "ammunition",
    "BF": "burst fire",
    "ER": "extended reach",
    "F": "finesse",
    "H": "heavy",
    "L": "light",
    "LD": "loading",
    "N": "net",
    "R": "reach",
    "RLD": "reload",
    "S": "special",
    "T": "thrown",
    "V": "versatile",
    "VST": "vestige of divergence",
}
"""Properties of weapons by their codes."""

DAMAGE = {
    "A": "acid",
    "B": "bludgeoning",
    "C": "cold",
    "F": "fire",
    "I": "poison",
    "L": "lightning",
    "N": "necrotic",
    "O": "force",
    "P": "piercing",
    "R": "radiant",
    "S": "slashing",
    "T": "thunder",
    "Y": "psychic",
}
"""Types of damage by their letters."""

ARMOR = {
    "LA": ("light armor", " + Dex modifier"),
    "MA": ("medium armor", " + Dex modifier (max 2)"),
    "HA": ("heavy armor", ""),
}

BONUSES = {
    "bonusWeapon": "attack and damage rolls",
    "bonusWeaponAttack": "attack rolls",
    "bonusWeaponDamage": "damage rolls",
    "bonusAc": "Armor Class",
    "bonusSpellAttack": "spell attack rolls",
    "bonusSpellDamage": "spell damage",
    "bonusSpellSaveDc": "spell save DC",
    "bonusSavingThrow": "saving throws",
    "bonusAbilityCheck": "ability checks",
}
"""Bonuses of magic items, and what each is to."""

_NO_RARITY = frozenset({"", "none", "unknown", "unknown (magic)"})
_RANGE = re.compile(r"\s*(\d{1,5})\s*(?:/\s*(\d{1,5}))?.*", re.DOTALL)


def item(subject: Subject) -> Data:
    """An item in the shape in which items are kept; of a generic variant, what its items get."""
    inherits = mapping(subject.value("inherits"))
    if inherits:
        subject = subject.of({**subject.obj, **inherits})
    obj = subject.obj
    weight = number(obj.get("weight"))
    text_keys = ("entries", "additionalEntries")
    return without_empty(
        {
            "category": _category(subject),
            "kind": kind_of(obj),
            "rarity": _rarity(obj),
            "tier": subject.words("tier"),
            **_attunement(subject),
            **_weapon(subject),
            **_armor(obj),
            **_magic(subject),
            "cost": _price(obj),
            "weight": leading(obj.get("weight")) if weight is None else weight,
            "base_item": uid(obj.get("baseItem"))[0],
            "made_from": _requirements(subject) if inherits else "",
            "contents": ", ".join(_contents(obj.get("packContents"))),
            "items": ", ".join(uid(each)[0] for each in listed(obj.get("items"))),
            "desc": "\n\n".join(filter(None, (subject.fluff(), subject.prose(*text_keys)))),
        }
    )


def _magic(subject: Subject) -> Data:
    """Bonuses, charges, spells and the like."""
    obj = subject.obj
    bonuses = (f"{text(obj[key])} to {what}" for key, what in BONUSES.items() if text(obj.get(key)))
    return {
        "bonus": _bonus(obj),
        "bonuses": ", ".join(bonuses),
        "charges": number(obj.get("charges")) or subject.words("charges"),
        "recharge": _recharge(subject),
        "spells": ", ".join(_spells(obj.get("attachedSpells"))),
        "cursed": True if obj.get("curse") is True else None,
        "sentient": True if obj.get("sentient") is True else None,
    }


def kind_of(obj: Object) -> str:
    """The kind of an item: one with a rarity, or that must be attuned to, is magic."""
    code = uid(obj.get("type"))[0].upper()
    is_magic = (
        text(obj.get("rarity")).lower() not in ("", "none", "unknown")
        or bool(obj.get("reqAttune"))
        or obj.get("wondrous")
    )
    if is_magic:
        return "magic-item"
    if code in ("M", "R") or obj.get("weaponCategory") or obj.get("dmg1"):
        return "weapon"
    return "armor" if code in ARMOR or code == "S" else "gear"


def _category(subject: Subject) -> list[str]:
    """What kind of item it is, as narrow as its source says: "wondrous item", "martial melee weapon"."""
    code = uid(subject.value("type"))[0]
    named = subject.codes.item_types.get(code) or TYPES.get(code.upper()) or code.lower()
    if training := subject.words("weaponCategory"):
        named = f"{training} {named if named in ('melee weapon', 'ranged weapon') else 'weapon'}"
    wondrous = "wondrous item" if subject.value("wondrous") is True else ""
    return [name for name in (wondrous, named) if name and code.upper() != "GV"]


def _rarity(obj: Object) -> str | None:
    rarity = text(obj.get("rarity")).strip().lower()
    return None if rarity in _NO_RARITY else rarity


def _attunement(subject: Subject) -> Data:
    """Whether it must be attuned to, and by whom; None where it may be."""
    value = subject.value("reqAttune")
    words = subject.reader.plain(value) if isinstance(value, str) else ""
    if words.lower() in ("yes", "true", "no", "false"):
        return {"requires_attunement": words.lower() in ("yes", "true")}
    if words.lower() == "optional":
        return {"attunement_detail": "optional attunement"}
    if words:
        return {"requires_attunement": True, "attunement_detail": f"requires attunement {words}"}
    if isinstance(value, bool) or kind_of(subject.obj) == "magic-item":
        return {"requires_attunement": value is True}
    return {}


def _weapon(subject: Subject) -> Data:
    obj = subject.obj
    code = text(obj.get("dmgType"))
    match = _RANGE.fullmatch(text(obj.get("range")))
    names = [_property(subject, each) for each in listed(obj.get("property"))]
    return {
        "damage_dice": subject.words("dmg1"),
        "damage_type": DAMAGE.get(code.upper(), code.lower()),
        "range": int(match[1]) if match else None,
        "long_range": int(match[2]) if match and match[2] else None,
        "properties": [found for found in names if found["name"]],
        "mastery": ", ".join(uid(each)[0] for each in listed(obj.get("mastery"))),
        "ammunition": uid(obj.get("ammoType"))[0],
    }


def _property(subject: Subject, value: object) -> Data:
    """A property by its name, with the larger die of a versatile weapon."""
    found = mapping(value)
    code = uid(found.get("uid") or value)[0]
    name = PROPERTIES.get(code.upper()) or subject.codes.item_properties.get(code) or code
    detail = subject.words("dmg2") if code.upper() == "V" else text(found.get("note"))
    return without_empty({"name": name.lower(), "detail": detail}) | ({"name": ""} if not name else {})


def _armor(obj: Object) -> Data:
    code = uid(obj.get("type"))[0].upper()
    value = number(obj.get("ac"))
    if value is None:
        return {}
    shown = f"+{text(value)}" if code == "S" else f"{text(value)}{ARMOR.get(code, ('', ''))[1]}"
    return {
        "armor_class": value,
        "ac_string": shown,
        "strength_required": number(obj.get("strength")),
        "stealth_disadvantage": True if obj.get("stealth") is True else None,
    }


def _bonus(obj: Object) -> int | None:
    found = [number(obj.get(key)) for key in ("bonusWeapon", "bonusAc", "bonusSpellAttack") if obj.get(key) is not None]
    return int(found[0]) if found and found[0] is not None else None


def _recharge(subject: Subject) -> str:
    """How many charges it regains, and when: "1d6 + 1 at dawn"."""
    when, count = subject.words("recharge"), subject.words("rechargeAmount")
    return (
        " at ".join(filter(None, (count, when))) if when in ("dawn", "dusk", "midnight") else f"{count} {when}".strip()
    )


def _price(obj: Object) -> float | None:
    """A price in gp: 5etools counts in copper pieces, and old files have words. 0 means that there is none."""
    value = obj.get("value")
    copper = number(value)
    if copper is not None:
        return copper / 100 if copper > 0 else None
    return gold(value) or None


def _requirements(subject: Subject) -> str:
    """What the base items of a generic variant must be, in words."""
    rows = [joined(_requirement(subject, each)) for each in listed(subject.value("requires"))]
    return capital(joined(rows, "or"))


def _requirement(subject: Subject, value: object) -> list[str]:
    told = []
    for key, wanted in mapping(value).items():
        code = uid(wanted)[0]
        if wanted is True:
            told.append(f"any {key}")
        elif key == "type":
            told.append(f"a {subject.codes.item_types.get(code) or TYPES.get(code, code)}")
        else:
            told.append(text(wanted) if key == "name" else f"{key} {text(wanted)}")
    return told


def _spells(value: object) -> list[str]:
    """Names of spells in a list, or in an object of lists by frequency."""
    found = mapping(value)
    if found:
        return [name for each in found.values() for name in _spells(each)]
    return [name for each in listed(value) if (name := uid(each)[0].partition("#")[0])]


def _contents(value: object) -> list[str]:
    """What is in a pack: "torch", "rations (1 day) (5)"."""
    told = []
    for each in listed(value):
        found = mapping(each)
        name = text(found.get("special")) or uid(found.get("item") or each)[0]
        count = number(found.get("quantity"))
        price = coins(found.get("value")) if not name else ""
        told.append(f"{name} ({text(count)})" if name and count and count > 1 else name or price)
    return [each for each in told if each]


# --- fields ----------------------------------------------------------------------------------------------------------


def fields(data: Object) -> dict[str, object]:
    """The raw filter values of an item that `item` has made."""
    return (equipment.read_magic if data.get("kind") == "magic-item" else equipment.read)(data)
