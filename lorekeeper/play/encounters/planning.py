"""Encounters from a library: given monsters by their names, or proposals from the creatures that a viewer sees."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lorekeeper.editions import edition_label
from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.filters import WHERE, matches, parse_filters
from lorekeeper.folding import fold
from lorekeeper.play.encounters.arithmetic import limit_lines, limits, party_line, rated
from lorekeeper.play.encounters.asked import parse_monster, parse_monsters, singulars
from lorekeeper.play.encounters.candidates import CREATURES, Candidates, Wanted
from lorekeeper.play.encounters.proposals import PROPOSALS, Encounter, Monster, chosen, encounters, rating_of, xp_of
from lorekeeper.play.encounters.shapes import Budget, Pattern, hardest, patterns
from lorekeeper.play.encounters.tables import DIFFICULTIES
from lorekeeper.play.reader import Reader
from lorekeeper.printable import one_line, shown
from lorekeeper.records.creatures import EXPERIENCE
from lorekeeper.records.values import amount
from lorekeeper.render.creature import NO_ACTIONS, lacks_actions
from lorekeeper.search.doubt import CLOSED, is_closed
from lorekeeper.search.query import MAX_LIMIT, Query
from lorekeeper.search.resolve_entry import find_entry
from lorekeeper.search.results import ResultPage
from lorekeeper.text.facts import format_rating

_LISTED = re.compile(r"\s*[,;]\s*|\s+and\s+")

MAX_KINDS = 50
"""Most kinds of monsters."""

NAMED = 3
"""Most names of another edition that a note has."""

SEEDS = 1_000_000
"""Seeds that are drawn are below this."""


@dataclass(frozen=True)
class Plan:
    """Encounters for a party.

    Attributes:
        levels: of the characters.
        rules: "2014" or "2024".
        difficulty: that was asked for, None if monsters were given.
        encounters: the one that was given, or proposals.
        notes: what the reader should know.
        seed: repeats the proposals, None if monsters were given.
        characters: the party, if it is the characters of the library.
        day: what the party can take in a day, [] unless that was asked for.
    """

    levels: tuple[int, ...]
    rules: str
    difficulty: str | None
    encounters: list[Encounter]
    notes: list[str] = field(default_factory=list)
    seed: int | None = None
    characters: Sequence[Entity] = ()
    day: Sequence[str] = ()

    @property
    def limits(self) -> dict[str, int]:
        """XP by difficulty."""
        return limits(self.levels, self.rules)

    @property
    def head(self) -> list[str]:
        """The party, and how its thresholds or budgets come about."""
        return [party_line(self.levels), *limit_lines(self.levels, self.rules)]


async def rules_of(view: Reader, rules: str | None) -> str:
    """The rules that are asked for, else those of the library's edition, else those of 2024."""
    known = list(DIFFICULTIES)
    if rules is not None and rules not in known:
        raise FilterError(f"unknown rules {shown(rules)}; known: {', '.join(known)}")
    return rules or next((name for name in view.searcher.documents.edition if name in known), known[-1])


async def _of_others(view: Reader, creatures: Iterable[Entity], rules: str, wanted: Wanted | None = None) -> list[str]:
    """A note on each creature that is of another edition than the rules, with names that their edition has.

    Of one that has the same name it is said what keeps it from being proposed.
    """
    tests = parse_filters(CREATURES, {**wanted.filters, WHERE: wanted.where}) if wanted else ()
    registry = view.searcher.documents
    notes = []
    for creature in creatures:
        edition = await registry.edition_of(creature.document)
        if edition in (rules, ""):
            continue
        page = await view.search(Query([CREATURES], filters={"name": creature.name}, limit=MAX_LIMIT, edition=(rules,)))
        found = [each.entity for each in page.results if await registry.edition_of(each.entity.document) == rules]
        same = [each for each in found if each.name == creature.name]
        unmet = [test for test in tests if same and not any(matches(each, [test]) for each in same)]
        unstated = [
            name
            for name in (test.field.name for test in unmet)
            if all(each.fields.get(name) in (None, ()) for each in same)
        ]
        called = ""
        if unmet:
            lacks = [f"states no {' or '.join(unstated).replace('_', ' ')}"] if unstated else []
            fails = ["does not meet the filters"] if len(unstated) < len(unmet) else []
            called = f"; that of {rules} {' and '.join([*lacks, *fails])}"
        elif found:
            names = dict.fromkeys(one_line(each.name) for each in found)
            called = f"; of {rules} there is {', '.join(list(names)[:NAMED])}"
        label = edition_label(edition)
        notes.append(f"{one_line(creature.name)} is from the {label} edition ({creature.document}){called}.")
    return notes


# --- given monsters --------------------------------------------------------------------------------------------------


