"""The data of a creature with the values of a stat block instead of its own, whatever shape they have.

A source says one thing under several keys, and OrcBrew, Open5e and homebrew each have their own. Two tables say which keys
of any of them a value replaces, and which filter fields it decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lorekeeper.folding import fold
from lorekeeper.normalize.stat_block import RUBRICS, Block
from lorekeeper.terms import ABILITIES, MOVEMENTS, SENSES

Object = Mapping[str, Any]

_IDENTITY = frozenset(
    "key slug url name collection kind asked_as document_name document__slug document__title document__license_url "
    "document__url option_pack source source_api illustration image img_main".split()
)
"""Keys of the creature that is changed which are not true of the changed one."""

_SPEEDS = tuple(f"speed_{kind}" for kind in MOVEMENTS)

REPLACED: dict[str, tuple[str, ...]] = {
    "type": ("subtypes",),
    "subtype": ("subtypes",),
    "armor_class": ("ac", "armor_detail", "armor_desc"),
    "hit_points": ("hp", "hit_dice"),
    "speed": ("speed_all", "hover", *_SPEEDS),
    "ability_scores": ("abilities", "modifiers", *ABILITIES, *(ability[:3] for ability in ABILITIES)),
    "saving_throws": ("saving_throws_all", *(f"{ability}_save" for ability in ABILITIES)),
    "skills": ("skill_bonuses", "skill_bonuses_all"),
    "damage_vulnerabilities": ("vulnerable",),
    "damage_resistances": ("resistant",),
    "damage_immunities": ("immune",),
    "condition_immunities": ("immune",),
    "senses": (
        *SENSES,
        *(f"{sense}_range" for sense in SENSES),
        "passive_perception",
        "perception",
        "normal_sight_range",
    ),
    "languages": ("telepathy",),
    "challenge_rating": (
        "cr",
        "challenge",
        "challenge_rating_decimal",
        "experience_points",
        "xp",
        "proficiency_bonus",
    ),
    "environments": ("environment",),
    "desc": ("description",),
    "actions": ("damage_types", "conditions", "saves"),
}
"""Keys, of any source, which say what a key of a stat block does."""

_DEEDS = ("damage_types", "conditions", "saves", "spells", "legendary", "lair")

DECIDED: dict[str, tuple[str, ...]] = {
    "size": ("size",),
    "type": ("type",),
    "subtype": ("type",),
    "alignment": ("alignment",),
    "armor_class": ("armor_class",),
    "hit_points": ("hit_points",),
    "speed": (*_SPEEDS, "hover"),
    "damage_vulnerabilities": ("vulnerable",),
    "damage_resistances": ("resistant",),
    "damage_immunities": ("immune",),
    "condition_immunities": ("immune",),
    "senses": ("senses", *SENSES, "passive_perception"),
    "languages": ("languages", "telepathy"),
    "challenge_rating": ("challenge_rating",),
    "environments": ("environments",),
    **dict.fromkeys(RUBRICS, _DEEDS),
}
"""The filter fields that follow from a key."""

DEEDS = frozenset(_DEEDS)
"""The filter fields that follow from traits and actions."""

_SPELLS = ("spells", "spell_list")
"""Where homebrew and Open5e list the spells that a trait tells of."""

_NESTED = "resistances_and_immunities"
"""Where Open5e's API v2 keeps the lines of defences."""


def decided_by(keys: Iterable[str]) -> set[str]:
    """The filter fields that follow from the values of some keys."""
    return {field for key in keys for field in DECIDED.get(key, ())}


def overridden(data: Object, block: Block) -> dict[str, Any]:
    """The data of a creature, {} for none, with what a stat block says in its place."""
    kept = {str(key).replace("-", "_"): value for key, value in data.items()}
    features = _by_rubric(kept, block)
    stale = _IDENTITY.union(RUBRICS, ["special_abilities"], *(REPLACED.get(key, ()) for key in block.values))
    stale = stale.union(_SPELLS if block.spellcasting else ())
    result = {key: value for key, value in kept.items() if key not in stale}
    if "ability_scores" in block.values:
        scores = {**_scores(kept), **_object(block.values["ability_scores"])}
        result |= {**block.values, "ability_scores": scores}
    else:
        result |= block.values
    return _with_defences(result, block) | {rubric: found for rubric, found in features.items() if found}


def _object(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}


def _scores(data: Object) -> dict[str, Any]:
    """The ability scores of any source, by the names of the abilities."""
    given = {str(k).lower(): v for k, v in _object(data.get("ability_scores") or data.get("abilities") or data).items()}
    found = {ability: given.get(ability, given.get(ability[:3])) for ability in ABILITIES}
    return {ability: score for ability, score in found.items() if score is not None}


def _with_defences(data: dict[str, Any], block: Block) -> dict[str, Any]:
    """The data with the lines of defences also in the nested object that some sources have, and that is read first."""
    nested = data.get(_NESTED)
    lines = {
        key: value
        for key, value in block.values.items()
        if key.endswith(("_immunities", "_resistances", "_vulnerabilities"))
    }
    if not isinstance(nested, Mapping) or not lines:
        return data
    changed = {name: value for key, line in lines.items() for name, value in ((key, []), (f"{key}_display", line))}
    return {key: value for key, value in data.items() if key not in lines} | {_NESTED: {**nested, **changed}}


def _by_rubric(data: Object, block: Block) -> dict[str, list[Any]]:
    """The traits and actions of a creature by rubric, with those of a stat block in their place or after them."""
    features: dict[str, list[Any]] = {rubric: [] for rubric in RUBRICS}
    for key in (*RUBRICS, "special_abilities"):
        for item in data[key] if isinstance(data.get(key), list) else ():
            features.setdefault(_rubric(item, "traits" if key == "special_abilities" else key), []).append(item)
    for rubric in RUBRICS:
        own = block.values.get(rubric, features[rubric])
        features[rubric] = [*(own if isinstance(own, list) else []), *block.additions.get(rubric, ())]
    if block.spellcasting:
        features["traits"] = [*filter(_is_no_spellcasting, features["traits"]), block.spellcasting]
    return features


def _rubric(item: object, default: str) -> str:
    """The rubric of a feature: API v2 lists actions of all types as actions, OrcBrew all features as traits."""
    kind = _object(item).get("action_type") or _object(item).get("type")
    named = f"{fold(kind).replace(' ', '_')}s" if isinstance(kind, str) else ""
    return named if named in RUBRICS else default


def _is_no_spellcasting(feature: object) -> bool:
    return "spellcasting" not in fold(str(_object(feature).get("name") or ""))
