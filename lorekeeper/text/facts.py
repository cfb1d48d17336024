"""The key facts of an entry in one line: a table of facts for each entity type."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lorekeeper.entities import Entity, Value

Fact = Callable[[Entity], str]
"""One fact of an entry in a few words, "" if it is unknown."""

SEPARATOR = " · "


def facts(entity: Entity) -> str:
    """The key facts in one line, such as "level 3 evocation · action · 150 ft · sorcerer, wizard"."""
    parts = (fact(entity) for fact in FACTS.get(entity.type, OTHER_FACTS))
    return SEPARATOR.join(part for part in parts if part)


def lead(entity: Entity) -> str:
    """What kind of thing an entry describes, in a few words: "large aberration", "level 3 evocation spell"."""
    fields = entity.fields
    match entity.type:
        case "spells" if fields.get("level") == 0:
            return _words(fields.get("school"), "cantrip")
        case "spells":
            return _words(_labelled("level", "level")(entity), fields.get("school"), "spell")
        case "creatures":
            return _words(fields.get("size"), fields.get("type"))
        case "equipment":
            return _words(fields.get("rarity"), fields.get("category") or entity.kind)
        case "character_options":
            return _words(fields.get("parent"), entity.kind)
        case _:
            return entity.kind


def format_rating(rating: float) -> str:
    """Challenge rating as printed in books: 0.125 is "1/8"."""
    return {0.125: "1/8", 0.25: "1/4", 0.5: "1/2"}.get(rating, f"{rating:g}")


def _field(name: str) -> Fact:
    """The value of a field, a list with commas."""
    return lambda entity: _text(entity.fields.get(name))


def _labelled(label: str, name: str) -> Fact:
    """The value of a field behind a label, zero included."""
    return lambda entity: "" if entity.fields.get(name) is None else f"{label} {entity.fields[name]}"


def _flag(name: str, label: str) -> Fact:
    """The label if a field is true."""
    return lambda entity: label if entity.fields.get(name) else ""


def _amount(name: str, unit: str) -> Fact:
    """The number of a field with its unit, "" for zero."""

    def fact(entity: Entity) -> str:
        value = entity.fields.get(name)
        return f"{value:,g} {unit}" if isinstance(value, (int, float)) and value else ""

    return fact


def _spell(entity: Entity) -> str:
    return lead(entity).removesuffix(" spell")


def _challenge_rating(entity: Entity) -> str:
    rating = entity.fields.get("challenge_rating")
    return f"CR {format_rating(rating)}" if isinstance(rating, (int, float)) else ""


def _damage(entity: Entity) -> str:
    """Dice and type of a weapon's damage."""
    weapon = entity.data.get("weapon")
    dice = entity.data.get("damage_dice") or (weapon.get("damage_dice") if isinstance(weapon, Mapping) else None)
    return _words(dice, entity.fields.get("damage_type"))


def _words(*parts: object) -> str:
    return " ".join(str(part) for part in parts if part not in (None, ""))


def _text(value: Value | None) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")


FACTS: dict[str, tuple[Fact, ...]] = {
    "spells": (
        _spell,
        _field("casting_time"),
        _amount("range", "ft"),
        _flag("concentration", "concentration"),
        _flag("ritual", "ritual"),
        _field("damage_types"),
        _field("classes"),
    ),
    "creatures": (
        _challenge_rating,
        lead,
        _field("alignment"),
        _labelled("AC", "armor_class"),
        _labelled("HP", "hit_points"),
    ),
    "equipment": (
        lead,
        _flag("requires_attunement", "attunement"),
        _damage,
        _amount("cost", "gp"),
        _amount("weight", "lb"),
        _field("properties"),
    ),
    "character_options": (lead, _labelled("hit die", "hit_die")),
    "documents": (_field("publisher"), _field("game_system"), _field("licenses")),
}
"""The facts of each entity type, in order."""

OTHER_FACTS: tuple[Fact, ...] = (lead, _field("parent"))
"""The facts of a type without a table of its own."""
