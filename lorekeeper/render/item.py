"""Weapons, armour, magic items and other equipment, as in the tables of the books."""

from __future__ import annotations

from collections.abc import Iterator

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.records.values import Object, amount, mapping, number
from lorekeeper.render.page import Line, capital, italic, labelled, line, section
from lorekeeper.render.source import Source, feature_text, words

NESTED = ("weapon", "armor")
"""Keys under which an item has the object of the weapon or armour that it is."""

FILLER_SIZE = "tiny"
"""The size that Open5e gives to everything from rings to plate armor."""

DERIVED = ("ac_add_dexmod", "ac_cap_dexmod", "ac_base", "plus_dex_mod", "plus_flat_mod", "plus_max")
"""Keys whose values are in others."""

COINS = ((1, "gp"), (0.1, "sp"), (0.01, "cp"))
"""Coins and what they are worth in gold pieces."""


def item(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of an item."""
    source.skip(*NESTED, "weight_unit", "distance_unit", "is_improvised", *DERIVED)
    parts = Source({**mapping(source.value("armor")), **mapping(source.value("weapon"))})
    yield italic(_kind(entity, source, parts), _attunement(source))
    yield "\n".join(part for part in (labelled(parts, OWN_LINES), labelled(source, LINES)) if part)
    yield _text(entity, source)
    explained = [*_explained(parts), *_explained(source)]
    yield section("Properties", *dict.fromkeys(explained))


def _kind(entity: Entity, source: Source, parts: Source) -> str:
    """Category and rarity: "Martial weapon", "Armor (medium breastplate), rare"."""
    category = words(_narrowest(source.value("category", "type"))) or entity.kind
    if category.lower() == "weapon":
        category = f"{_training(source) or _training(parts)} weapon".strip()
    own = " ".join(part for part in (parts.words("category"), parts.words("name")) if part and part != entity.name)
    if own and own.lower() not in category.lower():
        category = f"{category} ({own.lower()})"
    rarity = source.words("rarity") or " or ".join(map(words, source.items("rarities")))
    size = source.words("size").lower().replace(FILLER_SIZE, "")
    return ", ".join(part for part in (capital(category.replace("-", " ")), rarity.lower(), size) if part)


def _narrowest(categories: object) -> object:
    """A list of categories without those that others belong to: "weapon" next to "martial weapon"."""
    if not isinstance(categories, list):
        return categories
    names = [name for name in categories if isinstance(name, str)]
    return [entry for entry in categories if not any(other.endswith(f" {entry}") for other in names)]


def _training(source: Source) -> str:
    simple = source.value("is_simple") or source.raw("is_simple")
    return {True: "simple", False: "martial"}.get(simple, "") if isinstance(simple, bool) else ""


def _text(entity: Entity, source: Source) -> str:
    """The text of an item, but for one that only repeats its name: "A longsword"."""
    text = source.prose("desc", "description")
    return "" if repeats(text, entity.name) else text


def repeats(text: str, name: str) -> bool:
    """Whether a text has nothing but an article and the name of its entry."""
    return bool(name) and fold(text).partition(" ")[2] == fold(name)


def _attunement(source: Source) -> str:
    value = source.value("requires_attunement")
    detail = source.words("attunement_detail") or (words(value) if isinstance(value, str) else "")
    if detail:
        return f"({detail[:1].lower()}{detail[1:]})"
    return "(requires attunement)" if value is True else ""


def _damage(source: Source) -> str:
    dice, kind = source.words("damage_dice", "damage"), source.words("damage_type").lower()
    return f"{dice} {kind}".strip() if dice not in ("", "0") else ""


def _range(source: Source) -> str:
    """ "20/60 ft.": the normal and the long range."""
    near, far = source.number("range"), source.number("long_range")
    if not near:
        return source.words("range") if near is None else ""
    return f"{amount(near)}/{amount(far)} ft." if far else f"{amount(near)} ft."


def _properties(source: Source) -> str:
    """ "Versatile (1d10), Topple (mastery)"."""
    return ", ".join(part for part in map(_property, source.items("properties")) if part)


def _property(value: object) -> str:
    nested = mapping(value)
    inner = mapping(nested.get("property")) or nested
    name = words(inner.get("name")) if inner else words(value)
    notes = [words(nested.get("detail")), words(inner.get("type")).lower()]
    told = ", ".join(note for note in notes if note)
    return f"{name} ({told})" if name and told else name


def _explained(source: Source) -> Iterator[str]:
    """What each property of an item means, where its source says so."""
    for value in source.items("properties"):
        inner: Object = mapping(mapping(value).get("property")) or mapping(value)
        text = feature_text(inner) if inner else ""
        if text:
            yield f"**{words(inner.get('name'))}.** {text}"


def _armor_class(source: Source) -> str:
    return source.words("ac_display", "ac_string", "armor_class", "ac_base", "base_ac")


def _cost(source: Source) -> str:
    """A price in the largest coin that has no fraction: "15 gp", "5 sp"; "" for 0, which means that there is none."""
    value = source.value("cost")
    price = number(value)
    if price is None:
        return "" if words(value).startswith("0 ") else words(value)
    for worth, coin in COINS:
        count = round(price / worth, 6)
        if price and count == int(count):
            return f"{amount(count)} {coin}"
    return f"{amount(price)} gp" if price else ""


def _weight(source: Source) -> str:
    value, unit = source.value("weight"), source.words("weight_unit") or "lb"
    pounds = number(value)
    if pounds is None:
        return words(value)
    return f"{amount(pounds)} {unit.rstrip('.')}." if pounds else ""


def _stealth(source: Source) -> str:
    return "disadvantage" if source.flag("grants_stealth_disadvantage", "stealth_disadvantage") else ""


def _strength(source: Source) -> str:
    value = source.number("strength_score_required", "strength_requirement", "strength_required")
    return amount(value) if value else ""


OWN_LINES: tuple[Line, ...] = (
    ("Armor Class", _armor_class),
    ("Strength", _strength),
    ("Stealth", _stealth),
    ("Damage", _damage),
    ("Range", _range),
    ("Properties", _properties),
)
"""What a weapon or armour has, and a nested one."""

LINES: tuple[Line, ...] = (
    *OWN_LINES,
    line("Bonus", "bonus"),
    line("Charges", "charges"),
    ("Cost", _cost),
    line("Unit", "detail"),
    ("Weight", _weight),
    line("Variants", "variants"),
)
