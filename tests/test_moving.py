"""Libraries that move: vectors come along in every direction, and tables of other programs are read by a mapping."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from lorekeeper.embedding import HashingProvider
from lorekeeper.entities import COLLECTIONS, Collection, Field, FieldType
from lorekeeper.errors import ConfigError, ImportFileError
from lorekeeper.library import Library
from lorekeeper.maintenance.mapping import TableMapping
from lorekeeper.maintenance.migrate import migrate
from lorekeeper.plugin import MilvusCache, SqliteCache
from lorekeeper.settings import Settings
from tests.support.commands import environment, run_lorekeeper
from tests.support.embedding_server import EmbeddingServer
from tests.support.entities import make
from tests.support.libraries import entities_in, settings_in

DIRECTIONS = [("milvus", "sqlite"), ("sqlite", "milvus"), ("milvus", "milvus"), ("sqlite", "sqlite")]

SPELLS = [
    make("ember-veil", "Embers wrap you and protect you from cold and fire. " * 12, level=4),
    make("salt-ring", "A ring of salt keeps the restless dead away.", level=2),
    make("bare"),
]


def path_of(settings: Settings) -> Path:
    return settings.library_path


async def filled(settings: Settings) -> None:
    async with Library.from_settings(settings) as library:
        await library.cache.store_entities(SPELLS, "spells")


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
async def test_no_text_is_embedded_again_in_another_folder(
    source: str, target: str, tmp_path: Path, embeddings: EmbeddingServer
):
    old, new = settings_in(tmp_path / "old", source, embeddings), settings_in(tmp_path / "new", target, embeddings)
    await filled(old)
    (tmp_path / "old" / "vectors.db").unlink()
    for file in (tmp_path / "old").glob("vectors.db-*"):
        file.unlink()
    report = await migrate(new, path_of(old))
    assert (report.total("stored"), report.embedded) == (3, 0)
    assert await entities_in(new, "spells") == await entities_in(old, "spells")
    async with Library.from_settings(new) as library, Library.from_settings(old) as before:
        asked = "keep the dead away"
        ours, theirs = [
            [(hit.entity.slug, hit.score) for hit in await each.cache.semantic_search("spells", asked)]
            for each in (library, before)
        ]
        assert [slug for slug, _ in ours] == [slug for slug, _ in theirs]
        assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=1e-4)


async def test_the_embedding_cache_beside_the_source_is_used_first(tmp_path: Path, embeddings: EmbeddingServer):
    old, new = settings_in(tmp_path / "old", "milvus", embeddings), settings_in(tmp_path / "new", "sqlite", embeddings)
    await filled(old)
    shutil.rmtree(path_of(old) / "collections")  # only the companion and the embedding cache are left
    assert (await migrate(new, path_of(old))).embedded == 0


@pytest.mark.parametrize("cls", [MilvusCache, SqliteCache])
async def test_entries_of_a_type_that_another_program_declares_are_reported(
    cls: type[MilvusCache] | type[SqliteCache], tmp_path: Path, embeddings: EmbeddingServer
):
    ships = Collection("barges", fields=[Field("crew", FieldType.INTEGER)])
    async with cls(tmp_path / "old.db", embedding=HashingProvider, collections=[*COLLECTIONS.values(), ships]) as cache:
        await cache.store_entities([{"name": "Petrel", "crew": 3}, {"name": "Gull", "crew": 4}], "barges")
        await cache.store_entities(SPELLS, "spells")
    report = await migrate(settings_in(tmp_path / "new", "sqlite", embeddings), tmp_path / "old.db")
    assert report.tables["spells"].stored == 3
    (failure,) = report.tables["barges"].failed
    assert failure.reason.startswith("2 entries of this type stay behind")


# --- tables of other programs ----------------------------------------------------------------------------------------


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """The database of another program."""
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as c:
        c.execute("CREATE TABLE beasts (id INTEGER PRIMARY KEY, title TEXT, body TEXT, hp INTEGER, cr TEXT, art BLOB)")
        c.execute(
            "INSERT INTO beasts VALUES (7, 'Moss Hound', 'A hound of wet moss.', 22, '1/2', ?)", [b"\xff\x00\xfe"]
        )
        c.execute("INSERT INTO beasts VALUES (8, NULL, 'Nameless.', 1, '0', NULL)")
        c.execute('CREATE TABLE "odd cards" (n TEXT, payload TEXT)')
        whole = {"name": "Tide Call", "level": 2, "desc": "You call the tide by its first name.", "own": [1]}
        c.execute('INSERT INTO "odd cards" VALUES (?, ?)', ["a", json.dumps(whole)])
        c.execute('INSERT INTO "odd cards" VALUES (?, ?)', ["b", "{bad"])
    c.close()
    return path


BEASTS = "beasts=creatures:name=title,desc=body,hit_points=hp,challenge_rating=cr"


async def test_a_table_is_read_by_a_mapping(tmp_path: Path, other: Path, embeddings: EmbeddingServer):
    new = settings_in(tmp_path / "new", "sqlite", embeddings)
    mappings = [TableMapping.parse(BEASTS), TableMapping.parse("odd cards=spells:*=payload")]
    report = await migrate(new, other, mappings)
    assert {name: (t.read, t.stored, len(t.failed)) for name, t in report.tables.items()} == {
        "beasts": (2, 1, 1),
        "odd cards": (2, 1, 1),
    }
    found = await entities_in(new)
    hound = found["lore://creatures/homebrew/moss-hound"]
    assert dict(hound.fields)["challenge_rating"] == 0.5
    assert hound.data["id"] == 7
    assert "art" not in hound.data
    assert found["lore://spells/homebrew/tide-call"].data["own"] == [1]
    again = await migrate(new, other, mappings)
    assert (again.total("stored"), again.total("unchanged")) == (0, 2)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("beasts", ConfigError, "write TABLE=TYPE"),
        ("=spells", ConfigError, "write TABLE=TYPE"),
        ("beasts=creatures:name", ConfigError, "write TABLE=TYPE"),
        ("beasts=dragons", ConfigError, "known: spells, creatures"),
        ("beasts=creatures:name=nowhere", ConfigError, "no column 'nowhere'; it has .*title"),
        ("nowhere=creatures", ImportFileError, "has no table nowhere; its tables are beasts, odd cards"),
    ],
)
async def test_a_mapping_that_does_not_fit_is_refused(
    text: str, error: type[Exception], said: str, tmp_path: Path, other: Path, embeddings: EmbeddingServer
):
    with pytest.raises(error, match=said):
        await migrate(settings_in(tmp_path / "new", "sqlite", embeddings), other, [TableMapping.parse(text)])


def test_a_file_of_another_program_is_refused_with_its_tables_and_what_to_do(tmp_path: Path, other: Path):
    done = run_lorekeeper(tmp_path, "migrate", str(other), env=environment(tmp_path, CACHE_BACKEND="sqlite"))
    assert done.returncode == 1
    assert "its tables are beasts, odd cards" in done.stderr
    assert "--map TABLE=TYPE" in done.stderr
