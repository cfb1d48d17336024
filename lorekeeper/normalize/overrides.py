"""The data of a creature with the values of a stat block instead of its own, whatever shape they have.

A source says one thing under several keys, and OrcBrew, Open5e and homebrew each have their own. Two tables say which keys
of any of them a value replaces, and which filter fields it decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lorekeeper.folding import fold
from lorekeeper.normalize.reading import Words
from lorekeeper.normalize.stat_block import RUBRICS, Block
from lorekeeper.records.values import mapping
from lorekeeper.terms import ABILITIES

Object = Mapping[str, Any]

word = Words(__file__)

DEEDS = frozenset("damage_types conditions saves spells legendary lair".split())
"""The filter fields that follow from traits and actions."""

_SPELLS = ("spells", "spell_list")
"""Where homebrew and Open5e list the spells that a trait tells of."""

_NESTED = "resistances_and_immunities"
"""Where Open5e's API v2 keeps the lines of defences."""


def decided_by(keys: Iterable[str]) -> set[str]:
    """The filter fields that follow from the values of some keys."""
    return {field for key in keys for field in word("decided", key, "").split()}


def overridden(data: Object, block: Block) -> dict[str, Any]:
    """The data of a creature, {} for none, with what a stat block says in its place."""
    kept = {str(key).replace("-", "_"): value for key, value in data.items()}
    features = _by_rubric(kept, block)
    stale = {*RUBRICS, "special_abilities", *(_SPELLS if block.spellcasting else ())}
    stale = stale.union(*(word("replaced", key, "").split() for key in block.values))
    stale = stale.union(word("not of a changed creature", "keys").split())
    result = {key: value for key, value in kept.items() if key not in stale} | block.values
    if "ability_scores" in block.values:
        result["ability_scores"] = {**_scores(kept), **mapping(block.values["ability_scores"])}
    return _with_defences(result, block) | {rubric: found for rubric, found in features.items() if found}


def _scores(data: Object) -> dict[str, Any]:
    """The ability scores of any source, by the names of the abilities."""
    given = {str(k).lower(): v for k, v in mapping(data.get("ability_scores") or data.get("abilities") or data).items()}
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
    """The traits and actions of a creature by rubric, with those of a stat block in their place or after them.

    API v2 lists actions of all types as actions, OrcBrew all features as traits.
    """
    features: dict[str, list[Any]] = {rubric: [] for rubric in RUBRICS}
    for key in (*RUBRICS, "special_abilities"):
        for item in data[key] if isinstance(data.get(key), list) else ():
            kind = mapping(item).get("action_type") or mapping(item).get("type")
            named = f"{fold(kind).replace(' ', '_')}s" if isinstance(kind, str) else ""
            features[next((each for each in (named, key) if each in RUBRICS), "traits")].append(item)
    for rubric in RUBRICS:
        own = block.values.get(rubric, features[rubric])
        features[rubric] = [*(own if isinstance(own, list) else []), *block.additions.get(rubric, ())]
    if block.spellcasting:
        others = [
            each for each in features["traits"] if "spellcasting" not in fold(str(mapping(each).get("name") or ""))
        ]
        features["traits"] = [*others, block.spellcasting]
    return features
