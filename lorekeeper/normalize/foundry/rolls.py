"""What an item does, in the sentences of the books: attacks, damage and saving throws, built from its activities."""

from __future__ import annotations

from dataclasses import dataclass

from lorekeeper.normalize.build import joined
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.sheets import NOBODY, Sheet
from lorekeeper.normalize.foundry.values import (
    ABILITY_NAMES,
    Data,
    Object,
    abilities,
    at,
    items,
    mapping,
    number,
    objects,
    pairs,
    text,
    whole,
    word,
)

REACH = 5
LONG_REACH = 10


@dataclass(frozen=True)
class Activity:
    """One thing that an item, its ``doer``, does: Black Flag keeps some of its values a level deeper than dnd5e."""

    id: str
    raw: Object
    doer: Doer

    def at(self, path: str) -> object:
        """The value at a path."""
        found = at(self.raw, path)
        return at(self.raw, f"system.{path}") if found in (None, "", [], {}) else found

    def text(self, *paths: str) -> str:
        """The first text at these paths."""
        return next(filter(None, (text(self.at(path)) for path in paths)), "")

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
        return [Activity(key, activity, self) for key, activity in pairs(self.system.get("activities"))]

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
    def is_new(self) -> bool:
        """Whether it is worded as in the rules of 2024."""
        return self.rules == "2024"

    def has(self, *properties: str) -> bool:
        """Whether the item has one of these properties, by their keys."""
        return not {text(key) for key in items(self.system, "properties")}.isdisjoint(properties)

    @property
    def magical_bonus(self) -> int:
        """What magic adds to its attacks and damage."""
        return formulas.value(text(self.system, "magicalBonus")) or 0


# --- attacks --------------------------------------------------------------------------------------------------------


def _is_ranged(activity: Activity) -> bool:
    kind = activity.text("attack.type.value") or text(activity.doer.system, "type.value")
    return kind == "ranged" or kind.endswith("R")


def _is_both(activity: Activity) -> bool:
    """Whether an attack is made in melee or at range: with a thrown weapon, or one that has a reach and a range."""
    doer = activity.doer
    has_range = number(doer.system, "range.value", "range.short") is not None
    has_both = doer.has("thr", "thrown") or bool(number(doer.system, "range.reach"))
    return has_range and has_both and not _is_ranged(activity)


def _is_spell(activity: Activity) -> bool:
    return activity.text("attack.type.classification") == "spell"


def attack_ability(activity: Activity) -> str:
    """The ability that an attack uses; "" if none is known."""
    doer = activity.doer
    said = activity.text("attack.ability")
    if said == "none":
        return ""
    if said == "spellcasting" or (not said and (_is_spell(activity) or doer.item.get("type") == "spell")):
        return doer.sheet.casting or "intelligence"
    if said in ABILITY_NAMES:
        return ABILITY_NAMES[said]
    strength, dexterity = (doer.sheet.modifiers.get(name, 0) for name in ("strength", "dexterity"))
    agile = _is_ranged(activity) or (doer.has("fin", "finesse") and dexterity > strength)
    return "dexterity" if agile else "strength"


def attack_bonus(activity: Activity) -> int | None:
    """The bonus to hit, with the creature's own to attacks of this kind; None if it depends on one that is not known."""
    doer = activity.doer
    bonus = formulas.value(activity.text("attack.bonus"), _values(activity)) or 0
    if activity.at("attack.flat") is True or doer.sheet is NOBODY:
        return bonus if activity.at("attack.flat") is True else None
    kind = f"{'r' if _is_ranged(activity) else 'm'}{'s' if _is_spell(activity) else 'w'}ak"
    bonus += doer.magical_bonus + doer.sheet.bonus(doer.sheet.system, f"bonuses.{kind}.attack")
    return doer.sheet.modifiers.get(attack_ability(activity), 0) + doer.sheet.proficiency + bonus


