"""What belongs to a topic: the stat blocks of its notes, and the creatures, spells, items and rules that these name."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.search.dossier.about import quotes_about
from lorekeeper.search.dossier.lines import Line, Quote, Relation
from lorekeeper.search.dossier.names import EVERYDAY, Lexicon, Mention
from lorekeeper.search.dossier.sources import NOTES, Sources, Subject
from lorekeeper.search.query import Query
from lorekeeper.text.facts import facts
from lorekeeper.text.names import canonical_name

MOST_NAMED = 12
"""Names of one type whose entries are read: those named most often."""

ALIKE = 5
"""Entries that are listed beside one of a book, for their meaning."""

MOST_STAT_BLOCKS = 300
"""Creatures of a vault that are looked at, for those of a note by another name than its own."""

LOWER_CASE = frozenset({"creatures"})
"""Types whose names stand in sentences as common nouns: "three goblins"."""

ONE_WORD = frozenset({"spells", "equipment"})
"""Types whose names of one word mean the entry if they are written with a capital: those of rules are words of any text."""


async def belonging_lines(sources: Sources, subject: Subject) -> list[Line]:
    """Stat blocks first, then what the notes name most often; if the topic is no note, what answers by meaning."""
    about = {entity.uri for entity in subject.about}
    found = [*await _stat_blocks(sources, subject), *await _called_the_same(sources, subject)]
    found += await _named(sources, subject)
    further = await _by_meaning(sources, subject) if subject.main is None or subject.main.type != NOTES else []
    all_lines = [*map(_line, found), *further] if subject.main else [*further, *map(_line, found)]
    lines: dict[str, Line] = {}
    for line in all_lines:
        if line.entity.uri not in about:
            lines.setdefault(line.entity.uri, line)
    distinct = {(line.entity.type, canonical_name(line.entity.name)): line for line in reversed(lines.values())}
    return list(distinct.values())[::-1]


def _line(entity: Entity) -> Line:
    return Line(entity, _relation(entity), [Quote([facts(entity)])])


def _relation(entity: Entity) -> Relation:
    return "statblock" if entity.type == "creatures" else "rule"


async def _stat_blocks(sources: Sources, subject: Subject) -> list[Entity]:
    """The creatures of the vault that are from the notes about the topic."""
    notes = subject.notes
    if "creatures" not in sources.types or not notes:
        return []
    uris, vaults = {note.uri for note in notes}, sorted({note.document for note in notes})
    names = list(dict.fromkeys(fold(note.name) for note in notes))
    same = await sources.cache.get_entities("creatures", vaults, limit=MOST_NAMED, name_folded=names)
    others = await sources.cache.get_entities("creatures", vaults, limit=MOST_STAT_BLOCKS)
    return [*same, *(creature for creature in others if creature.data.get("note") in uris)]


async def _called_the_same(sources: Sources, subject: Subject) -> list[Entity]:
    """The book entries that have one of the topic's names."""
    names = sorted(subject.called.names) if subject.called else []
    return [entity for name in sources.books for entity in await sources.called(name, names)]


async def _named(sources: Sources, subject: Subject) -> list[Entity]:
    """The book entries that the notes about the topic name, those named most often first."""
    notes = subject.notes
    if not notes:
        return []
    sentences = [sentence for note in notes for part in subject.parts(note) for sentence in part.sentences]
    own = await sources.note_names() | (subject.called.short if subject.called else frozenset())
    found: list[Entity] = []
    for entity_type in sources.books:
        lexicon = Lexicon(frozenset(await sources.names(entity_type)) - own, own)
        found += await sources.called(entity_type, await asyncio.to_thread(_names_in, sentences, entity_type, lexicon))
    return found


def _names_in(sentences: Sequence[str], entity_type: str, lexicon: Lexicon) -> list[str]:
    """The names of a type in sentences, those that occur most often first."""
    counts = Counter(
        mention.name
        for sentence in sentences
        for mention in lexicon.mentions(sentence, plurals=entity_type in LOWER_CASE)
        if _is_telling(mention, entity_type)
    )
    return [name for name, _ in counts.most_common(MOST_NAMED)]


def _is_telling(mention: Mention, entity_type: str) -> bool:
    """Whether a name in a note means the entry: several words, or one that is neither an everyday word nor in lower case."""
    if EVERYDAY.issuperset(mention.name.split()):
        return False
    if mention.single:
        return entity_type in LOWER_CASE or (entity_type in ONE_WORD and mention.alone)
    return True


async def _by_meaning(sources: Sources, subject: Subject) -> list[Line]:
    """What answers a topic by meaning, of the types of books: its facts, and the sentence that says most of it."""
    topic, nearest = subject.topic, subject.nearest
    if subject.main and sources.books:
        topic = subject.main.name
        nearest = (await sources.search(Query(sources.books, topic, limit=ALIKE))).results
    lines = []
    for result in nearest:
        if result.entity.type != NOTES:
            said = [quote.sentences[0] for quote in quotes_about(result.entity, topic, result.section)]
            lines.append(Line(result.entity, _relation(result.entity), [Quote([facts(result.entity), *said[:1]])]))
    return lines
