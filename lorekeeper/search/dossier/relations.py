"""Where other entries speak of a topic: what sessions say, links both ways, names in the texts without a link, and the stat blocks
and entries of books that belong to it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.records.notes import Link, links_of
from lorekeeper.search.by_name import known_aliases
from lorekeeper.search.dossier.about import (
    NOTES,
    SESSION,
    Sources,
    Subject,
    all_names,
    beginning,
    notes_called,
    quotes_about,
)
from lorekeeper.search.dossier.lines import Line, Quote, Relation
from lorekeeper.search.dossier.names import Called, Lexicon, Mention, is_telling
from lorekeeper.search.dossier.spans import Sentence, Span, spans
from lorekeeper.search.intent import ways
from lorekeeper.search.query import Query
from lorekeeper.text.facts import facts
from lorekeeper.text.names import canonical_name
from lorekeeper.text.notes import session_of
from lorekeeper.words import listed_words

MOST_SESSIONS = 200
"""Sessions with words of a name that are looked at."""

MOST_OTHERS = 100
"""Other notes with words of a name that are looked at, and notes that link."""

SAID_CHARS = 420
"""Characters after which no further sentence of a section is quoted."""

SESSION_LINES = 3
"""Most sections of one session."""

FEW_WORDS = 4
"""A sentence of fewer words says nothing."""


async def notes_naming(sources: Sources, subject: Subject) -> list[Entity]:
    """The notes that may name or link to a topic, apart from those that are about it."""
    if not (sources.notes and subject.called and subject.main):
        return []
    words, rank = subject.called.query, sources.cache.rank_keyword
    ranked = await rank(NOTES, words, MOST_SESSIONS, kind=SESSION) + await rank(NOTES, words, MOST_OTHERS)
    found = dict.fromkeys(hit.identity for hit in ranked)
    found |= dict.fromkeys(await _linking_to(sources, subject.main))
    about = {entity.identity for entity in subject.about if entity.type == NOTES}
    notes = await sources.cache.load(NOTES, [identity for identity in found if identity not in about])
    return await asyncio.to_thread(_meaning, subject.main, subject.called, notes)


def _meaning(main: Entity, called: Called, notes: Sequence[Entity]) -> list[Entity]:
    """The notes but for those of another vault than the main one that may mean something else: "the guild" is another one there."""
    return [
        note
        for note in notes
        if main.type != NOTES
        or note.document == main.document
        or any(called.surely(text) for part in spans(note) for text in (part.heading, part.text))
    ]


async def _linking_to(sources: Sources, main: Entity) -> list[Identity]:
    """The notes that link to an entry."""
    if main.type != NOTES:
        return []
    return (await sources.cache.identities(NOTES, main.document, links=main.slug))[:MOST_OTHERS]


# --- sessions --------------------------------------------------------------------------------------------------------


def is_session(note: Entity) -> bool:
    """Whether a note tells what happened in a session."""
    return note.kind == SESSION or note.fields.get("session_date") is not None


def newest_first(notes: Iterable[Entity]) -> list[Entity]:
    """Notes by the dates of their sessions, else by their numbers, the dates that they state, those in their world, and when
    they were changed, the latest first.

    A session without a date is as old as the one before it by number.
    """
    notes = list(notes)
    dated = [(session_of(n), _seconds(n, "session_date")) for n in notes]

    def key(note: Entity) -> tuple[bool, float, float, float, float, str]:
        number, date = session_of(note), _seconds(note, "session_date")
        if date is None and number is not None:
            date = max((d for n, d in dated if d is not None and n is not None and n <= number), default=0.0)
        date = _seconds(note, "dated") if date is None else date
        world, modified = _seconds(note, "world_date"), _seconds(note, "modified")
        return date is not None, date or 0.0, number or 0, world or 0.0, modified or 0.0, note.slug

    return sorted(notes, key=key, reverse=True)


def _seconds(note: Entity, field: str) -> float | None:
    value = note.fields.get(field)
    return float(value) if isinstance(value, (int, float)) else None


def said_lines(subject: Subject, notes: Sequence[Entity]) -> list[Line]:
    """What sessions say of a named topic, the newest first, each in at most `SESSION_LINES` sections."""
    if not subject.called:
        return []
    lines: list[Line] = []
    for note in newest_first(filter(is_session, notes)):
        quotes = quotes_naming(note, subject.called)
        best = sorted(quotes, key=lambda quote: len(quote.text), reverse=True)[:SESSION_LINES]
        lines += [Line(note, "said", [quote]) for quote in quotes if quote in best]
    return lines


async def said_of_theme(sources: Sources, subject: Subject) -> list[Line]:
    """What sessions say of a theme: of those that are nearest in meaning, the sections with most of its words."""
    if not sources.notes:
        return []
    page = await sources.search(Query([NOTES], subject.topic, filters={"kind": SESSION}))
    return [
        Line(note, "said", [quote])
        for note in newest_first(result.entity for result in page.results if result.sure)
        for quote in quotes_about(note, subject.topic, subject.sections.get(note.uri))[:SESSION_LINES]
    ]


# --- sentences -------------------------------------------------------------------------------------------------------


def quotes_naming(entity: Entity, called: Called) -> list[Quote]:
    """The sentences of an entry that have one of some names, by section, in reading order."""
    return [
        Quote(beginning(sentences, SAID_CHARS), span.section, span.mark)
        for span in spans(entity)
        if called.possible(f"{span.heading} {span.text}") and (sentences := _sentences_naming(span, called))
    ]


def _sentences_naming(span: Span, called: Called) -> list[Sentence]:
    """The sentences of a span that name something; if its heading does, also its first ones."""
    opening = span.sentences[:2] if called.count(span.heading) else ()
    found = [s for s in span.sentences if s in opening or called.count(s)]
    return [s for s in found if len(s.split()) >= FEW_WORDS] or found[:1]


MOST_LINKED = 60
"""Linked notes that are read: those that are linked first."""

MOST_WRITTEN = 5
"""Most ways in which links to one note are written, whose sentences are looked for: a note may have thousands of links."""

MOST_SENTENCES = 50
"""Most sentences with one name from which the best is quoted."""

MOST_NAMED = 40
"""Names in the texts whose notes are read: those named most often."""

MOST_FEW = 12
"""Most notes that a single note is said to name."""

MOST_SECRET = 600
"""Longest secret span that is quoted for a sentence in it, in characters."""

_ORDER: dict[Relation, int] = {"link": 0, "backlink": 1, "mention": 2}


@dataclass
class _Related:
    """A note that has to do with the topic: how, how often, and what is said of that, the best first."""

    entity: Entity
    relation: Relation
    number: int = 0
    quotes: list[Quote] = field(default_factory=list)


async def relation_lines(sources: Sources, subject: Subject, naming: Sequence[Entity]) -> list[Line]:
    """The notes that a topic has to do with, each once: linked ones, those that link, then those of mentions alone.

    Args:
        sources: the library.
        subject: the topic.
        naming: the notes that may name or link to it (`notes_naming`).
    """
    if not sources.notes:
        return []
    about = {entity.identity for entity in subject.about if entity.type == NOTES}
    related = [*await _linked(sources, subject), *_linking(subject, naming)]
    if subject.called:
        related += await asyncio.to_thread(_naming, subject.called, [note for note in naming if not is_session(note)])
    related += await _named(sources, subject)
    merged = _merged(each for each in related if each.entity.identity not in about and not is_session(each.entity))
    ordered = sorted(merged, key=lambda each: (_ORDER[each.relation], -each.number))
    return [
        Line(each.entity, each.relation, [q for q in each.quotes if not q.mark or len(q.text) <= MOST_SECRET])
        for each in ordered
    ]


def _merged(related: Iterable[_Related]) -> list[_Related]:
    """Each note once, by its strongest relation, with the quotes of all of them."""
    merged: dict[Identity, _Related] = {}
    for each in related:
        first = merged.setdefault(each.entity.identity, _Related(each.entity, each.relation))
        first.number += each.number
        first.quotes = sorted([*first.quotes, *each.quotes], key=lambda quote: _says_little(quote.text))
    return list(merged.values())


# --- links -----------------------------------------------------------------------------------------------------------


async def _linked(sources: Sources, subject: Subject) -> list[_Related]:
    """The notes that those about the topic link to."""
    links = await asyncio.to_thread(_links_by_target, subject)
    found = await sources.cache.load(NOTES, list(links)[:MOST_LINKED])
    return await asyncio.to_thread(_with_quotes, found, links)


def _links_by_target(subject: Subject) -> dict[Identity, list[tuple[_LinkSentences, Link]]]:
    """The links of the notes about a topic by where they lead to, each with what finds its sentence."""
    links: dict[Identity, list[tuple[_LinkSentences, Link]]] = {}
    for entity in subject.about:
        sentences = _LinkSentences(subject.parts(entity), entity.name)
        for link in (each for each in _links(entity) if each.path in sentences.parts):
            links.setdefault((entity.document, link.to), []).append((sentences, link))
    return links


def _with_quotes(
    found: Sequence[Entity], links: Mapping[Identity, list[tuple[_LinkSentences, Link]]]
) -> list[_Related]:
    related = []
    for note in found:
        to = links[note.identity]
        quotes = [replace(quote, section="", source=sentences.name) for sentences, quote in _first_quotes(to)]
        related.append(_Related(note, "link", len(to), quotes))
    return related


def _linking(subject: Subject, naming: Sequence[Entity]) -> Iterator[_Related]:
    """The notes that link to the main one."""
    main = subject.main
    for note in naming if main else ():
        links = [link for link in _links(note) if (note.document, link.to) == (main and main.identity)]
        if links:
            sentences = _LinkSentences(spans(note), note.name)
            quotes = [quote for _, quote in _first_quotes([(sentences, link) for link in links])]
            yield _Related(note, "backlink", len(links), quotes)


def _first_quotes(links: Sequence[tuple[_LinkSentences, Link]]) -> list[tuple[_LinkSentences, Quote]]:
    """The sentences of the first links, as these are written, at most `MOST_WRITTEN` of them, each with those it is from."""
    written = {(id(sentences), sentences.written(link)): (sentences, link) for sentences, link in reversed(links)}
    first = list(written.values())[: -MOST_WRITTEN - 1 : -1]
    return [(sentences, quote) for sentences, link in first for quote in sentences.quotes(link)]


class _LinkSentences:
    """The sentences of an entry that have its links, by what is shown of these. Each section is folded once.

    Args:
        parts: the spans of the entry that count.
        name: of the entry.
    """

    def __init__(self, parts: Sequence[Span], name: str) -> None:
        self.name = name
        self.parts: dict[str, list[Span]] = {}
        for part in parts:
            self.parts.setdefault(part.section, []).append(part)
        self._folded: dict[str, list[tuple[Span, list[tuple[str, str]]]]] = {}

    def written(self, link: Link) -> tuple[str, str]:
        """The section of a link, and what is shown of it, folded."""
        return link.path, fold(link.shown or link.target)

    def quotes(self, link: Link) -> list[Quote]:
        """The sentence of a link in each of the spans of its section; one that says little only if no other has it."""
        section, shown = self.written(link)
        found = []
        for part, sentences in self._sentences(section):
            with_link = [sentence for sentence, folded in sentences if f" {shown} " in folded]
            if with_link:
                telling = next((sentence for sentence in with_link if not _says_little(sentence)), with_link[0])
                found.append(Quote([telling], section, part.mark))
        return found

    def _sentences(self, section: str) -> list[tuple[Span, list[tuple[str, str]]]]:
        if section not in self._folded:
            parts = self.parts.get(section, ())
            self._folded[section] = [(part, [(s, f" {fold(s)} ") for s in part.sentences]) for part in parts]
        return self._folded[section]


def _links(entity: Entity) -> list[Link]:
    """The links of a note whose target is known."""
    return [link for link in links_of(entity.data) if link.to] if entity.type == NOTES else []


def _says_little(sentence: str) -> bool:
    return len(sentence.split(maxsplit=FEW_WORDS)) < FEW_WORDS


# --- mentions --------------------------------------------------------------------------------------------------------


def _naming(called: Called, naming: Sequence[Entity]) -> list[_Related]:
    """The notes that name the topic."""
    related = []
    for note in naming:
        quotes = quotes_naming(note, called)
        if quotes:
            ordered = sorted(quotes, key=lambda quote: _says_little(quote.text))
            first = [Quote(quote.sentences[:1], quote.section, quote.mark) for quote in ordered]
            related.append(_Related(note, "mention", len(quotes), first))
    return related


async def _named(sources: Sources, subject: Subject) -> list[_Related]:
    """The notes of the same vault that the notes about the topic name."""
    notes = subject.notes
    if not notes:
        return []
    parts = [(part, note.name) for note in notes for part in subject.parts(note)]
    own = {name for note in notes for name in all_names(note)}
    named = await asyncio.to_thread(_names_in, parts, Lexicon(await sources.note_names() - own, own))
    names = sorted(named, key=lambda name: -named[name].number)[:MOST_NAMED]
    found = await sources.notes_called(names, notes[0].document)
    return [_Related(note, "mention", each.number, each.quotes) for note in found if (each := _of(note, named)).number]


async def named_notes(cache: SearchCache, note: Entity, most: int = MOST_FEW) -> list[Entity]:
    """The notes of the same vault that a note names in its text, those first that it names most often.

    Args:
        cache: the entries, as their viewer sees them.
        note: the note.
        most: of them.
    """
    aliases = (await known_aliases(cache, NOTES)).folded
    own = all_names(note)
    lexicon = Lexicon({*await cache.names(NOTES), *aliases} - own, own)
    named = await asyncio.to_thread(_names_in, [(part, note.name) for part in spans(note)], lexicon)
    names = sorted(named, key=lambda name: (-named[name].number, name))[:most]
    found = await notes_called(cache, names, note.document)
    number = {each.identity: _of(each, named).number for each in found}
    return sorted(found, key=lambda each: (-number[each.identity], each.slug))[:most]


@dataclass
class _Named:
    """How often a name is in some texts, and the first sentences that have it, each once."""

    number: int = 0
    quotes: list[Quote] = field(default_factory=list)


def _names_in(parts: Sequence[tuple[Span, str]], lexicon: Lexicon) -> dict[str, _Named]:
    """The names in spans of notes, each with the name of its note."""
    named: dict[str, _Named] = {}
    for part, source in parts:
        for sentence in part.sentences:
            numbers = Counter(mention.name for mention in lexicon.mentions(sentence) if is_telling(mention))
            for name, number in numbers.items():
                found = named.setdefault(name, _Named())
                found.number += number
                if len(found.quotes) < MOST_SENTENCES:
                    found.quotes.append(Quote([sentence], mark=part.mark, source=source))
    return named


def _of(note: Entity, named: Mapping[str, _Named]) -> _Named:
    """How often a note is named under any of its names, and with what words; what says little comes last."""
    own = [named[name] for name in all_names(note) if name in named]
    quotes = sorted((quote for each in own for quote in each.quotes), key=lambda quote: _says_little(quote.text))
    return _Named(sum(each.number for each in own), quotes)


MOST_ENTRIES = 12
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
    names = sorted(subject.called.names) if subject.called else []
    found = await _stat_blocks(sources, subject)
    found += [entity for name in sources.books for entity in await sources.called(name, names)]
    found += await _entries_named(sources, subject)
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
    same = await sources.cache.get_entities("creatures", vaults, limit=MOST_ENTRIES, name_folded=names)
    others = await sources.cache.get_entities("creatures", vaults, limit=MOST_STAT_BLOCKS)
    return [*same, *(creature for creature in others if creature.data.get("note") in uris)]


async def _entries_named(sources: Sources, subject: Subject) -> list[Entity]:
    """The book entries that the notes about the topic name, those named most often first."""
    notes = subject.notes
    if not notes:
        return []
    sentences = [sentence for note in notes for part in subject.parts(note) for sentence in part.sentences]
    own = await sources.note_names() | (subject.called.short if subject.called else frozenset())
    found: list[Entity] = []
    for entity_type in sources.books:
        lexicon = Lexicon(frozenset(await sources.names(entity_type)) - own, own)
        found += await sources.called(
            entity_type, await asyncio.to_thread(_entry_names_in, sentences, entity_type, lexicon)
        )
    return found


def _entry_names_in(sentences: Sequence[str], entity_type: str, lexicon: Lexicon) -> list[str]:
    """The names of a type in sentences, those that occur most often first."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        label, value = _stat_block_in(sentence)
        is_base = bool(label) and entity_type == "creatures"
        counts.update(
            mention.name
            for mention in lexicon.mentions(value, plurals=entity_type in LOWER_CASE)
            if is_base or _means_entry(mention, entity_type)
        )
    return [name for name, _ in counts.most_common(MOST_ENTRIES)]


def _stat_block_in(sentence: str) -> tuple[str, str]:
    """The label that says whose numbers are used, and its value: "Use Stat Block: Scout"; "" and the sentence without one."""
    label, colon, value = sentence.partition(":")
    is_label = bool(colon) and ways("STATBLOCK").search(fold(label)) is not None
    return (label, value) if is_label else ("", sentence)


def _means_entry(mention: Mention, entity_type: str) -> bool:
    """Whether a name in a note means the entry: several words, or one that is neither an everyday word nor in lower case."""
    if listed_words("name everyday").issuperset(mention.name.split()):
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
