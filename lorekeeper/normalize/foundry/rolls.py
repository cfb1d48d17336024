"""What an item does, in the sentences of the books: attacks, damage and saving throws, built from its activities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lorekeeper.normalize.build import joined
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.sheets import NOBODY, Sheet
from lorekeeper.normalize.foundry.values import Object, at, items, mapping, number, objects, pairs, text, whole
from lorekeeper.normalize.foundry.words import ABILITY_NAMES, DISPLAYED_TYPES, LENGTHS

REACH = 5
LONG_REACH = 10

NONE = "none"
"""The ability of an attack that uses none."""


@dataclass(frozen=True)
class Activity:
    """One thing that an item does: Black Flag keeps some of its values a level deeper than dnd5e."""

    id: str
    raw: Object

    def at(self, path: str) -> object:
        """The value at a path."""
        found = at(self.raw, path)
        return at(self.raw, f"system.{path}") if found in (None, "", [], {}) else found

    def text(self, path: str) -> str:
        """The text at a path."""
        return text(self.at(path))

    @property
    def type(self) -> str:
        """What kind of activity it is."""
        return text(self.raw, "type")


@dataclass(frozen=True)
class Doer:
    """An item, and the creature whose it is.

    Attributes:
        item: the whole document, also one that is part of an actor.
        sheet: the creature's numbers; `NOBODY` for an item by itself.
        rules: "2014", "2024" or "".
        system_key: of the game system.
    """

    item: Object
    sheet: Sheet = NOBODY
    rules: str = ""
    system_key: str = "dnd5e"

    @property
    def system(self) -> Object:
        """What the game system says of the item."""
        return mapping(self.item, "system")

    @property
    def activities(self) -> list[Activity]:
        """All it does."""
        return [Activity(key, activity) for key, activity in pairs(self.system.get("activities"))]

    def activity(self, identifier: str = "", *types: str) -> Activity | None:
        """The activity with an id; else the first of these types; None if there is none."""
        found = self.activities
        if identifier:
            return next((a for a in found if identifier in (a.id, text(a.raw, "_id"))), None)
        return next((a for a in found if a.type in types), None)

    @property
    def is_black_flag(self) -> bool:
        """Whether it is of Black Flag, which has words of its own."""
        return self.system_key == "black-flag"

    @property
    def properties(self) -> set[str]:
        """Keys of the item's properties."""
        return {text(key) for key in items(self.system, "properties")}


# --- attacks --------------------------------------------------------------------------------------------------------


def _is_ranged(doer: Doer, activity: Activity) -> bool:
    kind = activity.text("attack.type.value") or text(doer.system, "type.value")
    return kind == "ranged" or kind.endswith("R")


def _is_both(doer: Doer, activity: Activity) -> bool:
    """Whether an attack is made in melee or at range: with a thrown weapon, or one that has a reach and a range."""
    if _is_ranged(doer, activity):
        return False
    has_range = number(doer.system, "range.value", "range.short") is not None
    is_thrown = not doer.properties.isdisjoint({"thr", "thrown"})
    return has_range and (is_thrown or bool(number(doer.system, "range.reach")))


def attack_ability(doer: Doer, activity: Activity) -> str:
    """The ability that an attack uses; "" if none is known."""
    said = activity.text("attack.ability")
    if said == NONE:
        return ""
    is_spell = activity.text("attack.type.classification") == "spell" or doer.item.get("type") == "spell"
    if said == "spellcasting" or (not said and is_spell):
        return doer.sheet.casting or "intelligence"
    if said in ABILITY_NAMES:
        return ABILITY_NAMES[said]
    strength, dexterity = (doer.sheet.modifiers.get(name, 0) for name in ("strength", "dexterity"))
    finesse = not doer.properties.isdisjoint({"fin", "finesse"})
    return "dexterity" if _is_ranged(doer, activity) or (finesse and dexterity > strength) else "strength"


def attack_bonus(doer: Doer, activity: Activity) -> int | None:
    """The bonus to hit; None if it depends on a creature that is not known."""
    bonus = formulas.value(activity.text("attack.bonus"), _values(doer, activity)) or 0
    if activity.at("attack.flat") is True:
        return bonus
    ability = attack_ability(doer, activity)
    if doer.sheet is NOBODY:
        return None
    return (
        doer.sheet.modifiers.get(ability, 0)
        + doer.sheet.proficiency
        + bonus
        + _magical_bonus(doer)
        + _own(doer, activity)
    )


def _magical_bonus(doer: Doer) -> int:
    return formulas.value(text(doer.system, "magicalBonus")) or 0


def _own(doer: Doer, activity: Activity) -> int:
    """The creature's own bonus to attacks of this kind."""
    kind = "r" if _is_ranged(doer, activity) else "m"
    kind += "sak" if activity.text("attack.type.classification") == "spell" else "wak"
    return formulas.value(text(doer.sheet.system, f"bonuses.{kind}.attack"), doer.sheet.at) or 0


