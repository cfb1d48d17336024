"""Tables to roll on in the texts of books: rules of their book, in step with the entries that they are from."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lorekeeper.audience import GM_PART, Viewer
from lorekeeper.entities import Entity
from lorekeeper.errors import NotFoundError
from lorekeeper.intake.book_tables import count_entries
from lorekeeper.library import Library
from lorekeeper.normalize import normalize
from lorekeeper.normalize.book_tables import KIND, MOST, Tables, book_tables, entry_of, may_have_tables
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.play.tables import numbered_texts, tables_of
from lorekeeper.render.pages import markdown
from tests.support.commands import environment, run_inside
from tests.support.corpus import imported_entries
from tests.support.entities import everything
from tests.support.libraries import open_library
from tests.support.samples import write_lines
from tests.support.tools import text_of

ANYBODY = Viewer.player()


def rolled(column: str, *cells: str, dice: str = "d4") -> str:
    rows = "\n".join(f"| {number} | {cell} |" for number, cell in enumerate(cells, 1))
    return f"| {dice} | {column} |\n|---|---|\n{rows}"


def entry(name: str, description: str, collection: str = "rules", **values: Any) -> dict[str, Any]:
    kind = {"kind": "rule"} if collection == "rules" else {"kind": "magic-item"} if collection == "equipment" else {}
    return {"collection": collection, "name": name, "document": "tides", "description": description, **kind, **values}


def made(name: str, description: str, collection: str = "rules", **values: Any) -> Tables:
    (entity,) = normalize(entry(name, description, collection, **values))
    return book_tables(entity)


WEATHER = f"""The sea decides.

### Sky at Dawn

{rolled("Sky", "Rain", "2d4 gulls", "Sun")}

*Omens of the Weather*

{rolled("Omen", "A crow", "A seal", dice="Roll 1d6")}

### Ranks

