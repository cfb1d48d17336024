"""Filter values of weapons, armour, magic items and gear, from the values of their source and from their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.printable import has_controls
from lorekeeper.records.grammar import plain, sentences
from lorekeeper.records.values import first_number, flag, gold, local_key, ref_key
from lorekeeper.terms import RARITIES

Fields = dict[str, Any]
Object = Mapping[str, Any]

# --- categories ------------------------------------------------------------------------------------------------------

_SINGULAR = {
    "weapons": "weapon", "armors": "armor", "armour": "armor", "tools": "tool", "potions": "potion", "rings": "ring",
    "scrolls": "scroll", "wands": "wand", "rods": "rod", "staves": "staff", "shields": "shield", "poisons": "poison",
    "wondrous items": "wondrous item",
}  # fmt: skip

_WEIGHTS = ("light", "medium", "heavy")


def categories(source: str | None, *more: str | None) -> list[str] | None:
    """Every category an item belongs to, the source's own first.

    A part that names a wider group adds it: "Martial Melee Weapons" is also a "martial weapon", a "melee weapon" and a
    "weapon"; "light" armour is "light armor" and "armor".
    """
    found: list[str] = []
    for words in (fold(text) for text in (source, *more) if text and text.strip()):
        found += [words, _singular(words), *_wider(_singular(words))]
    return list(dict.fromkeys(found)) or None


def _singular(words: str) -> str:
    head, _, last = words.rpartition(" ")
    single = _SINGULAR.get(words) or _SINGULAR.get(last, last)
    return single if words in _SINGULAR or not head else f"{head} {single}"


def _wider(words: str) -> Iterable[str]:
    """The groups that a category with a qualifier belongs to."""
    *qualifiers, last = words.split()
    if last in ("weapon", "armor"):
        yield from (f"{qualifier} {last}" for qualifier in qualifiers if len(qualifiers) > 1)
        yield last
    elif words == "shield":
        yield "armor"


def weapon_categories(weapon: Object) -> list[str]:
    """As in "martial weapon" and "ranged weapon", from the flags and properties of API v2."""
    found = []
    if isinstance(simple := weapon.get("is_simple"), bool) and not weapon.get("is_improvised"):
        found.append("simple weapon" if simple else "martial weapon")
    if isinstance(simple, bool):
        found.append("ranged weapon" if _is_ranged(weapon) else "melee weapon")
    return found


_RANGED = frozenset({"dart", "net", "crossbow, heavy"})
"""Ranged weapons without ammunition, and one whose ammunition the source forgets."""


def _is_ranged(weapon: Object) -> bool:
    names = {property_name(entry).lower() for entry in weapon.get("properties") or []}
    return "ammunition" in names or str(weapon.get("name", "")).lower() in _RANGED


def armor_category(armor: Object) -> str | None:
    """ "medium armor", or "shield", which the source files under heavy armour."""
    if str(armor.get("name", "")).strip().lower() == "shield":
        return "shield"
    category = armor.get("category")
    if not isinstance(category, str) or not category:
        return None
    return f"{category} armor" if category.lower() in _WEIGHTS else category


# --- armour class, damage --------------------------------------------------------------------------------------------

SHIELD_BONUS = 2


def armor_class(armor: Object | None, category: str | None) -> int | None:
    """The base armour class of armour, the bonus of a shield; None for everything else."""
    values = armor or {}
    if fold(category or "") == "shield":
        return int(first_number(values.get("plus_flat_mod")) or SHIELD_BONUS)
    base = first_number(_first(values, "ac_base", "base_ac"))
    return int(base) if base else None


def leading_number(text: str) -> int | None:
    """14 of "14 + Dex modifier (max 2)"; None if a text does not begin with a number."""
    match = re.match(r"\s*(\d{1,3})\b", text)
    return int(match[1]) if match else None


_DICE = re.compile(r"(?P<count>\d{1,3})(?:d(?P<sides>\d{1,4}))?(?: ?(?P<sign>[+-]) ?(?P<more>\d{1,4}))?")


def damage(dice: object) -> float | None:
    """The average of damage dice: 7 of "2d6", 3.5 of "1d6", 1 of "1". None if it is no roll, or 0, which stands for none."""
    match = _DICE.fullmatch(dice.strip().lower()) if isinstance(dice, str) else None
    if match is None:
        return float(dice) if isinstance(dice, (int, float)) and not isinstance(dice, bool) and dice else None
    average = int(match["count"]) * ((int(match["sides"]) + 1) / 2 if match["sides"] else 1)
    return (average + int(f"{match['sign']}{match['more']}") if match["more"] else average) or None


_SUITS = {
    "light": {"padded": 11, "leather": 11, "studded leather": 12},
    "medium": {"hide": 12, "chain shirt": 13, "scale mail": 14, "breastplate": 14, "half plate": 15},
    "heavy": {"ring mail": 14, "chain mail": 16, "splint": 17, "plate": 18},
}
"""Suits of armour by weight, each with its base armour class."""

_SUIT = {name: {"category": weight, "ac_base": ac} for weight, suits in _SUITS.items() for name, ac in suits.items()}
_SUIT_NAME = re.compile(rf"\b(?:{'|'.join(sorted(_SUIT, key=len, reverse=True))}|shield)\b")


def suit(name: str) -> Object | None:
    """The kind of armour that the name of a magic one says, as the list of armour has it: "Scale Mail of Warding"."""
    match = _SUIT_NAME.search(fold(name))
    return {"name": match[0], **_SUIT.get(match[0], {})} if match else None


# --- what the text says ----------------------------------------------------------------------------------------------

_NAMED_BONUS = re.compile(r"\+(?P<bonus>[1-3])\b")
_BONUS = re.compile(
    r"\b(?:have|has|gain|gains|grants?|receive|receives|provides?|with|get|gets|confers?)(?: you)? (?:an? )?\+(?P<bonus>[1-3]) "
    r"(?:bonus )?(?:to|on)(?: the| your| all| both| any)? (?:attack|damage|ac\b|armor class|spell attack|saving throws? and|ranged)"
)
_VARIES = re.compile(r"\+1\b.{0,40}\+2\b|determined by (?:the|this) \w+'s rarity", re.DOTALL)


def bonus(name: str, text: str) -> int | None:
    """The +1 to +3 of a magic item: of its name, else the lasting one to attacks, damage or AC that its text gives."""
    named = _NAMED_BONUS.findall(name)
    if named:
        return int(named[0]) if len(set(named)) == 1 else None
    for sentence in sentences(text):
        match = _BONUS.search(sentence)
        if match and not _VARIES.search(sentence):
            return int(match["bonus"])
    return None


_CHARGES = re.compile(
    r"\b(?:has|have|with|holds?|contains?|having|starts? with|up to|maximum of|total of|of its) (?:a maximum of |up to |only )?"
    r"(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty)"
    r"(?:d(?P<sides>\d{1,3})(?: ?(?P<sign>[+-]) ?(?P<more>\d{1,3}))?)? (?:\w+ )?charges?\b(?! remaining| left)"
)
_WORDS = {
    word: n
    for n, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {"a": 1, "an": 1, "twenty": 20}  # fmt: skip


def charges(text: str) -> int | None:
    """The most charges an item can have, 9 if it has 1d8 + 1; None if it has none."""
    match = _CHARGES.search(text)
    if match is None:
        return None
    count = int(match["count"]) if match["count"].isdigit() else _WORDS[match["count"]]
    most = count * int(match["sides"] or 1)
    return most + int(f"{match['sign']}{match['more']}") if match["more"] else most


_CURSED = re.compile(
    r"(?:^|[\n.|] ?)\W{0,3}curse(?:d item)?\W{0,3}(?=[.: \n])(?! (?:of|lasts|is))"
    r"|\b(?:this|the) (?:\w+ ){1,3}(?:is|are) cursed\b|\bcursed (?:item|weapon|armor|ring|sword|shield|object)\b"
    r"|\battuning to (?:it|(?:this|the) \w+) curses you\b|\byou (?:are|remain) cursed\b|\b(?:extends|result of) the curse\b"
)


def cursed(text: str) -> bool:
    """Whether the item curses its owner."""
    return _CURSED.search(text) is not None


_ATTUNEMENT = re.compile(
    r"\b(?:attune|attunes|attuned|attuning) to (?:it|them|this|the [a-z']+)\b(?! of)|\battunement to it\b"
)


def requires_attunement(stated: object, text: str) -> bool | None:
    """What the source states, corrected by a text that speaks of being attuned to the item."""
    if isinstance(stated, str):
        stated = "attunement" in stated.lower()
    if stated is False and _ATTUNEMENT.search(text):
        return True
    return stated if isinstance(stated, bool) else None


_RARITY = re.compile(r"\b(?:uncommon|common|very rare|rare|legendary|artifact)\b")


def rarity(value: str | None) -> str | None:
    """One of `RARITIES`, or "varies" where a source names several or none of them; as it is if it is another word."""
    words = fold(value or "")
    if not words or words in RARITIES:
        return words or None
    named = set(_RARITY.findall(words))
    return "varies" if len(named) > 1 or "varies" in words or words.startswith("rarity by") else words


def price(value: object) -> float | None:
    """A price in gp. 0 means that the source has no price: nothing that it sells is free."""
    return gold(value) or None


def magic(name: str, text: str, stated_attunement: object) -> Fields:
    """What the name and text of a magic item say."""
    words, own = plain(text), plain(own_part(name, text))
    return {
        "bonus": bonus(name, own),
        "charges": charges(own),
        "cursed": cursed(own) if own.strip() else None,
        "requires_attunement": requires_attunement(stated_attunement, words),
    }


_LABEL = re.compile(r"\((?P<label>[^()]+)\)$")
_HEADED = re.compile(rf"\W*[A-Z][\w'’* -]+ \((?:{'|'.join(RARITIES)})\b", re.IGNORECASE)


def own_part(name: str, text: str) -> str:
    """What a text that several items share says of one: "Coral Shark (Rare). ..." of a Figurine (Coral Shark); else all of it."""
    label = _LABEL.search(name)
    paragraphs = text.split("\n")
    heads = [at for at, paragraph in enumerate(paragraphs) if _HEADED.match(paragraph)] if label else []
    for at, end in zip(heads, [*heads[1:], None], strict=False):
        if label and fold(paragraphs[at]).startswith(f"{fold(label['label'])} "):
            return "\n".join(paragraphs[at:end])
    return text


def own_fields(obj: Object) -> Fields:
    """What follows for an item of our own JSON shape, from its description and from the starter's keys."""
    text = obj.get("description")
    values = magic("", text, None) if obj.get("kind") == "magic-item" and isinstance(text, str) else {}
    return {**values, "damage": damage(obj.get("damage_dice"))}


