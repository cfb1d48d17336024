"""Notes as entries of the library: what they keep, and what they are found by."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import matches, parse_filters
from lorekeeper.normalize.build import checked
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.normalize.notes import note_entity
from lorekeeper.notes import read_note
from lorekeeper.notes.note import Link, Note, Section
from lorekeeper.views.redact import redact
from tests.support.tables import each_row, rows
from tests.support.vaults import PUBLIC

PATHS = {"Oda": "People/Oda.md", "Tallow Bridge": "World/Tallow Bridge.md"}

ODA = Note(
    "World/Fens/Oda.md",
    "Oda Reedmother",
    kind="npc",
    aliases=("The Reed Witch",),
    tags=("npc/ally", "fens"),
    session=2,
    session_date=date(2026, 11, 20),
    facts={"Role": "witch", "Lives in": "the fens"},
    sections=(
        Section("", "She keeps promises for people."),
        Section("Secrets (GM only)", "She drowned once.", mark="Secrets (GM only)", audience="dm"),
        Section("For Ana", "A letter.", mark="> [!ana]", audience=("ana", "ben")),
    ),
    links=(
        Link("Tallow Bridge", shown="the bridge", section="Deeds"),
        Link("Nowhere", shown="Nowhere", section="Secrets (GM only)", audience="dm"),
        Link("Tallow Bridge", shown="Tallow Bridge"),
    ),
    title_from="name",
    audience="players",
    mark="visibility: players",
)


def entity_of(note: Note = ODA, **changes: Any) -> Entity:
    values = {"document": "fens", "document_name": "The Fens", "modified": 1_763_000_000.75, "resolve": PATHS.get}
    return note_entity(note, **{**values, **changes})


def found(entity: Entity, **filters: Any) -> bool:
    return matches(entity, parse_filters("notes", filters))


def test_a_note_keeps_all_that_was_read():
    entity = entity_of()
    assert (entity.type, entity.slug, entity.kind, entity.name) == (
        "notes",
        "World/Fens/Oda.md",
        "npc",
        "Oda Reedmother",
    )
    assert (entity.document, entity.document_name, entity.source_api) == ("fens", "The Fens", "vault")
    assert (entity.data["aliases"], entity.data["title_from"]) == (["The Reed Witch"], "name")
    assert entity.data["facts"] == {"Role": "witch", "Lives in": "the fens"}
    assert entity.data["sections"][0] == {"name": "", "desc": "She keeps promises for people."}
    assert entity.data["links"] == [
        {"to": "World/Tallow Bridge.md", "target": "Tallow Bridge", "text": "the bridge", "heading": "Deeds"},
        {"to": None, "target": "Nowhere", "text": "Nowhere", "heading": "Secrets (GM only)", "audience": "dm"},
        {"to": "World/Tallow Bridge.md", "target": "Tallow Bridge", "text": "Tallow Bridge", "heading": ""},
    ]
    assert checked("notes", entity.as_record()) == entity


@each_row(("size", "kept"), [(1, True), (300_000, False)])
def test_what_is_written_is_kept_beside_what_is_searched_where_there_is_room(size, kept):
    text = "She keeps promises. " * (size // 20 + 1)
    section = Section("", text, written=f"{text}[[Tallow Bridge]]")
    (stored,) = entity_of(replace(ODA, sections=(section,))).data["sections"]
    assert stored == {"name": "", "desc": text} | ({"written": section.written} if kept else {})


@each_row(
    ("filters", "expected"),
    rows("note_filters"),
)
def test_a_note_is_found_by_its_fields(filters, expected):
    assert found(entity_of(), **filters) is expected


def test_an_upgrade_of_the_library_keeps_what_a_note_is_found_by():
    assert derive_fields(entity_of()) == entity_of().fields


def test_a_note_without_anything_has_only_the_date_of_its_file():
    assert set(entity_of(Note("Bare.md", "Bare")).fields) == {"modified", "audience"}


def test_what_no_filter_can_hold_costs_no_note():
    most = COLLECTIONS["notes"].field("links").most
    links = [Link(f"Note {number}") for number in range(most + 10)]
    entity = entity_of(Note("a.md", "A", tags=("x" * 2_000, "new\nline", "kept", " "), links=links))
    assert entity.fields["tags"] == ("kept",)
    assert len(entity.data["links"]) == most + 10
    assert found(entity, links="Note 0")
    assert not found(entity, links=f"Note {most + 9}")


@each_row(
    ("note", "reason"),
    [
        (Note("a.md", "A", sections=[Section("", "x" * (1 << 20))]), "more than the"),
        (Note("a.md", "A", sections=[Section("", "half \ud800")]), "lone surrogate"),
        (Note("a\n.md", "A"), "slug has control characters"),
        (Note("a" * 2_000 + ".md", "A"), "slug has control characters or more than"),
        (Note("a.md", " "), "no name"),
        (Note("a.md", "x" * 501), "name must be"),
        (Note(" a.md", "A"), "begins or ends with a space"),
    ],
)
def test_a_note_that_cannot_be_stored_is_refused_with_the_reason(note, reason):
    with pytest.raises(FilterError, match=reason):
        entity_of(note)


@each_row("front", ["visibility: players", "title: Mira"])
def test_what_a_player_filters_by_has_no_trace_of_what_is_secret(front):
    text = (
        f"---\n{front}\n---\n# Mira\n\nShe rows.\n\n## Public Knowledge\n\n- [x] pay her\n\n"
        "## GM Notes\n\n**Master**: the duke\n\n- [ ] unmask her\n\nSecret: yes\n"
    )
    with_secret, without = (entity_of(read_note("a.md", each, PUBLIC)) for each in (text, text.partition("## GM")[0]))
    seen = [dict(redact(each, Viewer.player(), lambda _: None).fields) for each in (with_secret, without)]
    assert seen[0] == seen[1]
    assert seen[0]["state"] == "done"
    assert with_secret.fields["state"] == "open"
