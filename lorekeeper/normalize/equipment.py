"""Filter values of weapons, armour, magic items and gear, from the values of their source and from their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.normalize.reading import Words
from lorekeeper.play.dice import dice_of
from lorekeeper.printable import has_controls
from lorekeeper.records import Item, Source, item
from lorekeeper.records.grammar import counted, plain, sentences
from lorekeeper.records.items import SHIELD
from lorekeeper.records.parts import ArmorClass
from lorekeeper.records.values import number
from lorekeeper.terms import RARITIES

Fields = dict[str, Any]
Object = Mapping[str, Any]

# --- categories ------------------------------------------------------------------------------------------------------

word = Words(__file__)

_WEIGHTS = ("light", "medium", "heavy")


def categories(*named: str | None) -> list[str] | None:
    """Every category an item belongs to, the source's own first.

    A part that names a wider group adds it: "Martial Melee Weapons" is also a "martial weapon", a "melee weapon" and a
    "weapon"; "light" armour is "light armor" and "armor".
    """
    found: list[str] = []
    for words in (fold(text) for text in named if text and text.strip()):
        found += [words, _singular(words), *_wider(_singular(words))]
    return list(dict.fromkeys(found)) or None


def _singular(words: str) -> str:
    head, _, last = words.rpartition(" ")
    return word("singular", words, f"{head} {word('singular', last)}".lstrip())


def _wider(words: str) -> Iterable[str]:
    """The groups that a category with a qualifier belongs to."""
    *qualifiers, last = words.split()
    if last in ("weapon", "armor"):
        yield from (f"{qualifier} {last}" for qualifier in qualifiers if len(qualifiers) > 1)
        yield last
    elif words == "shield":
        yield "armor"


def _of_item(item: Item) -> list[str] | None:
    """The categories of an item: as in "martial weapon" and "ranged weapon", or "medium armor"."""
    more = list(item.forms)
    if item.training:
        more += [] if item.improvised else [f"{item.training} weapon"]
        more += ["ranged weapon" if _is_ranged(item) else "melee weapon"]
    return categories(*item.categories, *more, armor_category(item))


_RANGED = frozenset({"dart", "net", "crossbow, heavy"})
"""Ranged weapons without ammunition, and one whose ammunition the source forgets."""


def _is_ranged(weapon: Item) -> bool:
    names = {each.word.lower() for each in weapon.properties}
    return "ammunition" in names or weapon.base.lower() in _RANGED


def armor_category(item: Item) -> str:
    """ "medium armor", or "shield", which the source files under heavy armour."""
    return f"{item.armor} armor" if item.armor.lower() in _WEIGHTS else item.armor


# --- armour class, damage --------------------------------------------------------------------------------------------

SHIELD_BONUS = 2


def armor_class(item: Item) -> int | None:
    """The base armour class of armour, the bonus of a shield; None for everything else."""
    if SHIELD in (item.armor, *map(fold, item.categories[:1])):
        return int(item.armor_class.bonus or SHIELD_BONUS)
    return int(item.armor_class.base) if item.armor_class.base else None


def leading_number(text: str) -> int | None:
    """14 of "14 + Dex modifier (max 2)"; None if a text does not begin with a number."""
    match = re.match(r"\s*(\d{1,3})\b", text)
    return int(match[1]) if match else None


def damage(dice: object) -> float | None:
    """The average of damage dice: 7 of "2d6", 3.5 of "1d6", 1 of "1". None if it is no roll, or 0, which stands for none."""
    found = dice_of(dice) if isinstance(dice, str) else None
    return ((found.least + found.most) / 2 if found else number(dice)) or None


_SUIT = word["suits"]
"""Suits of armour, each with its weight and its base armour class."""

_SUIT_NAME = re.compile(rf"\b(?:{'|'.join(sorted(_SUIT, key=len, reverse=True))}|shield)\b")


def suit(item: Item) -> Item:
    """A magic item as the kind of armour that its name says: "Scale Mail of Warding" is medium armour."""
    match = _SUIT_NAME.search(fold(item.name))
    if match is None or item.forms or not item.rarity or item.categories != ("armor",):
        return item
    weight, base = _SUIT.get(match[0], (SHIELD, None))
    return replace(item, forms=("armor",), armor=weight, armor_class=ArmorClass(base=base))


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


def charges(text: str) -> int | None:
    """The most charges an item can have, 9 if it has 1d8 + 1; None if it has none."""
    match = _CHARGES.search(text)
    if match is None:
        return None
    most = counted(match["count"]) * int(match["sides"] or 1)
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


# --- filter values -----------------------------------------------------------------------------------------------------


_LOUD = "stealth disadvantage"


def read(obj: Object) -> Fields:
    """The filter values of an item in the shape of any source; None where nothing is known."""
    return fields(item(Source(obj)))


def read_magic(obj: Object) -> Fields:
    """The same of a magic item, whose name and text say more."""
    return magic_fields(item(Source(obj)))


def fields(item: Item) -> Fields:
    """The filter values of an item. A price or weight of 0 means that the source has none, as of an airship."""
    item = suit(item)
    names = [each.word for each in item.properties]
    return {
        "category": _of_item(item),
        "rarity": rarity(item.rarity),
        "requires_attunement": item.attunement,
        "cost": item.cost.gold or None,
        "weight": item.weight.number or None,
        "damage_type": item.damage.type or None,
        "damage": damage(item.damage.dice),
        "properties": [name for name in (*names, armor_category(item), _LOUD * item.loud) if name]
        or ([] if item.forms else None),
        "armor_class": armor_class(item),
        "bonus": item.bonus.value,
        "charges": item.charges.value,
        "cursed": item.cursed,
    }


def magic_fields(item: Item) -> Fields:
    """The filter values of a magic item: what the source states comes before what its name and text say."""
    stated = {name: value for name, value in fields(item).items() if value is not None}
    told = magic(item.name, item.text, item.attunement)
    return {**told, **stated, "requires_attunement": told["requires_attunement"]}


def item_kind(o: Object) -> str:
    """The kind of an item of the list of those that are not magic, as far as no rarity says that it is."""
    read = item(Source(o))
    return next(iter(read.forms), "magic-item" if read.rarity else "gear")


def weapon_row(o: Object) -> Fields:
    """Filter values of an entry of the list of weapons: an item that is nothing else."""
    return read({"category": "weapon", **o, "weapon": o})


def armor_row(o: Object) -> Fields:
    """Filter values of an entry of the list of armour, whose category may lack the word."""
    kind = armor_category(item(Source({"armor": o})))
    return read({**o, "category": o.get("category") if kind == o.get("category") else "armor", "armor": o})


def service_fields(o: Object) -> Fields:
    """Filter values of a service."""
    return read({**o, "category": "service"})


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
