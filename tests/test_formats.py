"""Libraries of other formats: earlier ones are refused with the command that makes them again, later ones are refused as they are.

``data/library-c387532.tar.gz`` was written by commit c387532, for both backends, from entries of a small book and two notes.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.cache.protocol import SearchCache
from lorekeeper.cache.sqlite.file import unpack
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import COLLECTIONS, Entity, Field, FieldType
from lorekeeper.errors import CacheError, ImportFileError
from lorekeeper.library import Library
from lorekeeper.maintenance.archive import seal
from lorekeeper.maintenance.backup import backup, restore
from lorekeeper.maintenance.doctor import examine
from lorekeeper.maintenance.migrate import migrate
from lorekeeper.maintenance.repair import repair
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.people.registry import People
from lorekeeper.search.query import Query
from lorekeeper.settings import Settings
from lorekeeper.version import VERSION
from tests.support.backends import BACKENDS, MARKS
from tests.support.commands import environment, run_lorekeeper
from tests.support.entities import everything, make
from tests.support.libraries import settings

DATA = Path(__file__).parent / "data"

RANKINGS: dict[str, dict[str, list[tuple[str, float]]]] = json.loads((DATA / "library-c387532.json").read_text("utf-8"))
"""Questions, and by type the entries that commit c387532 ranked by meaning, with their similarities."""

ENTRIES_BEFORE = 24

NOTE = Entity("notes", "Ash.md", "Ash", "npc", "mine", "vault", {"path": "Ash.md"}, {"tags": ("npc",)})

STORES = ("milvus", "milvus-server", "milvus-standalone", "sqlite")
"""Backends, each of which records the format of its libraries in its own way."""

MOOD = Field("mood", FieldType.TEXT, "how it feels")


@pytest.fixture(params=["milvus", "sqlite"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def earlier(backend: str, tmp_path: Path) -> Settings:
    """A small library of commit c387532, of each backend."""
    with tarfile.open(DATA / "library-c387532.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    for registry in (tmp_path / backend).glob("*.vaults"):
        registry.write_text(registry.read_text("utf-8").replace("/campaign", str(tmp_path)), "utf-8")
    return of(tmp_path / backend, backend)


def of(folder: Path, backend: str) -> Settings:
    """Settings of a library in a folder."""
    paths = {"milvus_db_path": folder / "milvus.db", "sqlite_db_path": folder / "cache.db"}
    return settings(cache_backend=backend, offline=1, **paths)


def hashing(chosen: Settings) -> SearchCache:
    """The library, embedded by hashing."""
    return open_cache(chosen, EmbeddingService(lambda: HashingProvider(64)))


def entities_of(path: Path) -> list[Entity]:
    """What an SQLite file of ours holds, read as it stands."""
    with closing(sqlite3.connect(path)) as c:
        return [
            unpack(t, r) for t in types_of(c) for (r,) in c.execute(f"SELECT record FROM {t} ORDER BY document, slug")
        ]


def renewed(entity: Entity) -> Entity:
    """An entity with the filter values that today's rules give."""
    return replace(entity, fields=derive_fields(entity))


def types_of(c: sqlite3.Connection) -> list[str]:
    """The entity types that have a table."""
    return [t for t in COLLECTIONS if c.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [t]).fetchone()]


def entities_file(chosen: Settings) -> Path:
    """The SQLite file of a library that holds its entities."""
    path = chosen.library_path
    return path if chosen.cache_backend == "sqlite" else path.with_name(f"{path.name}.keywords")


# --- of a format before ------------------------------------------------------------------------------------------------


async def test_a_library_of_an_earlier_format_is_refused_with_the_command_that_makes_it_again(
    earlier: Settings,
) -> None:
    before = contents(earlier.library_path.parent)
    async with Library.from_settings(earlier) as library:
        for call in (
            library.cache.count_entities("spells"),
            library.cache.rank_keyword("spells", "fire"),
            library.cache.rank_semantic("spells", "fire"),
            library.cache.store_entities([make("x")], "spells"),
            library.cache.delete_document("own", "spells"),
            library.cache.reindex(),
        ):
            with pytest.raises(CacheError, match=r"earlier format .*nothing was changed\. Run 'lorekeeper repair'"):
                await call
    assert any("Run 'lorekeeper repair'" in message for message in await problems_of(earlier))
    assert contents(earlier.library_path.parent) == before


