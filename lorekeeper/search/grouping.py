"""Grouping: variants of one thing in one place, as in twenty weapons with the text of one magic item."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lorekeeper.cache.protocol import Identity, Ranked
from lorekeeper.editions import COMPLETED_BY, parts_of
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.search.results import RULES, Key, same_words
from lorekeeper.text.keywords import content_words
from lorekeeper.text.matching import STEM
from lorekeeper.text.names import base_name, canonical_name
from lorekeeper.text.sections import sections

GROUPED = frozenset({"equipment"})
"""The types that have variants: entries of one document that differ in name and facts, but not in their main text."""

ALONE = frozenset({"notes"})
"""The types whose entries of one name are different things: two notes in two folders."""

SHORTEST_TEXT = 40
"""Fewest characters of a text that shows two entries to be variants: "A sword" does not."""

WINDOW = 5
"""How many times as many entries as places a page of a structured lookup reads at most."""

_BONUS = re.compile(r"\+\d")


@dataclass(frozen=True)
class Place:
    """One place of a page.

    Attributes:
        entity: what is shown.
        variants: its variants, which it stands for.
    """

    entity: Entity
    variants: tuple[Entity, ...] = ()


def text_label(entity: Entity) -> Hashable:
    """The same for entries that are variants of each other; no two entries of other types have the same."""
    if entity.type not in GROUPED:
        return entity.uri
    text = next((section.text for section in sections(entity) if not section.heading), "")
    return (entity.document, entity.kind, text) if len(text) >= SHORTEST_TEXT else entity.uri


def places(entities: Sequence[Entity], limit: int) -> tuple[list[Place], int]:
    """At most ``limit`` places for the first of some entities, and how many entities these are.

    The first of several variants stands for them. Only entries next to each other in the list as far as it is read share
    a place: the next page begins with the entry after the last one read, so that pages neither overlap nor miss any,
    though it may have further variants of the same thing.
    """
    groups: dict[Hashable, list[Entity]] = {}
    used = 0
    for entity in entities:
        label = text_label(entity)
        if label not in groups and len(groups) == limit:
            break
        groups.setdefault(label, []).append(entity)
        used += 1
    return [Place(group[0], tuple(group[1:])) for group in groups.values()], used


def name_label(key: Key, name: str) -> Hashable:
    """The same for entries of one type and canonical name: the versions of one thing, unless `kind_labels` tell them apart."""
    return key if key[0] in ALONE else (key[0], canonical_name(name))


async def kind_labels(
    ranked: Mapping[Key, Ranked],
    heads: Iterable[Key],
    load: Callable[[str, Sequence[Identity]], Awaitable[list[Entity]]],
) -> dict[Key, Hashable]:
    """Labels that tell things of one name apart by their kinds, where one document has them: a card and a reward.

    Versions of one thing, too, may differ in kind, but they are in different documents.

    Args:
        ranked: what is grouped.
        heads: those of it whose names are compared; their namesakes are loaded.
        load: gives entries.
    """
    in_document = Counter((key[1][0], name_label(key, ranked[key].name)) for key in heads if key in ranked)
    names = {label for (_, label), number in in_document.items() if number > 1}
    by_type: defaultdict[str, dict[Identity, Hashable]] = defaultdict(dict)
    for (entity_type, identity), hit in ranked.items() if names else ():
        if (label := name_label((entity_type, identity), hit.name)) in names:
            by_type[entity_type][identity] = label
    kinds: defaultdict[Hashable, dict[Key, Entity]] = defaultdict(dict)
    for entity_type, namesakes in by_type.items():
        for entity in await load(entity_type, list(namesakes)):
            kinds[namesakes[entity.identity]][entity_type, entity.identity] = entity
    return {
        key: (label, fold(entity.kind))
        for label, entities in kinds.items()
        if len({(entity.document, fold(entity.kind)) for entity in entities.values()})
        > len({entity.document for entity in entities.values()})
        for key, entity in entities.items()
    }


async def family_labels(
    keys: Collection[Key], load: Callable[[str, Sequence[Identity]], Awaitable[list[Entity]]]
) -> dict[Key, Hashable]:
    """The `families` of entries that are loaded for it."""
    labels: dict[Key, Hashable] = {}
    for entity_type in GROUPED:
        identities = [identity for kind, identity in keys if kind == entity_type]
        labels |= families(await load(entity_type, identities)) if len(identities) > 1 else {}
    return labels


def families(entities: Iterable[Entity]) -> dict[Key, Hashable]:
    """Labels for the variants among some entities, by key: the same for all variants of one thing, in every document.

    The label is the name that they have in common, if there is one: that of "Frost Blade Axe" and "Frost Blade Sword" is
    also the label of "Frost Blade (Club)".
    """
    groups: defaultdict[Hashable, list[Entity]] = defaultdict(list)
    for entity in entities:
        groups[text_label(entity)].append(entity)
    return {
        (entity.type, entity.identity): (entity.type, _label(label, group))
        for label, group in groups.items()
        for entity in group
        if len(group) > 1 or _BONUS.search(entity.name)
    }


def _label(text: Hashable, variants: Sequence[Entity]) -> Hashable:
    if len(variants) == 1:
        return fold(variants[0].name)
    first, *others = [base_name(variant.name).split() for variant in variants]
    shared = [word for word in first if all(word in other for other in others)]
    return canonical_name(" ".join(shared)) if shared else text


async def version_labels(
    keys: Collection[Key], names: Mapping[Key, str], load: Callable[[str, Sequence[Identity]], Awaitable[list[Entity]]]
) -> dict[Key, Hashable]:
    """The `versions` of those rules among some entries that share a name with another one, by key.

    Args:
        keys: of the entries.
        names: of the entries, at least.
        load: loads the rules.
    """
    named: defaultdict[str, list[Key]] = defaultdict(list)
    for key in keys:
        if key[0] == RULES:
            named[_singular(names[key])].append(key)
    identities = [identity for group in named.values() if len(group) > 1 for _, identity in group]
    groups: defaultdict[str, list[Entity]] = defaultdict(list)
    for entity in await load(RULES, identities) if identities else ():
        groups[_singular(entity.name)].append(entity)
    return {
        (entity.type, entity.identity): (RULES, version[0].uri)
        for group in groups.values()
        for version in versions(group)
        for entity in version
    }


def versions(rules: Iterable[Entity]) -> list[list[Entity]]:
    """Rules of one name, also in the plural, parted into those that are versions of one rule.

    Versions have one name, and the same text, or the same kind and chapter. A book that has the name once, and another one that
    has it once in no chapter, mean the same rule. What one document says in two ways is two rules.
    """
    parted: list[list[Entity]] = []
    for rule in sorted(rules, key=lambda each: (_chapter(each), each.uri)):
        own = next((group for group in parted if _is_version(rule, group)), None)
        if own is None:
            parted.append([rule])
        else:
            own.append(rule)
    held = Counter(book for group in parted for book in _books(group))
    once = [group for group in parted if all(held[book] == 1 for book in _books(group))]
    unplaced = [group for group in once if not _chapter(group[0])]
    for group in once:
        placed = next((each for each in unplaced if _name(each[0]) == _name(group[0])), None)
        if placed is not None and placed is not group and _chapter(group[0]):
            placed += group
            parted.remove(group)
    return parted


def _is_version(rule: Entity, group: Sequence[Entity]) -> bool:
    first = group[0]
    if _name(rule) != _name(first):
        return False
    if any(same_words(rule, other) for other in group):
        return True
    alike = (rule.kind, _chapter(rule)) == (first.kind, _chapter(first))
    return alike and all(other.document != rule.document for other in group)


def _chapter(rule: Entity) -> str:
    """The chapter of a rule; "" for none, and for what completes a book: a glossary has the rules of all chapters."""
    return "" if rule.document in COMPLETED_BY.values() else fold(str(rule.fields.get("parent") or ""))


def _books(group: Iterable[Entity]) -> set[str]:
    completed = {completing: book for book, completing in COMPLETED_BY.items()}
    return {parts_of(completed.get(rule.document, rule.document))[0] for rule in group}


def _name(rule: Entity) -> str:
    return canonical_name(rule.name)


def _singular(name: str) -> str:
    return " ".join(word.removesuffix("s") for word in canonical_name(name).split())


def asked_stems(wordings: Sequence[str]) -> frozenset[str]:
    """The first letters of each word of a query."""
    return frozenset(word[:STEM] for wording in wordings for word in content_words(fold(wording)))


def asked_words(name: str, words: Collection[str]) -> int:
    """How many `asked_stems` of a query a name has: the variant with most of them leads its group."""
    own = f" {fold(name)} "
    return sum((f" {word}" if len(word) == STEM else f" {word} ") in own for word in words)