def restated(obj: Object) -> Fields:
    """The values that an object of our own JSON shape gives in words: "14 + Dex modifier" is 14, "light armor" is armour."""
    values: Fields = {}
    if isinstance(obj.get("armor_class"), str):
        values["armor_class"] = leading_number(obj["armor_class"])
    category, names = obj.get("category"), obj.get("properties")
    if isinstance(category, str) and category.strip() and not has_controls(category):
        of_armor = [n for n in names if isinstance(n, str) and n.endswith(" armor")] if isinstance(names, list) else []
        values["category"] = categories(category, *of_armor)
    return values


# --- objects of Open5e -------------------------------------------------------------------------------------------------


def _price_and_weight(o: Object) -> Fields:
    """A price and a weight; 0 means that the source has none, as of an airship."""
    return {"cost": price(o.get("cost")), "weight": first_number(o.get("weight")) or None}


def _before_bracket(text: str) -> str:
    return text.partition("(")[0].rstrip()


def _of_weapon(o: Object) -> Fields:
    names = [property_name(entry) for entry in o.get("properties") or []]
    return {
        "damage_type": local_key(o.get("damage_type")),
        "damage": damage(o.get("damage_dice")),
        "properties": [name for name in names if name],
    }


def property_name(entry: object) -> str:
    """The name of a weapon's property in any of its shapes, without details: "range" of "range (20/60)"."""
    ref = entry.get("property", entry) if isinstance(entry, Mapping) else entry
    name = (ref.get("name") if isinstance(ref, Mapping) else ref_key(ref)) or ""
    return _before_bracket(name) if name.endswith(")") else name


