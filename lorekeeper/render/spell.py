"""Spells, in the order of the books."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lorekeeper.entities import Entity
from lorekeeper.folding import fold_time
from lorekeeper.render.origin import origin
from lorekeeper.render.page import Line, capital, italic, labelled, line
from lorekeeper.render.source import OF_2024, Source, amount, is_true, listed, mapping, number, style_of, title, words

ORDINALS = {1: "1st", 2: "2nd", 3: "3rd"}

LETTERS = {"verbal": "V", "somatic": "S", "material": "M"}

DERIVED = (
    "level_int spell_level range_unit target_range_sort shape_size_unit casting_options target_type target_count "
    "saving_throw_ability attack_roll damage_roll damage_types can_be_cast_as_ritual requires_concentration "
    "requires_verbal_components requires_somatic_components requires_material_components dnd_class"
).split()
"""Keys whose values are in the text or made from others. Where Open5e's do not agree with the text, the text is right."""


def spell(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a spell."""
    figures = source.prose("effects_desc")
    source.skip(*DERIVED if figures or entity.source_api != "lorekeeper" else ())
    source.skip(*("saves", "conditions", "attack", "heals") if figures else ())
    yield italic(_level(source), "(ritual)" if source.flag("ritual") else "")
    yield "\n".join(filter(None, (labelled(source, LINES), origin(source))))
    yield source.prose("desc", "description")
    yield f"**In figures.** {figures}" if figures else ""
    higher = source.prose("higher_level", "higher_levels")
    yield f"**{_higher_label(source)}.** {higher}" if higher else ""


def _higher_label(source: Source) -> str:
    """What the edition calls the paragraph on higher levels."""
    if style_of(source) != OF_2024:
        return "At Higher Levels"
    return "Cantrip Upgrade" if number(source.raw("level")) == 0 else "Using a Higher-Level Spell Slot"


def _level(source: Source) -> str:
    """Level and school: "3rd-level evocation", "Evocation cantrip"; in 2024 "Level 3 Evocation"."""
    level, school = source.value("level_int", "level"), source.words("school").lower()
    rank = number(level)
    if rank == 0:
        return f"{capital(school)} cantrip".strip()
    if rank is None:
        return f"{words(level)} {school}".strip()
    if style_of(source) == OF_2024:
        return f"Level {amount(rank)} {capital(school)}".strip()
    return f"{ordinal(rank)}-level {school}".strip()


def ordinal(rank: float) -> str:
    """A level in words: "3rd"."""
    return ORDINALS.get(int(rank), f"{amount(rank)}th")


def _casting_time(source: Source) -> str:
    """ "1 action", "1 reaction, which you take when you are hit", "10 minutes"."""
    time = words(fold_time(source.words("casting_time", "cast_time")))
    if time and not time[0].isdigit():
        time = capital(time) if style_of(source) == OF_2024 else f"1 {time}"
    return ", ".join(part for part in (time, source.words("reaction_condition")) if part)


def _range(source: Source) -> str:
    text, feet = source.words("range_text"), source.value("range")
    if text:
        return text
    return f"{amount(feet)} feet" if isinstance(feet, (int, float)) and feet else words(feet)


def _area(source: Source) -> str:
    """ "20-foot sphere"."""
    shape, size = source.words("shape_type", "area"), source.number("shape_size", "area_size")
    return f"{amount(size)}-foot {shape}" if size and shape else shape


def _components(source: Source) -> str:
    """ "V, S, M (a diamond; worth 300 gp; consumed)"."""
    given = source.value("components")
    chosen = mapping(given)
    flags = [letter for key, letter in LETTERS.items() if source.flag(key) or is_true(chosen.get(key))]
    letters = words(given) if given and not chosen else ", ".join(flags)
    material = words(chosen.get("material-component")) or source.words("material_specified", "material_text")
    if not is_true(source.value("material")):
        material = material or source.words("material")
    cost = source.number("material_cost")
    details = [
        material.rstrip("."),
        f"worth {amount(cost)} gp" if cost and not _priced(material, cost) else "",
        "consumed" if source.flag("material_consumed") and "consume" not in material else "",
    ]
    told = "; ".join(detail for detail in details if detail)
    return f"{letters} ({told})".strip() if told else letters


def _priced(material: str, cost: float) -> bool:
    """Whether the words of a material say its price: "400gp", "1,000+ GP"."""
    return re.search(rf"\b{re.escape(amount(cost))}\+? ?(?:gp|gold)\b", material, re.IGNORECASE) is not None


def _duration(source: Source) -> str:
    """ "Concentration, up to 1 minute", "Instantaneous"."""
    duration = capital(source.words("duration"))
    if not source.flag("concentration", "requires_concentration") or "concentration" in duration.casefold():
        return duration
    if not duration:
        return "Concentration"
    time = duration.casefold().removeprefix("up to ")
    return f"Concentration, up to {time}"


def _classes(source: Source) -> str:
    classes = source.value("classes", "spell_lists", "dnd_class")
    chosen = [title(str(name)) for name, value in mapping(classes).items() if value is True]
    return ", ".join(chosen or (title(words(name)) for name in listed(classes)))


LINES: tuple[Line, ...] = (
    ("Casting Time", _casting_time),
    ("Range", _range),
    ("Area", _area),
    ("Components", _components),
    ("Duration", _duration),
    ("Classes", _classes),
    line("Archetype", "archetype"),
    line("Circles", "circles"),
)