async def test_that_command_keeps_every_entry_and_all_that_is_beside_and_embeds_nothing(
    earlier: Settings, tmp_path: Path
) -> None:
    entities, folder = entities_of(entities_file(earlier)), earlier.library_path.parent
    own = {path: path.read_bytes() for path in folder.iterdir() if path.suffix in (".people", ".vaults", ".shares")}
    report = await repair(earlier)
    assert (sum(report.kept.values()), report.embedded) == (ENTRIES_BEFORE, 0)
    assert report.aside
    assert Path(report.aside).exists()
    assert ".earlier-" in report.aside, "nothing of it is damaged"
    assert {path: path.read_bytes() for path in own} == own != {}
    assert [person.name for person in People(folder / f"{earlier.library_path.name}.people").everyone()] == ["Ash"]
    file = tmp_path / "new.json"
    file.write_text('{"collection": "spells", "name": "Frost Step", "description": "You step out of ice."}', "utf-8")
    async with Library.from_settings(earlier) as library:
        stored = [entity for t in COLLECTIONS for entity in await everything(library.cache, t)]
        assert stored == [replace(entity, fields=derive_fields(entity)) for entity in entities]
        assert [vault.key for vault in library.vaults.registry.vaults()] == ["vault"]
        view = library.view(Viewer.player())
        await view.refresh()
        assert [note.name for note in await view.cache.get_entities("notes")] == ["Gull Market"]
        assert (await view.search(Query(("notes",), "drowned king", mode="keyword"))).total == 0
        assert library.embedding.computed == 0
        for question, by_type in RANKINGS.items():
            for entity_type, ranking in by_type.items():
                found = await library.cache.rank_semantic(entity_type, question, 10)
                assert ["/".join(ranked.identity) for ranked in found] == [identity for identity, _ in ranking]
                assert [ranked.score for ranked in found] == pytest.approx([score for _, score in ranking], abs=1e-4)
        assert library.embedding.computed <= len(RANKINGS), "only the questions may be embedded"
        assert (await library.import_paths([file])).stored == 1
    assert (await repair(earlier)).aside is None


async def test_an_earlier_library_is_migrated_to_another_one(earlier: Settings, tmp_path: Path) -> None:
    target = settings(cache_backend="sqlite", sqlite_db_path=tmp_path / "new.db", offline=1)
    report = await migrate(target, earlier.library_path)
    assert (report.total("stored"), report.failed, report.embedded) == (ENTRIES_BEFORE, [], 0)


@pytest.mark.parametrize("backend", ["milvus"])
async def test_an_index_of_an_earlier_layout_is_made_again_from_the_collections(backend: str, tmp_path: Path) -> None:
    chosen = of(tmp_path, backend)
    await filled(chosen, tmp_path)
    with closing(sqlite3.connect(entities_file(chosen))) as c:
        c.execute("PRAGMA user_version = 7")
        c.execute("DELETE FROM spells WHERE slug = 's1'")
        c.commit()
    async with hashing(chosen) as cache:
        assert await cache.count_entities("spells") == len(await cache.rank_semantic("spells", "spell")) == 6


@pytest.mark.slow
def test_the_command_line_says_what_was_done(backend: str, earlier: Settings) -> None:
    folder = earlier.library_path.parent
    env = environment(folder, CACHE_BACKEND=backend)
    refused = run_lorekeeper(folder, "stats", env=env)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "lorekeeper repair" in refused.stderr
    repaired = " ".join(run_lorekeeper(folder, "repair", env=env).stdout.split())
    assert "Saved: " in repaired
    assert repaired.count("earlier format") == 1, "what is true of all types is said once"
    assert json.loads(run_lorekeeper(folder, "stats", "--json", env=env).stdout)["total"] == ENTRIES_BEFORE


