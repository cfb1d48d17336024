"""Tables to roll on in notes: rules of their vault, as secret as the note and the section that they are in."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.cli.render_vaults import print_vault_report
from lorekeeper.entities import Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.normalize.book_tables import MOST, Tables
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.normalize.note_tables import note_tables
from lorekeeper.notes import read_note
from lorekeeper.vaults.state import FORMAT
from lorekeeper.views.view import View
from tests.support.tables import each_row
from tests.support.tools import text_of
from tests.support.vaults import PUBLIC, notes_of, open_marked, vault_library, write

ANYBODY, ANA = Viewer.player(), Viewer.player("Ana")

FEN = """# Fen

Reeds, as far as the eye sees.

| d4 | Sky |
|---|---|
| 1-3 | Rain over the [[Marsh\\|moor]] |
| 4 | Stars |

## Rumours

| Roll 1d6 | Rumour | Told by |
|---|---|---|
| 1–5 | The bell rings; 2d4 hear it. | Mira |
| 6 | A boat is missing. | |

## Who is met

*By night*

dice: d8 | Stranger
--- | ---
1 | A heron
2-8 | Nobody

| Rank | Name |
|---|---|
| 1 | Not a table to roll on |
"""


def tables_in(text: str, path: str = "Fen.md") -> Tables:
    return note_tables(read_note(path, text, PUBLIC), "saga", "The Saga")


def names(text: str) -> list[str]:
    return [entity.name for entity in tables_in(text).entities]


def secret(text: str) -> str:
    return "> [!dm]\n" + "\n".join(f"> {line}" for line in text.split("\n"))


def rolled(column: str, *cells: str, dice: str = "d4") -> str:
    rows = "\n".join(f"| {number} | {cell} |" for number, cell in enumerate(cells, 1))
    return f"| {dice} | {column} |\n|---|---|\n{rows}"


@each_row(
    ("note", "audience"),
    [
        (rolled("Plot", "A lich"), ("dm",)),
        ("---\nvisibility: players\n---\n" + rolled("Plot", "A lich"), None),
        ("---\nvisibility: players\n---\n" + secret(rolled("Plot", "A lich")), ("dm",)),
        ("---\nvisibility: players\n---\n## Plots (GM only)\n\n" + rolled("Plot", "A lich"), ("dm",)),
        ("---\nvisibility: [Ana, Bo]\n---\n" + rolled("Plot", "A lich"), ("ana", "bo")),
        ("## Public Knowledge\n\n" + rolled("Plot", "A lich"), None),
        ("---\nvisibility: dm\n---\n## Public Knowledge\n\n" + rolled("Plot", "A lich"), ("dm",)),
    ],
)
def test_who_may_see_a_table_is_said_by_its_note_and_its_section(note, audience):
    (entity,) = tables_in(note).entities
    assert entity.fields.get("audience") == audience
    assert derive_fields(entity).keys() == entity.fields.keys()


def test_what_a_table_is_called_does_not_tell_of_secret_ones_or_of_secret_headings():
    shared = rolled("Sky", "Rain")
    front = "---\nvisibility: players\n---\n# Fen\n\n## Weather\n\n"
    alone = tables_in(front + shared).entities
    beside = tables_in(f"{front}{secret(rolled('Omen', 'A crow'))}\n\n{shared}").entities
    assert [(each.name, each.slug) for each in beside if "audience" not in each.fields] == [
        (each.name, each.slug) for each in alone
    ]
    assert names(f"# Keep\n\n## Regicide\n\n### Public Knowledge\n\n{shared}") == ["Public Knowledge"]
    assert names(f"# Keep\n\n## Regicide\n\n> [!players]\n{secret(shared).partition(chr(10))[2]}") == ["Keep: Sky"]


def test_too_many_tables_of_a_note_are_a_problem_and_secret_ones_count_by_themselves():
    many = "\n\n".join(rolled(f"Sky {number}", "Rain") for number in range(MOST + 1))
    found = tables_in(f"# Fen\n\n{many}\n\n{secret(rolled('Plot', 'A lich'))}")
    assert len(found.entities) == MOST + 1
    assert [problem.split(";")[0] for problem in found.problems] == [f"it has {MOST + 1} tables to roll on"]


@each_row("name", ["", "x" * 9000, "\u200b"])
def test_a_name_that_no_entry_can_have_is_reported_or_made_up_for(name):
    found = tables_in(f"# Fen\n\n## {name}\n\n{rolled('Sky', 'Rain')}")
    assert len(found.entities) + len(found.problems) == 1


# --- in a library ----------------------------------------------------------------------------------------------------

SHARED = "---\nvisibility: players\n---\n"

VAULT = {
    "Fen.md": FEN,
    "Inn.md": f"{SHARED}# Inn\n\nA warm room.\n\n## Menu\n\n{rolled('Dish', 'Eel', 'Bread')}\n\n"
    f"## Cellar\n\n{secret(rolled('Zqfind', 'The zqlich'))}\n",
    "Ana.md": f"---\nvisibility: [Ana]\n---\n# Errand\n\nFor her alone.\n\n{rolled('Errand', 'Fetch zqmilk')}\n",
}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write(tmp_path / "saga", VAULT)


async def test_a_vault_keeps_its_tables_in_step(tmp_path, vault, capsys):
    async with vault_library(tmp_path, backend="sqlite") as library:
        await library.vaults.add(vault)
        report = await library.vaults.sync()
        assert (report.notes, report.stored, report.counts["tables"], report.failed) == (3, 9, 6, [])
        assert report.as_dict()["tables"] == 6
        print_vault_report(report)
        assert "6 tables to roll on" in capsys.readouterr().out
        assert (await library.vaults.sync()).unchanged == 9
        write(vault, {"Fen.md": FEN.replace("Stars", "Moon").replace("d8", "d8 or so")})
        changed = await library.vaults.sync()
        assert (changed.stored, changed.removed) == (2, 1)
        kept = {each.name: each for each in (await notes_of(library, "rules")).values()}
        assert sorted(kept) == ["Cellar", "Errand", "Fen: Sky", "Menu", "Rumours"]
        assert "Moon" in str(kept["Fen: Sky"].data)
        (vault / "Inn.md").unlink()
        assert (await library.vaults.sync()).removed == 3
        assert await library.vaults.remove("saga") == 6
        assert await notes_of(library, "rules") == {}


async def test_a_vault_of_an_earlier_version_gets_its_tables_and_embeds_nothing_else(tmp_path, vault, monkeypatch):
    async with vault_library(tmp_path, backend="sqlite") as library:
        monkeypatch.setattr("lorekeeper.vaults.sync.note_tables", lambda *_: Tables())
        await library.vaults.add(vault)
        assert (await library.vaults.sync()).stored == 3
    monkeypatch.undo()
    with closing(sqlite3.connect(tmp_path / "library.vaults.db")) as state:
        state.execute(f"PRAGMA user_version = {FORMAT - 1}")
    async with vault_library(tmp_path, backend="sqlite") as library:
        report = await library.vaults.sync()
        assert (report.stored, report.unchanged, report.embedded, report.removed) == (6, 3, 6, 0)


async def test_notes_are_found_as_without_their_tables(tmp_path, vault):
    asked = [{"semantic_query": "who rings the bell"}, {"name": "Fen", "detail": "full"}, {"order": "newest"}]
    async with vault_library(tmp_path, [vault], backend="sqlite") as library:
        await library.vaults.sync()
        having = [await text_of(library, "lookup_note", **arguments) for arguments in asked]
        tables = await notes_of(library, "rules")
        await library.cache.delete_entities("rules", [each.identity for each in tables.values()])
        assert len(tables) == 6
        assert [await text_of(library, "lookup_note", **arguments) for arguments in asked] == having


async def test_players_meet_the_tables_that_are_shared_with_them_and_no_other(tmp_path, vault):
    async with vault_library(tmp_path, [vault], backend="sqlite") as library:
        await open_marked(library)
        everything = await notes_of(library, "rules")
        listed = {"kind": "table", "order": "name", "limit": 50, "detail": "full"}
        for viewer, seen in ((library.asks, 6), (ANYBODY, 1), (ANA, 2)):
            view = library.view(viewer) if isinstance(viewer, Viewer) else library.view()
            told = [
                await text_of(view, "lookup_rule", **listed),
                await text_of(view, "search_lore", query="zqfind zqlich"),
            ]
            assert sum(entity.uri in told[0] for entity in everything.values()) == seen
            assert ("The zqlich" in "".join(told)) == (seen == 6)
            assert ("zqmilk" in "".join(told)) == (seen != 1)
            assert "Dish" in told[0]
            for entity in everything.values():
                await _roll(view, entity, visible=entity.uri in told[0])
        (menu,) = await library.view(ANYBODY).entities_at("rules", "saga", next(s for s in everything if "menu" in s))
        assert not {"mark", "audience", "note_audience", "note_mark", "note_opened_by"} & menu.data.keys()


async def _roll(view: View, entity: Entity, *, visible: bool) -> None:
    if visible:
        assert "Rolled: " in await text_of(view, "get_entity", uri=entity.uri, roll=True)
    else:
        with pytest.raises(NotFoundError, match="there is no"):
            await text_of(view, "get_entity", uri=entity.uri, roll=True)
