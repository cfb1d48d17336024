"""Classes, subclasses, species, backgrounds and feats, in the keys of Open5e; and features by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lorekeeper.normalize.build import slugify, without_empty
from lorekeeper.normalize.foundry.enrich import described, line
from lorekeeper.normalize.foundry.marks import Scope
from lorekeeper.normalize.foundry.values import (
    ABILITY_NAMES,
    Data,
    Object,
    abilities,
    at,
    commas,
    items,
    objects,
    pairs,
    paragraphs,
    spoken,
    text,
    texts,
    whole,
    word,
)
from lorekeeper.terms import SKILL_ABILITIES

_GRANTS = frozenset({"ItemGrant", "grantFeatures"})
_SCALES = frozenset({"ScaleValue", "scaleValue", "spellcastingValue"})

_PROFICIENCIES = ("saves", "armor", "weapon", "tool", "skills")
"""What proficiencies are called in grants."""

_KEYS = ("saving_throws", "armor", "weapons", "tools", "skills")
"""What they are called in entries."""

MAX_LEVEL = 30


def character_class(scope: Scope) -> tuple[Data, int]:
    """A class or subclass with its features by level, and how many of these are not in the import."""
    system, kind = scope.system, text(scope.raw, "type")
    steps = _steps(scope)
    features, missing = _features(steps, scope)
    die = text(system, "hitDice", "hd.denomination") or _first(steps, "configuration.denomination")
    casting = [step for step in steps if step["type"] == "spellcasting"]
    progression = text(system, "spellcasting.progression") or _first(casting, "configuration.progression")
    ability = text(system, "spellcasting.ability") or _first(casting, "configuration.ability")
    keys = [key for step in steps if step["type"] == "keyAbility" for key in texts(step, "configuration.options")]
    primary = abilities([*texts(system, "primaryAbility.value"), *keys])
    parent = text(system, "classIdentifier", "identifier.class", "identifier.associated")
    data: Data = {
        "desc": described(scope) or line(at(system, "description.short"), scope),
        "hit_dice": f"d{die.lstrip('d')}" if die and kind == "class" else "",
        "subclass_of": parent if kind == "subclass" else "",
        "primary_abilities": " or ".join(name.capitalize() for name in primary),
        "caster_type": word("casters", progression) if progression in _CASTERS else "",
        "spellcasting_ability": ABILITY_NAMES.get(ability, "").capitalize(),
        **{f"prof_{key}": _proficiency(steps, name) for key, name in zip(_KEYS, _PROFICIENCIES, strict=True)},
        "features": [*features, *_columns(steps)],
    }
    return data, missing


_CASTERS = frozenset("full half third pact artificer".split())


def _steps(scope: Scope) -> list[Data]:
    """What levels bring, each with its type, which Black Flag keeps under another key."""
    return [{"type": text(step, "_type"), **step} for step in objects(scope.system, "advancement")]


def _first(steps: Sequence[Object], path: str) -> str:
    return next(filter(None, (text(step, path) for step in steps)), "")


def _proficiency(steps: Sequence[Object], name: str) -> str:
    """The proficiencies of a kind that the first level grants, and those among which one chooses."""
    granted: list[str] = []
    chosen: list[str] = []
    for step in steps:
        multiclass = step.get("classRestriction") == "secondary" or at(step, "level.classRestriction") == "multiclass"
        masters = at(step, "configuration.mode") not in (None, "", "default")
        if masters or text(step, "type").lower() != "trait" or (_level(step) or 1) > 1 or multiclass:
            continue
        granted += _named(name, texts(step, "configuration.grants"))
        for choice in objects(step, "configuration.choices"):
            pool = ", ".join(dict.fromkeys(_named(name, texts(choice, "pool"))))
            chosen.append(f"choose {whole(choice, 'count') or 1} from {pool}" if pool else "")
    return "; ".join(filter(None, (", ".join(dict.fromkeys(granted)), *chosen)))


def _named(name: str, keys: Sequence[str]) -> Iterator[str]:
    """The words for those keys that are of a kind of proficiency: "weapon:sim:dagger" is a weapon."""
    for kind, _, rest in (key.partition(":") for key in keys):
        if kind.rstrip("s") != name.rstrip("s"):
            continue
        last = (rest or kind).rpartition(":")[2]
        found = word["proficiencies"].get(name, {}).get(last, "")
        if name in ("skills", "saves"):
            found = (word["skills"] | ABILITY_NAMES).get(last, "").title()
        other = f"any {kind}" if last == "*" else word("base items", last, spoken(last))
        yield found or (other.title() if other in SKILL_ABILITIES or other in ABILITY_NAMES else other)


# --- features -------------------------------------------------------------------------------------------------------


def _features(steps: Sequence[Object], scope: Scope) -> tuple[list[Data], int]:
    """The features that levels grant, each once with all its levels."""
    found: dict[str, Data] = {}
    levels: dict[str, set[int]] = {}
    missing = 0
    for step in steps:
        level, kind = _level(step), text(step, "type")
        if kind in word["improvements"] and level:
            found.setdefault(kind, {"name": word("improvements", kind)})
            levels.setdefault(kind, set()).add(level)
        for each in items(step, "configuration.items", "configuration.pool") if kind in _GRANTS else ():
            uuid = text(each, "uuid") or text(each)
            document = scope.index.document(uuid)
            if document:
                inner = scope.of(document)
                found.setdefault(document.id, without_empty({"name": document.name, "desc": described(inner)}))
                levels.setdefault(document.id, set()).update([level] if level else [])
            missing += document is None and uuid != ""
    return [
        {
            **each,
            "feature_type": "CLASS_LEVEL_FEATURE",
            "gained_at": [{"level": level} for level in sorted(levels[key])],
        }
        for key, each in found.items()
    ], missing


def _level(step: Object) -> int | None:
    """The level of an advancement; None if it has none."""
    found = whole(step, "level.value") if isinstance(step.get("level"), dict) else whole(step, "level")
    return found if found is not None and 0 < found <= MAX_LEVEL else None


def _columns(steps: Sequence[Object]) -> Iterator[Data]:
    """The columns of a class table that scale with its level: a value for each of the twenty levels from the first that has one."""
    for step in steps:
        scale = {level: _scaled(value) for level, value in pairs(at(step, "configuration.scale"))}
        cells, now = [], ""
        for level in range(1, 21):
            now = scale.get(str(level)) or now
            cells += [{"level": level, "column_value": now}] if now else []
        title = text(step, "title")
        if text(step, "type") in _SCALES and title and cells:
            yield {"name": title, "feature_type": "CLASS_TABLE_DATA", "data_for_class_table": cells}


def _scaled(value: Object) -> str:
    faces = whole(value, "faces") or whole(value, "denomination")
    return f"{whole(value, 'number') or ''}d{faces}" if faces else text(value, "value")


# --- the others -----------------------------------------------------------------------------------------------------


def species(scope: Scope) -> Data:
    """A species, race, lineage or heritage."""
    kind = text(scope.raw, "type")
    option = kind if kind in ("lineage", "heritage") else ""
    return {**background(scope), "subspecies_of": parent_of(scope), "option_type": option}


def parent_of(scope: Scope) -> str:
    """The race of a subrace, in the rules of 2014: the subtype "dwarf" of a hill dwarf."""
    subtype, own = slugify(text(scope.system, "type.subtype")), slugify(text(scope.raw, "name"))
    is_subrace = subtype and own != subtype and own.endswith(f"-{subtype}")
    return subtype if is_subrace and text(scope.system, "source.rules") != "2024" else ""


def background(scope: Scope) -> Data:
    """A background. The texts of the features that it grants stand in the place of one that it lacks."""
    desc = described(scope)
    found = [] if desc else _features(_steps(scope), scope)[0]
    told = (f"**{each['name']}.** {each['desc']}" for each in found if each.get("desc"))
    return {"desc": desc or paragraphs(*told)}


def feat(scope: Scope) -> Data:
    """A feat or talent."""
    kind = text(scope.system, "type.subtype", "type.category")
    return {
        "desc": described(scope),
        "type": spoken(kind) if kind not in ("feat", "talent") else "",
        "prerequisite": _prerequisite(scope.system),
        "repeatable": True if at(scope.system, "prerequisites.repeatable") is True else None,
    }


def _prerequisite(system: Object) -> str:
    """What a feat requires: its level, unless its text says it, and that text."""
    said, level = text(system, "requirements"), whole(system, "prerequisites.level")
    told = f"Level {level}+" if level and not re.search(r"\blevel\b", said, re.IGNORECASE) else ""
    return commas(told, said, *map(_restriction, objects(system, "restriction.filters")))


def _restriction(each: Object) -> str:
    path, least = text(each, "k"), whole(each, "v")
    ability = ABILITY_NAMES.get(path.removeprefix("system.abilities.").removesuffix(".value"))
    if ability and least is not None:
        return f"{ability.capitalize()} {least} or higher"
    return f"{least}th level" if path == "system.progression.level" and least and least > 3 else ""


def feature(scope: Scope) -> Data:
    """A feature of a class, a species or a creature that is a document by itself; it may require "Wizard 2"."""
    asked = _PARENT.match(text(scope.system, "requirements"))
    name, level = (asked[1], whole(asked[2])) if asked else ("", None)
    parent = text(scope.system, "identifier.associated") or name
    return {"desc": described(scope), "parent": parent, "level": whole(scope.system, "level.value") or level}


_PARENT = re.compile(r"(.*?)(?: (\d{1,2}))?$")


def is_feat(scope: Scope) -> bool:
    """Whether a document of the type ``feat`` is a feat; the others are features of classes, species and creatures."""
    kind = text(scope.system, "type.value")
    return kind == "feat" if kind else not re.search(r"\d", text(scope.system, "requirements"))
