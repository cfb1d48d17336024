"""Spells of 5e-bits in the shape of Open5e."""

from __future__ import annotations

import re
from typing import Any

from lorekeeper.normalize.fivebits.printed import Below
from lorekeeper.normalize.fivebits.texts import Object, index_of, objects, prose, text
from lorekeeper.terms import ABILITY_OF

_LETTERS = {"V": "verbal", "S": "somatic", "M": "material"}


SIGN = re.compile(r"\s(?:\d\w\w-level |\w+ cantrip)")
"""How a spell begins below its name."""

_LINES = re.compile(
    r"(?:\d\w\w-level )?(?P<school>[A-Za-z]+)(?: cantrip)?(?: \(ritual\))? Casting Time: (?P<casting_time>.{1,300}?) "
    r"Range: (?P<range>[^:]{1,60}?) ?Components?: [VSM, ]{1,9}(?:\((?P<material>[^()]{1,400})\))? ?Duration: ?"
    r"(?P<duration>(?:Concentration, up to |Up to )?\d{1,3} (?:round|minute|hour|day)s?|Instantaneous|Special|"
    r"Until dispelled(?: or triggered)?)?"
)
"""The lines of a spell in print."""


def as_printed(o: Object, below: Below) -> Object:
    """A spell with the values that its lines have: the casting time of a reaction says what it answers, a range its shape."""
    match = _LINES.match(below.text)
    read = {key: value for key, value in match.groupdict().items() if value} if match else {}
    if school := read.pop("school", "").lower():
        read["school"] = {"index": school, "name": school.capitalize()}
    return {**o, **read}


def spell(o: Object) -> dict[str, Any]:
    """A spell."""
    components, kind = o.get("components") or [], index_of(o, "damage.damage_type")
    return {
        "higher_level": prose(o, "higher_level"),
        "school": {"name": text(o, "school"), "key": index_of(o, "school")},
        "classes": [{"name": text(each), "key": f"srd_{index_of(each)}"} for each in objects(o, "classes")],
        **{key: o.get(key) for key in "level range ritual concentration casting_time duration".split()},
        **{word: letter in components for letter, word in _LETTERS.items()},
        "material_specified": o.get("material"),
        "saving_throw_ability": ABILITY_OF.get(index_of(o, "dc.dc_type"), ""),
        "damage_types": [kind] if kind else [],
    }
