"""Classes, races, backgrounds and feats of 5etools in the shapes in which they are kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.fivetools.subject import Subject
from lorekeeper.normalize.fivetools.tags import Reader
from lorekeeper.normalize.fivetools.values import (
    Data,
    Object,
    abilities,
    at,
    capital,
    coins,
    commas,
    counted_name,
    listed,
    mapping,
    number,
    objects,
    paragraphs,
    sizes,
    spaced,
    spell_names,
    text,
    texts,
    title,
    uid,
    word,
)
from lorekeeper.normalize.options import read as granted
from lorekeeper.render.spell import ordinal
from lorekeeper.terms import MAX_LEVEL


def _spells(obj: Object) -> str:
    return ", ".join(dict.fromkeys(spell_names(obj.get("additionalSpells"))))


# --- classes ---------------------------------------------------------------------------------------------------------


def character_class(subject: Subject) -> Data:
    """A class: what it starts with, and its features."""
    obj, desc = subject.obj, subject.fluff()
    start = mapping(obj, "startingProficiencies")
    faces = number(obj, "hd.faces")
    told = {key: proficiencies(subject.reader, start.get(key)) for key in ("armor", "weapons", "tools", "skills")}
    bonuses = [f"+{2 + (level - 1) // 4}" for level in range(1, MAX_LEVEL + 1)]
    return {
        "desc": desc,
        "primary_abilities": joined(
            (name for each in objects(obj, "primaryAbility") for name in abilities([*each])), "or"
        ),
        "hit_die": f"d{text(faces)}" if faces else "",
        "saving_throws": ", ".join(abilities(obj.get("proficiency"))),
        **{f"prof_{key}": capital(words.replace("; or ", ", ")) for key, words in told.items()},
        "equipment": _equipment(subject),
        "multiclassing": _multiclassing(obj),
        **_casting(obj),
        "subtypes_name": subject.words("subclassTitle"),
        "features": [
            *_features(subject, "classFeature"),
            _column("Proficiency Bonus", bonuses),
            *_columns(subject, "classTableGroups"),
        ],
    }


def subclass(subject: Subject) -> Data:
    """A subclass: its features."""
    return {
        "subclass_of": subject.words("className"),
        "desc": paragraphs(subject.fluff(), subject.prose("entries")),
        **_casting(subject.obj),
        "spells": _spells(subject.obj),
        "features": [*_features(subject, "subclassFeature"), *_columns(subject, "subclassTableGroups")],
    }


def _equipment(subject: Subject) -> str:
    found, line = mapping(subject.obj, "startingEquipment"), subject.writer.line
    if not found:
        return subject.prose("startingEquipment")
    choices = "\n".join(f"- {told}" for each in listed(found, "default") if (told := line(each)))
    gold = line(found.get("goldAlternative"))
    otherwise = f"Or {gold} gp to buy equipment with." if gold else ""
    return paragraphs(choices, subject.writer.markdown(found.get("entries")), otherwise)


def _multiclassing(obj: Object) -> str:
    """What multiclassing into it asks for."""
    required = mapping(obj, "multiclassing.requirements")
    alternatives = objects(required, "or")
    scores = {code: score for each in (alternatives or [required]) for code, score in each.items()}
    told = (f"{name} {text(score)}" for code, score in scores.items() for name in abilities(code))
    return joined(told, "or" if alternatives else "and")


def _casting(obj: Object) -> Data:
    return {
        "spellcasting_ability": "".join(abilities(obj.get("spellcastingAbility"))),
        "caster_type": word("casters", text(obj, "casterProgression")),
    }


def _features(subject: Subject, kind: str) -> Iterator[Data]:
    """Features, each with the level at which it is had: named by uid, or, in old files, nested in a list for each level."""
    for place, each in enumerate(listed(subject.obj, f"{kind}s"), 1):
        if isinstance(each, list):
            yield from ({**subject.writer.named(old), "gained_at": [{"level": place}]} for old in objects(each))
        elif named := text(each, kind) or text(each):
            yield _feature(subject, kind, named)
        elif isinstance(each, Mapping):
            yield subject.writer.named(each)


def _feature(subject: Subject, kind: str, named: str) -> Data:
    found = subject.feature(kind, named)
    name, *parts = named.split("|")
    level = next(map(number, parts[2 if kind == "classFeature" else 4 :]), None)
    if found is None:
        subject.tell(f"the text of its feature {name!r} is not in the files; only its name was stored")
    level = number(found, "level") if level is None else level
    told = subject.writer.named(found) if found else {"name": subject.reader.plain(name)}
    return without_empty({**told, "gained_at": [] if level is None else [{"level": int(level)}]})


def _columns(subject: Subject, key: str) -> Iterator[Data]:
    """The columns of the table of a class, with the values of each level."""
    line = subject.writer.line
    for group in objects(subject.obj, key):
        labels = map(line, listed(group, "colLabels"))
        rows = [listed(row) for row in listed(group.get("rows") or group.get("rowsSpellProgression"))][:MAX_LEVEL]
        for place, label in enumerate(labels):
            cells = [line(row[place : place + 1]) for row in rows]
            yield _column(label, ["—" if cell in ("0", "") else cell for cell in cells])


def _column(name: str, cells: list[str]) -> Data:
    """A column in the shape that class tables are kept in (that of Open5e)."""
    values = [{"level": level, "column_value": cell} for level, cell in enumerate(cells, 1)]
    return {"name": name, "feature_type": "COLUMN", "data_for_class_table": values}


# --- races -----------------------------------------------------------------------------------------------------------


def race(subject: Subject) -> Data:
    """A race, subrace or lineage. What its traits say is not said again."""
    obj, entries = subject.obj, listed(subject.obj, "entries")
    named = [each for each in objects(entries) if text(each, "name")]
    others = [each for each in entries if not text(each, "name")]
    told = {text(each, "name").casefold() for each in named}
    dark, speed, scores = number(obj, "darkvision"), _speed(obj.get("speed")), ability_scores(obj.get("ability"))
    beside = {
        "size": capital(joined(sizes(obj, "size"), "or")),
        "speed_desc": f"**Speed.** {speed}." if speed else "",
        "vision": f"**Darkvision.** {text(dark)} feet." if dark else "",
        "languages": proficiencies(subject.reader, obj.get("languageProficiencies")),
    }
    return {
        "desc": paragraphs(subject.fluff(), subject.writer.markdown(others)),
        "asi_desc": f"**Ability Score Increase.** {scores}." if scores else "",
        **{key: words for (key, words), name in zip(beside.items(), _BESIDE, strict=True) if name not in told},
        "skills": proficiencies(subject.reader, obj.get("skillProficiencies")),
        **subject.stated("values of races"),
        **{place: _resistances(obj.get(key)) for key, place in word["defences"].items()},
        "condition_immunities": _resistances(obj.get("conditionImmune")),
        "spells": _spells(obj),
        "traits": [*map(subject.writer.named, named)],
    }


_BESIDE = ("size", "speed", "darkvision", "languages")
"""The names of traits that say what a race has values for."""


def _speed(value: object) -> str:
    """ "30 ft., swim 30 ft"; a speed of ``true`` is as fast as one walks."""
    walking = number(value, "walk") if isinstance(value, Mapping) else number(value)
    parts = [f"{text(walking)} ft." if walking is not None else ""]
    for mode, speed in mapping(value).items():
        feet = walking if speed is True else number(speed)
        if mode != "walk" and feet:
            parts.append(f"{mode} {text(feet)} ft.")
    return commas(*parts).removesuffix(".")


def _resistances(value: object) -> str:
    """Damage types, and those among which one is chosen."""
    chosen = (texts(each, "choose.from") for each in objects(value) if mapping(each, "choose"))
    return ", ".join([*texts(value), *(f"one of {joined(each, 'or')}" for each in chosen)])


def name_of_subrace(obj: Object) -> str:
    """The name of a subrace as the books have it: that of its race, and its own in brackets."""
    own, parent = text(obj, "name").strip(), text(obj, "raceName").strip()
    if not own or not parent or parent.casefold() in own.casefold():
        return own or parent
    return f"{parent} ({own})"


# --- backgrounds and feats -------------------------------------------------------------------------------------------


def background(subject: Subject) -> Data:
    """A background. The list at its head, whose items have labels, says more than codes."""
    obj, reader = subject.obj, subject.reader
    kept = {
        "skill_proficiencies": proficiencies(reader, obj.get("skillProficiencies")),
        "tool_proficiencies": proficiencies(reader, obj.get("toolProficiencies")),
        "languages": proficiencies(reader, obj.get("languageProficiencies")),
        "equipment": equipment(reader, obj.get("startingEquipment")),
        "ability_score_increase": ability_scores(obj.get("ability")),
        "feats": joined((title(uid(name)[0]) for each in objects(obj, "feats") for name in each), "or"),
        "prerequisite": prerequisite(reader, obj.get("prerequisite")),
    }
    loose: list[object] = []
    benefits: list[object] = []
    for entry in listed(obj, "entries"):
        found = mapping(entry)
        if found.get("type") == "list":
            others = [item for item in listed(found, "items") if not _is_labelled(subject, item, kept)]
            loose += [{**found, "items": others}] if others else []
        elif not text(found, "name"):
            loose.append(entry)
        elif text(found, "name").casefold() == "suggested characteristics":
            kept["suggested_characteristics"] = text(subject.writer.named(found), "desc")
        else:
            benefits.append(subject.writer.named(found))
    desc = paragraphs(subject.fluff(), subject.writer.markdown(loose))
    return {"desc": desc, **kept, "benefits": benefits}


def _is_labelled(subject: Subject, item: object, kept: dict[str, str]) -> bool:
    """Whether an item of a list has a label; its text then is kept in the place of what codes say."""
    label = text(item, "name").casefold()
    place = next((place for begin, place in word["labels"].items() if label.startswith(begin)), "")
    words = subject.writer.line([*listed(item, "entry"), *listed(item, "entries")]) if place else ""
    if words and not (label == "skills:" and kept[place]):
        kept[place] = words
    return bool(words)


def feat(subject: Subject) -> Data:
    """A feat."""
    obj, code = subject.obj, text(subject.obj, "category")
    return {
        "type": word("feats", code, word("feats", code.partition(":")[0], code.lower())),
        "prerequisite": prerequisite(subject.reader, obj.get("prerequisite")),
        "ability_score_increase": ability_scores(obj.get("ability")),
        **subject.stated("values of feats"),
        "spells": _spells(obj),
        "desc": paragraphs(subject.prose("entries"), subject.fluff()),
    }


def fields(data: Object) -> Data:
    """The raw filter values of a character option."""
    parent = text(data, "subclass_of", "subrace_of")
    return {"parent": parent or None, "hit_die": text(data, "hit_die") or None, **granted(data)}


# --- requirements ---------------------------------------------------------------------------------------------------

_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CAPITAL = re.compile(r"(?=[A-Z])")

MAX_NESTED = 6
"""Most levels of choices within choices."""


def counted(count: object) -> str:
    """A number in a word, as far as people write it so."""
    return word("numbers", text(number(count) or 1))


def _or(rows: Iterator[str]) -> str:
    return "; or ".join(filter(None, rows))


# --- prerequisites -----------------------------------------------------------------------------------------------------


def prerequisite(reader: Reader, value: object) -> str:
    """A list of alternatives, each with conditions that all hold: "4th level, Wisdom 13 or higher; or Alert"."""
    if isinstance(value, str):
        return reader.plain(value)
    rows = (
        commas(
            *(_condition(reader, key, wanted) for key, wanted in each.items() if key not in ("choice", "note")),
            reader.plain(each, "note"),
        )
        for each in objects(value)
    )
    return capital(_or(rows))


def _condition(reader: Reader, key: str, wanted: object) -> str:
    if key in word["prerequisites"]:
        return word("prerequisites", key) if wanted else ""
    if told := _CONDITIONS.get(key):
        return joined((told(each) for each in listed(wanted)), "or")
    texts = (text(each, "entry", "displayEntry", "name", "entrySummary") or text(each) for each in listed(wanted))
    words = joined(map(reader.plain, texts), "or")
    return words if key in _AS_THEY_ARE or not words else f"{title(_CAMEL.sub(' ', key))}: {words}"


_AS_THEY_ARE = frozenset("other otherSummary feature item background alignment itemProperty culture membership".split())
"""Prerequisites whose words need no label."""


def _level(value: object) -> str:
    level = number(value, "level") if isinstance(value, Mapping) else number(value)
    ranked = f"{ordinal(int(level))} level" if level is not None else ""
    return spaced(ranked, text(value, "class.name"), text(value, "subclass.name"))


def _scores(value: object) -> str:
    scores = mapping(value).items()
    return joined(f"{''.join(abilities(code))} {text(score)} or higher" for code, score in scores)


def _lineage(value: object) -> str:
    name, kind = title(text(value, "name") or text(value)), text(value, "subrace")
    return f"{name} ({kind})" if kind else name


def _spell(value: object) -> str:
    name, _, kind = uid(value)[0].partition("#")
    return f"{name} {word('spell kinds', kind)}" if name else text(value, "entry")


def _proficiency(value: object) -> str:
    kinds = mapping(value).items()
    return joined(f"proficiency with {text(what)} {'' if kind == 'weapon' else kind}".strip() for kind, what in kinds)


_CONDITIONS: Mapping[str, Callable[[object], str]] = {
    "level": _level,
    "ability": _scores,
    "race": _lineage,
    "spell": _spell,
    "feat": lambda value: title(uid(value)[0]),
    "proficiency": _proficiency,
    "pact": lambda value: f"Pact of the {text(value)}",
    "patron": lambda value: f"{text(value)} patron",
}


# --- ability scores ------------------------------------------------------------------------------------------------------


def ability_scores(value: object) -> str:
    """Changes of ability scores, alternatives with "or": "Dexterity +2, Wisdom +1; or ..."."""
    return _or(commas(*_changes(each)) for each in objects(value))


def _changes(changes: Object) -> Iterator[str]:
    for code, value in changes.items():
        if code != "choose":
            change = number(value)
            yield from (f"{name} {change:+g}" for name in abilities(code) if change is not None)
            continue
        weights = ", ".join(f"{number(each) or 0:+g}" for each in listed(value, "weighted.weights"))
        how = f"{weights} to different ones" if mapping(value, "weighted") else ""
        how = how or f"+{text(value, 'amount') or 1} to {counted(at(value, 'count'))}"
        yield f"{how} of {joined(abilities(listed(value, 'weighted.from', 'from'))) or 'your choice'}"


# --- proficiencies -------------------------------------------------------------------------------------------------------


def proficiencies(reader: Reader, value: object) -> str:
    """What one is proficient with, alternatives with "or": "History, and one of Insight or Persuasion"."""
    return _or(_proficiencies(reader, each, 0) for each in listed(value))


def _proficiencies(reader: Reader, value: object, level: int) -> str:
    if not isinstance(value, Mapping):
        return capital(reader.plain(value))
    told = []
    for name, amount in value.items() if level <= MAX_NESTED else ():
        if name == "choose":
            options = (title(_proficiencies(reader, each, level + 1)) for each in listed(amount, "from"))
            count = counted(at(amount, "count") or at(amount, "amount"))
            told.append(f"{count} of {joined(options, 'or') or 'your choice'}")
        elif name.startswith("any"):  # "anyStandard" is "standard language of your choice"
            kind = " ".join(_CAPITAL.split(name.removeprefix("any"))).lower()
            told.append(spaced(counted(amount), kind.strip(), "of your choice"))
        elif name in ("full", "proficiency"):
            told.append(f"{reader.plain(amount)}{' (optional)' if value.get('optional') is True else ''}")
        elif amount and name != "optional":
            told.append(title(uid(name)[0]))
    return commas(*told)


# --- equipment -------------------------------------------------------------------------------------------------------------


def equipment(reader: Reader, value: object) -> str:
    """Starting equipment: "(a) hammer, 8 gp or (b) 50 gp; common clothes"."""
    rows = []
    for group in objects(value):
        options = {key: commas(*(thing(reader, each) for each in listed(things))) for key, things in group.items()}
        told = (f"{'' if key == '_' else f'({key.lower()}) '}{words}" for key, words in options.items() if words)
        rows.append(" or ".join(told))
    return "; ".join(filter(None, rows))


def thing(reader: Reader, value: object) -> str:
    """A thing with its number and what is in it: "torch (5)", "pouch with 15 gp", "10 gp"."""
    name = uid(at(value, "item") or at(value, "uid") or value)[0] or reader.plain(value, "special", "displayName")
    told = counted_name(name or title(text(value, "equipmentType")), number(value, "quantity", "count"))
    inside = coins(at(value, "containsValue"))
    return f"{told} with {inside}" if inside and told else told or coins(at(value, "value"))
