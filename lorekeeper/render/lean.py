"""The object of an entry without what says nothing: nulls, keys of the source's own, values that the text contradicts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping

from lorekeeper import records
from lorekeeper.entities import Entity
from lorekeeper.records.grammar import plain
from lorekeeper.records.items import DERIVED as ARMOR_PARTS
from lorekeeper.records.items import FILLER_SIZE, NESTED
from lorekeeper.records.notes import WRITTEN, links_of
from lorekeeper.records.parts import Feature
from lorekeeper.records.values import Object, is_empty, listed, mapping, named_text, number
from lorekeeper.render.creature import DERIVED
from lorekeeper.render.item import repeats
from lorekeeper.render.page import PLUMBING
from lorekeeper.render.pages import markdown
from lorekeeper.render.prose import inline, prose
from lorekeeper.render.source import told, words
from lorekeeper.repairs import repaired

LeanObject = dict[str, object]

REFERENCE = frozenset({"name", "key", "url", "rank"})
"""The keys of a reference to another object, of which the name is kept."""

OWN_KEYS = PLUMBING - {"name", "title", "kind"} | frozenset(
    "weight_unit distance_unit shape_size_unit range_unit size_raw initialHeaderLevel index is_improvised".split()
)
"""Keys of any object that are left out."""

UNRELIABLE = frozenset({"target_type", "target_count", "casting_options"})
"""What Open5e says of spells without regard to their text, as that most have one creature as their target."""

SAID_TWICE = frozenset(
    "level_int spell_level target_range_sort can_be_cast_as_ritual requires_verbal_components requires_somatic_components "
    "requires_material_components requires_concentration dnd_class".split()
)
"""Keys of spells of API v1 that say what others do."""

IN_TEXT = frozenset({"damage_roll", "damage_types", "saving_throw_ability"})
"""Values of spells that are left out where the text does not have them."""

ACTIONS = ("actions", "bonus_actions", "reactions", "legendary_actions")
MEASURES = ("cost", "weight", "range", "long_range")
PARTS = ("ac_add_dexmod", "ac_cap_dexmod", "is_martial")
CHILDREN = ("archetypes", "subraces")

_DICE = re.compile(r"\d+d\d+")


MAX_RATIO = 1.5
"""Longest copy, in lengths of the page."""


def lean(entity: Entity) -> LeanObject:
    """The object of an entry, for a client that reads no text: no nulls or empty values, references as names.

    Where a value contradicts the text, the text's is given, or none. Its JSON has at most `MAX_RATIO` times the length of
    the page: the copy of a short entry is its page or only its name, ``{"text"}`` or ``{"name"}``.
    """
    special = LEAN_TYPES.get(entity.type, _nothing_special)
    content = {"name": inline(entity.name), **_object(special(repaired(entity)))}
    page = markdown(entity)
    candidates: tuple[LeanObject, ...] = (content, _without_attacks(content), {"text": page})
    for candidate in candidates:
        if len(json.dumps(candidate, ensure_ascii=False)) <= MAX_RATIO * len(page):
            return candidate
    return {"name": inline(entity.name)}


def _nothing_special(data: Object) -> LeanObject:
    return dict(data)


def _without_attacks(content: Object) -> LeanObject:
    """The object of a creature without the numbers of its attacks, which are in their texts too."""
    return {
        key: [_without(mapping(each), ("attacks",)) for each in value]
        if isinstance(value, list) and key in ACTIONS
        else value
        for key, value in content.items()
    }


def _object(data: Object) -> LeanObject:
    values = ((key, _value(key, value)) for key, value in data.items() if key.replace("-", "_") not in OWN_KEYS)
    return {key: value for key, value in values if not is_empty(value)}


def _value(key: str, value: object) -> object:
    match value:
        case str():
            return prose(value) if "\n" in value or len(value) > 80 else inline(value)
        case Mapping() if value and value.keys() <= REFERENCE and ("name" in value or "key" in value):
            return words(value)
        case Mapping() if value and all(isinstance(chosen, bool) for chosen in value.values()):
            return [words(name) for name, chosen in value.items() if chosen]
        case Mapping():
            return _object(value)
        case list() | tuple() if key == "data_for_class_table":
            return _column(value)
        case list() | tuple():
            return [item for item in (_value(key, item) for item in value) if not is_empty(item)]
    return value


def _column(cells: Iterable[object]) -> LeanObject:
    """The column of a class table: values by level."""
    found = ((number(mapping(cell).get("level")), words(mapping(cell).get("column_value"))) for cell in cells)
    return {
        f"{level:g}": value for level, value in sorted((level, value) for level, value in found if level is not None)
    }


def _without(data: Object, keys: Iterable[str]) -> LeanObject:
    left_out = frozenset(keys)
    return {key: value for key, value in data.items() if key not in left_out}


def _creature(data: Object) -> LeanObject:
    result = _without(data, DERIVED)
    languages = mapping(data.get("languages"))
    if languages.get("as_string"):
        result["languages"] = languages["as_string"]
    defences = mapping(data.get("resistances_and_immunities"))
    if defences:
        result["resistances_and_immunities"] = {k: v for k, v in defences.items() if not defences.get(f"{k}_display")}
    if data.get("category") == "Monsters":
        del result["category"]
    for key in ACTIONS:
        if isinstance(data.get(key), list):
            result[key] = [_action(action) for action in listed(data[key])]
    return result


def _action(value: object) -> object:
    action = mapping(value)
    if not action:
        return value
    result = _without(action, ("order_in_statblock", "attacks", "legendary_action_cost"))
    if (records.feature(action, "").cost or 0) > 1:
        result["legendary_action_cost"] = action["legendary_action_cost"]
    text = told(Feature(*named_text(action)))
    if result.get("action_type") == "ACTION":
        del result["action_type"]
    result["attacks"] = [_attack(mapping(attack), text) for attack in listed(action.get("attacks"))]
    return result


def _attack(attack: Object, text: str) -> LeanObject:
    """The numbers of an attack that its text has, and the damage types that the text names."""
    if not text:
        return _without(attack, ("name", "distance_unit"))
    result: LeanObject = {}
    bonus = number(attack.get("to_hit_mod"))
    if bonus is not None and f"{bonus:+g}" in text:
        result["to_hit"] = bonus if bonus % 1 else int(bonus)
    for key in ("reach", "range", "long_range"):
        if words(attack.get(key)) in re.findall(r"\d+", text):
            result[key] = attack[key]
    dealt = records.effects(plain(text)).damage
    rolled = ((dice[0], each.type) for each in dealt if (dice := _DICE.match(each.dice)))
    result["damage"] = list(dict.fromkeys(f"{dice} {kind}" for dice, kind in rolled))[:2]
    return result


def _spell(data: Object) -> LeanObject:
    read = records.spell(records.Source(data))
    text = f"{read.text} {read.higher_levels}".casefold()
    result = _without(data, UNRELIABLE if "key" in data else SAID_TWICE)
    for key in IN_TEXT & data.keys():
        kept = [value for value in listed(data[key]) if words(value).casefold() in text]
        result[key] = kept if isinstance(data[key], list) else (kept or [None])[0]
    return result


def _item(data: Object) -> LeanObject:
    """An item without prices, weights and ranges of 0, which mean that it has none."""
    result = {key: value for key, value in data.items() if key not in (*MEASURES, *ARMOR_PARTS) or number(value) != 0}
    for key in NESTED:
        if mapping(data.get(key)):
            result[key] = _item(_without(mapping(data[key]), (*PARTS, *(("name",) if _same_name(data, key) else ()))))
    if repeats(words(data.get("desc")), words(data.get("name"))):
        result.pop("desc")
    if words(data.get("size")).lower() == FILLER_SIZE:
        del result["size"]
    return result


def _same_name(data: Object, key: str) -> bool:
    return words(mapping(data[key]).get("name")) == words(data.get("name"))


def _option(data: Object) -> LeanObject:
    """A character option with the names of those below it, which are entries of their own."""
    below = {key: [mapping(each).get("name") for each in listed(data[key])] for key in CHILDREN if key in data}
    return {**data, **below}


def _rule(data: Object) -> LeanObject:
    """A rule; of the skills of an ability, the names of those that its document has."""
    return {**data, "skills": [inline(skill.name) for skill in records.rule(records.Source(data)).skills]}


def _note(data: Object) -> LeanObject:
    """A note; of its links, the paths of the notes that are linked to, or what is written of them, each once."""
    sections = [_without(mapping(section), (WRITTEN,)) for section in listed(data.get("sections"))]
    return {
        **data,
        "sections": sections,
        "links": list(dict.fromkeys(inline(link.to or link.target) for link in links_of(data))),
    }


LEAN_TYPES: dict[str, Callable[[Object], LeanObject]] = {
    "creatures": _creature,
    "spells": _spell,
    "equipment": _item,
    "character_options": _option,
    "rules": _rule,
    "notes": _note,
}
"""What is left out of the objects of a type beside the rest."""