async def rate(
    view: Reader, levels: tuple[int, ...], rules: str, monsters: Sequence[str], documents: Sequence[str] | None = None
) -> Plan:
    """How hard monsters are that are given by number and name or uri; names are looked up in some documents, or in all.

    Raises:
        FilterError: a number or a uri is wrong, or there are too many kinds.
        NotFoundError: there is no such creature; the message has the nearest names.
    """
    asked = parse_monsters(monsters)
    if len(asked) > MAX_KINDS:
        raise FilterError(f"at most {MAX_KINDS} kinds of monsters, not {len(asked)}; give a number with each name")
    notes: list[str] = []
    found: dict[str, Monster] = {}
    for count, name in [each for kind in asked for each in await _kinds(view, *kind)]:
        entity, note = await creature_named(view, name, rules, documents)
        before = found[entity.uri].count if entity.uri in found else 0
        found[entity.uri] = Monster(entity, before + count)
        notes += filter(None, [note])
    given = sorted(found.values(), key=lambda monster: -(rating_of(monster.entity) or 0))
    counted = [
        monster for monster in given if rating_of(monster.entity) is not None and xp_of(monster.entity) is not None
    ]
    unknown = [one_line(monster.entity.name) for monster in given if monster not in counted]
    if not counted:
        raise NotFoundError(f"the challenge rating of {', '.join(unknown)} is unknown; name other monsters")
    if unknown:
        notes.append(f"Without a known challenge rating, and not counted: {', '.join(unknown)}.")
    notes += [f"{NO_ACTIONS.rstrip('.')}: {one_line(m.entity.name)}." for m in given if lacks_actions(m.entity)]
    notes += await _of_others(view, [monster.entity for monster in given], rules)
    rating = rated(levels, [monster.foes for monster in counted], rules)
    return Plan(levels, rules, None, [Encounter("", tuple(given), "", rating)], list(dict.fromkeys(notes)))


async def _kinds(view: Reader, count: int, name: str) -> list[tuple[int, str]]:
    """The kinds of monsters in a text: several between commas, unless a creature has that name, as "Archon, Ursan"."""
    first, *others = [part for part in _LISTED.split(name) if part.strip()] or [name]
    names = [name, *singulars(name)]
    if not others or any([await view.cache.count_entities(CREATURES, name=each) for each in names]):
        return [(count, name)]
    number, bare = parse_monster(first)
    return [(count * number, bare), *map(parse_monster, others)]


async def creature_named(
    view: Reader, name: str, rules: str, documents: Sequence[str] | None = None
) -> tuple[Entity, str | None]:
    """The creature of a name, also of several or misspelt, of the edition of the rules if there is one; and a note."""

    async def search(query: Query) -> ResultPage:
        return await view.search(replace(query, edition=(rules,) if rules else None, counted=False))

    names = [name] if name.startswith("lore://") else [name, *singulars(name)]
    for each in names:
        try:
            found = await find_entry(search, view.entities_at, each, [CREATURES], documents)
        except NotFoundError:
            if each == names[-1]:
                break
            continue
        if found.entity.type != CREATURES:
            raise FilterError(f"{shown(name)} is not a creature, but one of the {found.entity.type}; take creatures")
        return found.entity, found.note
    if any(is_closed(fold(each)) for each in names):
        closed = CLOSED.format("It")
        raise NotFoundError(f"no creature is called {shown(name)}. {closed} Rate another creature, or one of your own.")
    found = await find_entry(search, view.entities_at, name, [CREATURES], documents)
    return found.entity, found.note


# --- proposals -------------------------------------------------------------------------------------------------------


async def propose(
    view: Reader, levels: tuple[int, ...], rules: str, difficulty: str, wanted: Wanted, seed: int | None
) -> Plan:
    """Encounters of a difficulty, from the creatures that the viewer sees.

    Raises:
        FilterError: a filter, a document or a query is wrong.
    """
    drawn = random.SystemRandom().randrange(SEEDS) if seed is None else seed
    budget, order = Budget.of(levels, rules, difficulty), random.Random(drawn)  # noqa: S311 - a choice that can be repeated
    candidates = await Candidates.of(view, wanted, rules)
    found = await asyncio.to_thread(patterns, budget, candidates.counts)
    possible = await asyncio.to_thread(patterns, budget, dict.fromkeys(EXPERIENCE, 1))
    if any(possible[shape] and not several for shape, several in found.items()) and await candidates.widen():
        found = await asyncio.to_thread(patterns, budget, candidates.counts)
    enough = any(found.values())
    if not enough:
        found = await asyncio.to_thread(hardest, budget, candidates.counts)
    picked = chosen(found, budget, order)
    ratings = {rating for several in picked.values() for pattern in several for rating, _ in pattern.parts}
    pools = await candidates.pools(sorted(ratings), order)
    made = await asyncio.to_thread(encounters, picked, pools, budget, order)
    short = _lacking(found, len(made)) if enough else _unfit(budget, candidates, found)
    taken = {monster.entity.uri: monster.entity for encounter in made for monster in encounter.monsters}
    others = await _of_others(view, taken.values(), rules, wanted)
    return Plan(levels, rules, difficulty, made, [*candidates.notes, *filter(None, [short]), *others], drawn)


def _lacking(found: Mapping[str, Sequence[Pattern]], made: int) -> str:
    """Which shapes no creatures fit, or that there are fewer proposals than usual; "" if nothing lacks."""
    missing = [shape for shape, several in found.items() if not several]
    if missing:
        return f"No creatures here fit as {' or as '.join(missing)}."
    return f"Only {made} different ones fit." if made < PROPOSALS else ""


def _unfit(budget: Budget, candidates: Candidates, found: Mapping[str, Sequence[Pattern]]) -> str:
    """Why nothing is within a budget."""
    if not sum(candidates.counts.values()):
        return "No creature in the library meets these filters."
    if any(found.values()):
        return f"Nothing here reaches {amount(budget.least)} XP; these come nearest."
    weakest = min(candidates.counts)
    return f"Nothing here is within {amount(budget.most)} XP: the weakest creature has CR {format_rating(weakest)}."