def _of_armor(o: Object) -> Fields:
    category = armor_category(o)
    properties = [category] if category else []
    if flag(_first(o, "grants_stealth_disadvantage", "stealth_disadvantage")):
        properties.append("stealth disadvantage")
    return {"properties": properties, "armor_class": armor_class(o, category)}


def item_fields(o: Object) -> Fields:
    """Filter values of an item, which may be a weapon or armour by what is nested in it."""
    category = local_key(o.get("category")) or _before_bracket(o.get("type") or "") or None
    weapon, armor = o.get("weapon"), o.get("armor")
    if category == "armor" and not armor and o.get("rarity"):
        armor = suit(str(o.get("name") or ""))
    nested: Fields = {"armor_class": armor_class(None, category)}
    more = [name for name, value in (("weapon", weapon), ("armor", armor)) if value]
    if isinstance(weapon, Mapping):
        nested = _of_weapon(weapon)
        more += weapon_categories(weapon)
    elif isinstance(armor, Mapping):
        nested = _of_armor(armor)
        more += filter(None, [armor_category(armor)])
    return {"category": categories(category, *more), **_price_and_weight(o), **nested}


def item_kind(o: Object) -> str:
    """The kind of an item that is not magic."""
    return next((kind for kind in ("weapon", "armor") if o.get(kind)), "gear")


