"""Filter values of spells, from the structured values of their source and from the wording of their text.

The text decides where the two contradict each other: a structured saving throw, damage type or consumed component that the
text mentions in another role only (protection from it, a bonus, "worth 50 gp" without a word about being consumed) is left
out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lorekeeper.folding import fold, fold_component
from lorekeeper.records import Area, Effects, Source, Spell, effects, spell
from lorekeeper.records.grammar import mentions_damage, mentions_save, plain, prices
from lorekeeper.terms import DAMAGE_TYPES, ENDLESS

Fields = dict[str, Any]

CLASSES = Path(__file__).parent.parent / "data" / "spell_classes.txt"
"""Document, slug and classes of spells, from version 1 of Open5e's API: for books whose own list is missing or mixed in version 2.
Of the SRD 5.1, classes that have a spell through a subclass alone are left out, unless 5.2 gives it to them."""

LISTED_AGAIN = {"srd-2014": "srd-2014", "wotc-srd": "srd-2014"}
"""Documents whose own class lists hold the spells of domains, circles and patrons too, with their name in `CLASSES`."""


def read(obj: Mapping[str, Any], document: str | None = None, slug: str = "") -> Fields:
    """The filter values of a spell in the shape of any source; None where nothing is known."""
    return fields(spell(Source(obj)), document, slug)


def fields(spell: Spell, document: str | None = None, slug: str = "") -> Fields:
    """The filter values of a spell; its identity finds it in the lists of classes."""
    text = plain("\n".join(filter(None, (spell.text, spell.higher_levels))))
    found = effects(text)
    components = [fold_component(component) for component in spell.components]
    filled = area(spell, text, found)
    return {
        "level": spell.level_text or None if spell.level is None else spell.level,
        "school": spell.school or None,
        "classes": classes(document, slug, spell.classes),
        "ritual": spell.ritual,
        "concentration": spell.duration.concentration,
        "casting_time": casting_time(spell.casting_time) if spell.casting_time else None,
        "range": spell.range.feet,
        "damage_types": _damage_types(text, found, spell.damage_types) or None,
        "saves": list(found.saves) or [each for each in spell.saves if not mentions_save(text, each)] or None,
        "conditions": list(dict.fromkeys([*found.conditions, *spell.conditions])) or None,
        "attack": found.attack or None,
        "heals": found.heals if text.strip() else None,
        "summons": found.summons if text.strip() else None,
        "components": components or None,
        **material(spell, components),
        "duration": minutes(spell.duration.text),
        "area": filled.shape or None,
        "area_size": filled.size,
    }


def restated(obj: Mapping[str, Any]) -> Fields:
    """The values that an object of our own JSON shape gives in words: "8 hours" is 480 minutes."""
    return {"duration": minutes(obj["duration"])} if isinstance(obj.get("duration"), str) else {}


def _damage_types(text: str, found: Effects, structured: Iterable[str]) -> list[str]:
    """Types of the damage that a spell deals: those the text deals, and structured ones that it does not name."""
    dealt = [kind for kind in DAMAGE_TYPES if kind in found.damage_types]
    return list(dict.fromkeys([*dealt, *(kind for kind in structured if not mentions_damage(text, kind))]))


# --- components ------------------------------------------------------------------------------------------------------

_CONSUMED = re.compile(r"\bconsum(?:e|es|ed|ing)\b|\bused up\b|\bdestroyed\b")
_KEPT = re.compile(r"\b(?:not|n't) (?:be )?consumed\b|\bdoes(?: not|n't) consume\b")


def material(spell: Spell, components: Sequence[str]) -> Fields:
    """Price in gp and consumption of the material components.

    The price is the highest that is named ("one jacinth worth at least 1,000 gp and one bar worth at least 100 gp" is 1,000).
    """
    words = plain(spell.material.text)
    consumed: bool | None = spell.material.consumed or None  # sources write "no" where they do not know
    if words.strip():
        consumed = bool(_CONSUMED.search(words)) and not _KEPT.search(words)
    elif components and "material" not in components:
        consumed = False
    return {"material_cost": max(prices(words), default=spell.material.price or None), "material_consumed": consumed}


# --- duration, casting time ------------------------------------------------------------------------------------------

_UNITS = {
    "turn": 0.1,
    "round": 0.1,
    "minute": 1,
    "hour": 60,
    "day": 1440,
    "week": 10_080,
    "month": 43_200,
    "year": 525_600,
}
_DURATION = re.compile(
    rf"(?:concentration,? )?(?:up to )?(?P<amount>\d{{1,4}}|an?|one) ?(?P<unit>{'|'.join(_UNITS)})s?\b(?! ?/)(?! or \d)"
)


def minutes(duration: object) -> float | None:
    """A duration in minutes: "instantaneous" is 0, a round 0.1.

    What is permanent, or lasts until something ends it, lasts `ENDLESS` minutes: longer than any other. None if the length is not
    fixed: special, dice, "1 minute or 1 hour". An end that may come earlier, as in "1 hour or until triggered", does not count.
    """
    if isinstance(duration, (int, float)) and not isinstance(duration, bool):
        return duration
    words = re.sub(r"\s+", " ", duration).strip().lower() if isinstance(duration, str) else ""
    if words == "instantaneous":
        return 0
    if words.startswith(("until ", "permanent")):
        return ENDLESS
    match = _DURATION.match(words)
    if match is None:
        return None
    amount = int(match["amount"]) if match["amount"].isdigit() else 1
    return round(amount * _UNITS[match["unit"]], 3)


_ACTION = re.compile(r"(?:1 |an? )?(?P<action>bonus action|reaction|action)\b")


def casting_time(value: object) -> object:
    """A casting time without its trigger or alternative: "1 reaction, which you take when ..." is "reaction"."""
    if not isinstance(value, str):
        return value
    match = _ACTION.match(fold(value))
    if match:
        return match["action"]
    return re.split(r",| or | plus |\(", value, maxsplit=1)[0].strip() or value


# --- area ------------------------------------------------------------------------------------------------------------


_LEY_LINE = re.compile(r"\bley lines?\b")
"""No area, for all that sources think."""


def area(spell: Spell, text: str, told: Effects) -> Area:
    """The area of a spell: as its range says it, else as the text does, else the source's own values.

    Of several areas in the text, the first of the source's shape counts, since a source gives cylinders their height and
    lines their width now and then.
    """
    found = [*effects(plain(spell.range.text)).areas, *told.areas]
    alike = [area for area in found if area.shape == spell.area.shape]
    if spell.area.shape and (not found or (not alike and spell.area.shape in _LEY_LINE.sub("", text))):
        return spell.area
    return next(iter(alike or found), Area())


# --- classes ---------------------------------------------------------------------------------------------------------


def classes(document: str | None, slug: str, listed: Iterable[str]) -> list[str] | None:
    """The classes whose own list has a spell; None if nobody says.

    ``listed`` is what the object says. It is replaced by the table where it is known to mix in the spells of subclasses, and
    where it is empty.
    """
    names = list(listed)
    book = LISTED_AGAIN.get(document or "")
    if book or not names:
        return list(_table().get((book or document or "", slug), ())) or names or None
    return names


@cache
def _table() -> Mapping[tuple[str, str], tuple[str, ...]]:
    rows = (line.split() for line in CLASSES.read_text("utf-8").splitlines())
    return {(document, slug): tuple(names) for document, slug, *names in rows}
