"""One dossier on a topic, from all that a library has."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from lorekeeper.entities import Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import require_unicode
from lorekeeper.folding import fold
from lorekeeper.printable import MAX_SHOWN, one_line, shown
from lorekeeper.search.dossier.about import about_lines, subject_of
from lorekeeper.search.dossier.belonging import belonging_lines
from lorekeeper.search.dossier.lines import Dossier, Line
from lorekeeper.search.dossier.mentions import notes_naming, said_lines, said_of_theme
from lorekeeper.search.dossier.packing import Draft, fitted
from lorekeeper.search.dossier.relations import relation_lines
from lorekeeper.search.dossier.sources import Sources, Subject
from lorekeeper.search.query import MAX_LIMIT, MAX_QUERY_CHARS
from lorekeeper.text.names import closest

SUGGESTED = 3
"""Names that are suggested where nothing is known of a topic."""

ABOUT, SAID, LINKED, BELONGING = "What it is", "What sessions said", "Linked with", "Stat blocks and rules"
"""Titles of the parts."""


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
    drafts = await _drafts(sources, subject) if subject.main or await sources.knows(topic) else []
    note = subject.note if any(draft.lines for draft in drafts) else await _unknown(sources, topic)
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


async def _unknown(sources: Sources, topic: str) -> str:
    """That nothing is known of a topic, with the names that are nearest to it."""
    near: list[tuple[float, Entity]] = []
    for entity_type in sources.types:
        names = closest(fold(topic), await sources.names(entity_type), SUGGESTED)
        for name, similarity in names:
            near += [(similarity, entity) for entity in await sources.called(entity_type, [name])]
    best = dict.fromkeys(one_line(entity.name, MAX_SHOWN) for _, entity in sorted(near, key=lambda each: -each[0]))
    meant = f" Did you mean {', '.join(list(best)[:SUGGESTED])}?" if best else ""
    return f"Nothing in the library is about {shown(topic.strip())}.{meant}"
