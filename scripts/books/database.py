"""The facts of the SRD 5.1 as the database of 5e-bits has them, read from a Git directory or a folder of it."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scripts.books.facts import (
    ABILITIES,
    Book,
    Facts,
    class_traits,
    defences,
    listed,
    money,
    name,
    numbers,
    pounds,
    prose,
    senses,
    speeds,
    spell_head,
    uses,
    value,
)
from scripts.books.ours import key_of, magic_item, properties

Object = Mapping[str, Any]

_ABILITIES = dict(
    zip(ABILITIES, ("strength", "dexterity", "constitution", "intelligence", "wisdom", "charisma"), strict=True)
)


def book(database: Path) -> Book:
    """The facts of the book."""
    found: Book = {("creature", name(each["name"])): _creature(each) for each in _objects(database, "Monsters")}
    found |= {("spell", name(each["name"])): _spell(each) for each in _objects(database, "Spells")}
    for each in _objects(database, "Equipment"):
        kind, facts = _equipment(each)
        found[kind, key_of(kind, each["name"])] = facts
    for each in _objects(database, "Magic-Items"):
        found["magic item", value(each["name"])] = _magic_item(each)
    for level in _objects(database, "Levels"):
        if "subclass" not in level:
            found.setdefault(("class", name(level["class"]["name"])), {}).update(_level(level))
    for each in _objects(database, "Classes"):
        saves = ", ".join(_ABILITIES[found["index"]] for found in each["saving_throws"])
        found.setdefault(("class", name(each["name"])), {}).update(class_traits(saves, f"d{each['hit_die']}"))
    return found


def _objects(database: Path, file: str) -> Sequence[Object]:
    path = f"src/2014/en/5e-SRD-{file}.json"
    if (database / path).exists():
        text = (database / path).read_text("utf-8")
    else:
        text = subprocess.run(
            ["git", "--git-dir", str(database), "show", f"HEAD:{path}"], check=True, capture_output=True, text=True
        ).stdout
    found: list[Object] = json.loads(text)
    return found


def _creature(each: Object) -> Facts:
    size, kind = each["size"], each["type"]
    facts: Facts = {
        "size": value(size),
        "type": re.sub(r"swarm of \w+ (\w+?)s$", r"\1", value(kind)),
        "alignment": value(each["alignment"]),
        "armor class": str(each["armor_class"][0]["value"]),
        "hit points": str(each["hit_points"]),
        "hit dice": each["hit_points_roll"].replace(" ", ""),
        "languages": value(each["languages"]),
        "challenge": {0.125: "1/8", 0.25: "1/4", 0.5: "1/2"}.get(
            each["challenge_rating"], str(each["challenge_rating"])
        ),
        "experience": str(each["xp"]),
    }
    facts |= speeds(
        ", ".join(f"{mode if mode != 'walk' else ''} {feet}" for mode, feet in each["speed"].items() if mode != "hover")
    )
    facts |= {"hover": "yes"} if each["speed"].get("hover") else {}
    told = ", ".join(f"{sense.replace('_', ' ')} {text}" for sense, text in each["senses"].items())
    facts |= senses(told)
    facts |= {short: str(each[long]) for short, long in _ABILITIES.items()}
    for proficiency in each["proficiencies"]:
        label = (
            value(proficiency["proficiency"]["name"]).replace("saving throw: ", "save ").replace("skill: ", "skill ")
        )
        facts[label] = f"{proficiency['value']:+d}"
    facts["vulnerable"] = listed(part for text in each["damage_vulnerabilities"] for part in defences(text))
    facts["resistant"] = listed(part for text in each["damage_resistances"] for part in defences(text))
    immune = [*each["damage_immunities"], *(condition["name"] for condition in each["condition_immunities"])]
    facts["immune"] = listed(part for text in immune for part in defences(text))
    for key in ("special_abilities", "actions", "reactions", "legendary_actions"):
        for action in each.get(key) or ():
            title = action["name"] + _usage(action.get("usage") or {})
            facts |= {f"{name(title)}: {part}": found for part, found in numbers(action["desc"]).items()}
            facts |= uses(title)
    return {key: found for key, found in facts.items() if found and found != "-"}


def _usage(usage: Object) -> str:
    if usage.get("type") == "per day":
        return f" ({usage['times']}/Day)"
    if usage.get("type") == "recharge on roll":
        least = usage["min_value"]
        return f" (Recharge {least}-6)" if least < 6 else " (Recharge 6)"
    return ""


def _spell(each: Object) -> Facts:
    duration = f"Concentration, {each['duration']}" if each["concentration"] else each["duration"]
    material = f" ({each['material']})" if each.get("material") else ""
    head = {
        "casting time": each["casting_time"],
        "range": each["range"],
        "components": ", ".join(each["components"]) + material,
        "duration": duration,
        "classes": ", ".join(found["name"] for found in each["classes"]),
    }
    level = f"level {each['level']}" if each["level"] else "cantrip"
    text = "\n".join([*each["desc"], *each.get("higher_level", [])])
    ritual = " (ritual)" if each["ritual"] else ""
    return spell_head(f"{level} {each['school']['name']}{ritual}", head) | {
        key: found for key, found in prose(text).items() if found
    }


def _equipment(each: Object) -> tuple[str, Facts]:
    category = each["equipment_category"]["index"]
    cost = each["cost"]
    facts: Facts = {
        "cost": money(f"{cost['quantity']} {cost['unit']}"),
        "weight": pounds(f"{each.get('weight', 0)} lb"),
    }
    if category == "weapon":
        damage = each.get("damage")
        facts["damage"] = value(f"{damage['damage_dice']} {damage['damage_type']['name']}") if damage else ""
        facts["properties"] = properties(
            ", ".join(_property(each, found["name"]) for found in each["properties"] if found["name"] != "Monk")
        )
        return "weapon", facts
    if category == "armor":
        armor = each["armor_class"]
        dexterity = " + Dex" if armor["dex_bonus"] else ""
        most = f" (max {armor['max_bonus']})" if armor.get("max_bonus") else ""
        facts["armor class"] = value(f"{armor['base']}{dexterity}{most}")
        facts["strength"] = str(each["str_minimum"] or "")
        facts["stealth"] = "disadvantage" if each["stealth_disadvantage"] else ""
        return "armor", facts
    return "gear", facts


def _property(each: Object, label: str) -> str:
    if label == "Versatile" and "two_handed_damage" in each:
        return f"Versatile ({each['two_handed_damage']['damage_dice']})"
    far = each.get("throw_range") if label == "Thrown" else each["range"] if label == "Ammunition" else None
    return f"{label} (range {far['normal']}/{far['long']})" if far and far.get("long") else label


def _magic_item(each: Object) -> Facts:
    facts = magic_item(each["desc"][0])
    return facts | {"text dice": prose("\n".join(each["desc"][1:])).get("dice", "")}


_COLUMNS = {
    "prof_bonus": "proficiency bonus",
    "cantrips_known": "cantrips known",
    "spells_known": "spells known",
    "rage_count": "rages",
    "rage_damage_bonus": "rage damage",
    "martial_arts": "martial arts",
    "ki_points": "ki points",
    "unarmored_movement": "unarmored movement",
    "sneak_attack": "sneak attack",
    "sorcery_points": "sorcery points",
    "invocations_known": "invocations known",
}

UNLIMITED = 9999


def _cell(key: str, found: object) -> object:
    """A cell of a class's table as the book prints it."""
    if isinstance(found, Mapping):
        return f"{found['dice_count']}d{found['dice_value']}" if found["dice_count"] else ""
    if key == "unarmored_movement" and found:
        return f"{found} ft"
    return "unlimited" if found == UNLIMITED else found


def _level(each: Object) -> Facts:
    number = f"level {each['level']:02d}"
    cells = {"proficiency bonus": each["prof_bonus"]}
    casting = each.get("spellcasting") or {}
    cells |= {_COLUMNS[key]: found for key, found in casting.items() if key in _COLUMNS}
    slots = {int(key[-1]): found for key, found in casting.items() if key.startswith("spell_slots") and found}
    if each["class"]["name"] == "Warlock":
        cells |= {"slot level": max(slots), "spell slots": slots[max(slots)]}
    else:
        cells |= {f"slots {level}": found for level, found in slots.items()}
    cells |= {_COLUMNS[key]: _cell(key, found) for key, found in each["class_specific"].items() if key in _COLUMNS}
    facts = {f"{number} {key}": str(found) for key, found in cells.items() if found}
    facts[f"{number} features"] = listed(
        {re.sub(r" \(.*|: .*", "", value(found["name"]).replace(" feature", "")) for found in each["features"]}
    )
    return facts
