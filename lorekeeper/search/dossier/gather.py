"""One dossier on a topic, from all that a library has, and the room in which its parts fit."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import require_unicode
from lorekeeper.folding import fold
from lorekeeper.printable import shown
from lorekeeper.search.dossier.about import Sources, Subject, about_lines, subject_of
from lorekeeper.search.dossier.lines import Dossier, Line, Part
from lorekeeper.search.dossier.relations import belonging_lines, notes_naming, relation_lines, said_lines, said_of_theme
from lorekeeper.search.dossier.spans import spans
from lorekeeper.search.doubt import what_brings
from lorekeeper.search.query import MAX_LIMIT, MAX_QUERY_CHARS
from lorekeeper.text.keywords import content_words
from lorekeeper.text.matching import occurring, word_stems
from lorekeeper.text.names import SIMILAR, closest, nearest

MAX_TOKENS = 2_500
"""Longest dossier."""

TOKEN_CHARS = 4
"""Characters of a token, about."""

ROOM = MAX_TOKENS * TOKEN_CHARS
"""Characters of a dossier as JSON: as Markdown it is shorter."""


@dataclass(frozen=True)
class Draft:
    """A part before it is known what fits.

    Attributes:
        title: of the part.
        lines: all that could be said, in order of use.
        share: of the room that it may take if all parts are long, 0 to 1.
        silent: whether a line without a quote says something.
    """

    title: str
    lines: Sequence[Line]
    share: float
    silent: bool = False


def fitted(dossier: Dossier, drafts: Sequence[Draft], limit: int) -> Dossier:
    """A dossier with as many lines of its parts as `ROOM` allows for, at most ``limit`` a part."""
    room = ROOM - _length(dossier)
    while True:
        full = replace(dossier, parts=packed(drafts, limit, room))
        excess = _length(full) - ROOM
        if excess <= 0 or room <= 0:
            return full
        room -= excess  # the titles of the parts, and where to read on


def _length(dossier: Dossier) -> int:
    return len(json.dumps(dossier.content(), ensure_ascii=False))


def packed(drafts: Sequence[Draft], limit: int, room: int) -> list[Part]:
    """The parts with as many lines as fit, without those that have none; no sentence and no entry stands in two of them.

    A part may use what those before it left, and what those after it do not need.

    Args:
        drafts: in order of use.
        limit: most lines of a part.
        room: characters of all lines as JSON.
    """
    told: set[str] = set()
    parts: list[Part] = []
    free = room
    for place, draft in enumerate(drafts):
        reserved = sum(min(later.share * room, sum(map(size, later.lines[:limit]))) for later in drafts[place + 1 :])
        lines, left_out = _fitting(draft, limit, max(free - reserved, 0), told)
        free -= sum(map(size, lines))
        if lines or left_out:
            parts.append(Part(draft.title, lines, len(left_out), left_out[0].entity.uri if left_out else None))
    return parts


def _fitting(draft: Draft, limit: int, room: float, told: set[str]) -> tuple[list[Line], list[Line]]:
    """The lines of a part that fit, and those that do not; ``told`` gets the sentences of the former."""
    lines: list[Line] = []
    left_out: list[Line] = []
    for candidate in draft.lines:
        line = candidate.untold(told)
        if not line.quote.sentences and not draft.silent:
            continue  # all of it has been said
        if len(lines) >= limit or size(line) > room:
            left_out.append(line)
            continue
        lines.append(line)
        room -= size(line)
        told.update(map(fold, line.quote.sentences))
    return lines, left_out


def size(line: Line) -> int:
    """Characters of a line as JSON."""
    return len(json.dumps(line.content(), ensure_ascii=False)) + 2


SUGGESTED = 3
"""Names that are suggested where nothing is known of a topic."""

ABOUT, SAID, LINKED, BELONGING = "What it is", "What sessions said", "Linked with", "Stat blocks and rules"
"""Titles of the parts."""

NEAREST = "Nearest in meaning"
"""Title of what is shown instead of the first three if nothing has a word of the topic."""


async def gather(sources: Sources, topic: str, limit: int = 10) -> Dossier:
    """All that a library has on a topic, on one page.

    Args:
        sources: the library.
        topic: words, or a ``lore://`` uri.
        limit: most lines of a part, 1 to 50.

    Raises:
        FilterError: the topic is empty, too long, or a uri that is not one of an entry; or the limit is out of range.
        NotFoundError: there is no entry of the uri.
    """
    _check(topic, limit)
    subject = await subject_of(sources, topic.strip())
    is_known = bool(subject.nearest) if subject.is_name else subject.main or await sources.knows(topic)
    drafts = await _drafts(sources, subject) if is_known else []
    filled = {draft.title for draft in drafts if draft.lines}
    note = subject.note if filled else await _unknown(sources, subject)
    is_theme = subject.called is None and not note
    if filled - {BELONGING} and is_theme and not await asyncio.to_thread(_has_word, subject, drafts[:-1]):
        held = await asyncio.to_thread(_has_word, subject, drafts[-1:])
        where = f"under {NEAREST!r}" if held else "shown here"
        note = f"Nothing {where} has a word of {shown(subject.topic)}; it is only nearest in meaning."
        drafts = _nearest(drafts)
    if filled == {BELONGING} and not note:
        note = f"No note is about {shown(subject.topic)}; these entries are the nearest in meaning."
    return await asyncio.to_thread(fitted, Dossier(topic.strip(), subject.main, [], note), drafts, limit)


async def _drafts(sources: Sources, subject: Subject) -> list[Draft]:
    naming = await notes_naming(sources, subject)
    said = await (asyncio.to_thread(said_lines, subject, naming) if subject.called else said_of_theme(sources, subject))
    linked = await relation_lines(sources, subject, naming)
    belonging = await belonging_lines(sources, subject)
    return [
        Draft(ABOUT, about_lines(subject), 0.35),
        Draft(SAID, said, 0.35),
        Draft(LINKED, _others(linked, said), 0.2, silent=True),
        Draft(BELONGING, belonging, 0.1),
    ]


def _nearest(drafts: Sequence[Draft]) -> list[Draft]:
    """The drafts of a topic that nothing names: no session has said anything about it, and nothing is linked with it."""
    about, said, _, belonging = drafts
    return [Draft(NEAREST, [*about.lines, *said.lines], 0.7), belonging]


def _has_word(subject: Subject, drafts: Sequence[Draft]) -> bool:
    """Whether the name or text of an entry of a line has a word of the topic: search finds some by their phrases or by meaning."""
    stems = word_stems(subject.topic)
    entities = {line.entity.uri: line.entity for draft in drafts for line in draft.lines}.values()
    return not stems or any(
        occurring(stems, f"{entity.name} {part.section} {part.text}") for entity in entities for part in spans(entity)
    )


def _others(lines: Sequence[Line], before: Sequence[Line]) -> list[Line]:
    """The lines of entries that have none before."""
    told: set[str] = {line.entity.uri for line in before}
    return [line for line in lines if line.entity.uri not in told]


def _check(topic: str, limit: int) -> None:
    if not topic.strip():
        raise FilterError("the topic is empty; give a name, a theme in a few words, or a lore:// uri")
    require_unicode("the topic", topic)
    if len(topic) > MAX_QUERY_CHARS:
        raise FilterError(f"the topic has {len(topic):,} characters, at most {MAX_QUERY_CHARS:,} are allowed")
    if not 1 <= limit <= MAX_LIMIT:
        raise FilterError(f"limit must be 1 to {MAX_LIMIT}, not {limit}")


async def _unknown(sources: Sources, subject: Subject) -> str:
    """That nothing is known of a topic, with the names that are nearest to it; or that there is nothing at all to know."""
    topic = subject.topic
    if not any([await sources.cache.count_entities(entity_type) for entity_type in sources.types]):
        return f"The library has nothing to gather: {what_brings(list(sources.types))}."
    near: list[tuple[float, Entity]] = []
    for entity_type in sources.types:
        names = closest(fold(topic), await sources.names(entity_type), SUGGESTED)
        for name, similarity in names:
            shared = (word for word in content_words(fold(topic)) if nearest(word, content_words(name)))
            if subject.is_name and similarity < SIMILAR and not any(shared):
                continue  # its letters are near, but nobody would call it so
            near += [(similarity, entity) for entity in await sources.called(entity_type, [name])]
    best = dict.fromkeys(shown(entity.name) for _, entity in sorted(near, key=lambda each: -each[0]))
    listed = ", ".join(list(best)[:SUGGESTED])
    if subject.is_name:
        return f"No note or entry names {shown(topic)}.{f' Nearest names: {listed}.' if listed else ''}"
    return f"Nothing in the library is about {shown(topic)}.{f' Did you mean {listed}?' if listed else ''}"
