"""The key facts of an entry in one line: a table of facts for each entity type."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from lorekeeper.entities import Entity, Value, made_once, remembered
from lorekeeper.records import Item, Option, Source, creatures, items, option, spells
from lorekeeper.records.grammar import damage, plain
from lorekeeper.repairs import with_values
from lorekeeper.text.notes import folder, session, tags
from lorekeeper.text.spelling import as_spelt

Fact = Callable[[Entity], str]
"""One fact of an entry in a few words, "" if it is unknown."""

SEPARATOR = " · "

MAX_RANGE = 30
"""Longest range in words that is shown among the facts, in characters."""

MAX_DURATION = 40
"""Longest duration that is shown among the facts, in characters."""


@made_once(str)
def facts(entity: Entity) -> str:
    """The key facts in one line, such as "level 3 evocation · action · 150 ft · instantaneous · fire · sorcerer, wizard"."""
    return _joined(as_spelt(entity), FACTS.get(entity.type, OTHER_FACTS))


@made_once(list)
def listed(entity: Entity) -> list[str]:
    """Its facts one by one, "" for each that is unknown, so that entries of a type can be compared."""
    return [fact(entity) for fact in FACTS.get(entity.type, ())]


def indexed_facts(entity: Entity) -> str:
    """The facts that are embedded and searched for by keyword.

    Existing libraries hold vectors of them, so they stay as they are when the facts that are shown change.
    """
    return _joined(entity, INDEXED_FACTS.get(entity.type, OTHER_FACTS))


def _joined(entity: Entity, table: Iterable[Fact]) -> str:
    return SEPARATOR.join(filter(None, [fact(entity) for fact in table]))


def lead(entity: Entity) -> str:
    """What kind of thing an entry describes, in a few words: "large aberration", "level 3 evocation spell"."""
    fields = entity.fields
    match entity.type:
        case "spells" if fields.get("level") == 0:
            return _words(fields.get("school"), "cantrip")
        case "spells":
            return _words(_LEVEL(entity), fields.get("school"), "spell")
        case "creatures":
            return _words(_SIZE(entity), _TYPE(entity))
        case "equipment":
            return _words(fields.get("rarity"), _CATEGORY(entity) or entity.kind)
        case "characters":
            return _words(_levels(entity), entity.kind if entity.kind != "character" else "")
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


def _first(name: str) -> Fact:
    """The first value of a list field, which is as the source says it; the others are parts of it."""

    def fact(entity: Entity) -> str:
        value = entity.fields.get(name)
        return _text(value[:1] if isinstance(value, tuple) else value)

    return fact


def _alignment(entity: Entity) -> str:
    """The alignment, as the source says it; the numbers in it are shares of those that have it, in percent."""
    return re.sub(r"(?<= )\d+\b", r"\g<0>%", _first("alignment")(entity))


def _labelled(label: str, name: str) -> Fact:
    """The value of a field behind a label, zero included."""
    return lambda entity: "" if entity.fields.get(name) is None else f"{label} {entity.fields[name]}"


def _figure(name: str, unit: str) -> Fact:
    """The same, also of millions."""

    def fact(entity: Entity) -> str:
        value = entity.fields.get(name)
        return f"{figure(value)} {unit}" if isinstance(value, (int, float)) and value else ""

    return fact


MILE = 5280
"""In feet."""


def figure(value: float) -> str:
    """A number with commas, and without zeros behind its point: 2,640 and 0.25."""
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def distance(feet: float) -> str:
    """A distance as the books write it: "150 ft", and whole miles as "500 miles"."""
    miles, rest = divmod(feet, MILE)
    if miles and not rest:
        return f"{figure(miles)} mile{'s' if miles > 1 else ''}"
    return f"{figure(feet)} ft"


def _distance(name: str) -> Fact:
    """The distance of a field in feet, "" for zero."""

    def fact(entity: Entity) -> str:
        value = entity.fields.get(name)
        return distance(value) if isinstance(value, (int, float)) and value else ""

    return fact


def _flag(name: str, label: str) -> Fact:
    """The label if a field is true."""
    return lambda entity: label if entity.fields.get(name) else ""


def _amount(name: str, unit: str) -> Fact:
    """The number of a field with its unit, "" for zero."""

    def fact(entity: Entity) -> str:
        value = entity.fields.get(name)
        return f"{value:,g} {unit}" if isinstance(value, (int, float)) and value else ""

    return fact


_LEVEL, _RANGE = _labelled("level", "level"), _distance("range")
_SIZE, _TYPE, _CATEGORY = _first("size"), _first("type"), _first("category")


def _spell(entity: Entity) -> str:
    return lead(entity).removesuffix(" spell")


def _challenge_rating(entity: Entity) -> str:
    rating = entity.fields.get("challenge_rating")
    return f"CR {format_rating(rating)}" if isinstance(rating, (int, float)) else ""


def range_of(entity: Entity) -> str:
    """The range as the source says it where that is no distance ("self", "sight", "special"), else in feet or miles."""
    text = spells.range_of(Source(entity.data)).text
    said = text.casefold() if len(text) <= MAX_RANGE else ""
    is_distance = any(char.isdigit() for char in said) and not said.startswith("self")
    return _RANGE(entity) if is_distance else said or _RANGE(entity)


def casting_time_of(entity: Entity) -> str:
    """The casting time as the source says it: of a reaction, with what it answers."""
    spell = spells.spell(Source(entity.data))
    return ", ".join(filter(None, (spell.casting_time.removeprefix("1 "), spell.trigger)))


def _duration(entity: Entity) -> str:
    """How long a spell lasts, and whether that takes concentration: "concentration, 1 minute"."""
    lasting = spells.duration_of(Source(entity.data)).text.casefold().replace("up to ", "")[:MAX_DURATION]
    if not entity.fields.get("concentration"):
        return lasting
    return lasting if "concentration" in lasting else ", ".join(part for part in ("concentration", lasting) if part)


def _speeds(entity: Entity) -> str:
    """The speeds of a creature that does more than walk: "climb 40 ft, fly 80 ft"."""
    speeds = creatures.speed_of(Source(with_values(entity))).feet
    moving = ((mode, speeds.get(mode)) for mode in ("burrow", "climb", "fly", "swim"))
    return ", ".join(f"{mode} {feet:g} ft" for mode, feet in moving if feet)


def _creature(entity: Entity) -> str:
    """Size and type, with both sizes of "medium or small humanoid"."""
    sizes = entity.fields.get("size")
    both = " or ".join(reversed(sizes)) if sizes == ("small", "medium") else _SIZE(entity)
    return _words(both, _TYPE(entity))


@remembered
def _item(entity: Entity) -> Item:
    return items.item(Source(with_values(entity)))


def _bonus(entity: Entity) -> str:
    """The bonus of a magic item whose name does not have it: "+1"."""
    bonus = entity.fields.get("bonus")
    return f"+{bonus}" if bonus and f"+{bonus}" not in entity.name else ""


def _armor_class(entity: Entity) -> str:
    """The armor class of an armour: "AC 14 + Dex (max 2)", "AC +2" for a shield, each "+ 1" with a bonus; else by its name."""
    value = _item(entity).armor_class.text.replace(" modifier", "") or _text(entity.fields.get("armor_class"))
    is_bonus = (amount := value.split(" + ")[0]).isdecimal() and int(amount) <= LEAST_ARMOR
    return f"AC {'+' * is_bonus}{value}" if value else ""


LEAST_ARMOR = 9
"""Highest bonus of a shield; the armor class of a suit is above it."""


def _damage(entity: Entity) -> str:
    """Dice and type of a weapon's damage."""
    return _words(_item(entity).damage.dice, entity.fields.get("damage_type"))


