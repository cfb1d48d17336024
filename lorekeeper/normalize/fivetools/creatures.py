"""Creatures of 5etools in the shape in which stat blocks are kept, and the filter values of that shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.creatures import creature_fields
from lorekeeper.normalize.fivetools.entries import Writer
from lorekeeper.normalize.fivetools.mods import ability_modifier, rating
from lorekeeper.normalize.fivetools.subject import Subject
from lorekeeper.normalize.fivetools.values import (
    Data,
    Object,
    ability,
    at,
    commas,
    counted_name,
    listed,
    mapping,
    number,
    objects,
    paragraphs,
    sizes,
    spaced,
    text,
    texts,
    title,
    uid,
    word,
)
from lorekeeper.normalize.formulas import proficiency
from lorekeeper.render.spell import ordinal
from lorekeeper.terms import ABILITY_OF

_WITH_DETAIL = re.compile(r"\s*(\d{1,4})\s*(?:\((.*)\))?\s*", re.DOTALL)
_SPLIT_TYPE = re.compile(r"([^(]*)\(([^)]*)\)")

MAX_NESTED = 8
"""Most levels of a defence with exceptions to exceptions."""


def creature(subject: Subject) -> Data:
    """A creature in the shape in which stat blocks are kept."""
    obj = subject.obj
    return {
        "desc": paragraphs(subject.fluff(), subject.prose("entries")),
        "size": joined(sizes(obj, "size"), "or"),
        **_type(subject),
        "alignment": f"{text(obj, 'alignmentPrefix')}{alignment(obj.get('alignment'))}",
        **_armor_class(subject),
        **_hit_points(subject),
        "speed": _speed(subject),
        "initiative_bonus": _initiative(obj),
        "ability_scores": {
            name: score for code, name in ABILITY_OF.items() if (score := number(obj, code)) is not None
        },
        "saving_throws": _bonuses(subject, "save"),
        "skill_bonuses": _bonuses(subject, "skill"),
        **{place: _defences(subject, key) for key, place in word["defences"].items()},
        "condition_immunities": _defences(subject, "conditionImmune"),
        "passive_perception": number(obj, "passive") or subject.words("passive"),
        "challenge_rating": text(obj, "cr", "cr.cr") if (known := rating(obj)) is None else known,
        **_features(subject),
        **{place: [{"desc": words}] for place, words in _lair(subject).items() if words},
        "environments": [part for place in texts(obj, "environment") for part in place.split(", ")],
        **subject.stated("values of creatures"),
        "gear": _gear(subject),
        "treasure": subject.names("treasure"),
        "group": subject.names("group"),
    }


def _type(subject: Subject) -> Data:
    """The type and what stands in brackets behind it: "swarm of tiny beasts", "humanoid" and "elf"."""
    value = subject.obj.get("type")
    if isinstance(value, str):
        match = _SPLIT_TYPE.fullmatch(value)
        kind, subtype = (match[1], match[2]) if match else (subject.reader.plain(value), "")
        return {"type": kind.strip(), "subtype": subtype.strip()}
    kind = joined(texts(value, "type.choose"), "or") or text(value, "type")
    swarm = "".join(sizes(value, "swarmSize"))
    tags = [spaced(text(tag, "prefix"), text(tag, "tag") or text(tag)) for tag in listed(value, "tags")]
    subtype = commas(*tags, subject.reader.plain(value, "note").strip("()"))
    return {"type": f"swarm of {swarm} {kind}" if swarm else kind, "subtype": subtype.lower()}


def alignment(value: object) -> str:
    """An alignment in words: "lawful good", "any evil alignment", "chaotic evil (75%) or neutral (25%)"."""
    if isinstance(value, str):
        return word("alignments", value)
    codes, told = texts(value), []
    for each in objects(value):
        chance = f"({text(each, 'chance')}%)" if each.get("chance") is not None else ""
        named = spaced(_of_codes(texts(each, "alignment")), chance, text(each, "note"))
        told.append(text(each, "special") or named)
    pairs = codes and all(len(code) == 2 and {*code} <= word["alignments"].keys() for code in codes)
    return " or ".join(filter(None, [*map(_of_codes, codes if pairs else [codes]), *told]))


def _of_codes(codes: Sequence[str]) -> str:
    """Several letters stand for all alignments that they can make."""
    one_by_one = " ".join(word("alignments", code) for code in codes)
    return word("alignments", " ".join(sorted({*codes})), one_by_one) if codes else ""


def _armor_class(subject: Subject) -> Data:
    """The first armor class, and where it is from; further ones in words."""
    found = [_one_armor_class(subject, each) for each in listed(subject.obj, "ac")]
    if not found:
        return {}
    (value, detail, _), *others = found
    more = (f"{other} {why}".strip() for other, _, why in others)
    return {"armor_class": value, "armor_detail": "; ".join(filter(None, [detail, *more]))}


def _one_armor_class(subject: Subject, value: object) -> tuple[float | str, str, str]:
    """An armor class, and where it is from: on its own, and as words behind the number."""
    if at(value, "special") is not None:
        return subject.plain(at(value, "special")), "", ""
    if isinstance(value, Mapping):
        sources, condition = (commas(*map(subject.plain, listed(value, key))) for key in ("from", "condition"))
        words = spaced(f"with {sources}" if sources else "", condition)
        return number(value, "ac") or text(value, "ac"), commas(sources, condition), words
    amount, detail = _detailed(subject, value)
    return amount, detail, f"({detail})" if detail else ""


def _detailed(subject: Subject, value: object) -> tuple[float | str, str]:
    """A number, and what stands in brackets behind it; a text without a number as it is."""
    match = _WITH_DETAIL.fullmatch(value) if isinstance(value, str) else None
    if match:
        return int(match[1]), subject.reader.plain(match[2] or "")
    return (found if (found := number(value)) is not None else subject.reader.plain(value)), ""


def _hit_points(subject: Subject) -> Data:
    value = subject.obj.get("hp")
    points, dice = _detailed(subject, value)
    if isinstance(value, Mapping):
        average = number(value, "average")
        points, dice = subject.plain(value.get("special")) if average is None else average, text(value, "formula")
    return {"hit_points": points, "hit_dice": dice}


def _speed(subject: Subject) -> object:
    """Speeds in feet by mode, in words where one depends on something; the whole in words if it is no map."""
    value = subject.obj.get("speed")
    if number(value) is not None:
        return {"walk": number(value)}
    if not isinstance(value, Mapping):
        return subject.words("speed").lower()
    speeds: Data = {
        mode: _one_speed(subject, value.get(mode), number(value, "walk"))
        for mode in ("walk", "burrow", "climb", "fly", "swim")
    }
    hover = value.get("canHover") is True or "hover" in text(value, "fly.condition")
    speeds["hover"] = hover if any(speed is not None for speed in speeds.values()) else None
    if chosen := mapping(value, "choose"):
        note = subject.reader.plain(chosen, "note")
        speeds["or"] = f"{joined(texts(chosen, 'from'), 'or')} {text(chosen, 'amount')} ft. {note}".strip()
    for mode, others in mapping(value, "alternate").items():
        speeds[f"or_{mode}"] = ", ".join(text(_one_speed(subject, each, None)) for each in listed(others))
    return without_empty(speeds)


def _one_speed(subject: Subject, value: object, walking: float | None) -> object:
    """A speed in feet, or in words with its condition; ``true`` is as fast as it walks."""
    if not isinstance(value, Mapping):
        return walking if value is True else number(value)
    condition = subject.reader.plain(value, "condition")
    feet = number(value, "number")
    return feet if condition in ("", "(hover)") else f"{text(feet)} ft. {condition}"


def _initiative(obj: Object) -> float | None:
    """The bonus to initiative, if the stat block has one."""
    if not mapping(obj, "initiative"):
        return number(obj, "initiative")
    given = number(obj, "initiative.initiative")
    factor = number(obj, "initiative.proficiency") or 0
    return ability_modifier(obj, "dex") + int(factor * proficiency(rating(obj))) if given is None else given


def _bonuses(subject: Subject, key: str) -> object:
    """Bonuses by name; in words if one is no number."""
    value = subject.obj.get(key)
    if not isinstance(value, Mapping):
        return subject.words(key)
    named = {(ability(code) or code) if key == "save" else code: each for code, each in value.items()}
    found = {each: number(bonus) for each, bonus in named.items()}
    if None not in found.values():
        return found
    others = (mapping(each, "oneOf") for each in objects(value, "other"))
    return commas(
        *(f"{title(each)} {subject.reader.plain(bonus)}" for each, bonus in named.items() if text(bonus)),
        *(f"one of {', '.join(f'{title(n)} {text(bonus)}' for n, bonus in each.items())}" for each in others if each),
    )


def _defences(subject: Subject, key: str) -> str:
    """A line of defences: simple ones with commas, each with conditions of its own behind a semicolon."""
    return "; ".join(_defence_parts(subject, key, subject.obj.get(key), 0))


def _defence_parts(subject: Subject, key: str, value: object, level: int) -> list[str]:
    plain = subject.reader.plain
    parts = [", ".join(map(plain, texts(value)))]
    for each in objects(value) if level < MAX_NESTED else ():
        nested = _defence_parts(subject, key, each.get(key), level + 1)
        inner = joined(nested[0].split(", ")) if len(nested) == 1 else "; ".join(nested)
        words = spaced(plain(each, "preNote"), inner, plain(each, "note"))
        parts.append(subject.plain(each["special"]) if "special" in each else words)
    return [part for part in parts if part]


# --- what it does ----------------------------------------------------------------------------------------------------


def _features(subject: Subject) -> Data:
    """Traits and actions, with the spells where the stat block shows them."""
    places = word["creature features"]
    found: dict[str, list[object]] = {
        place: [*map(subject.writer.named, _with_names(subject.obj.get(key)))] for key, place in places.items()
    }
    known: list[str] = []
    for cast in objects(subject.obj, "spellcasting"):
        shown = text(cast, "displayAs")
        found[places[shown] if shown in ("action", "bonus", "reaction", "legendary") else "traits"].append(
            _spellcasting(subject.writer, cast, known)
        )
    return {
        "spell_list": list(dict.fromkeys(known)),
        "legendary_desc": subject.prose("legendaryHeader") or (found["legendary_actions"] and _legendary(subject)),
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
    count, lair = number(subject.obj, "legendaryActions"), text(number(subject.obj, "legendaryActionsLair"))
    told = f"{text(count or 3)}{f' ({lair} in its lair)' if lair else ''}"
    return (
        f"{subject.name} can take {told} legendary actions, one at a time and only at the end of another creature's turn. "
        "Those it has spent return at the start of its own turn."
    )


def _lair(subject: Subject) -> dict[str, str]:
    """What it does in its lair, and what its lair does to the region."""
    wanted = mapping(subject.obj, "legendaryGroup")
    found = subject.find("legendaryGroup", text(wanted, "name"), text(wanted, "source"))[:1] if wanted else []
    subject.used.update(map(id, found))
    places = word["lairs"].items()
    return {place: subject.writer.markdown(group.get(key)) for group in found for key, place in places}


def _gear(subject: Subject) -> str:
    """What it carries: "trident, net (2)"."""
    found = []
    for each in listed(subject.obj, "gear"):
        name, source = uid(at(each, "item") or each)
        found.append(counted_name(subject.reader.plain(f"{{@item {name}|{source}}}"), at(each, "quantity")))
    return commas(*found)


# --- spells ----------------------------------------------------------------------------------------------------------

_REMARK = re.compile(r"\([^()]{0,200}\)|[*†‡]+")


def _spellcasting(writer: Writer, cast: Object, known: list[str]) -> Data:
    """The trait with its introduction, a line for each frequency and level, and its remarks; adds the names of all spells."""
    hidden, rows = texts(cast, "hidden"), []
    for key, label, spells in _groups(cast):
        found = (each.get("entry") if isinstance(each, Mapping) else each for each in listed(spells))
        shown = [writer.reader.plain(each) if isinstance(each, str) else writer.line(each) for each in found]
        known += filter(None, (_REMARK.sub("", name).strip() for name in shown))
        if key not in hidden and shown:
            rows.append(f"- {label}: {commas(*shown)}")
    before, after = writer.markdown(cast.get("headerEntries")), writer.markdown(cast.get("footerEntries"))
    name = writer.reader.plain(cast, "name") or "Spellcasting"
    return {"name": name, "desc": paragraphs(before, "\n".join(rows), after)}


def _groups(cast: Object) -> Iterator[tuple[str, str, object]]:
    """(key, label, spells) of each frequency and level, in the order of the books."""
    for key, label in word["spell lists"].items():
        lists = mapping(cast, key) if "{" in label else {"": cast.get(key)}
        for often, spells in sorted(lists.items(), reverse=True):
            count = often.removesuffix("e")
            filled = {"each": " each" if often != count else "", "s": "" if count == "1" else "s"}
            yield key, label.format(count, **filled, range="6" if often == "6" else f"{often}–6"), spells
    for level, group in sorted(mapping(cast, "spells").items()):
        yield "spells", _level(level, group), mapping(group).get("spells", group)


def _level(level: str, group: object) -> str:
    """ "Cantrips (at will)", "3rd level (2 slots)", "1st to 5th level (2 5th-level slots)"."""
    rank, slots, lower = number(level), number(group, "slots"), number(group, "lower")
    if not rank:
        return "Cantrips (at will)"
    name = ordinal(int(rank))
    told = f"{text(slots)} {f'{name}-level ' if lower else ''}slot{'' if slots == 1 else 's'}" if slots else "at will"
    return f"{f'{ordinal(int(lower))} to ' if lower else ''}{name} level ({told})"


# --- fields ----------------------------------------------------------------------------------------------------------


def fields(data: Object) -> Data:
    """The raw filter values of a creature that `creature` has made."""
    derived = creature_fields(data)
    spells = [*texts(data, "spell_list"), *listed(derived.get("spells"))]
    alignments = [re.sub(r"^typically | \([^()]*\)", "", each) for each in _alternatives(data.get("alignment"))]
    return {
        **derived,
        "type": _types(data, listed(derived.get("type"))) or None,
        "size": [size for size in _alternatives(data.get("size")) if size != "varies"] or None,
        "alignment": alignments or None,
        **{name: value if isinstance(value := data.get(name), (int, float)) else None for name in _STATED},
        "spells": list(dict.fromkeys(spells)) or None,
        "lair": True if data.get("lair_actions") or data.get("regional_effects") else derived.get("lair"),
    }


_STATED = ("challenge_rating", "armor_class", "hit_points", "passive_perception")


def _types(data: Object, derived: list[object]) -> list[str]:
    """The types, what stands in brackets behind them, and "swarm"."""
    kinds = [re.sub(r"^swarm of (?:[a-z]+ )?(?=[a-z]+$)", "", each) for each in _alternatives(data.get("type"))]
    is_swarm = "swarm" in derived or text(data, "type").startswith("swarm of ")
    return [*kinds, *texts(text(data, "subtype").split(", ")), *(["swarm"] if is_swarm else [])]


def _alternatives(value: object) -> list[str]:
    return [each for each in re.split(r",? or |, (?!nonmagical)", text(value)) if each.strip()]
