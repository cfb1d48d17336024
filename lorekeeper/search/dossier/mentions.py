"""Where other entries speak of a topic: the sentences that name it, and the notes to look for them in."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence

from lorekeeper.cache.protocol import Identity
from lorekeeper.entities import Entity
from lorekeeper.search.dossier.about import beginning, quotes_about
from lorekeeper.search.dossier.lines import Line, Quote, session_of
from lorekeeper.search.dossier.names import Called
from lorekeeper.search.dossier.sources import NOTES, SESSION, Sources, Subject
from lorekeeper.search.dossier.spans import Sentence, Span, spans
from lorekeeper.search.query import Query

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
    found |= dict.fromkeys(await _linking(sources, subject.main))
    about = {entity.identity for entity in subject.about if entity.type == NOTES}
    notes = await sources.cache.load(NOTES, [identity for identity in found if identity not in about])
    return await asyncio.to_thread(_meaning, subject.main, subject.called, notes)


def _meaning(main: Entity, called: Called, notes: Sequence[Entity]) -> list[Entity]:
    """The notes but for those of another vault than the main one that may mean something else: "the guild" is another one there."""
    return [
        note
        for note in notes
        if main.type != NOTES or note.document == main.document or any(map(called.surely, _texts(note)))
    ]


def _texts(note: Entity) -> Iterator[str]:
    return (text for part in spans(note) for text in (part.heading, part.text))


async def _linking(sources: Sources, main: Entity) -> list[Identity]:
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

    def key(note: Entity) -> tuple[bool, float, int, float, float, str]:
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
        if called.possible(f"{span.heading} {span.text}") and (sentences := _naming(span, called))
    ]


def _naming(span: Span, called: Called) -> list[Sentence]:
    """The sentences of a span that name something; if its heading does, also its first ones."""
    opening = span.sentences[:2] if called.count(span.heading) else ()
    found = [s for s in span.sentences if s in opening or called.count(s)]
    return [s for s in found if len(s.split()) >= FEW_WORDS] or found[:1]