async def test_an_archive_that_does_not_name_its_fields_is_refused(earlier: Settings, tmp_path: Path) -> None:
    await repair(earlier)
    await backup(earlier, tmp_path / "backup.zip")
    with ZipFile(tmp_path / "backup.zip") as whole, ZipFile(tmp_path / "old.zip", "w") as old:
        for name in whole.namelist():
            content = whole.read(name)
            if name == "manifest.json":
                manifest = json.loads(content)
                del manifest["fields"]
                content = json.dumps(manifest).encode()
            old.writestr(name, content)
        old.comment = whole.comment
    seal(tmp_path / "old.zip")
    target = settings(cache_backend="sqlite", sqlite_db_path=tmp_path / "new.db", offline=1)
    shutil.copyfile(earlier.library_path.with_name("vectors.db"), tmp_path / "vectors.db")
    with pytest.raises(ImportFileError, match="no longer reads"):
        await restore(target, tmp_path / "old.zip")
    assert (await restore(target, tmp_path / "backup.zip")).stored == ENTRIES_BEFORE


# --- types that are added ----------------------------------------------------------------------------------------------


@contextmanager
def without_notes() -> Iterator[None]:
    """An earlier version, which did not have that type; afterwards the types have their order again, which processes compare."""
    current = dict(COLLECTIONS)
    del COLLECTIONS["notes"]
    try:
        yield
    finally:
        COLLECTIONS.clear()
        COLLECTIONS.update(current)


async def test_a_library_that_only_lacks_a_type_gets_it_without_being_copied(
    any_backend: Settings, tmp_path: Path
) -> None:
    with without_notes():
        await filled(any_backend, tmp_path)
    files = {path: path.stat().st_ino for path in [entities_file(any_backend)] if path.exists()}
    service = EmbeddingService(lambda: HashingProvider(64))
    async with open_cache(any_backend, service) as cache:
        assert (await cache.count_entities("spells"), await cache.count_entities("notes")) == (6, 0)
        assert {r.identity[1] for r in await cache.rank_keyword("spells", "spell")} == {f"s{n}" for n in range(6)}
        assert service.computed == 0
        await cache.store_entities([NOTE], "notes")
        assert await cache.get_entities("notes", tags="npc") == [NOTE]
    assert {path: path.stat().st_ino for path in files} == files


# --- later formats --------------------------------------------------------------------------------------------------------


def pretend_version(later: pytest.MonkeyPatch, version: str) -> None:
    """Let this process write libraries as a program of another version does."""
    modules = [m for name, m in sys.modules.items() if name.startswith("lorekeeper.cache.") and hasattr(m, "VERSION")]
    assert modules
    for module in modules:
        later.setattr(module, "VERSION", version)


