"""The numbers of a creature on which its attacks depend: modifiers, proficiency bonus, difficulty classes, armor class."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lorekeeper.normalize.formulas import modifier, proficiency
from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.values import (
    ABILITY_NAMES,
    ARMOR_WEIGHTS,
    Object,
    abilities,
    armor_weight,
    at,
    mapping,
    number,
    objects,
    pairs,
    skill_of,
    text,
    whole,
    word,
)
from lorekeeper.terms import ABILITIES, SKILL_ABILITIES

BASE_DC = 8
BASE_PASSIVE = 10
MAX_SCORE = 99

UNARMORED = 10
SHIELD = 2
MEDIUM_LIMIT = 2
"""Most of the Dexterity modifier that counts in medium armor."""


@dataclass(frozen=True)
class Sheet:
    """A creature's numbers.

    Attributes:
        name: of the creature.
        system: what its game system says of it.
        scores: ability scores by name; empty for Black Flag, which has modifiers only.
        modifiers: of the abilities, by name.
        rating: challenge rating, None if unknown.
        rules: "2014", "2024" or "".
    """

    name: str
    system: Object
    scores: dict[str, int]
    modifiers: dict[str, int]
    rating: float | None
    rules: str = ""

    @classmethod
    def of(cls, name: str, system: Object, rules: str = "") -> Sheet:
        """The numbers of an actor."""
        rating = number(system, "details.cr", "attributes.cr")
        given = {full: entry for key, entry in pairs(system.get("abilities")) if (full := ABILITY_NAMES.get(key))}
        found = {ability: whole(entry, "value") for ability, entry in given.items()}
        scores = {ability: score for ability, score in found.items() if score is not None and 0 <= score <= MAX_SCORE}
        modifiers = {ability: modifier(score) for ability, score in scores.items()}
        if not scores and any(whole(entry, "mod") is not None for entry in given.values()):
            modifiers = {ability: _modifier(given.get(ability, {}), rating) for ability in ABILITIES}
        return cls(name, system, scores, modifiers, rating, rules)

    @property
    def proficiency(self) -> int:
        """The proficiency bonus, which follows from the challenge rating (SRD 5.1, "Proficiency Bonus")."""
        return proficiency(self.rating)

    @property
    def casting(self) -> str:
        """The ability that it casts spells with, "" if unknown."""
        return "".join(abilities([text(self.system, "attributes.spellcasting", "spellcasting.ability")]))

    @property
    def spell_dc(self) -> int | None:
        """The difficulty class of its spells."""
        return whole(self.system, "spellcasting.dc") or (self.dc(self.casting) if self.casting else None)

    def dc(self, ability: str) -> int | None:
        """The difficulty class of what it does with an ability; None if it has no modifier."""
        modifier = self.modifiers.get(ABILITY_NAMES.get(ability, ability))
        return None if modifier is None else BASE_DC + self.proficiency + modifier

    def bonus(self, value: object, path: str) -> int:
        """What a formula adds, 0 if there is none, or if it cannot be worked out."""
        return formulas.value(text(value, path), self.at) or 0

    def save(self, ability: str) -> int | None:
        """The bonus to a saving throw that it is proficient in; None for any other."""
        entry = mapping(self.system, f"abilities.{ability[:3]}", f"abilities.{ability}")
        trained = 1.0 if entry.get("proficient") is True else number(entry, "proficient")
        trained = trained or number(entry, "proficiency.multiplier") or number(entry, "save.proficiency.multiplier")
        if not trained or ability not in self.modifiers:
            return None
        return self.modifiers[ability] + math.floor(self.proficiency * trained) + self.bonus(entry, "bonuses.save")

    def skill(self, name: str) -> int | None:
        """The bonus to a skill, by its name; None if its ability has no modifier."""
        entry = self.skill_entry(name)
        ability = ABILITY_NAMES.get(text(entry, "ability"), SKILL_ABILITIES.get(name, ""))
        if ability not in self.modifiers:
            return None
        times = number(entry, "value") or number(entry, "proficiency.multiplier") or 0
        return self.modifiers[ability] + math.floor(self.proficiency * times) + self.bonus(entry, "bonuses.check")

    def skill_entry(self, name: str) -> Object:
        """What is said of a skill, by its name."""
        skills = mapping(self.system, "skills", "proficiencies.skills")
        return next((mapping(entry) for key, entry in skills.items() if skill_of(key) == name), {})

    def passive(self, name: str) -> int | None:
        """The passive value of a skill."""
        bonus = self.skill(name)
        return None if bonus is None else BASE_PASSIVE + bonus + self.bonus(self.skill_entry(name), "bonuses.passive")

    def at(self, path: str) -> float | None:
        """The number that formulas name, such as ``prof`` and ``abilities.str.mod``."""
        head, _, rest = path.partition(".")
        key, ability = rest.partition(".")[0], ABILITY_NAMES.get(rest.partition(".")[0], "")
        match head, rest.rpartition(".")[2]:
            case ("prof", "") | ("attributes", "prof"):
                return self.proficiency
            case "attributes", "dc":
                return self.spell_dc
            case "abilities", "mod" if ability:
                return self.modifiers.get(ability)
            case "abilities", "dc" if ability:
                return self.dc(ability)
            case "abilities", "save" if ability:
                return self.save(ability) or self.modifiers.get(ability)
            case "skills", "passive":
                return self.passive(skill_of(key))
            case "skills", "total":
                return self.skill(skill_of(key))
            case "details", "cr":
                return self.rating
        return number(at(self.system, path))


def _modifier(entry: Object, rating: float | None) -> int:
    """A modifier of Black Flag, which prints one that includes the proficiency bonus for saves with proficiency."""
    return (whole(entry, "mod") or 0) - (proficiency(rating) if entry.get("proficient") is True else 0)


NOBODY = Sheet("", {}, {}, {}, None)
"""The numbers of nobody: of a spell or an item that no creature has."""


# --- armor class (SRD 5.1, "Armor") ------------------------------------------------------------------------------------


def effects_on(actor: Object) -> list[Object]:
    """The effects on an actor that are not disabled."""
    return [effect for effect in objects(actor, "effects") if effect.get("disabled") is not True]


def armor_class(actor: Object, sheet: Sheet) -> int | None:
    """The armor class of an actor; None if it has neither one nor abilities from which it follows.

    A ``flat`` value counts for the calculations that say so, and for unknown ones; it is a leftover where the armor class is worked
    out. An effect on the actor may set the calculation, as Mage Armor does. A shield adds to natural armor.
    """
    stated = at(actor, "system.attributes.ac")
    changes = (change for effect in effects_on(actor) for change in objects(effect, "changes"))
    set_ = next((text(each, "value") for each in changes if each.get("key") == "system.attributes.ac.calc"), "")
    way = set_ or text(stated, "calc")
    if override := whole(stated, "override"):
        return override
    flat = whole(stated, "flat") if stated else None
    if flat and way not in ("default", "custom", *word["armor classes"]):  # "" is of Black Flag
        return flat + (_shield(actor) if way in ("natural", "") else 0)
    formula = text(stated, "formula") if way == "custom" else word("armor classes", way, "")
    counted = formulas.value(formula, sheet.at) if formula else None
    if counted is not None:
        return counted + _shield(actor)
    return _worn(actor, sheet) if sheet.modifiers else None


def _carried(actor: Object) -> list[Object]:
    """What a creature wears or carries ready."""
    return [item for item in objects(actor, "items") if at(item, "system.equipped") is not False]


def _worn(actor: Object, sheet: Sheet) -> int:
    """The best armor that is worn, or none, and a shield."""
    dexterity = sheet.modifiers.get("dexterity", 0)
    if not sheet.scores:  # Black Flag counts the modifier that it prints, which may have the proficiency bonus in it
        dexterity = sheet.save("dexterity") or dexterity
    suits = [_suit(item, dexterity) for item in _carried(actor) if armor_weight(item) in ARMOR_WEIGHTS]
    return max(suits or [UNARMORED + dexterity]) + _shield(actor)


def _suit(item: Object, dexterity: int) -> int:
    weight, own = armor_weight(item), _armor(item, UNARMORED)
    if weight == "heavy":  # it neither adds the modifier nor, where that is negative, takes it off
        return own
    limit = whole(item, "system.armor.dex")
    limit = MEDIUM_LIMIT if limit is None and weight == "medium" else limit
    return own + (dexterity if limit is None else min(dexterity, limit))


def _shield(actor: Object) -> int:
    return max((_armor(item, SHIELD) for item in _carried(actor) if armor_weight(item) == "shield"), default=0)


def _armor(item: Object, usual: int) -> int:
    """What armor or a shield gives, with its magic."""
    magical = formulas.value(text(item, "system.magicalBonus", "system.armor.magicalBonus")) or 0
    return (whole(item, "system.armor.value") or usual) + magical
