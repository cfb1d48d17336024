"""Classes, races, backgrounds and feats of OrcBrew in the keys in which options are kept.

The program has codes and maps of flags for what a character gets, which the books say in words. A trait may have a summary in
the place of a description, or beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.options import read as granted
from lorekeeper.normalize.reading import commas, paragraphs
from lorekeeper.records.values import amount, line, mapping, number
from lorekeeper.terms import ABILITY_OF

Object = Mapping[str, Any]

_PLACES = {
    "skill": "skill_proficiencies",
    "tool": "tool_proficiencies",
    "weapon": "prof_weapons",
    "armor": "prof_armor",
    "save": "prof_saving_throws",
}
"""Where what is granted of a kind stands."""

_REPLACED = frozenset(
    "profs traits speed size darkvision abilities languages prereqs path-prereqs ability-increases equipment treasure "
    "custom-equipment custom-treasure".split()
)
"""Keys that stand in the entry under other names, or in other words."""


def option(entry: Object) -> dict[str, Any]:
    """An option with what it grants in words. One that was read before stays as it is."""
    kept = {k: v for k, v in entry.items() if k not in _REPLACED or (isinstance(v, str) and " " in v)}
    profs, traits = mapping(entry.get("profs")), entry.get("traits")
    found = {
        **{place: _granted(profs, what) for what, place in _PLACES.items()},
        "languages": "; ".join(filter(None, (_named(entry.get("languages")), _granted(profs, "language")))),
        "equipment": _equipment(entry),
        "prerequisite": joined(
            each
            for value in (entry.get("prereqs"), *mapping(entry.get("path-prereqs")).values())
            for each in _names(value)
        ),
        "ability_score_increase": _raised(entry.get("ability-increases")),
        "asi_desc": _labelled("Ability Score Increase", _raised(entry.get("abilities"))),
        "size": _named(entry.get("size")).capitalize(),
        "speed_desc": _labelled("Speed", _feet(entry.get("speed"))),
        "vision": _labelled("Darkvision", _feet(entry.get("darkvision"))),
        "traits": [_trait(each) for each in traits] if isinstance(traits, (list, tuple)) else traits,
    }
    return {**kept, **without_empty(found)}


def fields(entry: Object, parent: str = "") -> dict[str, Any]:
    """The filter values of an option, which belongs to what stands under the key ``parent``."""
    values, die = option(entry), entry.get("hit-die")
    return {
        **granted(values),
        "parent": entry.get(parent) if parent else None,
        "hit_die": f"d{die}" if isinstance(die, int) else line(die).replace("-", " ") or None,
    }


def _trait(trait: object) -> object:
    """A trait with its texts as one."""
    if not isinstance(trait, Mapping) or not trait.get("summary"):
        return trait
    told, summary = line(trait.get("description")), line(trait["summary"])
    both = told if summary in told else paragraphs(told, summary)
    return {**{key: value for key, value in trait.items() if key != "summary"}, "description": both}


def _granted(profs: Object, what: str) -> str:
    """What is had of a kind, and what is chosen: "survival, athletics; choose 2 from history, insight"."""
    chosen = mapping(profs.get(f"{what}-options"))
    options = [name for name in _names(chosen.get("options")) if name != "any"]
    number_chosen = number(chosen.get("choose"))
    among = (
        f"choose {line(number_chosen)} from {', '.join(options)}"
        if options
        else f"{line(number_chosen)} of your choice"
    )
    choice = among if number_chosen else ""
    if chosen and "options" not in chosen:
        choice = ", ".join(f"{line(many)} {_word(kind)} of your choice" for kind, many in chosen.items())
    return "; ".join(filter(None, (_named(profs.get(what)), choice)))


def _names(value: object) -> Iterator[str]:
    """The names in a list, or those that a map marks."""
    if isinstance(value, Mapping):
        yield from (_word(name) for name, marked in value.items() if marked not in (None, False))
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from (_word(each) for each in value if isinstance(each, str))
    elif isinstance(value, str):
        yield _word(value)


def _named(value: object) -> str:
    return ", ".join(_names(value))


def _word(name: object) -> str:
    """A name in words: "Strength" of ``orcpub.dnd.e5.character/str``, "woodcarvers tools" of ``woodcarvers-tools``."""
    own = str(name).rpartition("/")[2] if " " not in str(name) else str(name)
    return ABILITY_OF[own].capitalize() if own in ABILITY_OF else own.replace("-", " ")


def _raised(value: object) -> str:
    """Ability scores with what is added to them: "Constitution +2"; pairs have the number first."""
    if isinstance(value, Mapping):
        return ", ".join(f"{_word(name)} {more:+}" for name, more in value.items() if isinstance(more, int) and more)
    parts = [
        f"{_word(each[1])} {each[0]:+}"
        if isinstance(each, (list, tuple)) and len(each) == 2 and isinstance(each[0], int)
        else _named(each)
        for each in (value if isinstance(value, (list, tuple, set, frozenset)) else ())
    ]
    return commas(*parts)


def _equipment(entry: Object) -> str:
    """Things with their numbers, and coins."""
    things = [
        _word(name) if many in (1, True) else f"{line(many)} {_word(name)}"
        for key in ("equipment", "custom-equipment")
        for name, many in mapping(entry.get(key)).items()
        if many
    ]
    coins = [f"{line(many)} {name}" for name, many in mapping(entry.get("treasure")).items() if many]
    return joined([*things, *coins])


def _feet(value: object) -> str:
    feet = number(value)
    return f"{amount(feet)} feet" if feet else ""


def _labelled(label: str, words: str) -> str:
    return f"**{label}.** {words}." if words else ""