def _values(activity: Activity) -> formulas.Values:
    """The numbers that the formulas of an activity may name; its modifier is that of its attack, or of its save."""

    doer = activity.doer

    def value(path: str) -> float | None:
        if path == "item.level":
            return number(doer.system, "level")
        if doer.sheet is NOBODY:
            return None
        if path != "mod":
            return doer.sheet.at(path)
        way = ABILITY_NAMES.get(activity.text("save.dc.calculation")) or doer.sheet.casting
        return doer.sheet.modifiers.get(attack_ability(activity) if activity.type == "attack" else way, 0)

    return value


def reach(activity: Activity) -> str:
    """How far an attack reaches: "reach 10 ft.", "range 80/320 ft.", both for thrown weapons."""
    is_ranged = _is_ranged(activity)
    distance = range_of(activity.doer, activity) if is_ranged or _is_both(activity) else ""
    told = ("" if is_ranged else f"reach {reach_of(activity.doer, activity)}", f"range {distance}" if distance else "")
    return " or ".join(filter(None, told))


def reach_of(doer: Doer, activity: Activity | None) -> str:
    """The reach of a weapon: "5 ft."."""
    own = number(activity.at("range.value")) if activity and not _is_both(activity) else None
    usual = LONG_REACH if doer.has("rch", "reach") else REACH
    return f"{number(doer.system, 'range.reach') or own or usual} ft."


def range_of(doer: Doer, activity: Activity | None) -> str:
    """The range of an item: "80/320 ft."; "" if it has none."""
    near = number(doer.system, "range.value", "range.short") or (
        number(activity.at("range.value")) if activity else None
    )
    far = number(doer.system, "range.long")
    return f"{near}{f'/{far}' if far else ''} ft." if near else ""


def attack_sentence(activity: Activity) -> str:
    """An attack up to its damage: "*Melee Weapon Attack:* +4 to hit, reach 5 ft., one target"."""
    manner = "Ranged" if _is_ranged(activity) else "Melee"
    manner = "Melee or Ranged" if _is_both(activity) else manner
    kind = "Attack Roll" if activity.doer.is_new else f"{'Spell' if _is_spell(activity) else 'Weapon'} Attack"
    target, count = activity.text("target.affects.type"), whole(activity.at("target.affects.count")) or 1
    noun = target if target in ("creature", "object") else "target"
    aim = f"one {noun}" if count == 1 else f"up to {count} {noun}s"
    parts = (to_hit(activity), reach(activity), "" if activity.doer.is_new else aim)
    return f"*{manner} {kind}:* {', '.join(filter(None, parts))}"


def to_hit(activity: Activity) -> str:
    """A bonus to hit as the edition words it."""
    bonus = attack_bonus(activity)
    return "" if bonus is None else hits(activity.doer, bonus)


def hits(doer: Doer, bonus: int) -> str:
    """A bonus to hit as the edition words it."""
    return f"{bonus:+d}{'' if doer.is_new else ' to hit'}"


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
        dice = f"{self.average} ({self.formula})" if with_average and self.average is not None else self.formula
        types = (word("rolls", name) for name in self.types)
        return f"{dice} {joined((name.capitalize() if capitals else name for name in types), 'or')}".strip()


def damage(activity: Activity, *, versatile: bool = False) -> list[Roll]:
    """The rolls of an activity's damage, the weapon's own first."""
    flags = (activity.at("damage.includeBase"), activity.at("damage.includeBaseDamage"))
    has_base = activity.type == "attack" and False not in flags
    found = [_base(activity, versatile=versatile)] if has_base else []
    found += [_roll(part, _values(activity)) for part in objects(activity.at("damage.parts"))]
    return [roll for roll in found if roll and roll.formula]


