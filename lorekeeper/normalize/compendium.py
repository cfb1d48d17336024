"""XML compendiums, as Fight Club 5 and Game Master 5 read them: spells, monsters, items, classes, races, backgrounds, feats.

The names of elements, and what the letters in them stand for, are those of files that both programs accept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.normalize import equipment, spells, statblocks
from lorekeeper.normalize.build import Imported, Origin, build, number, without_empty
from lorekeeper.printable import shown
from lorekeeper.terms import ABILITY_OF

SOURCE = "fight-club"

SCHOOLS = {
    "A": "abjuration",
    "C": "conjuration",
    "D": "divination",
    "EN": "enchantment",
    "EV": "evocation",
    "I": "illusion",
    "N": "necromancy",
    "T": "transmutation",
}

SIZES = {"T": "Tiny", "S": "Small", "M": "Medium", "L": "Large", "H": "Huge", "G": "Gargantuan"}

DAMAGES = {
    "A": "acid",
    "B": "bludgeoning",
    "C": "cold",
    "F": "fire",
    "FC": "force",
    "L": "lightning",
    "N": "necrotic",
    "P": "piercing",
    "PS": "poison",
    "PY": "psychic",
    "R": "radiant",
    "S": "slashing",
    "T": "thunder",
}

PROPERTIES = {
    "2H": "Two-Handed",
    "A": "Ammunition",
    "F": "Finesse",
    "H": "Heavy",
    "L": "Light",
    "LD": "Loading",
    "M": "Martial",
    "R": "Reach",
    "S": "Special",
    "T": "Thrown",
    "V": "Versatile",
}

ITEMS: Mapping[str, tuple[str, str]] = {
    "LA": ("armor", "Light Armor"),
    "MA": ("armor", "Medium Armor"),
    "HA": ("armor", "Heavy Armor"),
    "S": ("armor", "Shield"),
    "M": ("weapon", "Weapon"),
    "R": ("weapon", "Weapon"),
    "A": ("gear", "Ammunition"),
    "RD": ("magic-item", "Rod"),
    "ST": ("magic-item", "Staff"),
    "WD": ("magic-item", "Wand"),
    "RG": ("magic-item", "Ring"),
    "P": ("magic-item", "Potion"),
    "SC": ("magic-item", "Scroll"),
    "W": ("magic-item", "Wondrous Item"),
    "G": ("gear", "Adventuring Gear"),
    "$": ("gear", "Treasure"),
}
"""Kind and category of an item by the letters of its type."""

NO_LORE = frozenset({"campaign", "player", "pc", "npc", "encounter", "note", "combat", "adventure"})
"""Elements that are useful only in the program they are from."""

_SOURCE = re.compile("Source:", re.IGNORECASE)
_PAGE = re.compile(r" p\.? ?\d", re.IGNORECASE)
_RARITY = re.compile(r"\b(very rare|rare|uncommon|common|legendary|artifact)\b", re.IGNORECASE)
_NO_CLASS = re.compile(r"school\b|ritual caster\b", re.IGNORECASE)
"""What some files list among classes without being one."""

_FOLLOWED = re.compile(r"\s*\(.*")


def compendium(root: Element, document: str, document_name: str) -> Imported:
    """Everything in a compendium.

    Args:
        root: its outermost element.
        document: key of the document to assign everything to.
        document_name: title of that document.
    """
    result = Imported()
    origin = Origin(SOURCE, document, document_name)
    for place, element in enumerate(root):
        where = f"{element.tag}[{place}] {shown(_text(element, 'name') or '', 60)}"
        reader = READERS.get(element.tag)
        if reader is None:
            result.skipped[element.tag] += 1
            continue
        try:
            for entity, problems in reader(element, origin):
                result.entities.append(entity)
                result.warnings += [(where, problem) for problem in problems]
        except FilterError as error:
            result.failed.append((where, str(error)))
    return result


Read = tuple[Entity, list[str]]

# --- elements --------------------------------------------------------------------------------------------------------


def _text(element: Element, tag: str) -> str | None:
    """The text of the first child of that name, None without one."""
    found = element.find(tag)
    return (found.text or "").strip() or None if found is not None else None


def _texts(element: Element, tag: str = "text") -> str:
    """The texts of all children of that name, a line each: an empty one parts paragraphs."""
    return "\n".join((each.text or "").strip() for each in element.findall(tag)).strip()


def _listed(text: str | None) -> list[str]:
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def _described(element: Element, tag: str = "text") -> tuple[str, str | None]:
    """The text of an element in children of a name, and the book that its last line names as the source."""
    text = _texts(element, tag)
    match = _SOURCE.search(text, text.rfind("\n") + 1)
    if match is None:
        return text, None
    book = _PAGE.split(" ".join(text[match.end() :].split()), maxsplit=1)[0]
    return text[: match.start()].rstrip(), book.strip(" ,") or None


def _is_yes(text: str | None) -> bool:
    return (text or "").casefold() in ("yes", "1", "true")


def _made(entity_type: str, kind: str, data: Mapping[str, Any], origin: Origin, fields: Mapping[str, Any]) -> Read:
    return build(
        entity_type, without_empty(data), origin, name=str(data.get("name") or ""), kind=kind, fields=fields
    ), []


# --- spells ----------------------------------------------------------------------------------------------------------


def _school(code: str) -> str | None:
    """A school by its letters or its name."""
    return SCHOOLS.get(code.upper()) or (code.lower() if len(code) > 2 else None)


def _classes(listed: list[str]) -> list[str]:
    """The classes that a spell is for, each once, without what follows their names."""
    names = dict.fromkeys(_FOLLOWED.sub("", name) for name in listed)
    return [name for name in names if not _NO_CLASS.match(name)]


def _spell(element: Element, origin: Origin) -> Iterator[Read]:
    text, book = _described(element)
    level, school = number(_text(element, "level")), _school(_text(element, "school") or "")
    duration, components = _text(element, "duration") or "", _text(element, "components") or ""
    reach, time = _text(element, "range") or "", _text(element, "time") or ""
    initials, _, material = components.partition("(")
    classes = _classes(_listed(_text(element, "classes")))
    data = {
        "name": _text(element, "name"),
        "level": int(level) if level is not None else None,
        "school": school,
        "ritual": _is_yes(_text(element, "ritual")),
        "casting_time": time,
        "range": reach,
        "components": initials.strip(" ,"),
        "material": material.rstrip(") "),
        "duration": duration,
        "concentration": "concentration" in duration.casefold() if duration else None,
        "dnd_class": ", ".join(classes),
        "classes": classes,
        "desc": text,
        "book": book,
    }
    fields = {
        **spells.fields(spells.Spell(text, material, duration, reach, _listed(initials))),
        **{key: data[key] for key in ("level", "school", "ritual", "concentration")},
        "classes": classes or None,
        "casting_time": spells.casting_time(time) if time else None,
        "range": number(reach) if "f" in reach.casefold() else None,
    }
    yield _made("spells", "spell", data, origin, fields)


# --- monsters --------------------------------------------------------------------------------------------------------

_RUBRICS = {"trait": "traits", "action": "actions", "reaction": "reactions", "legendary": "legendary_actions"}

_LINES = {
    "save": "saves",
    "skill": "skillsaves",
    "resist": "damage_resistances",
    "vulnerable": "damage_vulnerabilities",
    "immune": "damage_immunities",
    "conditionImmune": "condition_immunities",
    "senses": "senses",
    "languages": "languages",
    "cr": "cr",
    "environment": "environment",
    "alignment": "alignment",
    "speed": "speed",
    "ac": "ac",
    "hp": "hp",
}
"""Elements of a monster, and the keys of a stat block that they are."""


def _monster(element: Element, origin: Origin) -> Iterator[Read]:
    kind, _, book = (_text(element, "type") or "").partition(",")
    description, named = _described(element, "description")
    size, senses = _text(element, "size") or "", _text(element, "senses") or ""
    passive = _text(element, "passive")
    scores = [_text(element, ability) for ability in ABILITY_OF]
    values: dict[str, object] = {key: _text(element, tag) for tag, key in _LINES.items()}
    values |= {
        "name": _text(element, "name"),
        "size": SIZES.get(size.upper(), size),
        "type": kind.strip(),
        "stats": scores if any(scores) else None,
        "saves": _listed(_text(element, "save")),
        "skillsaves": _listed(_text(element, "skill")),
        "senses": ", ".join(filter(None, [senses, f"passive Perception {passive}" if passive else ""])),
        "desc": description,
        "book": named or book.strip(),
        **{key: [_feature(each) for each in element.findall(tag)] for tag, key in _RUBRICS.items()},
    }
    yield statblocks.creature(values, origin)


def _feature(element: Element) -> dict[str, str]:
    return {"name": _text(element, "name") or "", "desc": _texts(element)}


# --- items -----------------------------------------------------------------------------------------------------------


def _item(element: Element, origin: Origin) -> Iterator[Read]:
    text, book = _described(element)
    detail, letters = _text(element, "detail") or "", _text(element, "type") or ""
    kind, category = ITEMS.get(letters.upper(), ("gear", letters))
    rarity = _RARITY.search(detail) or _RARITY.search(_text(element, "rarity") or "")
    is_magic = _is_yes(_text(element, "magic")) or rarity is not None
    names = [PROPERTIES.get(code, code) for code in _listed(_text(element, "property"))]
    name = _text(element, "name") or ""
    words = {
        "name": name,
        "category": category,
        "rarity": rarity[0].lower() if rarity else None,
        "cost": number(_text(element, "value")),
        "weight": number(_text(element, "weight")),
        **_weapon(element),
        "properties": names,
        **_armor(element),
        "desc": text,
        "book": book,
    }
    magic = equipment.magic(name, text, "attunement" in detail.casefold() or None) if is_magic else {}
    more = [f"{training} weapon" for training in _training(kind, letters, names)]
    fields = {
        **magic,
        **{key: words[key] for key in ("rarity", "cost", "weight", "damage_type", "armor_class")},
        "properties": [each.lower() for each in names if each != "Martial"] or None,
        "category": equipment.categories(category, *more),
        "damage": equipment.damage(words["damage_dice"]),
    }
    data = {**words, "requires_attunement": magic.get("requires_attunement")}
    yield _made("equipment", "magic-item" if is_magic else kind, data, origin, fields)


def _weapon(element: Element) -> dict[str, str | None]:
    return {
        "damage_dice": _text(element, "dmg1"),
        "versatile_dice": _text(element, "dmg2"),
        "damage_type": DAMAGES.get((_text(element, "dmgType") or "").upper()),
        "range": _text(element, "range"),
    }


def _armor(element: Element) -> dict[str, float | None]:
    armor = number(_text(element, "ac"))
    return {
        "armor_class": int(armor) if armor is not None else None,
        "strength_requirement": number(_text(element, "strength")),
        "stealth_disadvantage": _is_yes(_text(element, "stealth")) or None,
    }


def _training(kind: str, letters: str, names: list[str]) -> Iterator[str]:
    """What weapon it is, as the categories have it."""
    if kind == "weapon":
        yield "martial" if "Martial" in names else "simple"
        yield "ranged" if letters.upper() == "R" else "melee"


# --- character options -----------------------------------------------------------------------------------------------


def _option(kind: str, *lines: tuple[str, str]) -> Callable[[Element, Origin], Iterator[Read]]:
    """A reader of elements with traits: the key of each of their lines, by its element."""

    def read(element: Element, origin: Origin) -> Iterator[Read]:
        text, book = _described(element)
        data = {
            "name": _text(element, "name"),
            **{key: _text(element, tag) for tag, key in lines},
            "desc": text,
            "traits": [_feature(each) for each in element.findall("trait")],
            "book": book,
        }
        yield _made("character_options", kind, data, origin, {})

    return read


def _class(element: Element, origin: Origin) -> Iterator[Read]:
    """A class with its features by level; optional ones that name a subclass stay with it."""
    die = number(_text(element, "hd"))
    features = [
        {**_feature(each), "level": int(level)}
        for part in element.findall("autolevel")
        for each in part.findall("feature")
        if (level := number(part.get("level"))) is not None
    ]
    data = {
        "name": _text(element, "name"),
        "hit_dice": f"d{die:g}" if die else None,
        "prof_saving_throws": ", ".join(_listed(_text(element, "proficiency"))[:2]),
        "prof_armor": _text(element, "armor"),
        "prof_weapons": _text(element, "weapons"),
        "prof_tools": _text(element, "tools"),
        "prof_skills": ", ".join(_listed(_text(element, "proficiency"))[2:]),
        "spellcasting_ability": _text(element, "spellAbility"),
        "features": [{"name": f"{each['name']} (level {each['level']})", "desc": each["desc"]} for each in features],
    }
    yield _made("character_options", "class", data, origin, {"hit_die": data["hit_dice"]})


READERS: dict[str, Callable[[Element, Origin], Iterator[Read]]] = {
    "spell": _spell,
    "monster": _monster,
    "item": _item,
    "class": _class,
    "race": _option(
        "race", ("size", "size"), ("speed", "speed"), ("ability", "ability"), ("proficiency", "proficiency")
    ),
    "background": _option("background", ("proficiency", "proficiency")),
    "feat": _option("feat", ("prerequisite", "prerequisite")),
}
"""The elements with lore, and what makes entities of each."""
