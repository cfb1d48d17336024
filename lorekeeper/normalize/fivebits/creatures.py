"""Creatures of 5e-bits in the shape of Open5e."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lorekeeper.normalize.fivebits.printed import Below
from lorekeeper.normalize.fivebits.texts import Object, index_of, names, objects, prose, text, word
from lorekeeper.normalize.reading import commas, mapping
from lorekeeper.terms import ABILITIES

_KINDS = ("actions", "bonus_actions", "reactions", "legendary_actions", "lair_actions")

_COSTS = re.compile(r" \(Costs (\d) Actions?\)$")
_FEET = re.compile(r"(\d{1,4}) ?(?:ft\.?|feet)$")

_DEFENCES = ("damage_vulnerabilities", "damage_resistances", "damage_immunities", "condition_immunities")

_KEPT = (
    "challenge_rating",
    "proficiency_bonus",
    "hit_points",
    "alignment",
    "subtype",
    "xp_in_lair",
    "legendary_desc",
)


def creature(o: Object) -> dict[str, Any]:
    """A creature; what this does not know stays as it is."""
    kind, size, skills = text(o, "type"), o.get("size"), o.get("skills")
    return {
        **{key: o[key] for key in _KEPT if key in o},
        "type": {"name": kind.capitalize(), "key": kind.lower()},
        "size": {"name": size, "key": text(size).lower()},
        "speed": _speed(o.get("speed")),
        "languages": {"as_string": o.get("languages") or ""},
        **_armor(o.get("armor_class")),
        "hit_dice": o.get("hit_points_roll") or o.get("hit_dice"),
        "experience_points": o.get("xp"),
        "ability_scores": {ability: o.get(ability) for ability in ABILITIES},
        "saving_throws": {
            next((each for each in ABILITIES if each.startswith(short)), short): bonus
            for short, bonus in _bonuses(o, "saving-throw-").items()
        },
        "skill_bonuses": skills
        if isinstance(skills, str)
        else {name.replace("-", "_"): bonus for name, bonus in _bonuses(o, _SKILL).items()},
        **_senses(o.get("senses")),
        "resistances_and_immunities": {f"{key}_display": _defence(o.get(key)) for key in _DEFENCES},
        "actions": [_action(each, key.upper()[:-1], at) for key in _KINDS for at, each in enumerate(objects(o, key))],
        "traits": [_feature(each) for each in objects(o, "special_abilities")],
        **({"forms": forms} if (forms := names(o, "forms")) else {}),
    }


_SKILL = "skill-"
"""How the key of a bonus to a skill begins."""


def _bonuses(o: Object, prefix: str) -> dict[str, object]:
    """The bonuses of a creature whose keys begin so, by the rest of these."""
    found = ((index_of(each, "proficiency"), each.get("value")) for each in objects(o, "proficiencies"))
    return {key.removeprefix(prefix): bonus for key, bonus in found if key.startswith(prefix)}


SIGN = re.compile(r"\)?\s(?:Tiny|Small|Medium|Large|Huge|Gargantuan) ")
"""How a stat block begins below its name."""

_LAST = re.compile(r"Challenge [\d/]+ \((?P<xp>[\d,]+) XP\)")
_BEHIND = r"(?= (?:Damage|Condition|Senses) )"
_LINES = [
    re.compile(line)
    for line in (
        r"(?P<size>[A-Z][a-z]+) [\w ]+?(?: \((?P<subtype>[^()]+)\))?, ?(?P<alignment>[a-z][^.]{1,80}?) Armor Class ",
        r"Armor Class (?P<armor_class>\d+(?: \([^()]+\))?)(?= Hit Points )",
        r"Speed (?P<speed>\d+ ft\.(?:, [a-z]+ \d+ ft\.)*)(?= STR )",
        r"Hit Points (?P<hit_points>\d+) \((?P<hit_points_roll>[^()]+)\)",
        r"Skills (?P<skills>[A-Z][A-Za-z ]+ [+\u2212]\d+(?:, [A-Z][A-Za-z ]+ [+\u2212]\d+)*(?: \([^()]+\))?)",
        rf"Damage Vulnerabilities (?P<damage_vulnerabilities>[a-z].*?){_BEHIND}",
        rf"Damage Resistances (?P<damage_resistances>[a-z].*?){_BEHIND}",
        rf"Damage Immunities (?P<damage_immunities>[a-z].*?){_BEHIND}",
        rf"Condition Immunities (?P<condition_immunities>[a-z]+(?:, [a-z]+)*){_BEHIND}",
        r"Senses (?P<senses>(?:[a-z]+ \d+ ft\.(?: \([^()]+\))?, )*passive Perception \d+) ",
        r"Languages (?P<languages>[A-Za-z][^.\d]*(?:\d+ ft\.)?) Challenge ",
    )
] + [_LAST]
"""The lines of a stat block in print."""

_LEGENDARY = re.compile(
    r"Legendary Actions (?P<legendary_desc>The [^.]+ can take \d legendary .+? at the start of (?:its|their) turn\.)"
)
"""How the legendary actions of a creature are used."""

_OF_FORM = frozenset({"size", "speed"})
"""What each form of a creature has of its own."""


def as_printed(o: Object, below: Below) -> Object:
    """A creature with the values that the lines of its stat block have."""
    found, lines = dict[str, str](), below.text[: end.end() if (end := _LAST.search(below.text)) else None]
    for match in (*(line.search(lines) for line in _LINES), _LEGENDARY.search(below.text)):
        found |= {key: value for key, value in (match.groupdict() if match else {}).items() if value}
    if not below.is_own:
        found = {key: value for key, value in found.items() if key not in _OF_FORM}
    read = {key: _PRINTED.get(key, str)(value) for key, value in found.items()}
    skills = read.get("skills")
    if isinstance(skills, list):
        bonuses = objects(o, "proficiencies")
        read["proficiencies"] = [*(e for e in bonuses if not index_of(e, "proficiency").startswith(_SKILL)), *skills]
    return {**o, **read}


def _measures(text: str) -> dict[str, object]:
    """Speeds or senses, the first speed without a name."""
    found: dict[str, object] = {}
    for part in text.split(", "):
        name, told = re.fullmatch(r"(?:([a-zP ]+) )?(\d.*)", part).groups()  # type: ignore[union-attr]
        found[(name or "walk").lower().replace(" ", "_")] = told if " " in told else int(told)
    return found


def _skills(text: str) -> list[Object] | str:
    if "(" in text:  # "Stealth +4 (+6 in dim light or darkness)": the whole line is printed
        return text
    found = (part.rpartition(" ") for part in text.replace("\u2212", "-").split(", "))
    return [
        {"value": int(bonus), "proficiency": {"index": f"skill-{name.lower().replace(' ', '-')}"}}
        for name, _, bonus in found
    ]


def _armor_line(text: str) -> list[Object]:
    number, _, detail = text.partition(" ")
    return [{"type": "dex", "value": int(number), "desc": detail.strip("()")}]


_PRINTED: Mapping[str, Callable[[str], Any]] = {
    "hit_points": int,
    "xp": lambda text: int(text.replace(",", "")),
    "hit_points_roll": lambda text: text.replace(" ", "").replace("\u2212", "-"),
    "armor_class": _armor_line,
    "speed": _measures,
    "senses": _measures,
    "skills": _skills,
}
"""How the values of lines become those of objects."""


def _speed(value: object) -> object:
    if not isinstance(value, dict):
        return value
    feet = {kind: _FEET.match(each) for kind, each in value.items() if isinstance(each, str)}
    if not all(feet.values()):
        return ", ".join(f"{kind} {each}" if isinstance(each, str) else kind for kind, each in value.items())
    numbers = {kind: int(match[1]) for kind, match in feet.items() if match}
    return {"walk": 0, **numbers, "unit": "feet", "hover": bool(value.get("hover"))}


def _senses(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        return {"senses": value}
    found: dict[str, object] = {"passive_perception": value.get("passive_perception")}
    others = {sense: told for sense, told in value.items() if sense != "passive_perception"}
    feet = {sense: _FEET.match(str(told)) for sense, told in others.items()}
    if all(feet.values()):
        return found | {f"{sense}_range": int(match[1]) for sense, match in feet.items() if match}
    # "60 ft. (blind beyond this radius)": the whole line is printed
    return found | {"senses": ", ".join(f"{each} {words}" for each, words in others.items())}


def _armor(value: object) -> dict[str, object]:
    """The armor class with all that is worn, and other ones with what they ask for."""
    if not isinstance(value, list):
        return {"armor_class": value}
    always = [each for each in objects(value) if each.get("type") in ("dex", "natural", "armor")]
    others = [f"{each.get('value')} {_condition(each)}" for each in objects(value) if each not in always]
    numbers = [each["value"] for each in always or objects(value) if isinstance(each.get("value"), int)]
    return {"armor_class": max(numbers, default=None), "armor_detail": commas(*map(_worn, always), *others)}


def _worn(armor: Object) -> str:
    return text(armor, "desc") or commas(*names(armor, "armor")).lower() or word("armor", text(armor, "type"))


def _condition(armor: Object) -> str:
    name, spell = text(armor, "spell", "condition"), armor.get("spell")
    return f"{'with' if spell else 'while'} {name.lower()}" if name else f"with {_worn(armor)}"


def _defence(value: object) -> str:
    """A line of a stat block: what has commas of its own stands behind a semicolon."""
    if not isinstance(value, list):
        return text(value)
    parts = [text(each).lower() for each in value]
    plain, long = ([part for part in parts if (" " in part) is is_long] for is_long in (False, True))
    return "; ".join(filter(None, (", ".join(plain), *long)))


def _action(o: Object, kind: str, place: int) -> dict[str, Any]:
    feature = _feature(o)
    cost = _COSTS.search(feature["name"])
    return {
        **feature,
        "name": _COSTS.sub("", feature["name"]),
        "action_type": kind,
        "order_in_statblock": place,
        **({"legendary_action_cost": int(cost[1]) if cost else 1} if kind == "LEGENDARY_ACTION" else {}),
    }


def _feature(o: Object) -> dict[str, Any]:
    usage = mapping(o, "usage")
    limits = {
        "type": text(usage, "type").upper().replace(" ", "_"),
        "param": usage.get("min_value") or usage.get("times"),
        "rests": usage.get("rest_types"),
    }
    return {
        "name": text(o, "name"),
        "desc": prose(o, "desc"),
        **({"usage_limits": {key: value for key, value in limits.items() if value}} if usage else {}),
    }
