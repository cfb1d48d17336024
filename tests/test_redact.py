"""What a player receives of a note and of its parts says nothing of what is secret, and to whom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lorekeeper.audience import GAME_MASTER, GM_PART, Viewer
from lorekeeper.entities import Entity
from lorekeeper.normalize.notes import SOURCE
from lorekeeper.views.redact import MARKS, is_visible, redact
from tests.support.tables import each_row

PLAYER = Viewer.player("Ana")

SHOWN: dict[str, Any] = {
    "mark": "visibility: players",
    "audience": "players",
    "opened_by": "> [!players]",
    "desc": "It glows.",
}


def keys_of(value: Any) -> Iterator[str]:
    """All keys of JSON data, at any depth."""
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_of(part)
    yield from value if isinstance(value, dict) else ()


def wight(**data: Any) -> Entity:
    """A creature of a note."""
    return Entity(
        "creatures", "wight", "Wight", "creature", "saga", SOURCE, SHOWN | {"note_section": "Crypt"} | data, {}
    )


def note(**data: Any) -> Entity:
    sections = [
        {
            "heading": "Deeds",
            "desc": "She rang the bell.",
            "mark": "",
            "audience": "players",
            "opened_by": "> [!players]",
        },
        {"heading": "Plot", "desc": "She is the thief.", "mark": "GM", "audience": "dm"},
    ]
    shared = {"note_mark": "visibility: players", "note_audience": "players", "path": "A.md", "links": []}
    return Entity("notes", "A.md", "A", "note", "saga", SOURCE, {"sections": sections} | shared | data, {})


@each_row("entity", [wight(note_audience="players"), wight(), note()])
def test_no_mark_of_secrecy_reaches_a_player(entity):
    assert is_visible(entity, PLAYER)
    seen = redact(entity, PLAYER, lambda _: None)
    assert MARKS & set(keys_of(entity.data))
    assert MARKS & set(keys_of(seen.data)) == set()
    assert redact(entity, GAME_MASTER, lambda _: None) == entity


def test_a_part_of_a_note_that_is_not_shared_keeps_the_headings_above_it_to_itself():
    assert redact(wight(note_audience="players"), PLAYER, lambda _: None).data["note_section"] == "Crypt"
    assert "note_section" not in redact(wight(), PLAYER, lambda _: None).data
    assert redact(wight(opened="For all"), PLAYER, lambda _: None).data["note_section"] == "For all"


def test_only_the_sections_that_a_player_may_see_are_in_a_note():
    seen = redact(note(), PLAYER, lambda _: None)
    assert "bell" in str(seen.data)
    assert "thief" not in str(seen.data)
    assert not is_visible(wight(audience="dm"), PLAYER)


def test_who_may_see_a_character_of_a_secret_note_does_not_see_which_note_it_is_from():
    where = {
        "note": "lore://notes/saga/Crew.md",
        "note_name": "Crew",
        "note_section": "Crew",
        "file": "Secret plot/crew.json",
    }
    made = Entity("characters", "bo", "Bo", "character", "saga", SOURCE, {"level": 3, "audience": ["Ana"], **where}, {})
    ana = Viewer.player("Ana")
    assert is_visible(made, ana)
    assert redact(made, ana, lambda _: None).data.keys() & where.keys() == set()


def test_what_a_book_tells_the_game_master_alone_is_in_no_answer_to_a_player():
    entry = Entity(
        "rules", "trap", "Trap", "rule", "book", "homebrew", {"desc": "A pit.", GM_PART: {"desc": "It bites."}}, {}
    )
    assert redact(entry, PLAYER, lambda _: None).data == {"desc": "A pit."}
    assert redact(entry, GAME_MASTER, lambda _: None) == entry
