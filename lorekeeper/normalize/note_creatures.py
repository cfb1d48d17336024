"""The stat blocks of a note as creatures of its vault; and the spells and items that are printed in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.audience import DM, Audience, within
from lorekeeper.entities import AUDIENCE, Entity, Value
from lorekeeper.errors import FilterError
from lorekeeper.filters import clean_fields
from lorekeeper.folding import fold
from lorekeeper.normalize import lined
from lorekeeper.normalize.build import Origin, build, own_error
from lorekeeper.normalize.creatures import creature_fields
from lorekeeper.normalize.note_parts import origin_of, slug_of
from lorekeeper.normalize.notes import SOURCE, vault_audiences
from lorekeeper.normalize.overrides import DEEDS, decided_by, overridden
from lorekeeper.normalize.stat_block import Block, line, of_other_game, read_block
from lorekeeper.notes.names import is_generic
from lorekeeper.notes.note import Note, StatBlock
from lorekeeper.printable import has_controls, shown
from lorekeeper.records import Source, creature
from lorekeeper.records.parts import is_players
from lorekeeper.records.printed import CREATURE, SPELL

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

    def take(self, made: Entity | str) -> None:
        """Add an entity, or the problem because of which there is none."""
        if isinstance(made, str):
            self.problems.append(made)
        else:
            self.entities.append(made)


@dataclass(frozen=True)
class _Draft:
    """A creature in the making.

    Attributes:
        name: its own, the note's, or that of its base.
        number: of the creatures of that name in the note, it is this one.
        block: what its stat block says.
        base: the creature that it changes.
    """

    note: Note
    stat_block: StatBlock
    name: str
    number: int
    block: Block
    base: Entity | None


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
    base: Find,
) -> None:
    """Add what a stat block gives to the creatures of its note."""
    wanted = _base_name(stat_block)
    name = _name(note, stat_block, wanted)
    numbers[name, stat_block.audience] += 1
    number = numbers[name, stat_block.audience]
    if stat_block.kind != CREATURE:
        result.take(_printed(note, stat_block, name, number, origin))
        return
    if reason := of_other_game(stat_block.values):
        result.problems.append(f"stat block {shown(name, 60)}: {reason}")
        return
    others = result.entities if wanted not in result.missing else ()
    own = next((made for made in others if fold(made.name) == fold(wanted)), None)
    result.bases += [wanted] if wanted and own is None else []
    found = _base(note, stat_block, base if own is None else own)
    draft = _Draft(note, stat_block, name, number, read_block(stat_block.values), found)
    problems = _lacking(draft, wanted)
    result.entities += _entity(draft, origin, problems)
    result.problems += [f"stat block {shown(name, 60)}: {problem}" for problem in problems]
    if wanted and draft.base is None:
        lacks = f"there is no creature {shown(wanted)} in the library that it could change, or it is secret"
        result.missing.add(wanted)
        result.problems.append(f"stat block {shown(name, 60)}: {lacks}")


def _printed(note: Note, block: StatBlock, name: str, number: int, origin: Origin) -> Entity | str:
    """The entity of a spell or an item, or why it cannot be one."""
    try:
        made = (lined.spell if block.kind == SPELL else lined.item)(block.values, origin)
        data = {**made.data, **origin_of(note, block, origin.document)}
        fields = {**made.fields, AUDIENCE: vault_audiences(data)}
        slug = slug_of(note, name, number, block.audience)
        return build(made.type, data, origin, name=made.name, kind=made.kind, slug=slug, fields=fields)
    except FilterError as error:
        return f"{block.kind} {shown(name, 60)}: {error}"


def _base(note: Note, stat_block: StatBlock, find: Find | Entity) -> Entity | None:
    """The creature that a block changes, another one of the note or one that is found by its name.

    None that is kept secret, unless the block is the game master's alone.
    """
    if isinstance(find, Entity):
        found: Entity | None = find
    else:
        wanted = _base_name(stat_block)
        found = find(wanted) if wanted else None
    is_secret = within(stat_block.audience, note.audience, DM) == DM
    return found if found is None or is_secret or AUDIENCE not in found.fields else None


def _base_name(stat_block: StatBlock) -> str:
    return stat_block.base or next((told for key in _BASES if (told := line(stat_block.values.get(key)))), "")


def _name(note: Note, stat_block: StatBlock, base_name: str) -> str:
    """The name that the block has; else that of the note if it is about this creature, else that of its base."""
    alike = [block for block in note.stat_blocks if block.audience == stat_block.audience]
    about_it = len(alike) == 1 and note.kind in _SOMEBODY
    name = line(stat_block.values.get("name"))
    is_own = name and fold(name) not in _UNNAMED and not is_generic(name)
    return name if is_own else line(note.name if about_it or not base_name else base_name)


def _lacking(draft: _Draft, base_name: str) -> list[str]:
    """What could not be read, and what is not there."""
    problems = list(draft.block.problems)
    if not (problems or base_name or draft.block.touched):
        problems.append("it has no values of a creature")
    return problems


def _entity(draft: _Draft, origin: Origin, problems: list[str]) -> list[Entity]:
    """The creature; [] if it only mentions another one, or cannot be stored, which is one more of the problems."""
    base, name = draft.base, draft.name
    if not draft.block.touched and (base is None or name == base.name):
        return []
    data = {"name": name, **overridden(base.data if base else {}, draft.block), **_origin_of(draft, origin.document)}
    try:
        fields = {**_fields(draft, data, problems), AUDIENCE: vault_audiences(data)}
        slug = slug_of(draft.note, name, draft.number, draft.stat_block.audience)
        return [build("creatures", data, origin, name=name, kind="creature", slug=slug, fields=fields)]
    except FilterError as error:
        problems.append(str(error))
        return []


def _origin_of(draft: _Draft, document: str) -> dict[str, Any]:
    """The note and the creature that it comes from, and the marks of secrets of the block and of the note."""
    base = draft.base
    told = {"base": base.uri, "base_name": base.name} if base else {}
    return {**origin_of(draft.note, draft.stat_block, document), **told}


# --- filter fields ---------------------------------------------------------------------------------------------------


def _fields(draft: _Draft, data: Mapping[str, Any], problems: list[str]) -> dict[str, Value]:
    """The filter fields: those of the base that the block says nothing about, and what the data gives for the others."""
    base = draft.base
    derived = creature_fields({**data, "name": f"{draft.name} {base.name}" if base else draft.name})
    if base is None:
        return _valid(derived, problems)
    decided = decided_by(draft.block.touched)
    fields = {name: value for name, value in base.fields.items() if name not in decided}
    changed = _valid({name: value for name, value in derived.items() if name in decided}, problems)
    return {**fields, **changed, **_untold(draft.block, base, changed)}


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


def _valid(raw: Mapping[str, Any], problems: list[str]) -> dict[str, Value]:
    """Those values that a filter field can have; the others are problems."""
    fields: dict[str, Value] = {}
    for name, value in raw.items():
        try:
            cleaned = clean_fields("creatures", {name: value})
        except FilterError as error:
            problems.append(str(error))
            continue
        if not any(map(_has_controls, cleaned.values())):
            fields |= cleaned
    return fields


def _has_controls(value: Value) -> bool:
    return any(
        isinstance(text, str) and has_controls(text) for text in (value if isinstance(value, tuple) else (value,))
    )
