"""Rules, conditions and other reference entries, and documents."""

from __future__ import annotations

from collections.abc import Iterator

from lorekeeper import records
from lorekeeper.entities import Entity
from lorekeeper.render.origin import origin
from lorekeeper.render.page import italic, labelled, section
from lorekeeper.render.prose import inline, prose
from lorekeeper.render.source import Source, printed, printed_all, title

EDITIONS = {"5e-2014": "2014", "5e-2024": "2024", "a5e": "A5E"}
"""What people call the game systems of Open5e."""


def rule(entity: Entity, source: Source) -> Iterator[str]:
    """The blocks of a rule, a condition, or any other entry."""
    read = records.rule(source)
    yield italic(title(entity.kind).capitalize(), inline(read.parent), separator=", ")
    yield origin(source)
    yield prose(read.summary)
    yield prose(read.text)
    by_game = [(EDITIONS.get(game, game), text) for game, text in read.by_game if text]
    for game, text in by_game:
        yield section(inline(game), prose(text)) if len(by_game) > 1 and game else prose(text)
    yield from (section(inline(chapter.name), prose(chapter.text)) for chapter in read.chapters)
    yield section("Skills", *map(printed, read.skills))
    yield printed_all(read.traits)


def document(_: Entity, source: Source) -> Iterator[str]:
    """The blocks of a book."""
    read = records.document(source)
    lines = (
        ("Publisher", read.publisher),
        ("Author", read.author),
        ("Game System", read.system),
        ("Licenses", ", ".join(read.licenses)),
        ("Version", read.version),
        ("Published", read.published),
        ("Address", read.address),
    )
    yield labelled(source, ((label, inline(value)) for label, value in lines))
    yield prose(read.text)
    yield prose(read.notice)
