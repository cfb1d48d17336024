"""Weapons, armour, magic items and other equipment, as in the tables of the books."""

from __future__ import annotations

from collections.abc import Iterator

from lorekeeper import records
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.records import Item
from lorekeeper.records.items import DERIVED
from lorekeeper.records.parts import Cost, Property, Weight
from lorekeeper.records.values import amount
from lorekeeper.render.origin import origin
from lorekeeper.render.page import capital, italic, labelled, section
from lorekeeper.render.prose import inline, prose
from lorekeeper.render.source import Source, without_title

COINS = ((1, "gp"), (0.1, "sp"), (0.01, "cp"))
"""Coins and what they are worth in gold pieces."""


def item(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of an item."""
    read = records.item(source)
    source.skip("distance_unit", *DERIVED)
    yield italic(_kind(entity, read), _attunement(read))
    lines = (
        ("Armor Class", inline(read.armor_class.text)),
        ("Strength", amount(read.strength) if read.strength else ""),
        ("Stealth", "disadvantage" if read.loud else ""),
        ("Damage", _damage(read)),
        ("Range", _range(read)),
        ("Properties", ", ".join(filter(None, map(_property, read.properties)))),
        ("Bonus", inline(read.bonus.text)),
        ("Charges", inline(read.charges.text)),
        ("Cost", _cost(read.cost)),
        ("Unit", inline(read.unit)),
        ("Weight", _weight(read.weight)),
        ("Variants", inline(read.variants)),
    )
    yield "\n".join(filter(None, (labelled(source, lines), origin(source))))
    text = prose(read.text)
    yield "" if repeats(text, entity.name) else text
    yield section("Properties", *dict.fromkeys(map(_explained, read.properties)))


def _kind(entity: Entity, item: Item) -> str:
    """Category and rarity: "Martial weapon", "Armor (medium breastplate), rare"."""
    category = inline(item.category) or entity.kind
    if category.lower() == "weapon":
        category = f"{item.training} weapon".strip()
    own = " ".join(
        dict.fromkeys(inline(part).lower() for part in (item.armor, item.base) if part != entity.name)
    ).strip()
    if own and own not in category.lower():
        category = f"{category} ({own})"
    parts = (capital(category.replace("-", " ")), inline(item.rarity), inline(item.size))
    return ", ".join(filter(None, parts))


def repeats(text: str, name: str) -> bool:
    """Whether a text has nothing but an article and the name of its entry: "A longsword"."""
    return bool(name) and fold(text).partition(" ")[2] == fold(name)


def _attunement(item: Item) -> str:
    if item.attuned_by:
        return f"({inline(item.attuned_by[:1].lower() + item.attuned_by[1:])})"
    return "(requires attunement)" if item.attunement else ""


def _damage(item: Item) -> str:
    damage = item.damage
    rolled = inline(damage.dice) or ("" if damage.average is None else amount(damage.average))
    return f"{rolled} {inline(damage.type).lower()}".strip() if rolled not in ("", "0") else ""


def _range(item: Item) -> str:
    """ "20/60 ft.": the normal and the long range."""
    near, far = item.range.feet, item.long_range
    if not near:
        return inline(item.range.text)
    return f"{amount(near)}/{amount(far)} ft." if far else f"{amount(near)} ft."


def _property(found: Property) -> str:
    """ "Versatile (1d10)", "Topple (mastery)"."""
    told = ", ".join(filter(None, (inline(found.detail), inline(found.kind))))
    return f"{inline(found.name)} ({told})" if found.name and told else inline(found.name)


def _explained(found: Property) -> str:
    """What a property means, where its source says so."""
    name = inline(found.name)
    return f"**{name}.** {without_title(prose(found.text), name)}" if found.text else ""


def _cost(cost: Cost) -> str:
    """A price in the largest coin that has no fraction: "15 gp", "5 sp"."""
    if cost.text:
        return "" if cost.text.startswith("0 ") else inline(cost.text)
    price = cost.gold
    for worth, coin in COINS:
        count = round(price / worth, 6) if price else 0.5
        if count == int(count):
            return f"{amount(count)} {coin}"
    return f"{amount(price)} gp" if price else ""


def _weight(weight: Weight) -> str:
    return inline(weight.text) or (f"{amount(weight.number)} {inline(weight.unit)}." if weight.number else "")
