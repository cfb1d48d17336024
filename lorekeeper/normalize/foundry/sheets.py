"""The numbers of a creature on which its attacks depend: modifiers, proficiency bonus, difficulty classes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lorekeeper.normalize.foundry import formulas
from lorekeeper.normalize.foundry.values import Object, at, mapping, number, pairs, text, whole
from lorekeeper.normalize.foundry.words import ABILITY_NAMES, SKILLS, spoken
from lorekeeper.terms import ABILITIES, SKILL_ABILITIES

BASE_DC = 8
BASE_PASSIVE = 10
MAX_SCORE = 99


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
        scores = {a: s for a, e in given.items() if (s := whole(e, "value")) is not None and 0 <= s <= MAX_SCORE}
        modifiers = {ability: (score - 10) // 2 for ability, score in scores.items()}
        if not scores and any(whole(entry, "mod") is not None for entry in given.values()):
            modifiers = {ability: _modifier(given.get(ability, {}), rating) for ability in ABILITIES}
        return cls(name, system, scores, modifiers, rating, rules)

    @property
    def proficiency(self) -> int:
        """The proficiency bonus, which follows from the challenge rating (SRD 5.1, "Proficiency Bonus")."""
        return _proficiency(self.rating)

    @property
    def casting(self) -> str:
        """The ability that it casts spells with, "" if unknown."""
        key = text(self.system, "attributes.spellcasting", "spellcasting.ability")
        return ABILITY_NAMES.get(key, "")

    @property
    def spell_dc(self) -> int | None:
        """The difficulty class of its spells."""
        said = whole(self.system, "spellcasting.dc")
        if said:
            return said
        return self.dc(self.casting) if self.casting else None

    def dc(self, ability: str) -> int | None:
        """The difficulty class of what it does with an ability; None if it has no modifier."""
        modifier = self.modifiers.get(ABILITY_NAMES.get(ability, ability))
        return None if modifier is None else BASE_DC + self.proficiency + modifier

    def save(self, ability: str) -> int | None:
        """The bonus to a saving throw that it is proficient in; None for any other."""
        short = next((key for key in (ability[:3], ability) if key in mapping(self.system, "abilities")), "")
        entry = mapping(mapping(self.system, "abilities").get(short))
        trained = 1.0 if entry.get("proficient") is True else number(entry, "proficient")
        trained = trained or number(entry, "proficiency.multiplier") or number(entry, "save.proficiency.multiplier")
        if not trained or ability not in self.modifiers:
            return None
        bonus = formulas.value(text(entry, "bonuses.save"), self.at) or 0
        return self.modifiers[ability] + math.floor(self.proficiency * trained) + bonus

    def skill(self, name: str) -> int | None:
        """The bonus to a skill, by its name; None if its ability has no modifier."""
        entry = self.skill_entry(name)
        ability = ABILITY_NAMES.get(text(entry, "ability"), SKILL_ABILITIES.get(name, ""))
        if ability not in self.modifiers:
            return None
        times = number(entry, "value") or number(entry, "proficiency.multiplier") or 0
        bonus = formulas.value(text(entry, "bonuses.check"), self.at) or 0
        return self.modifiers[ability] + math.floor(self.proficiency * times) + bonus

    def skill_entry(self, name: str) -> Object:
        """What is said of a skill, by its name."""
        skills = mapping(self.system, "skills", "proficiencies.skills")
        return next((mapping(e) for key, e in skills.items() if SKILLS.get(key, spoken(key)) == name), {})

    def passive(self, name: str) -> int | None:
        """The passive value of a skill."""
        bonus = self.skill(name)
        more = formulas.value(text(self.skill_entry(name), "bonuses.passive"), self.at) or 0
        return None if bonus is None else BASE_PASSIVE + bonus + more

    def at(self, path: str) -> float | None:
        """The number that formulas name, such as ``prof`` and ``abilities.str.mod``."""
        head, _, rest = path.partition(".")
        ability = ABILITY_NAMES.get(rest.partition(".")[0], "")
        match head, rest.rpartition(".")[2]:
            case "prof", "":
                return self.proficiency
            case "attributes", "prof":
                return self.proficiency
            case "attributes", "dc":
                return self.spell_dc
            case "abilities", "mod" if ability:
                return self.modifiers.get(ability)
            case "abilities", "dc" if ability:
                return self.dc(ability)
            case "abilities", "save" if ability:
                return self.save(ability) or self.modifiers.get(ability)
            case "skills", last if last in ("passive", "total"):
                name = SKILLS.get(rest.partition(".")[0], spoken(rest.partition(".")[0]))
                return self.passive(name) if last == "passive" else self.skill(name)
            case "details", "cr":
                return self.rating
        return number(at(self.system, path))


def _proficiency(rating: float | None) -> int:
    return max(2, 1 + math.ceil((rating or 0) / 4))


def _modifier(entry: Object, rating: float | None) -> int:
    """A modifier of Black Flag, which prints one that includes the proficiency bonus for saves with proficiency."""
    return (whole(entry, "mod") or 0) - (_proficiency(rating) if entry.get("proficient") is True else 0)


NOBODY = Sheet("", {}, {}, {}, None)
"""The numbers of nobody: of a spell or an item that no creature has."""