def _values(doer: Doer, activity: Activity) -> formulas.Values:
    """The numbers that the formulas of an activity may name."""

    def value(path: str) -> float | None:
        if path == "mod":
            if doer.sheet is NOBODY:
                return None
            return doer.sheet.modifiers.get(_ability_of(doer, activity), 0)
        if path == "item.level":
            return number(doer.system, "level")
        return None if doer.sheet is NOBODY else doer.sheet.at(path)

    return value


def _ability_of(doer: Doer, activity: Activity) -> str:
    """The ability of an activity: of its attack, or of the difficulty class of its save."""
    if activity.type == "attack":
        return attack_ability(doer, activity)
    said = activity.text("save.dc.calculation")
    return ABILITY_NAMES.get(said) or doer.sheet.casting


def reach(doer: Doer, activity: Activity) -> str:
    """How far an attack reaches: "reach 10 ft.", "range 80/320 ft.", both for thrown weapons."""
    is_ranged = _is_ranged(doer, activity)
    distance = range_of(doer, activity) if is_ranged or _is_both(doer, activity) else ""
    return " or ".join(
        filter(
            None, ("" if is_ranged else f"reach {reach_of(doer, activity)}", f"range {distance}" if distance else "")
        )
    )


def reach_of(doer: Doer, activity: Activity | None) -> str:
    """The reach of a weapon: "5 ft."."""
    said = number(doer.system, "range.reach")
    of_activity = number(activity.at("range.value")) if activity and not _is_both(doer, activity) else None
    longer = LONG_REACH if not doer.properties.isdisjoint({"rch", "reach"}) else REACH
    return f"{said or of_activity or longer} ft."


def range_of(doer: Doer, activity: Activity | None) -> str:
    """The range of an item: "80/320 ft."; "" if it has none."""
    near = number(doer.system, "range.value", "range.short")
    near = near or (number(activity.at("range.value")) if activity else None)
    if not near:
        return ""
    far = number(doer.system, "range.long")
    return f"{near}/{far} ft." if far else f"{near} ft."


def attack_kind(doer: Doer, activity: Activity) -> str:
    """The label of an attack: "Melee Weapon Attack", "Ranged Attack Roll"."""
    manner = "Ranged" if _is_ranged(doer, activity) else "Melee"
    if _is_both(doer, activity):
        manner = "Melee or Ranged"
    if doer.rules == "2024":
        return f"{manner} Attack Roll"
    kind = "Spell" if activity.text("attack.type.classification") == "spell" else "Weapon"
    return f"{manner} {kind} Attack"


def attack_sentence(doer: Doer, activity: Activity) -> str:
    """An attack up to its damage: "*Melee Weapon Attack:* +4 to hit, reach 5 ft., one target"."""
    parts = [to_hit(doer, activity), reach(doer, activity)]
    parts += [] if doer.rules == "2024" else [_target(activity)]
    return f"*{attack_kind(doer, activity)}:* {', '.join(part for part in parts if part)}"


def to_hit(doer: Doer, activity: Activity) -> str:
    """A bonus to hit as the edition words it."""
    bonus = attack_bonus(doer, activity)
    if bonus is None:
        return ""
    return f"{bonus:+d}" if doer.rules == "2024" else f"{bonus:+d} to hit"


def _target(activity: Activity) -> str:
    kind = activity.text("target.affects.type")
    count = whole(activity.at("target.affects.count")) or 1
    noun = kind if kind in ("creature", "object") else "target"
    return f"one {noun}" if count == 1 else f"up to {count} {noun}s"


# --- damage ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Roll:
    """Dice with a bonus: of damage, or of healing.

    Attributes:
        formula: the dice and the bonus.
        average: of the dice, None if there are none or it cannot be worked out.
        types: of the damage.
    """

    formula: str
    average: int | None
    types: tuple[str, ...] = ()

    def as_text(self, *, with_average: bool, capitals: bool = False) -> str:
        """As the books print it: "5 (1d6 + 2) slashing"."""
        dice = self.formula
        if with_average and self.average is not None:
            dice = f"{self.average} ({self.formula})"
        types = [DISPLAYED_TYPES.get(name, name) for name in self.types if name != "variable"]
        return f"{dice} {joined([name.capitalize() if capitals else name for name in types], 'or')}".strip()


def damage(doer: Doer, activity: Activity, *, versatile: bool = False) -> list[Roll]:
    """The rolls of an activity's damage, the weapon's own first."""
    found = [_base(doer, activity, versatile=versatile)] if _has_base(activity) else []
    found += [_roll(part, _values(doer, activity)) for part in objects(activity.at("damage.parts"))]
    return [roll for roll in found if roll and roll.formula]


def _has_base(activity: Activity) -> bool:
    flags = (activity.at("damage.includeBase"), activity.at("damage.includeBaseDamage"))
    return activity.type == "attack" and False not in flags