| Rank | Name |
|---|---|
| 1 | Mate |
| 2 | Captain |
"""


# --- what becomes a table --------------------------------------------------------------------------------------------


def test_tables_are_rules_of_the_book_of_their_entry():
    tables = made("Weather", WEATHER, license="CC0").entities
    assert [table.name for table in tables] == ["Weather: Sky at Dawn", "Omens of the Weather"]
    assert {(each.type, each.kind, each.document, each.source_api) for each in tables} == {
        ("rules", KIND, "tides", "lorekeeper")
    }
    assert {entry_of(table) for table in tables} == {("rules", ("tides", "weather"))}
    assert all(table.slug.startswith("weather-") for table in tables)
    assert len({table.slug for table in tables}) == 2
    assert [table.data["license"] for table in tables] == ["CC0", "CC0"]
    assert {tuple(derive_fields(table)) for table in tables} == {()}


def test_a_table_that_became_an_entry_is_rolled_on_as_in_its_entry_and_says_which_that_is():
    (entity,) = normalize(entry("Weather", WEATHER))
    inside = tables_of(entity)
    alone = [tables_of(table)[0] for table in book_tables(entity).entities]
    for seed in range(20):
        rolls = [(table.roll(Random(seed)).number, table.roll(Random(seed)).text) for table in inside]
        assert rolls == [(table.roll(Random(seed)).number, table.roll(Random(seed)).text) for table in alone]
    page = markdown(book_tables(entity).entities[0])
    assert "- **From** Weather (lore://rules/tides/weather)" in page
    assert "| 2 | 2d4 gulls |" in page


def test_keys_depend_on_the_entry_and_the_table_only():
    first = {table.name: table.slug for table in made("Weather", WEATHER).entities}
    longer = {
        table.name: table.slug for table in made("Weather", WEATHER.replace("Sun", "Moon") + "\n\nMore.").entities
    }
    assert longer == first
    others = [made("Weather", WEATHER, collection).entities for collection in ("rules", "spells", "equipment")]
    assert len({table.slug for tables in others for table in tables}) == 6


def test_what_is_a_table_already_gives_none():
    (table,) = made("Sky", rolled("Sky", "Rain", "Sun")).entities
    assert book_tables(table).entities == []
    (entity,) = normalize(entry("Sky", rolled("Sky", "Rain", "Sun")))
    assert len(book_tables(entity).entities) == 1
    for changed in (
        replace(entity, kind=KIND),
        replace(entity, data={**entity.data, "table": table.data["table"]}),
        replace(entity, source_api="foundry"),
        replace(entity, source_api="vault"),
        replace(entity, type="documents"),
    ):
        assert book_tables(changed).entities == []


def test_tables_are_for_those_who_see_their_entry():
    (entity,) = normalize(entry("Sky", rolled("Sky", "Rain", "Sun"), audience="dm"))
    assert [table.fields["audience"] for table in book_tables(entity).entities] == [("dm",)]
    (shared,) = normalize(entry("Sky", rolled("Sky", "Rain", "Sun")))
    secret = replace(shared, data={**shared.data, GM_PART: rolled("Plot", "A lich", "A lie")})
    assert "A lich" in markdown(secret)
    assert book_tables(secret) == book_tables(shared)


def test_too_many_tables_and_names_that_no_entry_can_have_are_problems():
    many = made("Sky", "\n\n".join(f"### Sky {n}\n\n{rolled('Sky', 'Rain', 'Sun')}" for n in range(MOST + 1)))
    assert len(many.entities) == MOST
    assert many.problems == [f"it has {MOST + 1} tables to roll on; those after the first {MOST} are text only"]
    odd = made("Sky", f"### {'x' * 9000}\n\n{rolled('Rain', 'Rain', 'Sun')}")
    assert len(odd.entities) + len(odd.problems) == 1


# --- imports ---------------------------------------------------------------------------------------------------------

BOOK = [
    entry("Weather", WEATHER),
    entry("Gull Call", f"A gull comes.\n\n{rolled('Gull', 'Grey', 'White')}", "spells", level=1),
    entry("Tide Ape", "An ape of the shallows; it throws 2d4 | shells.", "creatures"),
]
NAMES = {"Weather: Sky at Dawn", "Omens of the Weather", "Gull Call: Gull"}


async def tables(library: Library) -> dict[str, Entity]:
    return {e.name: e for e in await everything(library.cache, "rules") if e.kind == KIND}


async def brought_in(library: Library, folder: Path, *objects: dict[str, Any], **options: Any) -> dict[str, int]:
    """Import a file with these objects, none of which may fail; what became of the tables."""
    report = await library.import_paths([write_lines(folder / "book.jsonl", objects)], **options)
    assert report.failed == []
    assert report.warnings == []
    return {name: number for name, number in report.tables.items() if number}


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
@pytest.mark.parametrize("memory", [True, False])
async def test_an_import_keeps_the_tables_of_its_entries_in_step(backend, memory, tmp_path):
    async with open_library(tmp_path, backend=backend, imports=tmp_path / "imports" if memory else None) as library:
        assert await brought_in(library, tmp_path, *BOOK, dry_run=True) == {"stored": 3}
        assert await brought_in(library, tmp_path, *BOOK) == {"stored": 3}
        assert set(first := await tables(library)) == NAMES
        again = await library.import_paths([tmp_path / "book.jsonl"])
        assert (again.stored, again.unchanged, again.embedded, again.tables["unchanged"]) == (0, 3, 0, 3)
        changed = entry("Weather", WEATHER.replace("Sun", "Moon").replace("Roll 1d6", "Number"))
        assert await brought_in(library, tmp_path, changed, *BOOK[1:]) == {"stored": 1, "unchanged": 1, "removed": 1}
        assert set(kept := await tables(library)) == {"Weather: Sky at Dawn", "Gull Call: Gull"}
        assert "Moon" in str(kept["Weather: Sky at Dawn"].data)
        assert kept["Weather: Sky at Dawn"].identity == first["Weather: Sky at Dawn"].identity
        assert await brought_in(library, tmp_path, entry("Weather", "Calm.")) == {"removed": 1}
        assert set(await tables(library)) == {"Gull Call: Gull"}
        assert await library.cache.delete_document("tides") == 4
        assert await tables(library) == {}


async def test_the_counts_of_entries_are_those_of_the_file(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        report = await library.import_paths([write_lines(tmp_path / "book.jsonl", BOOK)])
        assert (report.stored, report.unchanged, report.removed) == (3, 0, 0)
        assert await count_entries(library.cache, "rules", ["lorekeeper"]) == 1
    told = await asyncio.to_thread(run_inside, tmp_path, "import", str(tmp_path / "book.jsonl"))
    assert "3 stored, 0 unchanged" in told.stdout
    assert "tables to roll on in their texts: 3 stored, 0 unchanged" in told.stdout


async def test_an_entry_that_comes_twice_has_the_tables_of_the_last(tmp_path):
    async with open_library(tmp_path, backend="sqlite") as library:
        file = write_lines(tmp_path / "book.jsonl", [entry("Weather", "Calm."), entry("Weather", WEATHER)])
        assert (await library.import_paths([file])).tables["stored"] == 2
        write_lines(file, [entry("Weather", WEATHER), entry("Weather", "Calm.")])
        assert (await library.import_paths([file])).tables["removed"] == 2
        assert await tables(library) == {}


async def test_entries_whose_keys_begin_alike_keep_their_own_tables(tmp_path):
    sky = rolled("Sky", "Rain", "Sun")
    both = [entry("Gull", f"One.\n\n{sky}"), entry("Gull Call", f"Two.\n\n{sky}"), entry("Gull", sky, "spells")]
    async with open_library(tmp_path, backend="sqlite") as library:
        assert await brought_in(library, tmp_path, *both) == {"stored": 3}
        assert await brought_in(library, tmp_path, entry("Gull", "One.")) == {"removed": 1}
        assert {entry_of(e) for e in await everything(library.cache, "rules") if e.kind == KIND} == {
            ("rules", ("tides", "gull-call")),
            ("spells", ("tides", "gull")),
        }


async def test_a_long_key_does_not_hide_its_tables(tmp_path):
    long = entry("Sky", rolled("Sky", "Rain", "Sun"), slug="sky-" + "x" * 196)
    async with open_library(tmp_path, backend="sqlite") as library:
        assert await brought_in(library, tmp_path, long) == {"stored": 1}
        assert await brought_in(library, tmp_path, {**long, "description": "Calm."}) == {"removed": 1}


async def test_a_library_of_an_earlier_version_gets_its_tables_and_embeds_nothing_else(tmp_path, monkeypatch):
    file = write_lines(tmp_path / "book.jsonl", BOOK)
    async with open_library(tmp_path, backend="sqlite", imports=tmp_path / "imports") as library:
        monkeypatch.setattr("lorekeeper.intake.book_tables.book_tables", lambda _: Tables())
        await library.import_paths([file])
        assert await tables(library) == {}
    monkeypatch.undo()
    async with open_library(tmp_path, backend="sqlite", imports=tmp_path / "imports") as library:
        report = await library.import_paths([file])
        assert (report.stored, report.unchanged, report.embedded, report.tables["stored"]) == (0, 3, 3, 3)
        assert set(await tables(library)) == NAMES


async def test_a_table_that_the_library_lost_comes_back(tmp_path):
    async with open_library(tmp_path, backend="sqlite", imports=tmp_path / "imports") as library:
        await brought_in(library, tmp_path, *BOOK)
        lost = (await tables(library))["Gull Call: Gull"]
        await library.cache.delete_entities("rules", [lost.identity])
        assert await brought_in(library, tmp_path, *BOOK) == {"stored": 1, "unchanged": 2}


async def test_what_cannot_be_made_is_a_warning(tmp_path):
    many = "\n\n".join(f"### Sky {n}\n\n{rolled('Sky', 'Rain', 'Sun')}" for n in range(MOST + 1))
    async with open_library(tmp_path, backend="sqlite") as library:
        report = await library.import_paths([write_lines(tmp_path / "book.jsonl", [entry("Sky", many)])])
        assert (report.stored, report.tables["stored"], report.failed) == (1, MOST, [])
        assert [warning.reason.partition(";")[0] for warning in report.warnings] == [
            f"it has {MOST + 1} tables to roll on"
        ]


# --- who sees them ---------------------------------------------------------------------------------------------------


async def test_players_meet_the_tables_of_what_they_see_and_no_other(tmp_path):
    plot = entry("Plots", rolled("Plot", "The zqlich", "The zqlie"), audience="dm")
    async with open_library(tmp_path, backend="sqlite") as library:
        await brought_in(library, tmp_path, *BOOK, plot)
        player = library.view(ANYBODY)
        for view, seen in ((library, 4), (player, 3)):
            listed = await text_of(view, "lookup_rule", kind=KIND, limit=50, detail="full")
            everywhere = listed + await text_of(view, "search_lore", query="zqlich plot")
            assert sum(table.uri in listed for table in (await tables(library)).values()) == seen
            assert ("The zqlich" in everywhere) == (view is library)
        shared, secret = (await tables(library))["Gull Call: Gull"], (await tables(library))["Plots: Plot"]
        assert "Rolled: " in await text_of(player, "get_entity", uri=shared.uri, roll=True)
        assert "Rolled: " in await text_of(library, "get_entity", uri=secret.uri, roll=True)
        with pytest.raises(NotFoundError, match="there is no"):
            await text_of(player, "get_entity", uri=secret.uri, roll=True)


async def test_tables_become_secret_and_open_with_their_entries(tmp_path):
    async with open_library(tmp_path, backend="sqlite", imports=tmp_path / "imports") as library:
        await brought_in(library, tmp_path, *BOOK)
        for audience, expected in (("dm", {("dm",)}), (None, {("dm",)}), ("players", {None})):
            await brought_in(library, tmp_path, *BOOK, audience=audience)
            assert {table.fields.get("audience") for table in (await tables(library)).values()} == expected


def test_tables_are_filtered_by_where_and_rolled_on_by_command(tmp_path):
    env = environment(tmp_path)
    assert run_inside(tmp_path, "import", str(write_lines(tmp_path / "b.jsonl", BOOK)), env=env).returncode == 0
    listed = run_inside(tmp_path, "search", "sky gull omen", "--where", "kind = table", "--json", env=env)
    uris = [result["uri"] for result in json.loads(listed.stdout)["results"]]
    assert len(uris) == 3
    rolls = [run_inside(tmp_path, "roll", uri, "--seed", "7", env=env) for uri in uris]
    assert [roll.returncode for roll in rolls] == [0, 0, 0]
    within = run_inside(tmp_path, "roll", "lore://spells/tides/gull-call", "--seed", "7", env=env)
    assert "Gull" in within.stdout


# --- the corpus ------------------------------------------------------------------------------------------------------


@pytest.mark.corpus
def test_all_that_is_rolled_on_in_the_books_of_open5e_becomes_tables_of_different_names(corpus, tmp_path_factory):
    read = imported_entries(corpus, tmp_path_factory)
    entities = {(entity.type, entity.identity): entity for entity in read}.values()
    rolled_on = [entity for entity in entities if may_have_tables(entity) or tables_of(entity)]
    found = [table for entity in rolled_on for table in book_tables(entity).entities]
    numbered = sum(len(list(numbered_texts(entity.name, markdown(entity)))) for entity in rolled_on)
    assert (len(found), numbered) == (292, 7)  # numbered texts are rolled on within their entry
    assert sum(len(tables_of(entity)) for entity in rolled_on) == 299
    assert len({table.identity for table in found}) == len({(table.document, table.name) for table in found}) == 292
    assert {table.name for table in found}.isdisjoint(entity.name for entity in entities)