def magic_item_fields(o: Object) -> Fields:
    """Filter values of a magic item: an item, and what its rarity, name and text say."""
    text = o["desc"] if isinstance(o.get("desc"), str) else ""
    return {
        **item_fields(o),
        "rarity": rarity(local_key(o.get("rarity"))),
        **magic(str(o.get("name") or ""), text, o.get("requires_attunement")),
    }


def weapon_fields(o: Object) -> Fields:
    """Filter values of an entry of the list of weapons."""
    category = categories(_first(o, "category") or "weapon", *weapon_categories(o))
    return {"category": category, **_price_and_weight(o), **_of_weapon(o)}


def armor_fields(o: Object) -> Fields:
    """Filter values of an entry of the list of armour, whose category may lack the word."""
    category = armor_category(o)
    source = "armor" if category != _first(o, "category") else category
    return {"category": categories(source, category), **_price_and_weight(o), **_of_armor(o)}


def service_fields(o: Object) -> Fields:
    """Filter values of a service."""
    return {"category": "service", **_price_and_weight(o)}


# --- doubles ---------------------------------------------------------------------------------------------------------

_ITEM_SLUGS = {name: f"{name}-armor" for name in ("hide", "leather", "padded", "plate", "splint", "studded-leather")}
"""Slugs of the lists of armour that the list of items calls otherwise."""


def table_slug(slug: str) -> str:
    """The slug under which the list of items has an object of the lists of weapons and armour."""
    return _ITEM_SLUGS.get(slug, slug)


def is_table_row(entity: Entity) -> bool:
    """Whether an entry is a row of API v2's tables of weapons and armour, without text, price and weight.

    The list of items has the same things whole, under the same identity. A row is used only where that is missing.
    """
    data = entity.data
    values = {"damage_dice", "ac_base"} & data.keys()
    return entity.type == "equipment" and entity.source_api == "open5e-v2" and bool(values) and "desc" not in data


def _first(obj: Object, *keys: str) -> Any:
    return next((obj[k] for k in keys if obj.get(k) not in (None, "")), None)
