"""Species, backgrounds, feats and rules of 5e-bits in the shape of Open5e."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lorekeeper.normalize.build import joined
from lorekeeper.normalize.fivebits.classes import Tables
from lorekeeper.normalize.fivebits.texts import (
    Object,
    index_of,
    name_of,
    names,
    objects,
    paragraphs,
    prose,
    text_of,
    titled,
)
from lorekeeper.terms import ABILITY_OF


def species(o: Object, tables: Tables) -> dict[str, Any]:
    """A race or species, with its traits, and in 2024 with its lineages as a trait each."""
    told = {
        "Ability Score Increase": _increase(o),
        "Age": str(o.get("age") or ""),
        "Alignment": str(o.get("alignment") or ""),
        "Creature Type": str(o.get("type") or ""),
        "Size": str(o.get("size_description") or _size(o)),
        "Speed": f"{o['speed']} feet" if o.get("speed") else "",
        "Languages": str(o.get("language_desc") or ""),
    }
    traits = [{"name": name, "desc": words} for name, words in told.items() if words]
    parent = o.get("race") or o.get("species")
    branches = [each for each in tables.get("subspecies", ()) if index_of(each.get("species")) == index_of(o)]
    return {
        "name": o.get("name"),
        "desc": text_of(o),
        "is_subspecies": bool(parent),
        "subspecies_of": f"srd_{index_of(parent)}" if parent else None,
        "traits": traits + _traits(o, tables) + [_lineage(each, tables) for each in branches],
    }


def _size(o: Object) -> str:
    options = objects(((o.get("size_options") or {}).get("from") or {}).get("options"))
    either = joined((str(each.get("size")) for each in options), "or")
    return str(o.get("size") or " ".join(filter(None, (either, str((o.get("size_options") or {}).get("desc") or "")))))


def _increase(o: Object) -> str:
    given = [
        f"your {_ability(each.get('ability_score'))} score increases by {each.get('bonus')}"
        for each in objects(o.get("ability_bonuses"))
    ]
    chosen = o.get("ability_bonus_options")
    if isinstance(chosen, Mapping):
        given.append(f"{chosen.get('choose')} other ability scores of your choice increase by 1")
    text = joined(given)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _ability(reference: object) -> str:
    return ABILITY_OF.get(index_of(reference), name_of(reference)).capitalize()


def _traits(o: Object, tables: Tables) -> list[dict[str, Any]]:
    """The traits of a species; one that is a choice among others has these as its own."""
    known = {index_of(each): each for each in tables.get("traits", ())}
    of_lineages = {index_of(each) for branch in tables.get("subspecies", ()) for each in objects(branch.get("traits"))}
    named = [*map(index_of, objects(o.get("traits") or o.get("racial_traits")))]
    for index, trait in known.items():
        is_own = index not in of_lineages and not trait.get("subspecies")
        if is_own and index not in named and index_of(o) in map(index_of, objects(trait.get("species"))):
            named.append(index)
    found = []
    for each in objects(o.get("traits") or o.get("racial_traits")):
        known.setdefault(index_of(each), each)
    for index in named:
        parts = [each for each in known.values() if index_of(each.get("parent")) == index]
        told = paragraphs(_trait(known[index]), *map(_choice, parts))
        found.append({"name": known[index].get("name"), "desc": told})
    return found


def _trait(trait: Object) -> str:
    cast = [
        name for each in objects(trait.get("spells")) for name in (name_of(each.get("spell")) or name_of(each),) if name
    ]
    return paragraphs(text_of(trait), titled("Spells", ", ".join(cast)))


def _choice(trait: Object) -> str:
    """A trait that is one of several, with the breath weapon that it brings."""
    breath = (trait.get("trait_specific") or {}).get("breath_weapon") or {}
    name = str(trait.get("name"))
    return titled(name, " ".join(filter(None, (text_of(trait), prose(breath.get("desc"))))))


def _lineage(o: Object, tables: Tables) -> dict[str, Any]:
    """One of the lineages of a species of 2024, which has traits from certain levels on."""
    known = {index_of(each): each for each in tables.get("traits", ())}
    parts = []
    for each in objects(o.get("traits")):
        trait, level = known.get(index_of(each), each), each.get("level") or 1
        name = f"{trait.get('name')} (level {level})" if level != 1 else str(trait.get("name"))
        parts.append(titled(name, _trait(trait)))
    damage = name_of(o.get("damage_type"))
    return {"name": o.get("name"), "desc": paragraphs(titled("Damage Type", damage), *parts)}


def background(o: Object) -> dict[str, Any]:
    """A background of either edition."""
    skills = [name.removeprefix("Skill: ") for name in names(o.get("starting_proficiencies") or o.get("proficiencies"))]
    tools = [name.removeprefix("Tool: ") for name in skills if name.startswith("Tool: ")]
    feat, feature = o.get("feat") or {}, o.get("feature") or {}
    note = f" ({feat['note']})" if feat.get("note") else ""
    choices = [str(each["desc"]) for each in objects(o.get("proficiency_choices")) if each.get("desc")]
    benefits = {
        "Ability Scores": ", ".join(_ability(each) for each in objects(o.get("ability_scores"))),
        "Feat": f"{name_of(feat)}{note}" if feat else "",
        "Skill Proficiencies": joined(name for name in skills if not name.startswith("Tool: ")),
        "Tool Proficiency": joined([*tools, *choices]),
        "Languages": f"{o['language_options'].get('choose')} of your choice" if o.get("language_options") else "",
        "Equipment": _equipment(o),
        str(feature.get("name") or ""): prose(feature.get("desc")),
        "Suggested Characteristics": _characteristics(o),
    }
    return {
        "name": o.get("name"),
        "desc": text_of(o),
        "benefits": [
            {"name": n, "desc": words, "type": _TYPES.get(n, "feature")} for n, words in benefits.items() if words
        ],
    }


def _equipment(o: Object) -> str:
    given = [
        f"{each.get('quantity')} {name_of(each.get('equipment'))}" for each in objects(o.get("starting_equipment"))
    ]
    chosen = [_chosen(each) for each in objects(o.get("equipment_options") or o.get("starting_equipment_options"))]
    gold = o.get("starting_gold") or {}
    return ", ".join(filter(None, (*chosen, *given, f"{gold['quantity']} {gold['unit']}" if gold else "")))


def _chosen(o: Object) -> str:
    group = name_of((o.get("from") or {}).get("equipment_category"))
    return str(o.get("desc") or f"{o.get('choose')} of the {group}")


_TYPES = {
    "Ability Scores": "ability_score",
    "Feat": "feat",
    "Skill Proficiencies": "skill_proficiency",
    "Tool Proficiency": "tool_proficiency",
    "Languages": "language",
    "Equipment": "equipment",
    "Suggested Characteristics": "suggested_characteristics",
}
"""What Open5e calls the benefits of a background."""

_ROLLED = {
    "personality_traits": "Personality Trait",
    "ideals": "Ideal",
    "bonds": "Bond",
    "flaws": "Flaw",
}


def _characteristics(o: Object) -> str:
    """The tables of characteristics, to roll on."""
    found = []
    for key, title in _ROLLED.items():
        options = ((o.get(key) or {}).get("from") or {}).get("options") or []
        rows = [str(each.get("string") or _ideal(each)) for each in objects(options)]
        if rows:
            lines = [f"| {number} | {row} |" for number, row in enumerate(rows, 1)]
            found.append("\n".join([f"| d{len(rows)} | {title} |", "|---|---|", *lines]))
    return paragraphs(*found)


_ALIGNED = ("Lawful", "Chaotic", "Good", "Evil")
_HAVING = 3
"""How many alignments have each of these words."""


def _ideal(o: Object) -> str:
    of = names(o.get("alignments"))
    shared = [word for word in _ALIGNED if all(word in each for each in of)] if len(of) == _HAVING else []
    kind = "Any" if len(of) > _HAVING else "".join(shared) or joined(of, "or")
    return f"{o.get('desc') or ''} ({kind})" if of else str(o.get("desc") or "")


def feat(o: Object) -> dict[str, Any]:
    """A feat of either edition."""
    asked = _asked(o)
    kind = str(o.get("type") or "")
    return {
        "name": o.get("name"),
        "type": kind.replace("-", " ").title(),
        "has_prerequisite": bool(asked),
        "prerequisite": asked,
        "desc": paragraphs(text_of(o), titled("Repeatable", str(o.get("repeatable") or ""))),
    }


def _asked(o: Object) -> str:
    found = o.get("prerequisites")
    if isinstance(found, Mapping):
        level, feature = found.get("minimum_level"), found.get("feature_named")
        parts = [f"Level {level}+" if level else "", f"{feature} Feature" if feature else ""]
    else:
        parts = [f"{_ability(each.get('ability_score'))} {each.get('minimum_score')}" for each in objects(found)]
    parts.append(str((o.get("prerequisite_options") or {}).get("desc") or ""))
    return ", ".join(filter(None, parts))


def rule(o: Object) -> dict[str, Any]:
    """A condition, skill, school, property or whatever else is explained by a text."""
    more = {
        "type": o.get("type"),
        "script_language": o.get("script"),
        "typical_speakers": ", ".join(o.get("typical_speakers") or ()),
        "note": o.get("note"),
        "ability": ABILITY_OF.get(index_of(o.get("ability_score"))),
        "short_name": o.get("abbreviation"),
    }
    return {
        "name": o.get("full_name") or o.get("name"),
        **{key: value for key, value in more.items() if value},
        "desc": text_of(o),
        "skills_of": ", ".join(names(o.get("skills"))),
    }
