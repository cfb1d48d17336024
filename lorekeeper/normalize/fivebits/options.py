"""Species, backgrounds, feats and rules of 5e-bits in the shape of Open5e."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from lorekeeper.normalize.build import joined
from lorekeeper.normalize.fivebits.classes import Tables
from lorekeeper.normalize.fivebits.printed import Below
from lorekeeper.normalize.fivebits.texts import (
    Object,
    ability_of,
    index_of,
    many,
    names,
    objects,
    prose,
    score_of,
    text,
    text_of,
    titled,
    word,
)
from lorekeeper.normalize.printed_srd.structure import table_lines
from lorekeeper.normalize.reading import commas, mapping, paragraphs, spaced
from lorekeeper.terms import ABILITY_OF


def species(o: Object, tables: Tables) -> dict[str, Any]:
    """A race or species, with its traits, and in 2024 with its lineages as a trait each."""
    sizes = joined((text(each, "size") for each in objects(o, "size_options.from.options")), "or")
    told = {
        "Ability Score Increase": _increase(o),
        "Age": text(o, "age"),
        "Alignment": text(o, "alignment"),
        "Creature Type": text(o, "type"),
        "Size": text(o, "size_description", "size") or spaced(sizes, text(o, "size_options.desc")),
        "Speed": f"{o['speed']} feet" if o.get("speed") else "",
        "Languages": text(o, "language_desc"),
    }
    traits = [{"name": name, "desc": words} for name, words in told.items() if words]
    parent = index_of(o, "race", "species")
    branches = [each for each in tables.get("subspecies", ()) if index_of(each, "species") == index_of(o)]
    return {
        "is_subspecies": bool(parent),
        "subspecies_of": f"srd_{parent}" if parent else None,
        "traits": traits + _traits(o, tables) + [_lineage(each, tables) for each in branches],
    }


SIGN = re.compile(r"\n[^\n]{1,40} Traits\n")
"""What stands below the name of a species."""

_INCREASE = "Ability Score Increase. "


def as_printed(o: Object, below: Below) -> Object:
    """A species with what the book says of its scores."""
    return {**o, "increase": next((each for each in below.lines if each.startswith(_INCREASE)), "")}


def _increase(o: Object) -> str:
    if printed := text(o, "increase").removeprefix(_INCREASE):
        return printed
    given = [
        f"your {ability_of(each.get('ability_score'))} score increases by {each.get('bonus')}"
        for each in objects(o, "ability_bonuses")
    ]
    if chosen := mapping(o, "ability_bonus_options"):
        given.append(f"{chosen.get('choose')} other ability scores of your choice increase by 1")
    increase = joined(given)
    return f"{increase[:1].upper()}{increase[1:]}." if increase else ""


def _traits(o: Object, tables: Tables) -> list[dict[str, Any]]:
    """The traits of a species; one that is a choice among others has these as its own."""
    own = {index_of(each): each for each in objects(o, "traits", "racial_traits")}
    known = {index_of(each): each for each in tables.get("traits", ())}
    of_lineages = {index_of(each) for branch in tables.get("subspecies", ()) for each in objects(branch, "traits")}
    named = [*own]
    for index, trait in known.items():
        is_own = index not in of_lineages and not trait.get("subspecies") and index not in own
        if is_own and index_of(o) in map(index_of, objects(trait, "species")):
            named.append(index)
    known = own | known
    return [{"name": known[index].get("name"), "desc": _with_choices(known[index], known.values())} for index in named]


def _with_choices(trait: Object, known: Iterable[Object]) -> str:
    """The text of a trait, with the traits that are its choices unless it has a table of them."""
    told = _trait(trait)
    of = (each for each in known if index_of(each, "parent") == index_of(trait))
    return told if "\n|" in told else paragraphs(told, *map(_choice, of))


def _trait(trait: Object) -> str:
    return paragraphs(
        text_of(trait), titled("Spells", commas(*(text(each, "spell", "name") for each in objects(trait, "spells"))))
    )


def _choice(trait: Object) -> str:
    """A trait that is one of several: by the values that only it has, such as those of a breath weapon, or by its text."""
    area = mapping(trait, "trait_specific.breath_weapon.area_of_effect")
    saved = ability_of(mapping(trait, "trait_specific.breath_weapon.dc.dc_type"))
    told = commas(
        text(trait, "trait_specific.damage_type"),
        f"{area['size']} ft. {area['type']}" if area else "",
        f"{saved} saving throw" if saved else "",
    )
    return titled(text(trait), told or text_of(trait))


def _lineage(o: Object, tables: Tables) -> dict[str, Any]:
    """One of the lineages of a species of 2024, which has traits from certain levels on."""
    known = {index_of(each): each for each in tables.get("traits", ())}
    parts = []
    for each in objects(o, "traits"):
        trait, level = known.get(index_of(each), each), each.get("level") or 1
        name = f"{trait.get('name')} (level {level})" if level != 1 else text(trait)
        parts.append(titled(name, _trait(trait)))
    return {"name": o.get("name"), "desc": paragraphs(titled("Damage Type", text(o, "damage_type")), *parts)}


def background(o: Object) -> dict[str, Any]:
    """A background of either edition."""
    skills = [name.removeprefix("Skill: ") for name in names(o, "starting_proficiencies", "proficiencies")]
    tools = [name.removeprefix("Tool: ") for name in skills if name.startswith("Tool: ")]
    note = text(o, "feat.note")
    choices = [text(each, "desc") for each in objects(o, "proficiency_choices")]
    benefits = {
        "Ability Scores": ", ".join(map(ability_of, objects(o, "ability_scores"))),
        "Feat": spaced(text(o, "feat"), f"({note})" if note else ""),
        "Skill Proficiencies": joined(name for name in skills if not name.startswith("Tool: ")),
        "Tool Proficiency": joined([*tools, *choices]),
        "Languages": f"{o['language_options'].get('choose')} of your choice" if o.get("language_options") else "",
        "Equipment": commas(
            *map(_chosen, objects(o, "equipment_options", "starting_equipment_options")),
            *many(o, "starting_equipment"),
            spaced(text(o, "starting_gold.quantity"), text(o, "starting_gold.unit")),
        ),
        text(o, "feature"): prose(o, "feature.desc"),
        "Suggested Characteristics": paragraphs(*_characteristics(o)),
    }
    return {
        "benefits": [
            {"name": name, "desc": words, "type": word("benefits", name, "feature")}
            for name, words in benefits.items()
            if words
        ],
    }


def _chosen(o: Object) -> str:
    return text(o, "desc") or f"{o.get('choose')} of the {text(o, 'from.equipment_category')}"


def _characteristics(o: Object) -> Iterator[str]:
    """The tables of characteristics, to roll on."""
    for key, title in word["rolled"].items():
        rows = [text(each, "string") or _ideal(each) for each in objects(o, f"{key}.from.options")]
        if rows:
            numbered = ([str(number), row] for number, row in enumerate(rows, 1))
            yield "\n".join(table_lines([[f"d{len(rows)}", title], *numbered]))


_ALIGNED = ("Lawful", "Chaotic", "Good", "Evil")
_HAVING = 3
"""How many alignments have each of these words."""


def _ideal(o: Object) -> str:
    of = names(o, "alignments")
    shared = [each for each in _ALIGNED if all(each in name for name in of)] if len(of) == _HAVING else []
    kind = "Any" if len(of) > _HAVING else "".join(shared) or joined(of, "or")
    return f"{text(o, 'desc')} ({kind})" if of else text(o, "desc")


def feat(o: Object) -> dict[str, Any]:
    """A feat of either edition."""
    level, feature = text(o, "prerequisites.minimum_level"), text(o, "prerequisites.feature_named")
    asked = commas(
        f"Level {level}+" if level else "",
        f"{feature} Feature" if feature else "",
        *map(score_of, objects(o, "prerequisites")),
        text(o, "prerequisite_options.desc"),
    )
    return {
        "type": text(o, "type").replace("-", " ").title(),
        "has_prerequisite": bool(asked),
        "prerequisite": asked,
        "desc": paragraphs(text_of(o), titled("Repeatable", text(o, "repeatable"))),
    }


def rule(o: Object) -> dict[str, Any]:
    """A condition, skill, school, property or whatever else is explained by a text."""
    more = {
        "type": o.get("type"),
        "script_language": o.get("script"),
        "typical_speakers": ", ".join(o.get("typical_speakers") or ()),
        "note": o.get("note"),
        "ability": ABILITY_OF.get(index_of(o, "ability_score")),
        "short_name": o.get("abbreviation"),
    }
    return {
        "name": text(o, "full_name", "name"),
        **{key: value for key, value in more.items() if value},
        "skills_of": ", ".join(names(o, "skills")),
    }