def _base(doer: Doer, activity: Activity, *, versatile: bool) -> Roll | None:
    """The damage of the weapon itself, to which the modifier of its ability is added."""
    own = mapping(doer.system, "damage")
    part = mapping(own, "base") or own
    if versatile:
        part = {**part, **two_handed(part, own, doer.properties)}
    if doer.item.get("type") != "weapon" and not (whole(part, "number") or at(part, "custom.enabled")):
        return None
    formula = f"{text(part, 'bonus')} {text(part, 'custom.formula')}"
    ability = attack_ability(doer, activity)
    known = doer.item.get("type") == "weapon" and "@mod" not in formula and doer.sheet is not NOBODY
    bonus = (doer.sheet.modifiers.get(ability, 0) if known and ability else 0) + _magical_bonus(doer)
    return _roll(part, _values(doer, activity), bonus)


def two_handed(base: Object, own: Object, properties: set[str]) -> Object:
    """The dice of a weapon in two hands: those it states, else the next larger ones."""
    given = mapping(own, "versatile")
    sides = whole(given, "denomination")
    if sides:
        return {"number": whole(given, "number") or whole(base, "number") or 1, "denomination": sides}
    larger = (whole(base, "denomination") or 0) + 2
    return {"denomination": larger} if larger > 2 and not properties.isdisjoint({"ver", "versatile"}) else {}


def _roll(part: Object, values: formulas.Values, more: int = 0) -> Roll | None:
    types = tuple(dict.fromkeys(name for name in _types(part) if name))
    custom = text(part, "custom.formula") if at(part, "custom.enabled") is True else ""
    if custom:
        return Roll(_with_bonus(formulas.shown(custom, values), more), None, types)
    count, sides = whole(part, "number"), whole(part, "denomination")
    given = text(part, "bonus")
    bonus = formulas.value(given, values) if given else 0
    rest = "" if bonus is not None else formulas.shown(given, values)
    total = (bonus or 0) + more
    if not count or not sides or not (0 < count < 1000 and 0 < sides <= 1000):
        told = str(total) if total or not rest else ""
        return Roll(" + ".join(filter(None, (told if told != "0" else "", rest))), None, types)
    formula = _with_bonus(f"{count}d{sides}", total) + (f" + {rest}" if rest else "")
    return Roll(formula, None if rest else formulas.average(count, sides, total), types)


def _types(part: Object) -> Iterator[str]:
    yield text(part, "type")
    for name in (*items(part, "types"), *items(part, "additionalTypes")):
        yield text(name)


def _with_bonus(dice: str, bonus: int) -> str:
    if not bonus:
        return dice
    return f"{dice} {'+' if bonus > 0 else '-'} {abs(bonus)}"


def damage_text(rolls: list[Roll], *, with_average: bool, capitals: bool) -> str:
    """Several rolls in one phrase: "19 (2d10 + 8) piercing damage plus 7 (2d6) fire"."""
    told = [roll.as_text(with_average=with_average, capitals=capitals) for roll in rolls]
    return " damage plus ".join(part for part in told if part)


def healing(doer: Doer, activity: Activity) -> Roll | None:
    """What an activity heals."""
    part = mapping(activity.at("healing"))
    return _roll(part, _values(doer, activity)) if part else None


# --- saving throws --------------------------------------------------------------------------------------------------


def save_abilities(activity: Activity) -> list[str]:
    """The abilities of the saving throw that an activity asks for."""
    given = activity.at("save.ability") or activity.at("ability")
    keys = [text(key) for key in (given if isinstance(given, list) else [given])]
    return [ABILITY_NAMES[key] for key in keys if key in ABILITY_NAMES]


def save_dc(doer: Doer, activity: Activity) -> int | None:
    """The difficulty class of an activity; None if it depends on a creature that is not known."""
    way = activity.text("save.dc.calculation") or activity.text("save.dc.ability") or activity.text("dc.ability")
    if way == "spellcasting":
        return doer.sheet.spell_dc
    if way in ABILITY_NAMES:
        return doer.sheet.dc(way)
    formula = activity.text("save.dc.formula") or activity.text("dc.formula")
    return formulas.value(formula, _values(doer, activity))


def check_dc(doer: Doer, activity: Activity) -> int | None:
    """The difficulty class of an ability check that an activity asks for."""
    way = activity.text("check.dc.calculation")
    if way in ABILITY_NAMES:
        return doer.sheet.dc(way)
    return formulas.value(activity.text("check.dc.formula"), _values(doer, activity))


def length(value: float, unit: str) -> str:
    """A distance: "60 feet", "1 mile"."""
    name = LENGTHS.get(unit, unit)
    names = {"foot": "feet"} if value != 1 else {}
    return f"{value} {names.get(name, name if value == 1 else f'{name}s')}".strip()
