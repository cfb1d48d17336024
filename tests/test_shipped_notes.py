"""The campaign notes of the demo: whole, in the forms that people write, and in no library but the demo's."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from lorekeeper.cli import demo
from lorekeeper.entities import Entity
from lorekeeper.filters import matches, parse_filters
from lorekeeper.intake.shipped_notes import KEY, NOTES, shipped_notes
from lorekeeper.normalize.note_creatures import creatures_of
from lorekeeper.notes import Note, read_note
from tests.support.libraries import settings
from tests.support.tables import each_row

FILES = sorted(NOTES.rglob("*.md"))

FACT = re.compile(r"^\*\*[^*\n]+\*\*: ", re.MULTILINE)


@pytest.fixture(scope="module")
def notes() -> dict[str, Note]:
    """Every note by its path."""
    paths = [(file, file.relative_to(NOTES).as_posix()) for file in FILES]
    return {path: read_note(path, file.read_text("utf-8")) for file, path in paths}


@pytest.fixture(scope="module")
def entities() -> dict[str, list[Entity]]:
    return shipped_notes()


def test_nothing_of_them_is_left_out(notes, entities):
    assert {note.slug for note in entities["notes"]} == set(notes)
    assert [problem for note in notes.values() for problem in note.problems] == []
    read = [creatures_of(note, "x", "X", lambda _: None) for note in notes.values()]
    assert [problem for creatures in read for problem in creatures.problems] == []


def test_every_link_leads_to_a_note(entities):
    links = [link for note in entities["notes"] for link in note.data["links"]]
    assert [link["target"] for link in links if link["to"] is None] == []
    linked = {link["to"] for link in links}
    assert {note.slug for note in entities["notes"]} <= linked


def test_they_are_written_in_both_forms_that_people_use():
    front = [file for file in FILES if file.read_text("utf-8").startswith("---\n")]
    lines = [file for file in FILES if len(FACT.findall(file.read_text("utf-8"))) >= 3]
    assert not set(front) & set(lines)
    assert len(front) + len(lines) == len(FILES)
    assert abs(len(front) - len(lines)) <= 1


def test_they_have_each_kind_of_note(entities):
    kinds = Counter(note.kind for note in entities["notes"])
    assert kinds == {"npc": 4, "location": 4, "faction": 1, "item": 1, "quest": 2, "session": 2, "creature": 1}
    sessions = [note.fields for note in entities["notes"] if note.kind == "session"]
    assert [fields["session"] for fields in sessions] == [1, 2]
    assert all("session_date" in fields for fields in sessions)


def test_two_stretches_are_the_game_masters_own(entities):
    secrets = [
        (note.name, part["mark"]) for note in entities["notes"] for part in note.data["sections"] if "mark" in part
    ]
    assert secrets == [("Aldous Merrow", "Secrets (GM only)"), ("Saint Orrin's Under", "> [!dm]")]


def test_their_monster_is_found_by_its_stat_block(entities):
    (glowmaw,) = entities["creatures"]
    for filters in (
        {"challenge_rating": 4},
        {"vulnerable": "thunder"},
        {"speed_swim_min": 40},
        {"damage_types": "necrotic"},
    ):
        assert matches(glowmaw, parse_filters("creatures", filters))
    assert (glowmaw.document, glowmaw.document_name) == (KEY, "The Drowned Bells")


@each_row("file", FILES)
def test_a_note_is_neither_a_scrap_nor_a_chapter(file: Path):
    words = len(re.sub(r"```.*?```", "", file.read_text("utf-8"), flags=re.DOTALL).split())
    assert (300 if file.parent.name == "Sessions" else 60) <= words <= (500 if file.parent.name == "Sessions" else 250)


async def test_the_demo_has_a_library_of_its_own_and_leaves_nothing_behind(tmp_path, monkeypatch):
    seen: dict[str, object] = {}

    async def load(own):
        seen["library"] = own.library_path
        own.library_path.mkdir()

    async def ask(environment):
        seen["environment"] = environment

    monkeypatch.setenv("LOREKEEPER_VAULTS", str(tmp_path))
    monkeypatch.setenv("LOREKEEPER_MILVUS_URI", "http://127.0.0.1:1")
    monkeypatch.setattr(demo, "_load", load)
    monkeypatch.setattr(demo, "_ask", ask)
    configured = settings(milvus_db_path=tmp_path / "mine.db", milvus_uri="http://127.0.0.1:1")
    await demo.run_demo(configured)
    environment = seen["environment"]
    assert isinstance(environment, dict)
    assert environment["LOREKEEPER_SQLITE_DB_PATH"] == str(seen["library"]) != str(configured.library_path)
    assert environment["LOREKEEPER_CACHE_BACKEND"] == "sqlite"
    assert not {"LOREKEEPER_VAULTS", "LOREKEEPER_MILVUS_URI"} & environment.keys()
    assert not Path(str(seen["library"])).parent.exists()
    assert {path.name for path in tmp_path.iterdir()} <= {"mine.db.starter"}  # which the settings of tests have
