"""Equipment of 5etools in the shape in which items are kept, and the filter values of that shape."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lorekeeper.normalize import equipment
from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.fivetools.options import thing
from lorekeeper.normalize.fivetools.subject import Subject
from lorekeeper.normalize.fivetools.values import (
    Data,
    Object,
    at,
    capital,
    commas,
    listed,
    mapping,
    number,
    paragraphs,
    spell_names,
    text,
    uid,
    word,
)
from lorekeeper.records.values import first_number, gold

_RANGE = re.compile(r"\s*(\d{1,5})\s*(?:/\s*(\d{1,5}))?.*", re.DOTALL)


def item(subject: Subject) -> Data:
    """An item in the shape in which items are kept; of a generic variant, what its items get."""
    if inherits := mapping(subject.obj, "inherits"):
        subject = replace(subject, obj={**subject.obj, **inherits})
    obj, kind = subject.obj, _kind(subject.obj)
    rarity = text(obj, "rarity").strip().lower()
    distance, code = _RANGE.fullmatch(text(obj, "range")), text(obj, "dmgType")
    near, far = distance.groups() if distance else (None, None)
    properties = [found for each in listed(obj, "property") if (found := _property(subject, each))]
    when, regained = subject.words("recharge"), subject.words("rechargeAmount")
    asked = (_requirement(subject, each) for each in listed(obj, "requires"))
    between = " at " if regained and when in ("dawn", "dusk", "midnight") else " "
    return {
        "category": _category(subject),
        "kind": kind,
        "tier": subject.words("tier"),
        "rarity": "" if rarity in ("none", "unknown", "unknown (magic)") else rarity,
        **_attunement(subject, is_magic=kind == "magic-item"),
        "damage_type": word("damage", code.upper(), code.lower()),
        "range": number(near),
        "long_range": number(far),
        "properties": properties,
        **_armor(obj),
        "bonus": number(obj, "bonusWeapon", "bonusAc", "bonusSpellAttack"),
        "bonuses": commas(*(f"{told} to {what}" for key, what in word["bonuses"].items() if (told := text(obj, key)))),
        "charges": number(obj, "charges") or subject.words("charges"),
        "recharge": f"{regained}{between}{when}".strip(),
        "spells": ", ".join(spell_names(obj.get("attachedSpells"))),
        "cost": _price(obj),
        "weight": first_number(obj.get("weight")),
        **subject.stated("values of items"),
        "made_from": capital(joined(map(joined, asked), "or")) if inherits else "",
        "contents": commas(*(thing(subject.reader, each) for each in listed(obj, "packContents"))),
        "desc": paragraphs(subject.fluff(), subject.prose("entries", "additionalEntries")),
    }


def _kind(obj: Object) -> str:
    """The kind of an item: one with a rarity, or that must be attuned to, is magic."""
    code = uid(obj.get("type"))[0].upper()
    rarity = text(obj, "rarity").lower()
    if rarity not in ("", "none", "unknown") or obj.get("reqAttune") or obj.get("wondrous"):
        return "magic-item"
    if code in ("M", "R") or obj.get("weaponCategory") or obj.get("dmg1"):
        return "weapon"
    return "armor" if code in word["armor"] or code == "S" else "gear"


def _category(subject: Subject) -> list[str]:
    """What kind of item it is, as narrow as its source says: "wondrous item", "martial melee weapon"."""
    code = uid(subject.obj.get("type"))[0]
    named = subject.codes["item types"].get(code) or word("item types", code.upper(), code.lower())
    if training := subject.words("weaponCategory"):
        named = f"{training} {named if named in ('melee weapon', 'ranged weapon') else 'weapon'}"
    wondrous = "wondrous item" if subject.obj.get("wondrous") is True else ""
    return [name for name in (wondrous, named) if name and code.upper() != "GV"]


def _attunement(subject: Subject, *, is_magic: bool) -> Data:
    """Whether it must be attuned to, and by whom; None where it may be."""
    value = subject.obj.get("reqAttune")
    words = subject.reader.plain(value)
    said = {"yes": True, "true": True, "no": False, "false": False}.get(words.lower(), value)
    if words.lower() == "optional":
        return {"attunement_detail": "optional attunement"}
    if isinstance(said, bool) or not words:
        return {"requires_attunement": said is True} if isinstance(said, bool) or is_magic else {}
    return {"requires_attunement": True, "attunement_detail": f"requires attunement {words}"}


def _property(subject: Subject, value: object) -> Data:
    """A property by its name, with the larger die of a versatile weapon; {} for one without a name."""
    code = uid(at(value, "uid") or value)[0]
    name = word("properties", code.upper(), subject.codes["properties"].get(code) or code)
    detail = subject.words("dmg2") if code.upper() == "V" else text(value, "note")
    return without_empty({"name": name.lower(), "detail": detail}) if name else {}


def _armor(obj: Object) -> Data:
    code, value = uid(obj.get("type"))[0].upper(), number(obj, "ac")
    if value is None:
        return {}
    return {
        "armor_class": value,
        "ac_string": f"+{value}" if code == "S" else f"{value}{word('armor', code, '')}",
    }


def _price(obj: Object) -> float | None:
    """A price in gp: 5etools counts in copper pieces, and old files have words. 0 means that there is none."""
    copper = number(obj, "value")
    if copper is None:
        return gold(obj.get("value")) or None
    return copper / 100 if copper > 0 else None


def _requirement(subject: Subject, value: object) -> Iterator[str]:
    """What a base item of a generic variant must be, in words."""
    for key, wanted in mapping(value).items():
        if wanted is True:
            yield f"any {key}"
        elif key == "type":
            yield f"a {subject.word('item types', uid(wanted)[0])}"
        else:
            yield text(wanted) if key == "name" else f"{key} {text(wanted)}"


def fields(data: Object) -> Data:
    """The raw filter values of an item that `item` has made."""
    return (equipment.read_magic if data.get("kind") == "magic-item" else equipment.read)(data)
