"""The stat blocks of a note as creatures of its vault; and the spells and items that are printed in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.audience import DM, Audience, within
from lorekeeper.entities import AUDIENCE, Entity, Value
from lorekeeper.errors import FilterError
from lorekeeper.folding import fold
from lorekeeper.normalize import lined
from lorekeeper.normalize.build import Origin, build, own_error, readable
from lorekeeper.normalize.creatures import creature_fields
from lorekeeper.normalize.notes import SOURCE, origin_of, slug_of, vault_audiences
from lorekeeper.normalize.reading import Words
from lorekeeper.normalize.stat_block import RUBRICS, Block, line, of_other_game, read_block
from lorekeeper.notes.names import is_generic
from lorekeeper.notes.note import Note, StatBlock
from lorekeeper.printable import shown
from lorekeeper.records import Source, creature
from lorekeeper.records.parts import is_players
from lorekeeper.records.printed import CREATURE, SPELL
from lorekeeper.records.values import mapping
from lorekeeper.terms import ABILITIES

Find = Callable[[str], Entity | None]
"""The creature of the library that has a name, None if there is none."""

_SOMEBODY = frozenset({"note", "npc", "character", "creature", "monster", "pc", "person", "villain", "companion"})
"""Kinds of notes about one creature, whose name is that of a stat block without one."""

_UNNAMED = frozenset({"stat block", "statblock", "stats", "statistics", "stat blocks", "combat stats", "monster stats"})
"""What stands above a stat block, folded, and is the name of no creature."""

_BASES = ("monster", "creature", "extends")
"""Keys that name the creature that a block changes."""


@dataclass
class Creatures:
    """The creatures of a note.

    Attributes:
        entities: in reading order.
        problems: what could not be read, each with its stat block and the reason.
        bases: names of the creatures that its stat blocks change, found or not.
        missing: names of those of them that were not found.
    """

    entities: list[Entity] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)
    missing: set[str] = field(default_factory=set)


def creatures_of(note: Note, document: str, document_name: str, base: Find) -> Creatures:
    """The creatures of the stat blocks of a note. Values of any shape are accepted: what cannot be read is a problem.

    A block that names another creature is that creature with the block's values instead of its own. If it has none, and no
    other name, it only mentions the creature, and gives nothing.

    Args:
        note: as it was read.
        document: key of its vault.
        document_name: name of its vault.
        base: finds the creature that a block names.
    """
    result = Creatures()
    numbers: Counter[tuple[str, Audience | None]] = Counter()
    for stat_block in note.stat_blocks:
        if is_players(stat_block.values):
            continue
        try:
            with own_error():
                _add(result, numbers, note, stat_block, Origin(SOURCE, document, document_name), base)
        except FilterError as error:
            named = shown(str(stat_block.values.get("name") or note.name), 60)
            result.problems.append(f"stat block {named}: {error}")
    return result


def _add(
    result: Creatures,
    numbers: Counter[tuple[str, Audience | None]],
    note: Note,
    stat_block: StatBlock,
    origin: Origin,
    find: Find,
) -> None:
    """Add what a stat block gives to the creatures of its note."""
    wanted = stat_block.base or next((told for key in _BASES if (told := line(stat_block.values.get(key)))), "")
    name = _name(note, stat_block, wanted)
    numbers[name, stat_block.audience] += 1
    slug = slug_of(note, name, numbers[name, stat_block.audience], stat_block.audience)
    if stat_block.kind != CREATURE:
        _add_printed(result, note, stat_block, name, slug, origin)
        return
    told = f"stat block {shown(name, 60)}"
    if reason := of_other_game(stat_block.values):
        result.problems.append(f"{told}: {reason}")
        return
    others = result.entities if wanted not in result.missing else ()
    base = next((made for made in others if fold(made.name) == fold(wanted)), None)
    if wanted and base is None:
        result.bases.append(wanted)
        base = find(wanted)
    if base and AUDIENCE in base.fields and within(stat_block.audience, note.audience, DM) != DM:
        base = None  # it is kept secret, and the block is not the game master's alone
    block, problems = read_block(stat_block.values), list[str]()
    if block.touched or (base is not None and name != base.name):  # else it only mentions another one
        try:
            data = {"name": name, **overridden(base.data if base else {}, block)}
            data |= origin_of(note, stat_block, origin.document)
            data |= {"base": base.uri, "base_name": base.name} if base else {}
            fields = {**_fields(block, base, data, problems), AUDIENCE: vault_audiences(data)}
            result.entities.append(
                build("creatures", data, origin, name=name, kind="creature", slug=slug, fields=fields)
            )
        except FilterError as error:
            problems.append(str(error))
    if not (block.problems or wanted or block.touched):
        problems.append("it has no values of a creature")
    if wanted and base is None:
        result.missing.add(wanted)
        problems.append(f"there is no creature {shown(wanted)} in the library that it could change, or it is secret")
    result.problems += [f"{told}: {problem}" for problem in (*block.problems, *problems)]


def _add_printed(result: Creatures, note: Note, block: StatBlock, name: str, slug: str, origin: Origin) -> None:
    """Add the entity of a spell or an item, or why it cannot be one."""
    try:
        made = (lined.spell if block.kind == SPELL else lined.item)(block.values, origin)
        data = {**made.data, **origin_of(note, block, origin.document)}
        fields = {**made.fields, AUDIENCE: vault_audiences(data)}
        result.entities.append(build(made.type, data, origin, name=made.name, kind=made.kind, slug=slug, fields=fields))
    except FilterError as error:
        result.problems.append(f"{block.kind} {shown(name, 60)}: {error}")


def _name(note: Note, stat_block: StatBlock, base_name: str) -> str:
    """The name that the block has; else that of the note if it is about this creature, else that of its base."""
    alike = [block for block in note.stat_blocks if block.audience == stat_block.audience]
    about_it = len(alike) == 1 and note.kind in _SOMEBODY
    name = line(stat_block.values.get("name"))
    is_own = name and fold(name) not in _UNNAMED and not is_generic(name)
    return name if is_own else line(note.name if about_it or not base_name else base_name)


# --- filter fields ---------------------------------------------------------------------------------------------------


def _fields(block: Block, base: Entity | None, data: Mapping[str, Any], problems: list[str]) -> dict[str, Value]:
    """The filter fields: those of the base that the block says nothing about, and what the data gives for the others."""
    derived = creature_fields({**data, "name": f"{data['name']} {base.name}" if base else data["name"]})
    if base is None:
        return readable("creatures", derived, problems.append)
    decided = decided_by(block.touched)
    fields = {name: value for name, value in base.fields.items() if name not in decided}
    derived = {name: value for name, value in derived.items() if name in decided}
    changed = readable("creatures", derived, problems.append)
    return {**fields, **changed, **_untold(block, base, changed)}


def _untold(block: Block, base: Entity, changed: Mapping[str, Value]) -> dict[str, Value]:
    """What a base without texts of traits and actions is known to do, as far as a block does not replace it."""
    if "actions" in block.values or creature(Source(base.data)).deeds:
        return {}
    together: dict[str, Value] = {}
    for name in DEEDS & base.fields.keys() - ({"spells"} if block.spellcasting else set()):
        known, more = base.fields[name], changed.get(name)
        if isinstance(known, tuple) and isinstance(more, tuple):
            together[name] = tuple(dict.fromkeys((*known, *more)))
        else:
            together[name] = more or known
    return together


# --- a creature with other values -------------------------------------------------------------------------------------
# A source says one thing under several keys, and OrcBrew, Open5e and homebrew each have their own. Two tables say which keys of any
# of them a value replaces, and which filter fields it decides.


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


def overridden(data: Mapping[str, Any], block: Block) -> dict[str, Any]:
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


def _scores(data: Mapping[str, Any]) -> dict[str, Any]:
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


def _by_rubric(data: Mapping[str, Any], block: Block) -> dict[str, list[Any]]:
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