async def test_a_library_of_a_later_version_is_refused_and_left_alone(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = of(tmp_path, backend)
    with monkeypatch.context() as later:
        pretend_version(later, "99.1.0")
        later.setitem(COLLECTIONS, "spells", with_fields("spells", MOOD))
        async with hashing(chosen) as cache:
            await cache.store_entities([make("grim", mood="grim")], "spells")
    before = contents(tmp_path)
    async with hashing(chosen) as cache:
        for call in (cache.count_entities("spells"), cache.store_entities([make("x")], "spells"), cache.reindex()):
            with pytest.raises(CacheError, match=rf"LoreKeeper 99\.1\.0.*LoreKeeper {VERSION} cannot read.*Update"):
                await call
    assert contents(tmp_path) == before
    with monkeypatch.context() as later:
        pretend_version(later, "99.1.0")
        later.setitem(COLLECTIONS, "spells", with_fields("spells", MOOD))
        async with hashing(chosen) as cache:
            assert await cache.count_entities("spells", mood="grim") == 1


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a library: SQLite's own come and go, and a type that is opened writes its log again."""
    own = [path for path in sorted(folder.rglob("*")) if path.suffix == ".parquet"]
    own += [path for name in ("cache.db", "milvus.db.keywords") if (path := folder / name).is_file()]
    return {str(path): path.read_bytes() for path in own}


# --- fields that are added, removed and revised ---------------------------------------------------------------------------


def with_fields(entity_type: str, *added: Field, without: str = "") -> Any:
    """The declaration of a type with other fields."""
    collection = COLLECTIONS[entity_type]
    return replace(collection, fields=(*(f for f in collection.fields if f.name != without), *added))


@pytest.fixture(params=[pytest.param(name, marks=MARKS.get(name, [])) for name in STORES])
def any_backend(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of an empty library, of each backend."""
    return BACKENDS[request.param](tmp_path, request)


ENTRIES = [
    {"collection": "spells", "name": f"Spell {n}", "slug": f"s{n}", "level": n, "mood": "Grim" if n % 2 else "gay"}
    for n in range(6)
]


async def filled(chosen: Settings, folder: Path) -> None:
    """Import `ENTRIES` into an empty library."""
    file = folder / "entries.json"
    file.write_text(json.dumps(ENTRIES), "utf-8")
    service = EmbeddingService(lambda: HashingProvider(64))
    async with Library(open_cache(chosen, service), service) as library:
        assert (await library.import_paths([file])).stored == 6


async def test_a_library_with_other_fields_is_made_again_with_those_of_today(
    any_backend: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(any_backend, tmp_path)
    monkeypatch.setitem(COLLECTIONS, "spells", with_fields("spells", MOOD))
    monkeypatch.setattr("lorekeeper.opening.load_provider", lambda _: HashingProvider(64))
    async with hashing(any_backend) as cache:
        with pytest.raises(CacheError, match=r"earlier format \(layout \d, with other fields of spells\)") as refused:
            await cache.count_entities("spells")
    chosen = any_backend
    if any_backend.milvus_uri:
        command, path = str(refused.value).removesuffix("'").rsplit(" ", 2)[1:]
        assert command == "migrate"
        chosen = settings(cache_backend="sqlite", sqlite_db_path=tmp_path / "other" / "cache.db")
        assert (await migrate(chosen, Path(path))).total("stored") == 6
    else:
        assert sum((await repair(chosen)).kept.values()) == 6
    service = EmbeddingService(lambda: HashingProvider(64))
    async with Library(open_cache(chosen, service), service) as library:
        cache = library.cache
        assert [e.slug for e in await cache.get_entities("spells", mood="grim")] == ["s1", "s3", "s5"]
        assert {r.identity[1] for r in await cache.rank_keyword("spells", "spell", mood="grim")} == {"s1", "s3", "s5"}
        assert {r.identity[1] for r in await cache.rank_semantic("spells", "spell", mood="grim")} == {"s1", "s3", "s5"}
        assert (await library.import_paths([tmp_path / "entries.json"])).unchanged == 6
        assert await cache.count_entities("spells", level_min=2) == 4


async def test_a_backup_with_other_fields_is_brought_to_those_of_today(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = of(tmp_path, backend)
    with monkeypatch.context() as earlier:
        earlier.setitem(COLLECTIONS, "spells", with_fields("spells", replace(MOOD, name="gone"), without="level"))
        await filled(chosen, tmp_path)
        await backup(chosen, tmp_path / "backup.zip")
    other = of(tmp_path / "other", backend)
    with monkeypatch.context() as later:
        later.setitem(COLLECTIONS, "spells", with_fields("spells", MOOD))
        later.setattr("lorekeeper.opening.load_provider", lambda _: HashingProvider(64))
        assert (await restore(other, tmp_path / "backup.zip")).stored == 6
        async with hashing(other) as cache:
            assert await cache.count_entities("spells", mood="grim", level_min=2) == 2


async def problems_of(chosen: Settings) -> list[str]:
    """What `doctor` finds wrong with a library."""
    findings = await examine(chosen, dict.fromkeys(Settings.model_fields, ""))
    return [check.message for check in findings.checks if not check.ok]
