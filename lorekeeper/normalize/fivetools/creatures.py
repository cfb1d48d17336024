"""Creatures of 5etools in the shape in which stat blocks are kept, and the filter values of that shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.creatures import creature_fields
from lorekeeper.normalize.fivetools.alignments import alignment
from lorekeeper.normalize.fivetools.casting import spellcasting
from lorekeeper.normalize.fivetools.stat_mods import modifier, proficiency, rating
from lorekeeper.normalize.fivetools.subject import Data, Subject
from lorekeeper.normalize.fivetools.values import (
    Object,
    ability,
    listed,
    mapping,
    number,
    objects,
    sizes,
    text,
    texts,
    title,
    uid,
)
from lorekeeper.terms import ABILITY_OF

FEATURES = {
    "trait": "traits",
    "action": "actions",
    "bonus": "bonus_actions",
    "reaction": "reactions",
    "legendary": "legendary_actions",
    "mythic": "mythic_actions",
    "variant": "variants",
}
"""Lists of traits and actions, and where they are kept."""

_SHOWN_AMONG = {
    "action": "actions",
    "bonus": "bonus_actions",
    "reaction": "reactions",
    "legendary": "legendary_actions",
}

_WITH_DETAIL = re.compile(r"\s*(\d{1,4})\s*(?:\((.*)\))?\s*", re.DOTALL)
_SPLIT_TYPE = re.compile(r"([^(]*)\(([^)]*)\)")

MAX_NESTED = 8
"""Most levels of a defence with exceptions to exceptions."""


def creature(subject: Subject) -> Data:
    """A creature in the shape in which stat blocks are kept."""
    obj = subject.obj
    described = "\n\n".join(filter(None, (subject.fluff(), subject.prose("entries"))))
    return without_empty(
        {
            "desc": described,
            "size": joined(sizes(obj.get("size")), "or"),
            **_type(subject),
            "alignment": f"{text(obj.get('alignmentPrefix'))}{alignment(obj.get('alignment'))}",
            **_armor_class(subject),
            **_hit_points(subject),
            "speed": _speed(subject),
            "initiative_bonus": _initiative(obj),
            **_able_to(subject),
            **_challenge(obj),
            **_features(subject),
            **_lair(subject),
            "environments": [part for place in texts(obj.get("environment")) for part in place.split(", ")],
            "gear": _gear(subject),
            "treasure": subject.names("treasure"),
            "group": subject.names("group"),
            "level": number(obj.get("level")),
        }
    )


def _able_to(subject: Subject) -> Data:
    """The abilities, and the lines below them."""
    obj = subject.obj
    return {
        "ability_scores": {
            name: score for code, name in ABILITY_OF.items() if (score := number(obj.get(code))) is not None
        },
        "saving_throws": _bonuses(subject, "save"),
        "skill_bonuses": _bonuses(subject, "skill"),
        **{f"damage_{noun}": _defences(subject, key) for key, noun in DAMAGE.items()},
        "condition_immunities": _defences(subject, "conditionImmune"),
        "senses": subject.names("senses"),
        "passive_perception": number(obj.get("passive")) or subject.words("passive"),
        "languages": subject.names("languages"),
    }


DAMAGE = {"vulnerable": "vulnerabilities", "resist": "resistances", "immune": "immunities"}


def _type(subject: Subject) -> Data:
    """The type and what stands in brackets behind it: "swarm of tiny beasts", "humanoid" and "elf"."""
    value = subject.value("type")
    if isinstance(value, str):
        match = _SPLIT_TYPE.fullmatch(value)
        return (
            {"type": match[1].strip(), "subtype": match[2].strip()} if match else {"type": subject.reader.plain(value)}
        )
    found = mapping(value)
    chosen = mapping(found.get("type")).get("choose")
    kind = joined(texts(chosen), "or") if chosen else text(found.get("type"))
    swarm = "".join(sizes(found.get("swarmSize")))
    tags = [
        " ".join(filter(None, (text(mapping(t).get("prefix")), text(mapping(t).get("tag")) or text(t))))
        for t in listed(found.get("tags"))
    ]
    subtype = ", ".join(filter(None, [*tags, subject.reader.plain(text(found.get("note"))).strip("()")]))
    return {"type": f"swarm of {swarm} {kind}" if swarm else kind, "subtype": subtype.lower()}


def _armor_class(subject: Subject) -> Data:
    """The first armor class, and where it is from; further ones in words."""
    found = [_one_armor_class(subject, each) for each in listed(subject.value("ac"))]
    if not found:
        return {}
    (value, detail, _), *others = found
    more = [f"{other} {why}".strip() for other, _, why in others]
    return {"armor_class": value, "armor_detail": "; ".join(filter(None, [detail, *more]))}


def _one_armor_class(subject: Subject, value: object) -> tuple[int | float | str, str, str]:
    """An armor class, and where it is from: on its own, and as words behind the number."""
    if isinstance(value, Mapping):
        if "special" in value:
            return subject.plain(value["special"]), "", ""
        sources = ", ".join(filter(None, map(subject.plain, listed(value.get("from")))))
        condition = ", ".join(filter(None, map(subject.plain, listed(value.get("condition")))))
        amount = number(value.get("ac")) or text(value.get("ac"))
        words = " ".join(filter(None, (f"with {sources}" if sources else "", condition)))
        return amount, ", ".join(filter(None, (sources, condition))), words
    match = _WITH_DETAIL.fullmatch(value) if isinstance(value, str) else None
    if match:
        detail = subject.reader.plain(match[2] or "")
        return int(match[1]), detail, f"({detail})" if detail else ""
    return number(value) or subject.reader.plain(text(value)), "", ""


def _hit_points(subject: Subject) -> Data:
    value = subject.value("hp")
    found = mapping(value)
    if found:
        special = subject.plain(found["special"]) if found.get("special") is not None else ""
        average = number(found.get("average"))
        return {"hit_points": special if average is None else average, "hit_dice": text(found.get("formula"))}
    match = _WITH_DETAIL.fullmatch(value) if isinstance(value, str) else None
    if match:
        return {"hit_points": int(match[1]), "hit_dice": match[2] or ""}
    return {"hit_points": number(value) if number(value) is not None else text(value)}


def _speed(subject: Subject) -> object:
    """Speeds in feet by mode, in words where one depends on something; the whole in words if it is no map."""
    value = subject.value("speed")
    if number(value) is not None:
        return {"walk": number(value)}
    if not isinstance(value, Mapping):
        return subject.words("speed").lower() if text(value) else None
    speeds: Data = {}
    for mode in ("walk", "burrow", "climb", "fly", "swim"):
        speeds[mode] = _one_speed(subject, value.get(mode), number(value.get("walk")))
    hover = value.get("canHover") is True or "hover" in text(mapping(value.get("fly")).get("condition"))
    speeds["hover"] = hover if any(speed is not None for speed in speeds.values()) else None
    speeds["or"] = _choice(subject, mapping(value.get("choose")))
    for mode, others in mapping(value.get("alternate")).items():
        speeds[f"or_{mode}"] = ", ".join(text(_one_speed(subject, each, None)) for each in listed(others))
    return without_empty(speeds)


def _one_speed(subject: Subject, value: object, walking: float | None) -> object:
    """A speed in feet, or in words with its condition; ``true`` is as fast as it walks."""
    if value is True:
        return walking
    given = mapping(value)
    if not given:
        return number(value)
    condition = subject.reader.plain(text(given.get("condition")))
    feet = number(given.get("number"))
    return feet if not condition or condition == "(hover)" else f"{text(feet)} ft. {condition}"


def _choice(subject: Subject, chosen: Object) -> str:
    if not chosen:
        return ""
    note = subject.reader.plain(text(chosen.get("note")))
    return f"{joined(texts(chosen.get('from')), 'or')} {text(chosen.get('amount'))} ft. {note}".strip()


def _initiative(obj: Object) -> int | float | None:
    """The bonus to initiative, if the stat block has one."""
    value = obj.get("initiative")
    found = mapping(value)
    if not found:
        return number(value)
    given = number(found.get("initiative"))
    factor = number(found.get("proficiency")) or 0
    return modifier(obj, "dex") + int(factor * proficiency(obj)) if given is None else given


def _bonuses(subject: Subject, key: str) -> object:
    """Bonuses by name; in words if one is no number."""
    value = subject.value(key)
    if not isinstance(value, Mapping):
        return subject.words(key)
    named = {(ability(code) or code) if key == "save" else code: each for code, each in value.items()}
    found = {each: number(bonus) for each, bonus in named.items() if isinstance(bonus, (str, int, float))}
    if None not in found.values() and len(found) == len(named):
        return found
    told = [f"{title(each)} {subject.reader.plain(text(bonus))}" for each, bonus in named.items() if text(bonus)]
    others = [mapping(each.get("oneOf")) for each in objects(value.get("other"))]
    told += [f"one of {', '.join(f'{title(n)} {text(bonus)}' for n, bonus in each.items())}" for each in others if each]
    return ", ".join(told)


def _defences(subject: Subject, key: str) -> str:
    """A line of defences: simple ones with commas, each with conditions of its own behind a semicolon."""
    return "; ".join(_defence_parts(subject, key, subject.value(key), 0))


def _defence_parts(subject: Subject, key: str, value: object, level: int) -> list[str]:
    simple = [subject.reader.plain(each) for each in texts(value)]
    parts = [", ".join(simple)] if simple else []
    for each in objects(value) if level < MAX_NESTED else ():
        if "special" in each:
            parts.append(subject.plain(each["special"]))
            continue
        nested = _defence_parts(subject, key, each.get(key), level + 1)
        inner = joined(nested[0].split(", ")) if len(nested) == 1 else "; ".join(nested)
        words = (subject.reader.plain(text(each.get("preNote"))), inner, subject.reader.plain(text(each.get("note"))))
        parts.append(" ".join(filter(None, words)))
    return [part for part in parts if part]


def _challenge(obj: Object) -> Data:
    """The challenge rating as a number, else in words; in its lair and in a coven where they differ."""
    value = obj.get("cr")
    found = mapping(value)
    told = text(found.get("cr")) if found else text(value)
    known = rating(obj)
    return {
        "challenge_rating": told if known is None else known,
        "experience_points": number(found.get("xp")),
        "challenge_in_lair": text(found.get("lair")),
        "experience_points_in_lair": number(found.get("xpLair")),
        "challenge_in_coven": text(found.get("coven")),
    }


# --- what it does ----------------------------------------------------------------------------------------------------


def _features(subject: Subject) -> Data:
    """Traits and actions, with the spells where the stat block shows them."""
    found: dict[str, list[object]] = {
        place: [*map(subject.writer.named, _with_names(subject.value(key)))] for key, place in FEATURES.items()
    }
    known: list[str] = []
    for cast in objects(subject.value("spellcasting")):
        feature, names = spellcasting(subject.writer, cast)
        found[_SHOWN_AMONG.get(text(cast.get("displayAs")), "traits")].append(feature)
        known += names
    legendary = subject.prose("legendaryHeader") or (_legendary(subject) if found["legendary_actions"] else "")
    return {
        "spell_list": list(dict.fromkeys(known)),
        "legendary_desc": legendary,
        "mythic_desc": subject.prose("mythicHeader"),
        **found,
    }


def _with_names(value: object) -> Iterator[Object]:
    """The objects in a list of features; texts in it have no name."""
    for each in listed(value):
        if isinstance(each, Mapping):
            yield each
        elif text(each):
            yield {"entries": [each]}


def _legendary(subject: Subject) -> str:
    """How many legendary actions it has, where its source leaves that sentence to its readers' programs."""
    count, lair = number(subject.value("legendaryActions")), number(subject.value("legendaryActionsLair"))
    told = f"{text(count or 3)}{f' ({text(lair)} in its lair)' if lair else ''}"
    return (
        f"{subject.name} can take {told} legendary actions, one at a time and only at the end of another creature's turn. "
        "Those it has spent return at the start of its own turn."
    )


