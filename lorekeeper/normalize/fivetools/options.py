"""Races, subraces, backgrounds and feats of 5etools in the shapes in which they are kept."""

from __future__ import annotations

from collections.abc import Mapping

from lorekeeper.normalize.build import joined, without_empty
from lorekeeper.normalize.fivetools.requirements import (
    ability_scores,
    equipment,
    prerequisite,
    proficiencies,
    spells_known,
)
from lorekeeper.normalize.fivetools.subject import Data, Subject
from lorekeeper.normalize.fivetools.values import (
    Object,
    capital,
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
from lorekeeper.normalize.options import read as granted

CATEGORIES = {"G": "general", "O": "origin", "FS": "fighting style", "EB": "epic boon", "D": "dragonmark"}
"""Categories of feats by their codes; longer codes begin with one of them."""

LABELS = {
    "skill": "skill_proficiencies",
    "tool": "tool_proficiencies",
    "language": "languages",
    "equipment": "equipment",
    "feat": "feats",
    "ability": "ability_score_increase",
}
"""How an item begins in the list at the head of a background, and where its text is kept."""


def race(subject: Subject) -> Data:
    """A race, subrace or lineage."""
    obj = subject.obj
    entries = listed(obj.get("entries"))
    named = [each for each in objects(entries) if text(each.get("name"))]
    others = [each for each in entries if not (isinstance(each, Mapping) and text(each.get("name")))]
    told = {text(each.get("name")).casefold() for each in named}
    dark = number(obj.get("darkvision"))
    scores = ability_scores(listed(obj.get("ability")))
    return without_empty(
        {
            "subrace_of": subject.words("raceName"),
            "desc": "\n\n".join(filter(None, (subject.fluff(), subject.writer.markdown(others)))),
            "asi_desc": f"**Ability Score Increase.** {scores}." if scores else "",
            "size": capital(joined(sizes(obj.get("size")), "or")) if "size" not in told else "",
            "speed_desc": f"**Speed.** {speed}." if (speed := _speed(obj.get("speed"))) and "speed" not in told else "",
            "vision": f"**Darkvision.** {text(dark)} feet." if dark and "darkvision" not in told else "",
            "languages": proficiencies(subject.reader, obj.get("languageProficiencies"))
            if "languages" not in told
            else "",
            "skills": proficiencies(subject.reader, obj.get("skillProficiencies")),
            "creature_types": ", ".join(texts(obj.get("creatureTypes"))),
            **{f"damage_{noun}": _resistances(obj.get(key)) for key, noun in _DEFENCES.items()},
            "condition_immunities": _resistances(obj.get("conditionImmune")),
            "spells": ", ".join(dict.fromkeys(spells_known(obj.get("additionalSpells")))),
            "traits": [subject.writer.named(each) for each in named],
        }
    )


_DEFENCES = {"resist": "resistances", "immune": "immunities", "vulnerable": "vulnerabilities"}


def _speed(value: object) -> str:
    """ "30 ft., swim 30 ft."; a speed of ``true`` is as fast as one walks."""
    walking = number(mapping(value).get("walk")) if isinstance(value, Mapping) else number(value)
    if not isinstance(value, Mapping):
        return f"{text(walking)} ft" if walking is not None else ""
    parts = [f"{text(walking)} ft."] if walking is not None else []
    for mode, speed in value.items():
        feet = walking if speed is True else number(speed)
        if mode != "walk" and feet:
            parts.append(f"{mode} {text(feet)} ft.")
    return ", ".join(parts).removesuffix(".")


def _resistances(value: object) -> str:
    """Damage types, and those among which one is chosen."""
    chosen = [mapping(each.get("choose")) for each in objects(value)]
    return ", ".join([*texts(value), *(f"one of {joined(texts(each.get('from')), 'or')}" for each in chosen if each)])


def name_of_subrace(obj: Object) -> str:
    """The name of a subrace as the books have it: that of its race, and its own in brackets."""
    own, parent = text(obj.get("name")).strip(), text(obj.get("raceName")).strip()
    if not own or not parent or parent.casefold() in own.casefold():
        return own or parent
    return f"{parent} ({own})"


def background(subject: Subject) -> Data:
    """A background."""
    obj = subject.obj
    kept = {
        "skill_proficiencies": proficiencies(subject.reader, obj.get("skillProficiencies")),
        "tool_proficiencies": proficiencies(subject.reader, obj.get("toolProficiencies")),
        "languages": proficiencies(subject.reader, obj.get("languageProficiencies")),
        "equipment": equipment(subject.reader, obj.get("startingEquipment")),
        "ability_score_increase": ability_scores(listed(obj.get("ability"))),
        "feats": joined((title(uid(name)[0]) for each in objects(obj.get("feats")) for name in each), "or"),
        "prerequisite": prerequisite(subject.reader, obj.get("prerequisite")),
    }
    paragraphs: list[object] = []
    benefits: list[object] = []
    for entry in listed(obj.get("entries")):
        found = mapping(entry)
        if found.get("type") == "list":
            kept, others = _labelled(subject, found, kept)
            paragraphs += [{**found, "items": others}] if others else []
        elif name := text(found.get("name")):
            named = subject.writer.named(found)
            if name.casefold() == "suggested characteristics":
                kept["suggested_characteristics"] = text(named["desc"])
            else:
                benefits.append(named)
        else:
            paragraphs.append(entry)
    desc = "\n\n".join(filter(None, (subject.fluff(), subject.writer.markdown(paragraphs))))
    return without_empty({"desc": desc, **kept, "benefits": benefits})


def _labelled(subject: Subject, found: Object, kept: dict[str, str]) -> tuple[dict[str, str], list[object]]:
    """The values with the texts of a list whose items have labels, which say more than codes; and its other items."""
    told, others = dict(kept), []
    for item in listed(found.get("items")):
        label = text(mapping(item).get("name")).casefold()
        place = next((place for word, place in LABELS.items() if label.startswith(word)), None)
        words = subject.writer.line([mapping(item).get("entry"), mapping(item).get("entries")]) if place else ""
        if place and words:
            told[place] = words if label != "skills:" or not told[place] else told[place]
        else:
            others.append(item)
    return told, others


def feat(subject: Subject) -> Data:
    """A feat."""
    obj = subject.obj
    code = text(obj.get("category"))
    kind = CATEGORIES.get(code) or CATEGORIES.get(code.partition(":")[0]) or code.lower()
    return without_empty(
        {
            "type": kind,
            "prerequisite": prerequisite(subject.reader, obj.get("prerequisite")),
            "ability_score_increase": ability_scores(listed(obj.get("ability"))),
            "repeatable": True if obj.get("repeatable") is True else None,
            "spells": ", ".join(dict.fromkeys(spells_known(obj.get("additionalSpells")))),
            "desc": "\n\n".join(filter(None, (subject.prose("entries"), subject.fluff()))),
        }
    )


def fields(data: Object) -> dict[str, object]:
    """The raw filter values of a character option."""
    parent = text(data.get("subclass_of")) or text(data.get("subrace_of"))
    die = text(data.get("hit_die"))
    return {"parent": parent or None, "hit_die": die or None, **granted(data)}
