"""The parts that the things of the game share."""

from __future__ import annotations

from dataclasses import dataclass


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
