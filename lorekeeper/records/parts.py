"""The parts that the things of the game share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Distance:
    """How far something reaches.

    Attributes:
        text: as the source says it, "" if it gives a number alone: "Self (60-foot cone)", "Sight".
        feet: 0 for oneself and by touch; None for what is no distance.
        number: of feet, as the source gives it beside the text; it may be wrong where the text is no distance.
    """

    text: str = ""
    feet: float | None = None
    number: float | None = None


@dataclass(frozen=True)
class Area:
    """What an effect fills.

    Attributes:
        shape: "cone", "sphere", ...; "" if unknown.
        size: radius, length or side, in feet.
    """

    shape: str = ""
    size: float | None = None


@dataclass(frozen=True)
class Duration:
    """How long something lasts.

    Attributes:
        text: as the source says it: "up to 1 minute".
        concentration: whether it ends with the concentration of its caster.
    """

    text: str = ""
    concentration: bool | None = None


@dataclass(frozen=True)
class Material:
    """The material component of a spell.

    Attributes:
        text: what it is.
        price: in gp, where the source has it apart from the text.
        consumed: whether casting uses it up, as the source says apart from the text.
    """

    text: str = ""
    price: float | None = None
    consumed: bool | None = None


@dataclass(frozen=True)
class Figure:
    """A number, as its source has it.

    Attributes:
        value: None if it is none.
        text: what the source says; in words where it has no number: "10 + your level".
    """

    value: float | None = None
    text: str = ""

    @property
    def stated(self) -> float | str | None:
        """The number, else the words; None if it is unknown."""
        return self.text or None if self.value is None else self.value


@dataclass(frozen=True)
class Bonuses:
    """Bonuses by what they are to: "Dex" or "Sleight of Hand".

    Attributes:
        by_name: in the order in which they are printed.
        text: of a source that has them in words.
    """

    by_name: Mapping[str, float] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class Speed:
    """How fast something moves.

    Attributes:
        text: as it is printed: "30 ft., fly 60 ft. (hover)".
        feet: by kind of movement; without those that a creature lacks.
        hover: whether it hovers.
    """

    text: str = ""
    feet: Mapping[str, float] = field(default_factory=dict)
    hover: bool | None = None


@dataclass(frozen=True)
class Senses:
    """What something perceives.

    Attributes:
        text: as it is printed, without passive Perception unless the source has it there: "darkvision 60 ft.".
        feet: range by sense.
        passive: passive Perception.
    """

    text: str = ""
    feet: Mapping[str, float] = field(default_factory=dict)
    passive: Figure = field(default_factory=Figure)


@dataclass(frozen=True)
class Damage:
    """What a roll does: "2d6 + 3" of "fire"; of several types, "cold/fire".

    Attributes:
        average: of a source that has it instead of dice.
    """

    dice: str = ""
    type: str = ""
    average: float | None = None


@dataclass(frozen=True)
class Effects:
    """What a text does to others.

    Attributes:
        damage: that it deals, in the order of the text, with its dice where the sentence has them.
        saves: abilities of the saving throws that it forces, in the order of the text.
        conditions: that it inflicts, in the order of `CONDITIONS`.
        areas: that it fills.
        attack: "melee" or "ranged", of its first spell attack; "" without one.
        heals: whether it restores hit points. Temporary ones do not count.
        summons: whether it brings creatures, or makes them, to act for whoever uses it.
        charges: what its uses take of the charges of an item, in the order of the text.
    """

    damage: tuple[Damage, ...] = ()
    saves: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    areas: tuple[Area, ...] = ()
    attack: str = ""
    heals: bool = False
    summons: bool = False
    charges: tuple[int, ...] = ()

    @property
    def damage_types(self) -> tuple[str, ...]:
        """Each type that is dealt, once."""
        return tuple(dict.fromkeys(kind for each in self.damage for kind in each.type.split("/")))


@dataclass(frozen=True)
class Attack:
    """An attack, as a source lists it apart from the text.

    Attributes:
        bonus: to hit.
        reach, range: in feet.
    """

    bonus: float | None = None
    reach: float | None = None
    range: float | None = None
    damage: Damage = field(default_factory=Damage)
    extra_damage: Damage = field(default_factory=Damage)


SENTENCE = re.compile(
    r"^(?=.{40}|(?:The|An?|If|While) .{16})[A-Z].* "
    r"(?:is|are|has|have|can|deals|dies|regains?|gains?|falls?|begins|vomits|takes|makes) "
)
"""A name that is a whole sentence, which a source has cut off the text of its feature."""


@dataclass(frozen=True)
class Feature:
    """A trait, an action, or a feature of a class.

    Attributes:
        name: its heading.
        text: what it says, as Markdown.
        kind: "trait", "action", "bonus action", "legendary action", ...
        uses: how often it can be used: "3/Day", "Recharge 5-6".
        cost: the legendary actions that it takes.
        form: the form that its creature must have.
        attacks: those that the source lists apart from the text.
        place: where it comes among others of its kind.
        levels: of a character that has it: when it is had first, and when it grows, each with what is special then.
        column: what the table of its class says of it, by level.
    """

    name: str = ""
    text: str = ""
    kind: str = "trait"
    uses: str = ""
    cost: float | None = None
    form: str = ""
    attacks: tuple[Attack, ...] = ()
    place: float | None = None
    levels: tuple[tuple[int, str], ...] = ()
    column: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Cost:
    """What something costs.

    Attributes:
        text: as the source says it, "" if it gives a number alone.
        gold: in gp. 0 stands for no price: nothing that is sold is free.
    """

    text: str = ""
    gold: float | None = None


@dataclass(frozen=True)
class Weight:
    """What something weighs.

    Attributes:
        text: as the source says it, "" if it gives a number alone.
        number: in its unit. 0 stands for no weight.
    """

    text: str = ""
    number: float | None = None
    unit: str = "lb"


@dataclass(frozen=True)
class ArmorClass:
    """What a suit of armor or a shield gives.

    Attributes:
        text: as it is printed: "14 + Dex modifier (max 2)".
        base: of armor.
        bonus: of a shield.
    """

    text: str = ""
    base: float | None = None
    bonus: float | None = None


@dataclass(frozen=True)
class Property:
    """A property of a weapon.

    Attributes:
        name: "versatile", "thrown (range 20/60)".
        detail: what is special with this weapon: "1d10".
        kind: "mastery"; "" of most.
        text: what it means, where the source says so.
    """

    name: str = ""
    detail: str = ""
    kind: str = ""
    text: str = ""

    @property
    def word(self) -> str:
        """The name without what is in brackets: "thrown"."""
        return self.name.partition("(")[0].rstrip() if self.name.endswith(")") else self.name


def is_players(values: Mapping[str, object]) -> bool:
    """Whether a stat block in the keys of Fantasy Statblocks is of a player's character."""
    return str(values.get("player", "")).strip().lower() in ("true", "yes", "1")
