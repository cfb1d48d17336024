"""What a topic is linked with: links both ways, then names that stand in the texts without a link."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lorekeeper.cache.protocol import Identity, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.folding import fold
from lorekeeper.search.dossier.about import all_names
from lorekeeper.search.dossier.lines import Line, Quote, Relation
from lorekeeper.search.dossier.mentions import FEW_WORDS, is_session, quotes_naming
from lorekeeper.search.dossier.names import EVERYDAY, Called, Lexicon, Mention
from lorekeeper.search.dossier.sources import NOTES, Sources, Subject, notes_called
from lorekeeper.search.dossier.stretches import Stretch, stretches
from lorekeeper.search.other_names import known_aliases
from lorekeeper.text.notes import heading_path

MOST_LINKED = 60
"""Linked notes that are read: those that are linked first."""

MOST_NAMED = 40
"""Names in the texts whose notes are read: those named most often."""

MOST_FEW = 12
"""Most notes that a single note is said to name."""

MOST_SECRET = 600
"""Longest secret stretch that is quoted for a sentence in it, in characters."""

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
    quotes: dict[Identity, list[Quote]] = {}
    numbers: Counter[Identity] = Counter()
    for entity in subject.about:
        parts = subject.parts(entity)
        for link in _links(entity):
            if not any(part.section == _heading(link) for part in parts):
                continue
            to = (entity.document, str(link["to"]))
            numbers[to] += 1
            quotes.setdefault(to, []).extend(replace(quote, section="") for quote in _quotes_of(link, parts))
    found = await sources.cache.load(NOTES, list(quotes)[:MOST_LINKED])
    return [_Related(note, "link", numbers[note.identity], quotes[note.identity]) for note in found]


def _linking(subject: Subject, naming: Sequence[Entity]) -> Iterator[_Related]:
    """The notes that link to the main one."""
    main = subject.main
    for note in naming if main else ():
        links = [link for link in _links(note) if (note.document, link["to"]) == (main and main.identity)]
        if links:
            parts = stretches(note)
            yield _Related(note, "backlink", len(links), [q for link in links for q in _quotes_of(link, parts)])


def _links(entity: Entity) -> list[Mapping[str, object]]:
    """The links of a note whose target is known."""
    links = entity.data.get("links") if entity.type == NOTES else None
    return [link for link in links if isinstance(link, Mapping) and link.get("to")] if isinstance(links, list) else []


def _heading(link: Mapping[str, object]) -> str:
    """The heading path of the section that a link is in."""
    return heading_path({"name": link.get("heading")})


def _quotes_of(link: Mapping[str, object], parts: Sequence[Stretch]) -> Iterator[Quote]:
    """The sentence that has a link, by what is shown of it."""
    shown = fold(str(link.get("text") or link.get("target") or ""))
    for part in parts:
        if part.section != _heading(link):
            continue
        with_link = [s for s in part.sentences if f" {shown} " in f" {fold(s)} "]
        if with_link:
            yield Quote(sorted(with_link, key=_says_little)[:1], part.section, part.mark)


def _says_little(sentence: str) -> bool:
    return len(sentence.split()) < FEW_WORDS


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
    quotes = await asyncio.to_thread(_quotes_by_name, parts, Lexicon(await sources.note_names() - own, own))
    names = sorted(quotes, key=lambda name: -len(quotes[name]))[:MOST_NAMED]
    found = await sources.notes_called(names, notes[0].document)
    return [_Related(note, "mention", len(q), q) for note in found if (q := _of(note, quotes))]


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
    quotes = await asyncio.to_thread(_quotes_by_name, stretches(note), lexicon)
    names = sorted(quotes, key=lambda name: (-len(quotes[name]), name))[:most]
    found = await notes_called(cache, names, note.document)
    number = {each.identity: sum(len(quotes.get(name, ())) for name in all_names(each)) for each in found}
    return sorted(found, key=lambda each: (-number[each.identity], each.slug))[:most]


def _quotes_by_name(parts: Sequence[Stretch], lexicon: Lexicon) -> dict[str, list[Quote]]:
    """The sentences of stretches by the names that they have."""
    quotes: dict[str, list[Quote]] = {}
    for part in parts:
        for sentence in part.sentences:
            for mention in filter(is_telling, lexicon.mentions(sentence)):
                quotes.setdefault(mention.name, []).append(Quote([sentence], mark=part.mark))
    return quotes


def _of(note: Entity, quotes: Mapping[str, list[Quote]]) -> list[Quote]:
    """What is said of a note under any of its names; what says little comes last."""
    own = [quote for name in all_names(note) for quote in quotes.get(name, ())]
    return sorted(own, key=lambda quote: _says_little(quote.text))


def is_telling(mention: Mention) -> bool:
    """Whether a name in a note means the entry of that name: it is no everyday word, and written with a capital."""
    words = mention.name.removeprefix("the ").split()
    return mention.capital and not EVERYDAY.issuperset(words)
