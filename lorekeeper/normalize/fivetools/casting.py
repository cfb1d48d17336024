"""The lists of spells of a stat block as a trait."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lorekeeper.normalize.fivetools.entries import Writer
from lorekeeper.normalize.fivetools.values import Object, listed, mapping, number, text
from lorekeeper.render.spell import ordinal

PERIODS = {
    "daily": "day",
    "rest": "rest",
    "restLong": "long rest",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
}
"""Keys of spells that can be cast so often, and in which time."""

_REMARK = re.compile(r"\([^()]{0,200}\)|[*†‡]+")


def spellcasting(writer: Writer, cast: Object) -> tuple[dict[str, object], list[str]]:
    """The trait with its introduction, a line for each frequency and level, and its remarks; and the names of all spells."""
    hidden = {text(key) for key in listed(cast.get("hidden"))}
    rows, known = [], []
    for key, label, spells in _groups(cast):
        shown = [_spell(writer, each) for each in listed(spells)]
        known += [_REMARK.sub("", name).strip() for name in shown]
        if key not in hidden and shown:
            rows.append(f"- {label}: {', '.join(filter(None, shown))}")
    before, after = writer.markdown(cast.get("headerEntries")), writer.markdown(cast.get("footerEntries"))
    name = writer.reader.plain(text(cast.get("name"))) or "Spellcasting"
    desc = "\n\n".join(filter(None, (before, "\n".join(rows), after)))
    return {"name": name, "desc": desc}, [spell for spell in known if spell]


def _spell(writer: Writer, value: object) -> str:
    """A spell of a list, which may be within an object."""
    found = mapping(value)
    entry = found.get("entry") if found else value
    return writer.reader.plain(entry) if isinstance(entry, str) else writer.line(entry)


def _groups(cast: Object) -> Iterator[tuple[str, str, object]]:
    """(key, label, spells) of each frequency and level, in the order of the books."""
    for key, label in (("constant", "Constant"), ("will", "At will"), ("ritual", "Rituals")):
        yield key, label, cast.get(key)
    for key, period in PERIODS.items():
        for often, spells in sorted(mapping(cast.get(key)).items(), reverse=True):
            each = " each" if often.endswith("e") else ""
            yield key, f"{often.removesuffix('e')}/{period}{each}", spells
    for often, spells in mapping(cast.get("recharge")).items():
        yield "recharge", f"Recharge {often}" if often == "6" else f"Recharge {often}–6", spells
    for key, unit in (("charges", "charge"), ("legendary", "legendary action")):
        for often, spells in mapping(cast.get(key)).items():
            count = often.removesuffix("e")
            yield key, f"{count} {unit}{'' if count == '1' else 's'}", spells
    for level, spells in sorted(mapping(cast.get("spells")).items()):
        yield "spells", _level(level, mapping(spells)), mapping(spells).get("spells")


def _level(level: str, group: Object) -> str:
    """ "Cantrips (at will)", "3rd level (2 slots)", "1st to 5th level (2 5th-level slots)"."""
    rank, slots, lower = number(level), number(group.get("slots")), number(group.get("lower"))
    if not rank:
        return "Cantrips (at will)"
    name = ordinal(int(rank))
    told = f"{text(slots)} {f'{name}-level ' if lower else ''}slot{'' if slots == 1 else 's'}" if slots else "at will"
    span = f"{ordinal(int(lower))} to {name}" if lower else name
    return f"{span} level ({told})"
