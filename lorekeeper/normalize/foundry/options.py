"""Classes, subclasses, species, backgrounds and feats, in the keys of Open5e; and features by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from lorekeeper.normalize.build import slugify, without_empty
from lorekeeper.normalize.foundry.documents import Document
from lorekeeper.normalize.foundry.enrich import described, line
from lorekeeper.normalize.foundry.scope import Scope
from lorekeeper.normalize.foundry.values import (
    Object,
    at,
    commas,
    items,
    mapping,
    objects,
    pairs,
    text,
    texts,
    whole,
)
from lorekeeper.normalize.foundry.words import ABILITY_NAMES, BASE_ITEMS, SKILLS, spoken

FEATURE = "CLASS_LEVEL_FEATURE"
COLUMN = "CLASS_TABLE_DATA"

_GRANTS = frozenset({"ItemGrant", "grantFeatures"})
_SCALES = frozenset({"ScaleValue", "scaleValue", "spellcastingValue"})
_IMPROVEMENTS = {"AbilityScoreImprovement": "Ability Score Improvement", "improvement": "Improvement"}

_CASTERS = {"full": "full", "half": "half", "third": "third", "pact": "pact", "artificer": "half"}

_ARMOR = {"lgt": "light armor", "med": "medium armor", "hvy": "heavy armor", "shl": "shields", "light": "light armor",
          "medium": "medium armor", "heavy": "heavy armor", "shield": "shields"}  # fmt: skip
_WEAPONS = {"sim": "simple weapons", "mar": "martial weapons", "simple": "simple weapons", "martial": "martial weapons"}

_PROFICIENCIES = {
    "prof_saving_throws": ("saves", ABILITY_NAMES),
    "prof_armor": ("armor", _ARMOR),
    "prof_weapons": ("weapon", _WEAPONS),
    "prof_tools": ("tool", {}),
    "prof_skills": ("skills", SKILLS),
}
"""The key of a proficiency: what it is called in grants, and the words for its values."""

MAX_LEVEL = 30


def character_class(raw: Object, scope: Scope) -> tuple[dict[str, object], int]:
    """A class or subclass with its features by level, and how many of these are not in the import."""
    system = mapping(raw, "system")
    steps = [{"type": text(step, "_type"), **step} for step in objects(system, "advancement")]
    features, missing = _features(steps, scope)
    die = text(system, "hitDice", "hd.denomination") or _hit_die(steps)
    parent = text(system, "classIdentifier", "identifier.class", "identifier.associated")
    progression = text(system, "spellcasting.progression") or _casting(steps, "progression")
    ability = text(system, "spellcasting.ability") or _casting(steps, "ability")
    data = without_empty(
        {
            "desc": described(raw, scope) or line(at(system, "description.short"), scope),
            "hit_dice": f"d{die.lstrip('d')}" if die and raw.get("type") == "class" else "",
            "subclass_of": parent if raw.get("type") == "subclass" else "",
            "primary_abilities": _primary(system, steps),
            "caster_type": _CASTERS.get(progression, ""),
            "spellcasting_ability": ABILITY_NAMES.get(ability, "").capitalize(),
            **{key: _proficiency(steps, name, words) for key, (name, words) in _PROFICIENCIES.items()},
            "features": [*features, *_columns(steps)],
        }
    )
    return data, missing


def _hit_die(steps: Sequence[Object]) -> str:
    return next((d for step in steps if (d := text(step, "configuration.denomination"))), "")


def _casting(steps: Sequence[Object], key: str) -> str:
    return next((text(s, f"configuration.{key}") for s in steps if text(s, "type") == "spellcasting"), "")


def _primary(system: Object, steps: Sequence[Object]) -> str:
    keys = texts(system, "primaryAbility.value")
    for step in steps:
        if text(step, "type") == "keyAbility":
            keys += texts(step, "configuration.options")
    return " or ".join(ABILITY_NAMES[key].capitalize() for key in keys if key in ABILITY_NAMES)


def _proficiency(steps: Sequence[Object], name: str, words: dict[str, str]) -> str:
    """The proficiencies of a kind that the first level grants, and those among which one chooses."""
    granted: list[str] = []
    chosen: list[str] = []
    for step in steps:
        multiclass = step.get("classRestriction") == "secondary" or at(step, "level.classRestriction") == "multiclass"
        masters = at(step, "configuration.mode") not in (None, "", "default")
        if masters or text(step, "type").lower() != "trait" or (level_of(step) or 1) > 1 or multiclass:
            continue
        granted += [_named(key, words) for key in texts(step, "configuration.grants") if _is(key, name)]
        for choice in objects(step, "configuration.choices"):
            pool = [_named(key, words) for key in texts(choice, "pool") if _is(key, name)]
            if pool:
                chosen.append(f"choose {whole(choice, 'count') or 1} from {', '.join(dict.fromkeys(pool))}")
    return "; ".join(filter(None, (", ".join(dict.fromkeys(granted)), *chosen)))


def _is(key: str, name: str) -> bool:
    return key.partition(":")[0].rstrip("s") == name.rstrip("s")


def _named(key: str, words: dict[str, str]) -> str:
    last = key.rpartition(":")[2]
    found = words.get(last) or (f"any {key.split(':')[0]}" if last == "*" else BASE_ITEMS.get(last, spoken(last)))
    return found.title() if found in SKILLS.values() or found in ABILITY_NAMES else found


# --- features -------------------------------------------------------------------------------------------------------


def _features(steps: Sequence[Object], scope: Scope) -> tuple[list[Object], int]:
    """The features that levels grant, each once with all its levels."""
    found: dict[str, dict[str, object]] = {}
    levels: dict[str, list[int]] = {}
    missing = 0
    for step in steps:
        level, kind = level_of(step), text(step, "type")
        if kind in _GRANTS:
            for uuid in _granted(step):
                document = scope.index.document(uuid)
                if document is None:
                    missing += 1
                    continue
                found.setdefault(document.id, _feature(document, scope))
                levels.setdefault(document.id, []).extend([level] if level else [])
        elif kind in _IMPROVEMENTS and level:
            found.setdefault(kind, {"name": _IMPROVEMENTS[kind]})
            levels.setdefault(kind, []).append(level)
    return [
        {
            **feature,
            "feature_type": FEATURE,
            "gained_at": [{"level": level} for level in sorted(set(levels.get(key, ())))],
        }
        for key, feature in found.items()
    ], missing


def _granted(step: Object) -> list[str]:
    given = items(step, "configuration.items", "configuration.pool")
    return [found for entry in given if (found := text(entry, "uuid") or text(entry))]


def _feature(document: Document, scope: Scope) -> dict[str, object]:
    inner = replace(scope, document=document, doer=replace(scope.doer, item=document.raw))
    return without_empty({"name": document.name, "desc": described(document.raw, inner)})


def level_of(step: Object) -> int | None:
    """The level of an advancement; None if it has none."""
    found = whole(step, "level") if not isinstance(step.get("level"), dict) else whole(step, "level.value")
    return found if found is not None and 0 < found <= MAX_LEVEL else None


def _columns(steps: Sequence[Object]) -> list[Object]:
    """The columns of a class table that scale with its level."""
    found: list[Object] = []
    for step in steps:
        title = text(step, "title")
        if text(step, "type") not in _SCALES or not title:
            continue
        scale = {
            int(level): _scaled(value) for level, value in pairs(at(step, "configuration.scale")) if _is_level(level)
        }
        cells = [{"level": level, "column_value": value} for level, value in _filled(scale).items()]
        if cells:
            found.append({"name": title, "feature_type": COLUMN, "data_for_class_table": cells})
    return found


def _is_level(level: str) -> bool:
    return level.isdecimal() and len(level) < 3 and 0 < int(level) <= MAX_LEVEL


def _scaled(value: Object) -> str:
    count, faces = whole(value, "number"), whole(value, "faces") or whole(value, "denomination")
    if faces:
        return f"{count or ''}d{faces}"
    found = value.get("value")
    return text(whole(found)) if whole(found) is not None else text(found)


def _filled(scale: dict[int, str]) -> dict[int, str]:
    """A value for each of the twenty levels from the first that has one."""
    found: dict[int, str] = {}
    now = ""
    for level in range(1, 21):
        now = scale.get(level) or now
        if now:
            found[level] = now
    return found


# --- the others -----------------------------------------------------------------------------------------------------


def species(raw: Object, scope: Scope) -> dict[str, object]:
    """A species, race, lineage or heritage."""
    kind = text(raw, "type")
    return without_empty(
        {
            "desc": described(raw, scope) or _granted_texts(raw, scope),
            "subspecies_of": parent_of(raw),
            "option_type": kind if kind in ("lineage", "heritage") else "",
        }
    )


def parent_of(raw: Object) -> str:
    """The race of a subrace, in the rules of 2014: the subtype "dwarf" of a hill dwarf."""
    system = mapping(raw, "system")
    subtype, own = slugify(text(system, "type.subtype")), slugify(text(raw, "name"))
    is_subrace = subtype and own != subtype and own.endswith(f"-{subtype}")
    return subtype if is_subrace and text(system, "source.rules") != "2024" else ""


def _granted_texts(raw: Object, scope: Scope) -> str:
    """The texts of the features that an option without text grants."""
    steps = objects(raw.get("system"), "advancement")
    found, _ = _features(steps, scope)
    return "\n\n".join(f"**{each['name']}.** {each['desc']}" for each in found if each.get("desc"))


def background(raw: Object, scope: Scope) -> dict[str, object]:
    """A background."""
    return without_empty({"desc": described(raw, scope) or _granted_texts(raw, scope)})


_FEAT_TYPES = {"fightingStyle": "fighting style", "epicBoon": "epic boon"}


def feat(raw: Object, scope: Scope) -> dict[str, object]:
    """A feat or talent."""
    system = mapping(raw, "system")
    kind = text(system, "type.subtype", "type.category")
    return without_empty(
        {
            "desc": described(raw, scope),
            "type": _FEAT_TYPES.get(kind, spoken(kind)) if kind not in ("feat", "talent") else "",
            "prerequisite": _prerequisite(system),
            "repeatable": True if at(system, "prerequisites.repeatable") is True else None,
        }
    )


def _prerequisite(system: Object) -> str:
    """What a feat requires: its level, unless its text says it, and that text."""
    said = text(system, "requirements")
    level = whole(system, "prerequisites.level")
    told = f"Level {level}+" if level and not re.search(r"\blevel\b", said, re.IGNORECASE) else ""
    abilities = [found for each in objects(system, "restriction.filters") if (found := _restriction(each))]
    return commas(told, said, *abilities)


def _restriction(each: Object) -> str:
    path, least = text(each, "k"), whole(each, "v")
    ability = ABILITY_NAMES.get(path.removeprefix("system.abilities.").removesuffix(".value"))
    if ability and least is not None:
        return f"{ability.capitalize()} {least} or higher"
    return f"{least}th level" if path == "system.progression.level" and least and least > 3 else ""


def feature(raw: Object, scope: Scope) -> dict[str, object]:
    """A feature of a class, a species or a creature that is a document by itself."""
    system = mapping(raw, "system")
    requirements = _PARENT.match(text(system, "requirements"))
    parent = text(system, "identifier.associated") or (requirements[1] if requirements else "")
    level = whole(system, "level.value") or (whole(requirements[2]) if requirements else None)
    return without_empty({"desc": described(raw, scope), "parent": parent, "level": level})


_PARENT = re.compile(r"(.*?)(?: (\d{1,2}))?$")
"""What a feature requires: "Wizard 2"."""


FEATS = frozenset({"feat", ""})
"""Kinds of the document type ``feat`` that are feats; the others are features of classes, species and creatures."""


def is_feat(raw: Object) -> bool:
    """Whether a document of the type ``feat`` is a feat."""
    kind = text(raw.get("system"), "type.value")
    if kind:
        return kind in FEATS
    return not re.search(r"\d", text(raw.get("system"), "requirements"))