def _lair(subject: Subject) -> Data:
    """What it does in its lair, and what its lair does to the region."""
    wanted = mapping(subject.value("legendaryGroup"))
    found = subject.find("legendaryGroup", text(wanted.get("name")), text(wanted.get("source"))) if wanted else []
    group: Object = found[0] if found else {}
    subject.used.add(id(group))
    places = {
        "lairActions": "lair_actions",
        "regionalEffects": "regional_effects",
        "mythicEncounter": "mythic_encounter",
    }
    told = {place: subject.writer.markdown(group.get(key)) for key, place in places.items()}
    return {place: [{"desc": words}] for place, words in told.items() if words}


def _gear(subject: Subject) -> str:
    """What it carries: "trident, net (2)"."""
    found = []
    for each in listed(subject.value("gear")):
        name, source = uid(mapping(each).get("item") or each)
        count = number(mapping(each).get("quantity")) or 1
        shown = subject.reader.plain(f"{{@item {name}|{source}}}") if name else ""
        found.append(f"{shown} ({text(count)})" if count > 1 and shown else shown)
    return ", ".join(filter(None, found))


# --- fields ----------------------------------------------------------------------------------------------------------


def fields(data: Object) -> dict[str, object]:
    """The raw filter values of a creature that `creature` has made."""
    derived = creature_fields(data)
    spells = [*texts(data.get("spell_list")), *listed(derived.get("spells"))]
    return {
        **derived,
        "challenge_rating": _if_number(data.get("challenge_rating")),
        "type": _types(data, listed(derived.get("type"))) or None,
        "size": [size for size in _alternatives(data.get("size")) if size != "varies"] or None,
        "alignment": [re.sub(r"^typically | \([^()]*\)", "", each) for each in _alternatives(data.get("alignment"))]
        or None,
        "armor_class": _if_number(data.get("armor_class")),
        "hit_points": _if_number(data.get("hit_points")),
        "passive_perception": _if_number(data.get("passive_perception")),
        "spells": list(dict.fromkeys(spells)) or None,
        "lair": True if data.get("lair_actions") or data.get("regional_effects") else derived.get("lair"),
    }


def _types(data: Object, derived: list[object]) -> list[str]:
    """The types, what stands in brackets behind them, and "swarm"."""
    kinds = [re.sub(r"^swarm of (?:[a-z]+ )?(?=[a-z]+$)", "", each) for each in _alternatives(data.get("type"))]
    is_swarm = "swarm" in derived or text(data.get("type")).startswith("swarm of ")
    return [*kinds, *texts(text(data.get("subtype")).split(", ")), *(["swarm"] if is_swarm else [])]


def _alternatives(value: object) -> list[str]:
    return [each for each in re.split(r",? or |, (?!nonmagical)", text(value)) if each.strip()]


def _if_number(value: object) -> int | float | None:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None