def _spell_damage(entity: Entity) -> str:
    """The types of a spell's damage: "fire"; of one type alone with the most dice that its text has of it: "8d6 fire".

    Where the text has them apart from the type, the source's own count.
    """
    types, stated = entity.fields.get("damage_types"), entity.data.get("damage_roll")
    if not isinstance(types, tuple) or len(types) != 1:
        return _text(types)
    text = spells.spell(Source(entity.data)).text
    dice = (each.dice for each in damage(plain(text)) if each.dice and each.type == types[0])
    is_told = isinstance(stated, str) and stated in text
    return _words(max(dice, key=_highest, default=stated if is_told else ""), types[0])


def _highest(dice: str) -> int:
    """The most that is rolled with dice such as "2d6 + 3", without what is added."""
    count, _, sides = dice.partition("d")
    return int(count) * int(re.match(r"\d*", sides)[0] or 0)  # type: ignore[index]


def _material(entity: Entity) -> str:
    """What the material components of a spell cost: "material 300 gp, consumed"."""
    cost, consumed = entity.fields.get("material_cost"), entity.fields.get("material_consumed")
    return (
        f"material {figure(cost)} gp{', consumed' if consumed else ''}"
        if isinstance(cost, (int, float)) and cost
        else ""
    )


def _strength(entity: Entity) -> str:
    """The Strength without which armor slows down: "Str 15"."""
    needed = _item(entity).strength
    return f"Str {figure(needed)}" if needed else ""


@remembered
def _read(entity: Entity) -> Option:
    return option(Source(with_values(entity)), entity.kind)


def _option(entity: Entity) -> str:
    """What a feat is, and what it asks for; of others what `lead` says."""
    kind = _read(entity).type
    return f"{kind.lower().removesuffix(' feat')} feat" if kind not in ("", UNSORTED) else lead(entity)


UNSORTED = "GENERAL"
"""What Open5e calls feats of books that have one kind of them only."""


def _prerequisite(entity: Entity) -> str:
    text = re.sub(r"^prerequisites?: *", "", _read(entity).prerequisite.strip(" *."), flags=re.IGNORECASE)
    return f"{text[:1].lower()}{text[1:]}" if text.startswith("Level") else text