def _base(activity: Activity, *, versatile: bool) -> Roll | None:
    """The damage of the weapon itself, to which the modifier of its ability is added."""
    doer = activity.doer
    own = mapping(doer.system, "damage")
    part, is_weapon = mapping(own, "base") or own, doer.item.get("type") == "weapon"
    if versatile:
        part = {**part, **two_handed(doer)}
    if not is_weapon and not (whole(part, "number") or at(part, "custom.enabled")):
        return None
    formula = f"{text(part, 'bonus')} {text(part, 'custom.formula')}"
    counts = is_weapon and "@mod" not in formula and doer.sheet is not NOBODY
    bonus = doer.sheet.modifiers.get(attack_ability(activity), 0) if counts else 0
    return _roll(part, _values(activity), bonus + doer.magical_bonus)


def two_handed(doer: Doer) -> Data:
    """The dice of a weapon in two hands: those it states, else the next larger ones; {} if it has none."""
    own = mapping(doer.system, "damage")
    base = mapping(own, "base") or own
    if sides := whole(own, "versatile.denomination"):
        return {"number": whole(own, "versatile.number") or whole(base, "number") or 1, "denomination": sides}
    larger = (whole(base, "denomination") or 0) + 2
    return {"denomination": larger} if larger > 2 and doer.has("ver", "versatile") else {}


def _roll(part: Object, values: formulas.Values, more: int = 0) -> Roll | None:
    named = (text(name) for name in (part.get("type"), *items(part, "types"), *items(part, "additionalTypes")))
    types = tuple(dict.fromkeys(filter(None, named)))
    custom = text(part, "custom.formula") if at(part, "custom.enabled") is True else ""
    if custom:
        return Roll(_with_bonus(formulas.shown(custom, values), more), None, types)
    count, sides, given = whole(part, "number"), whole(part, "denomination"), text(part, "bonus")
    bonus = formulas.value(given, values) if given else 0
    rest, total = "" if bonus is not None else formulas.shown(given, values), (bonus or 0) + more
    if not count or not sides or not (0 < count < 1000 and 0 < sides <= 1000):
        return Roll(" + ".join(filter(None, (str(total) if total else "", rest))), None, types)
    formula = _with_bonus(f"{count}d{sides}", total) + (f" + {rest}" if rest else "")
    return Roll(formula, None if rest else count * (sides + 1) // 2 + total, types)


def _with_bonus(dice: str, bonus: int) -> str:
    return f"{dice} {'+' if bonus > 0 else '-'} {abs(bonus)}" if bonus else dice


def damage_text(rolls: list[Roll], *, with_average: bool, capitals: bool) -> str:
    """Several rolls in one phrase: "19 (2d10 + 8) piercing damage plus 7 (2d6) fire"."""
    told = (roll.as_text(with_average=with_average, capitals=capitals) for roll in rolls)
    return " damage plus ".join(filter(None, told))


def healing(activity: Activity) -> Roll | None:
    """What an activity heals."""
    part = mapping(activity.at("healing"))
    return _roll(part, _values(activity)) if part else None


# --- saving throws --------------------------------------------------------------------------------------------------


def save_abilities(activity: Activity) -> list[str]:
    """The abilities of the saving throw that an activity asks for."""
    given = activity.at("save.ability") or activity.at("ability")
    return abilities(given if isinstance(given, list) else [given])


def save_dc(activity: Activity) -> int | None:
    """The difficulty class of an activity; None if it depends on a creature that is not known."""
    way = activity.text("save.dc.calculation", "save.dc.ability", "dc.ability")
    return (
        activity.doer.sheet.spell_dc if way == "spellcasting" else _dc(activity, way, "save.dc.formula", "dc.formula")
    )


def check_dc(activity: Activity) -> int | None:
    """The difficulty class of an ability check that an activity asks for."""
    return _dc(activity, activity.text("check.dc.calculation"), "check.dc.formula")


def _dc(activity: Activity, way: str, *paths: str) -> int | None:
    if way in ABILITY_NAMES:
        return activity.doer.sheet.dc(way)
    return formulas.value(activity.text(*paths), _values(activity))
