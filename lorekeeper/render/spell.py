"""Spells, in the order of the books."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lorekeeper import records
from lorekeeper.entities import Entity
from lorekeeper.folding import fold_time
from lorekeeper.records.grammar import plain, prices
from lorekeeper.records.values import amount
from lorekeeper.render.origin import origin
from lorekeeper.render.page import capital, italic, labelled
from lorekeeper.render.prose import inline, prose
from lorekeeper.render.source import OF_2024, Source, style_of, title

ORDINALS = {1: "1st", 2: "2nd", 3: "3rd"}

DERIVED = (
    "level_int spell_level range_unit target_range_sort shape_size_unit casting_options target_type target_count "
    "saving_throw_ability attack_roll damage_roll damage_types can_be_cast_as_ritual requires_concentration "
    "requires_verbal_components requires_somatic_components requires_material_components dnd_class"
).split()
"""Keys whose values are in the text or made from others. Where Open5e's do not agree with the text, the text is right."""


def spell(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a spell."""
    read, style = records.spell(source), style_of(source)
    figures, higher = prose(read.figures), prose(read.higher_levels)
    source.skip(*DERIVED if figures or entity.source_api != "lorekeeper" else ())
    source.skip(*("saves", "conditions", "attack", "heals") if figures else ())
    yield italic(_level(read, style, in_style=source.in_style), "(ritual)" if read.ritual else "")
    lines = labelled(
        source,
        (
            ("Casting Time", _casting_time(read, style)),
            ("Range", _range(read.range)),
            ("Area", _area(read.area)),
            ("Components", _components(read, consumed=entity.fields.get("material_consumed") is True)),
            ("Duration", _duration(read.duration)),
            ("Classes", ", ".join(map(title, read.classes))),
            ("Archetype", source.words("archetype")),
            ("Circles", source.words("circles")),
        ),
    )
    yield "\n".join(filter(None, (lines, origin(source))))
    yield prose(read.text)
    yield f"**In figures.** {figures}" if figures else ""
    yield f"**{_higher_label(read, style)}.** {higher}" if higher else ""


def _higher_label(spell: records.Spell, style: str) -> str:
    """What the edition calls the paragraph on higher levels."""
    if style != OF_2024:
        return "At Higher Levels"
    return "Cantrip Upgrade" if spell.level == 0 else "Using a Higher-Level Spell Slot"


def _level(spell: records.Spell, style: str, *, in_style: bool) -> str:
    """Level and school: "3rd-level evocation", "Evocation cantrip"; in 2024 "Level 3 Evocation"; behind a label "3 evocation"."""
    school = inline(spell.school)
    if spell.level == 0:
        return f"{capital(school)} cantrip".strip() if in_style else f"0 {school} cantrip"
    if spell.level is None:
        return f"{inline(spell.level_text)} {school}".strip()
    if not in_style:
        return f"{spell.level} {school}".strip()
    if style == OF_2024:
        return f"Level {spell.level} {capital(school)}".strip()
    return f"{ordinal(spell.level)}-level {school}".strip()


def ordinal(rank: float) -> str:
    """A level in words: "3rd"."""
    return ORDINALS.get(int(rank), f"{amount(rank)}th")


_BEGIN = re.compile(r"[^,(]*?(?= ?[,(]|$)")
"""What a casting time says before its conditions."""


def _casting_time(spell: records.Spell, style: str) -> str:
    """ "1 action", "1 reaction, which you take when you are hit", "10 minutes"."""
    told = inline(spell.casting_time)
    begin, rest = told[: (end := _BEGIN.match(told).end())], told[end:]  # type: ignore[union-attr]
    time = inline(fold_time(begin))
    if time and not time[0].isdigit():
        time = capital(time) if style == OF_2024 else f"1 {time}"
    return ", ".join(part for part in (time + rest, inline(spell.trigger)) if part)


def _range(range_: records.Distance) -> str:
    if range_.text or range_.number is None:
        return inline(range_.text)
    return f"{amount(range_.number)} feet" if range_.number else "0"


def _area(area: records.Area) -> str:
    """ "20-foot sphere"."""
    return f"{amount(area.size)}-foot {inline(area.shape)}" if area.size and area.shape else inline(area.shape)


def _components(spell: records.Spell, *, consumed: bool) -> str:
    """ "V, S, M (a diamond; worth 300 gp; consumed)"; whether they are consumed is for the filters to say, not for the source."""
    material, price = inline(spell.material.text), spell.material.price
    priced = price in prices(plain(material))
    details = [
        material.rstrip("."),
        f"worth {amount(price)} gp" if price and not priced else "",
        "consumed" if consumed and "consume" not in material else "",
    ]
    told = "; ".join(detail for detail in details if detail)
    letters = inline(", ".join(spell.components))
    return f"{letters} ({told})".strip() if told else letters


def _duration(duration: records.Duration) -> str:
    """ "Concentration, up to 1 minute", "Instantaneous"."""
    said = capital(inline(duration.text))
    if not duration.concentration or "concentration" in said.casefold():
        return said
    return f"Concentration, up to {said.casefold().removeprefix('up to ')}" if said else "Concentration"
