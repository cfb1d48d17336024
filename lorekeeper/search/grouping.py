"""Grouping: variants of one thing in one place, as in twenty weapons with the text of one magic item."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass

from lorekeeper.cache.protocol import Identity
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.search.results import Key
from lorekeeper.text.evidence import main_wording
from lorekeeper.text.keywords import content_words
from lorekeeper.text.matching import STEM
from lorekeeper.text.names import base_name, canonical_name

GROUPED = frozenset({"equipment"})
"""The types that have variants: entries of one document that differ in name and facts, but not in their main text."""

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
    text = main_wording(entity)
    return (entity.document, entity.kind, text) if text else entity.uri


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


def asked_stems(wordings: Sequence[str]) -> frozenset[str]:
    """The first letters of each word of a query."""
    return frozenset(word[:STEM] for wording in wordings for word in content_words(fold(wording)))


def asked_words(name: str, words: Collection[str]) -> int:
    """How many `asked_stems` of a query a name has: the variant with most of them leads its group."""
    own = f" {fold(name)} "
    return sum((f" {word}" if len(word) == STEM else f" {word} ") in own for word in words)