def _saving_throws(entity: Entity) -> str:
    saves = _read(entity).saves.lower()
    return f"saves {saves}" if saves else ""


def _species(entity: Entity) -> str:
    """Size, speed and darkvision of a species, and the names of its other traits."""
    if entity.kind not in ("race", "subrace"):
        return ""
    traits = {each.name: each.text for each in _read(entity).features}
    size, speed = traits.get("Size", ""), re.search(r"(\d+) (?:feet|foot|ft)", traits.get("Speed", ""))
    stated = re.search(r"\bsize is (.*)", size, re.IGNORECASE)
    sizes = re.findall(r"\b(?:tiny|small|medium|large)\b", (stated[1] if stated else size).lower())
    sight = next((text for name, text in traits.items() if "Darkvision" in name), "")
    far = re.search(r"(\d+) (?:feet|foot|ft)", sight)
    others = [name for name in traits if name and name not in USUAL_TRAITS and "Darkvision" not in name]
    known = (
        " or ".join(dict.fromkeys(sizes)),
        f"speed {speed[1]} ft" if speed else "",
        f"darkvision {far[1]} ft" if far else "",
        ", ".join(others[:MOST_TRAITS]),
    )
    return SEPARATOR.join(filter(None, known))


USUAL_TRAITS = frozenset({"Ability Score Increase", "Age", "Alignment", "Creature Type", "Languages", "Size", "Speed"})
"""Traits that every species has."""

MOST_TRAITS = 6


def _background(entity: Entity) -> str:
    """The skills of a background, and its feat."""
    if entity.kind != "background":
        return ""
    read = _read(entity)
    given = {each.kind: each.text for each in read.features}
    known = (given.get("skill_proficiency") or read.skills, given.get("feat", ""))
    return SEPARATOR.join(" ".join(text.split()).strip(" .") for text in known if 0 < len(text) <= MAX_SKILLS)


MAX_SKILLS = 100
"""Longest line of skills that is shown, in characters."""


def _levels(entity: Entity) -> str:
    """The classes of a character with their levels: "rogue 5 (thief), wizard 2"."""
    listed = entity.data.get("class_levels")
    found = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, (list, tuple)) else []
    texts = []
    for each in found:
        subclass = f"({each['subclass']})" if each.get("subclass") else ""
        texts.append(_words(each.get("name"), each.get("level"), subclass).lower())
    return ", ".join(texts) or _words(_field("classes")(entity), _LEVEL(entity))


def hit_points(entity: Entity) -> str:
    """The hit points of a character: "32", and of one that lacks some "14 of 32"; "" if nobody knows."""
    most, lost = entity.fields.get("hit_points"), entity.fields.get("hit_points_lost")
    if not isinstance(most, int):
        return ""
    return f"{most - lost} of {most}" if isinstance(lost, int) and lost else str(most)


def _hit_points(entity: Entity) -> str:
    known = hit_points(entity)
    return f"HP {known}" if known else ""


def _player(entity: Entity) -> str:
    """Who plays a character, as written."""
    player = entity.data.get("player")
    return f"played by {player}" if isinstance(player, str) and player else ""


def _words(*parts: object) -> str:
    return " ".join(str(part) for part in parts if part not in (None, ""))


def _text(value: Value | None) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value or "")


FACTS: dict[str, tuple[Fact, ...]] = {
    "spells": (
        _spell,
        _field("casting_time"),
        range_of,
        _duration,
        _flag("ritual", "ritual"),
        _spell_damage,
        _material,
        _field("classes"),
    ),
    "creatures": (
        _challenge_rating,
        _creature,
        _alignment,
        _labelled("AC", "armor_class"),
        _labelled("HP", "hit_points"),
        _speeds,
    ),
    "equipment": (
        lead,
        _flag("requires_attunement", "attunement"),
        _flag("cursed", "cursed"),
        _bonus,
        _figure("charges", "charges"),
        _damage,
        _armor_class,
        _strength,
        _figure("cost", "gp"),
        _figure("weight", "lb"),
        _field("properties"),
    ),
    "character_options": (
        _option,
        _prerequisite,
        _labelled("hit die", "hit_die"),
        _saving_throws,
        _species,
        _background,
    ),
    "notes": (lead, folder, session, tags),
    "characters": (
        _levels,
        _labelled("AC", "armor_class"),
        _hit_points,
        _labelled("passive Perception", "passive_perception"),
        _player,
        _field("race"),
    ),
    "documents": (_field("publisher"), _field("game_system"), _field("licenses")),
}
"""The facts of each entity type, in order."""

INDEXED_FACTS: dict[str, tuple[Fact, ...]] = {
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
        _first("alignment"),
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
    "notes": (lead, folder, session, tags),
    "characters": (_levels, _field("race"), _field("background"), _labelled("played by", "player")),
    "documents": (_field("publisher"), _field("game_system"), _field("licenses")),
}
"""The same of the facts that are embedded and indexed."""

OTHER_FACTS: tuple[Fact, ...] = (lead, _field("parent"))
"""The facts of a type without a table of its own."""
