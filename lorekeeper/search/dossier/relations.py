"""What a topic is linked with: links both ways, then names that stand in the texts without a link."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.records.notes import Link, links_of
from lorekeeper.search.dossier.about import all_names
from lorekeeper.search.dossier.lines import Line, Quote, Relation
from lorekeeper.search.dossier.mentions import FEW_WORDS, is_session, quotes_naming
from lorekeeper.search.dossier.names import Called, Lexicon, is_telling
from lorekeeper.search.dossier.sources import NOTES, Sources, Subject, notes_called
from lorekeeper.search.dossier.spans import Span, spans
from lorekeeper.search.other_names import known_aliases

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
        naming: the notes that may name or link to it (`mentions.notes_naming`).
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
    return [Line(each.entity, each.relation, list(filter(_is_short, each.quotes))) for each in ordered]


def _is_short(quote: Quote) -> bool:
    """Whether a quote may stand beside a relation: a long secret, which is never cut, may not."""
    return not quote.mark or len(quote.text) <= MOST_SECRET


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
        sentences = _LinkSentences(subject.parts(entity))
        for link in filter(sentences.have_section, _links(entity)):
            links.setdefault((entity.document, link.to), []).append((sentences, link))
    return links


def _with_quotes(
    found: Sequence[Entity], links: Mapping[Identity, list[tuple[_LinkSentences, Link]]]
) -> list[_Related]:
    related = []
    for note in found:
        to = links[note.identity]
        quotes = [replace(quote, section="") for quote in _first_quotes(to)]
        related.append(_Related(note, "link", len(to), quotes))
    return related


def _linking(subject: Subject, naming: Sequence[Entity]) -> Iterator[_Related]:
    """The notes that link to the main one."""
    main = subject.main
    for note in naming if main else ():
        links = [link for link in _links(note) if (note.document, link.to) == (main and main.identity)]
        if links:
            sentences = _LinkSentences(spans(note))
            yield _Related(note, "backlink", len(links), _first_quotes([(sentences, link) for link in links]))


def _first_quotes(links: Sequence[tuple[_LinkSentences, Link]]) -> list[Quote]:
    """The sentences of the first links, as these are written, at most `MOST_WRITTEN` of them."""
    written = {(id(sentences), sentences.written(link)): (sentences, link) for sentences, link in reversed(links)}
    first = list(written.values())[: -MOST_WRITTEN - 1 : -1]
    return [quote for sentences, link in first for quote in sentences.quotes(link)]


class _LinkSentences:
    """The sentences of an entry that have its links, by what is shown of these. Each section is folded once.

    Args:
        parts: the spans of the entry that count.
    """

    def __init__(self, parts: Sequence[Span]) -> None:
        self._parts: dict[str, list[Span]] = {}
        for part in parts:
            self._parts.setdefault(part.section, []).append(part)
        self._folded: dict[str, list[tuple[Span, list[tuple[str, str]]]]] = {}

    def have_section(self, link: Link) -> bool:
        """Whether the section of a link is among the spans."""
        return link.path in self._parts

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
            parts = self._parts.get(section, ())
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
    parts = [part for note in notes for part in subject.parts(note)]
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
    named = await asyncio.to_thread(_names_in, spans(note), lexicon)
    names = sorted(named, key=lambda name: (-named[name].number, name))[:most]
    found = await notes_called(cache, names, note.document)
    number = {each.identity: _of(each, named).number for each in found}
    return sorted(found, key=lambda each: (-number[each.identity], each.slug))[:most]


@dataclass
class _Named:
    """How often a name is in some texts, and the first sentences that have it, each once."""

    number: int = 0
    quotes: list[Quote] = field(default_factory=list)


def _names_in(parts: Sequence[Span], lexicon: Lexicon) -> dict[str, _Named]:
    """The names in spans."""
    named: dict[str, _Named] = {}
    for part in parts:
        for sentence in part.sentences:
            numbers = Counter(mention.name for mention in lexicon.mentions(sentence) if is_telling(mention))
            for name, number in numbers.items():
                found = named.setdefault(name, _Named())
                found.number += number
                if len(found.quotes) < MOST_SENTENCES:
                    found.quotes.append(Quote([sentence], mark=part.mark))
    return named


def _of(note: Entity, named: Mapping[str, _Named]) -> _Named:
    """How often a note is named under any of its names, and with what words; what says little comes last."""
    own = [named[name] for name in all_names(note) if name in named]
    quotes = sorted((quote for each in own for quote in each.quotes), key=lambda quote: _says_little(quote.text))
    return _Named(sum(each.number for each in own), quotes)
