"""Versions: which entries are one thing in several books and editions, and what of a thing is elsewhere in the library.

What a library has under a name is read in its names, whatever a search has found of it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lorekeeper.cache.protocol import Ranked, SearchCache
from lorekeeper.editions import COMPLETED_BY, GLOSSARIES, edition_label, parts_of
from lorekeeper.entities import WHOLE_NAME, Entity, remembered
from lorekeeper.filters import MAX_VALUES
from lorekeeper.folding import fold
from lorekeeper.search.documents import Scopes
from lorekeeper.search.fusion import CAMPAIGN
from lorekeeper.search.results import RULES, Key
from lorekeeper.text.evidence import wording, words_of
from lorekeeper.text.facts import facts
from lorekeeper.text.matching import word_stems
from lorekeeper.text.name_list import NameList
from lorekeeper.text.names import base_name, canonical_name, name_key
from lorekeeper.text.stems import names_of_stems

ALONE = frozenset({"notes"})
"""The types whose entries of one name are different things: two notes in two folders."""

ALIKE = 0.45
"""Least share of the shorter of two texts whose words the other one has, of versions that stand in different chapters.

Of the rules of one name in the SRD of 2014, that of 2024 and its glossary, those that are one rule share 0.42 to 1 of these words,
and those that are different ones (the speed of a race and of a monster) at most 0.44, but for names that one book has twice."""

_BONUS = re.compile(r"\+\d")


def name_label(key: Key, name: str) -> Hashable:
    """The same for entries of one type and canonical name: the versions of one thing, unless `place_labels` tell them apart."""
    return key if key[0] in ALONE else (key[0], canonical_name(name))


async def place_labels(
    cache: SearchCache, ranked: Mapping[Key, Ranked], heads: Iterable[Key], scopes: Scopes
) -> dict[Key, Hashable]:
    """Labels that tell things of one name apart (`versions`), by key: the same for all versions of one thing.

    They can be different things if one document has the name twice; and rules, whose headings recur.

    Args:
        cache: the library.
        ranked: what is grouped.
        heads: those of it whose names are compared.
        scopes: the documents that are searched, by type.
    """
    named = {key: (key[0], _singular(ranked[key].name)) for key in heads if key in ranked and key[0] not in ALONE}
    held = Counter((key[1][0] if key[0] != RULES else "", label) for key, label in named.items())
    doubtful = {label for (_, label), number in held.items() if number > 1}
    names = {(key[0], base_name(ranked[key].name)) for key, label in named.items() if label in doubtful}
    return {key: (key[0], version[0].uri) for key, version in (await namesakes(cache, names, scopes)).items()}


def versions(entities: Iterable[Entity]) -> list[list[Entity]]:
    """Entries of one type and name, also in the plural, parted into those that are versions of one thing.

    Versions have one name, and the same kind and chapter, or texts that are alike. What is left is one thing if each book has the
    name once, in whatever kind; a rule only if one of the books has it in no chapter. What a document says in two ways, in two
    chapters or kinds, is two things.
    """
    parted: list[list[Entity]] = []
    for entity in sorted(entities, key=lambda each: (_chapter(each), each.uri)):
        named = [group for group in parted if _name(group[0]) == _name(entity)]
        own = next((group for group in named if _in_one_place(entity, group)), None)
        own = own or next((group for group in named if _is_alike(entity, group)), None)
        if own is None:
            parted.append([entity])
        else:
            own.append(entity)
    held = Counter(book for group in parted for book in _books(group, of_short_forms=False))
    once = [group for group in parted if all(held[book] <= 1 for book in _books(group, of_short_forms=True))]
    merged: list[list[Entity]] = []
    for group in once:
        other = next((each for each in merged if _name(each[0]) == _name(group[0]) and _is_unplaced(each, group)), None)
        if other is None:
            merged.append(group)
        else:
            other += group
            parted.remove(group)
    return parted


def _in_one_place(entity: Entity, group: Sequence[Entity]) -> bool:
    """Whether an entry has the kind and chapter of others, a short form the chapter alone; a book has a rule once in a chapter."""
    alike = any(
        _chapter(each) == _chapter(entity) and (fold(each.kind) == fold(entity.kind) or _completes(each, entity))
        for each in group
    )
    return alike and (entity.type != RULES or all(each.document != entity.document for each in group))


def _completes(entity: Entity, other: Entity) -> bool:
    """Whether the document of one of two entries completes the book of the other: then one is the short form of the other."""
    return {entity.document, other.document} in [{*pair} for pair in COMPLETED_BY.items()]


def _is_alike(entity: Entity, group: Sequence[Entity]) -> bool:
    """Whether an entry has the text of another one; of another document also, whether their texts have many words in common."""
    if any(wording(entity) and wording(entity) == wording(each) for each in group):
        return True
    return all(each.document != entity.document for each in group) and any(_shared(entity, e) >= ALIKE for e in group)


def _shared(entity: Entity, other: Entity) -> float:
    own, others = ({*word_stems(words_of(each))} - {*word_stems(each.name)} for each in (entity, other))
    return len(own & others) / (min(len(own), len(others)) or 1)


def _is_unplaced(group: Sequence[Entity], other: Sequence[Entity]) -> bool:
    """Whether one of two groups has no chapter: then it is on the same thing, if the other one has a chapter or is no rule."""
    chapters = [any(map(_chapter, each)) for each in (group, other)]
    return not all(chapters) and (any(chapters) or group[0].type != RULES)


@remembered
def _chapter(entity: Entity) -> str:
    """The chapter of a rule; "" for none, and for a glossary, which has the rules of all chapters."""
    chapter = fold(str(entity.fields.get("parent") or "")) if entity.type == RULES else ""
    return "" if entity.document in COMPLETED_BY.values() or chapter in GLOSSARIES else chapter


def _books(group: Iterable[Entity], *, of_short_forms: bool) -> set[str]:
    """The books of entries; of short forms the book that they complete, or none."""
    completed = {completing: book for book, completing in COMPLETED_BY.items()}
    return {
        parts_of(completed.get(e.document, e.document))[0]
        for e in group
        if of_short_forms or e.document not in completed
    }


@remembered
def _name(entity: Entity) -> tuple[str, ...]:
    """What versions of an entry are called: its canonical name, and the bonus that it has in its brackets."""
    return canonical_name(entity.name), *_BONUS.findall(entity.name)


def _singular(name: str) -> str:
    """The same for a name and its plural, with or without brackets."""
    return " ".join(word.removesuffix("s") for word in canonical_name(name).split())


# --- what is elsewhere -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Elsewhere:
    """The other versions of an entry.

    Attributes:
        also: keys of the other documents that have it in the same words, with the same facts; of a short form the uri of the
            rule in its book.
        differing: by edition, or by document of the entry's own edition, the uri of what has its name with another text.
    """

    also: Sequence[str] = ()
    differing: Mapping[str, str] = field(default_factory=dict)


async def namesakes(cache: SearchCache, names: Iterable[tuple[str, str]], scopes: Scopes) -> dict[Key, list[Entity]]:
    """The versions of each entry that a library has under some names, by key; an entry is among its own versions.

    Args:
        cache: the library.
        names: types and base names.
        scopes: the documents to look in, by type.
    """
    bases: defaultdict[str, set[str]] = defaultdict(set)
    for entity_type, base in names:
        bases[entity_type].add(base)
    found: dict[Key, list[Entity]] = {}
    for entity_type, asked in bases.items():
        known = NameList.of(await cache.names(entity_type))
        called = sorted({name for base in asked for name in _called(base, known)})
        groups: defaultdict[str, list[Entity]] = defaultdict(list)
        for start in range(0, len(called), MAX_VALUES):
            whole: dict[str, Any] = {WHOLE_NAME.name: called[start : start + MAX_VALUES]}
            for entity in await cache.get_entities(entity_type, scopes[entity_type], **whole):
                groups[_singular(entity.name)].append(entity)
        for version in (each for group in groups.values() for each in (versions(group) if group[1:] else [group])):
            found |= {(entity_type, entity.identity): version for entity in version}
    return found


def _called(base: str, known: NameList) -> list[str]:
    """The folded names that a base name is, also in the plural, or begins: those with a variant in brackets among them."""
    same, others = names_of_stems(base, known)
    return [*same, *(name for name in others if name.startswith(f"{base} "))]


def elsewhere(
    entity: Entity, others: Collection[Entity], editions: Mapping[str, str], order: Sequence[str] = ()
) -> Elsewhere:
    """What other documents have of an entry: of each what is called so, or else, of another edition, what is but for brackets.

    A glossary has the short form of a rule of the book that it completes, and says where that is.

    Args:
        entity: the entry.
        others: its versions, or copies of the same note.
        editions: codes of the editions of documents, by key.
        order: keys of documents in the order in which they are preferred.
    """
    own = editions.get(entity.document, "")
    places = {key: place for place, key in enumerate(order)}
    theirs: defaultdict[str, list[Entity]] = defaultdict(list)
    for other in sorted(others, key=lambda each: (places.get(each.document, len(places)), len(each.name), each.uri)):
        if parts_of(other.document) != parts_of(entity.document):
            theirs[other.document].append(other)
    also: list[str] = []
    differing: dict[str, str] = {}
    for document, entries in theirs.items():
        edition = editions.get(document, "")
        called = [other for other in entries if name_key(fold(other.name)) == name_key(fold(entity.name))]
        nearest = called or (entries if edition != own else [])
        if same := [other for other in nearest if says_the_same(entity, other)]:
            also.append(same[0].uri if document in COMPLETED_BY and _completes(entity, same[0]) else document)
        elif nearest:
            differing.setdefault((edition_label(edition) if edition != own else "") or document, nearest[0].uri)
    return Elsewhere(also, differing)


def says_the_same(entity: Entity, other: Entity) -> bool:
    """Whether two entries have the same words in their texts, and the same facts, which a rule has none of; or one completes
    the book of the other."""
    if entity.type in CAMPAIGN:
        return True
    if _completes(entity, other):
        return True
    return wording(entity) == wording(other) and (entity.type == RULES or facts(entity) == facts(other))
