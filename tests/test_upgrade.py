"""Libraries of other formats: earlier ones are upgraded from their own copies, later ones are refused and left alone."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lorekeeper
from lorekeeper.cache import formats
from lorekeeper.cache.milvus import embedded, failover
from lorekeeper.cache.milvus.description import described
from lorekeeper.cache.milvus.failover import EmbeddedBackend
from lorekeeper.cache.protocol import SearchCache
from lorekeeper.cache.sqlite.records import unpack
from lorekeeper.cache.vectors import unpack_vector
from lorekeeper.composition import open_cache, open_store
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import COLLECTIONS, Entity, Field, FieldType
from lorekeeper.errors import CacheError, LoreKeeperError, UpgradingError
from lorekeeper.library import Library
from lorekeeper.maintenance.backup import backup, restore
from lorekeeper.maintenance.doctor import examine
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.settings import Settings
from lorekeeper.version import VERSION
from tests.support.backends import BACKENDS, MARKS
from tests.support.commands import ROOT, environment, run_lorekeeper, variables
from tests.support.earlier_version import EarlierProgram, extract
from tests.support.entities import everything, make
from tests.support.libraries import settings

DATA = Path(__file__).parent / "data"

NUMBER = 200
"""Spells of the library that is killed while it is upgraded."""

KILLS = 4
"""Kills while that library is upgraded, for each that ``--kills`` asks for."""

NOTE = Entity("notes", "Ash.md", "Ash", "npc", "mine", "vault", {"path": "Ash.md"}, {"tags": ("npc",)})

STORES = ("milvus", "milvus-server", "milvus-standalone", "sqlite")
"""Backends whose libraries are upgraded each in its own way."""

MOOD = Field("mood", FieldType.TEXT, "how it feels")


@pytest.fixture(scope="session")
def earlier_code(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of commit c387532."""
    return extract(tmp_path_factory.mktemp("earlier"))


@pytest.fixture(scope="session")
def earlier_folder(earlier_code: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Libraries of `NUMBER` spells that commit c387532 has written, in folders named after their backends."""
    folder = tmp_path_factory.mktemp("libraries")
    for backend in ("milvus", "sqlite"):
        with EarlierProgram(earlier_code, variables(folder / backend, backend)) as program:
            assert program.store(NUMBER) == NUMBER
    return folder


@pytest.fixture(params=["milvus", "sqlite"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def earlier(backend: str, tmp_path: Path) -> Settings:
    """A small library of commit c387532, of each backend."""
    with tarfile.open(DATA / "library-c387532.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
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


def vectors_of(chosen: Settings) -> dict[tuple[Any, ...], bytes]:
    """The vectors of a library, read as they stand, by type, entity and passage."""
    if chosen.cache_backend == "sqlite":
        with closing(sqlite3.connect(chosen.sqlite_db_path)) as c:
            sql = "SELECT document, slug, part, key, vector FROM {0} JOIN {0}_passages ON entity = id"
            rows = [(t, *row) for t in types_of(c) for row in c.execute(sql.format(t))]
        found = {(t, d, s, p): unpack_vector(key, vector) for t, d, s, p, key, vector in rows}
        return {key: vector.tobytes() for key, vector in found.items() if vector is not None}
    lite = EmbeddedBackend(chosen.milvus_db_path)
    try:
        names = [t for t in COLLECTIONS if lite.has_collection(t)]
        rows = [(t, row) for t in names for row in lite.query(t, "", ["document", "slug", "part", "vector"])]
        return {
            (t, r["document"], r["slug"], r["part"]): np.asarray(r["vector"], np.float32).tobytes() for t, r in rows
        }
    finally:
        lite.close()


def copies_of(chosen: Settings) -> list[Path]:
    """The SQLite files of a library that hold its entities."""
    path = chosen.library_path
    return [path if chosen.cache_backend == "sqlite" else path.with_name(f"{path.name}.keywords")]


def parts_left(chosen: Settings) -> list[str]:
    """What upgrades have left beside a library, or in it."""
    names = [path.name for path in chosen.library_path.parent.iterdir() if "upgrade" in path.name]
    if chosen.cache_backend == "milvus":
        names += [path.name for path in (chosen.milvus_db_path / "collections").iterdir() if "upgrade" in path.name]
    return names


# --- what an upgrade keeps -----------------------------------------------------------------------------------------------


async def test_every_entity_and_every_vector_is_kept_and_no_text_is_embedded(earlier: Settings) -> None:
    entities, vectors = [entities_of(path) for path in copies_of(earlier)], vectors_of(earlier)
    assert len(entities[0]) == 24
    assert len(vectors) >= 24
    async with Library.from_settings(earlier) as library:
        stored = [entity for t in COLLECTIONS for entity in await everything(library.cache, t)]
        assert stored == [renewed(e) for e in entities[0]]
        assert (await library.statistics()).counts["spells"] > 1
        assert library.embedding.computed == 0
    assert [entities_of(path) for path in copies_of(earlier)] == [[renewed(e) for e in copy] for copy in entities]
    assert vectors_of(earlier) == vectors
    assert parts_left(earlier) == []
    if earlier.cache_backend == "milvus":
        lite = EmbeddedBackend(earlier.milvus_db_path)
        description = described(lite.description("spells"))
        assert description
        assert description["format"] == 3
        lite.close()


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
    files = {path: path.stat().st_ino for path in copies_of(any_backend) if path.exists()}
    service = EmbeddingService(lambda: HashingProvider(64))
    async with open_cache(any_backend, service) as cache:
        assert (await cache.count_entities("spells"), await cache.count_entities("notes")) == (6, 0)
        assert {r.identity[1] for r in await cache.rank_keyword("spells", "spell")} == {f"s{n}" for n in range(6)}
        assert service.computed == 0
        await cache.store_entities([NOTE], "notes")
        assert await cache.get_entities("notes", tags="npc") == [NOTE]
    assert {path: path.stat().st_ino for path in files} == files


@pytest.mark.slow
def test_the_command_line_upgrades_and_says_so_in_its_log(backend: str, earlier: Settings) -> None:
    folder = earlier.library_path.parent
    env = environment(folder, CACHE_BACKEND=backend, LOG_LEVEL="INFO")
    ran = run_lorekeeper(folder, "stats", "--json", env=env)
    assert json.loads(ran.stdout)["total"] == 24
    assert "upgrading" in ran.stderr
    assert "upgrading" not in run_lorekeeper(folder, "stats", "--json", env=env).stderr


# --- questions meanwhile -------------------------------------------------------------------------------------------------


class _Gate:
    """Lets only so many entries be normalised again until it is opened."""

    def __init__(self, number: int) -> None:
        self._left, self._open, self.reached = number, threading.Event(), threading.Event()

    def __call__(self, entity: Entity) -> Any:
        if self._left == 0:
            self.reached.set()
            self._open.wait()
        self._left = max(0, self._left - 1)
        return derive_fields(entity)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Gate]:
    made = _Gate(5)
    monkeypatch.setattr("lorekeeper.normalize.derive_fields.derive_fields", made)
    monkeypatch.setattr(formats, "ANSWER_SECONDS", 0.2)
    yield made
    made.open()


async def test_a_question_is_answered_with_the_progress_while_the_library_is_upgraded(
    earlier: Settings, gate: _Gate
) -> None:
    async with Library.from_settings(earlier) as library:
        for _ in range(2):
            refused = r"being (opened|upgraded to the format of LoreKeeper .*)\. Ask again in a moment"
            with pytest.raises(UpgradingError, match=refused), library.questions.one():
                await library.cache.get_entities("spells")
            await asyncio.to_thread(gate.reached.wait)
        with (
            pytest.raises(UpgradingError, match=r"once: .*, \d+ of [1-9]\d* entries so far\."),
            library.questions.one(),
        ):
            await library.statistics()
        gate.open()
        found = await library.cache.get_entities("spells")  # which waits
        with library.questions.one():
            assert await library.cache.get_entities("spells") == found
        assert found == [renewed(entity) for entity in found]


# --- killed -------------------------------------------------------------------------------------------------------------------

KILLER = """
import json, os, random, shutil, signal, sys, time
from pathlib import Path
from lorekeeper.composition import open_store
from lorekeeper.settings import load_settings
import milvus_lite, pyarrow.dataset, faiss  # once, for all children

folder, environ, kills, seed = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
chance = random.Random(seed)
open_store(load_settings(environ, Path("no.env"))[0])
saved = folder.with_name(folder.name + "-saved")
shutil.copytree(folder, saved)


def begin():
    child = os.fork()
    if child == 0:
        store = open_store(load_settings(environ, Path("no.env"))[0])
        store.upgrade()
        store.close()
        os._exit(0)
    return child


def again():
    shutil.rmtree(folder)
    shutil.copytree(saved, folder)


began = time.monotonic()
assert os.waitpid(begin(), 0)[1] == 0
seconds = time.monotonic() - began
again()
killed = ended = 0
while killed < kills:
    child = begin()
    time.sleep(chance.uniform(0.0, seconds / 2))
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), f"an upgrade failed: {status}"
    if status == signal.SIGKILL:
        killed += 1
    else:
        ended += 1
        again()
print(killed, ended, round(seconds, 2))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
async def test_killed_at_any_moment_it_loses_nothing(
    backend: str, earlier_folder: Path, tmp_path: Path, seed: int, kills: int
) -> None:
    number = KILLS * kills
    folder = shutil.copytree(earlier_folder / backend, tmp_path / "library")
    chosen = of(folder, backend)
    entities, vectors = entities_of(copies_of(chosen)[0]), vectors_of(chosen)
    environ = json.dumps(variables(folder, backend))
    ran = await asyncio.to_thread(
        lambda: subprocess.run(
            [sys.executable, "-c", KILLER, str(folder), environ, str(number), str(seed)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    )
    print(f"seed {seed}: killed, ended, seconds of an upgrade: {ran.stdout.strip()} {ran.stderr}")
    assert ran.stdout.startswith(f"{number} ")
    async with hashing(chosen) as cache:
        assert await everything(cache) == entities
        assert len(await cache.rank_semantic("spells", "text", NUMBER * 2)) == NUMBER
        assert await cache.count_entities("spells", level=3) == NUMBER // 10
    assert vectors_of(chosen) == vectors
    assert parts_left(chosen) == []


# --- two versions at once -------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_a_milvus_library_that_an_earlier_version_has_open_is_refused_and_the_other_way_round(
    earlier_code: Path, earlier_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failover, "OPEN_SECONDS", 0.2)
    folder = shutil.copytree(earlier_folder / "milvus", tmp_path / "library")
    chosen = of(folder, "milvus")
    with EarlierProgram(earlier_code, variables(folder)) as program:
        assert program.count() == NUMBER
        async with hashing(chosen) as cache:
            for call in (cache.count_entities("spells"), cache.store_entities([make("x")], "spells")):
                with pytest.raises(CacheError, match=r"LoreKeeper 0\.1\.0.*older") as refused:
                    await call
                assert lorekeeper.__version__ in str(refused.value)
        assert program.count() == NUMBER
    async with hashing(chosen) as cache:
        assert await cache.count_entities("spells") == NUMBER
        with EarlierProgram(earlier_code, variables(folder)) as program:
            assert "cannot share it with this LoreKeeper" in program.count()
            assert "cannot share it with this LoreKeeper" in program.store(2)
        assert await cache.count_entities("spells") == NUMBER
    with EarlierProgram(earlier_code, variables(folder)) as program:
        assert "in a format (layout 8)" in program.count()
    async with hashing(chosen) as cache:
        assert len(await everything(cache)) == NUMBER


@pytest.mark.slow
async def test_a_library_on_a_server_is_upgraded_from_its_own_collections(
    earlier_code: Path, empty_milvus_server: str, tmp_path: Path
) -> None:
    environ = {**variables(tmp_path / "one"), "LOREKEEPER_MILVUS_URI": empty_milvus_server}
    with EarlierProgram(earlier_code, environ) as program:
        assert program.store(100) == 100
    chosen = settings(milvus_db_path=tmp_path / "one" / "milvus.db", milvus_uri=empty_milvus_server)
    service = EmbeddingService(lambda: HashingProvider(64))
    large = make("large", data={"desc": "Large.", "noise": "x" * 70_000})
    async with open_cache(chosen, service) as cache:
        stored = await everything(cache)
        assert service.computed == 0
        assert sorted(e.slug for e in stored) == sorted(f"s{n}" for n in range(100))
        assert stored[0].data["mood"] == "grim"
        assert await cache.count_entities("spells", level=3) == 10
        assert [h.entity.name for h in await cache.semantic_search("spells", "S7 Text 7.", 1)] == ["S7"]
        assert len(await cache.keyword_search("spells", "text", 200)) == 100
        assert await cache.store_entities([large], "spells") == 1
        assert await cache.get_entity("spells", "own", "large") == large


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
    """The files of a library: SQLite's own beside them come and go, and a type that is opened writes its log again."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): path.read_bytes() for path in files if path.suffix in (".db", ".parquet", ".keywords")}


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


async def test_a_field_that_is_added_takes_its_values_from_the_stored_data(
    any_backend: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(any_backend, tmp_path)
    monkeypatch.setitem(COLLECTIONS, "spells", with_fields("spells", MOOD))
    service = EmbeddingService(lambda: HashingProvider(64))
    async with Library(open_cache(any_backend, service), service) as library:
        cache = library.cache
        assert [e.slug for e in await cache.get_entities("spells", mood="grim")] == ["s1", "s3", "s5"]
        assert {r.identity[1] for r in await cache.rank_keyword("spells", "spell", mood="grim")} == {"s1", "s3", "s5"}
        assert service.computed == 0
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


# --- failures -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def obstacle(backend: str, earlier: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """Lets every upgrade fail until it is called: a folder stands in the new file's place, the disk has too little space."""
    folder = earlier.library_path.with_name(f"{copies_of(earlier)[0].name}.upgraded")
    with monkeypatch.context() as patch:
        if backend == "milvus":
            patch.setattr(embedded, "LOW_SPACE_BYTES", 2**60)
        else:
            (folder / "full").mkdir(parents=True)

        def remove() -> None:
            patch.undo()
            shutil.rmtree(folder, ignore_errors=True)

        yield remove


async def test_a_library_that_cannot_be_upgraded_is_read_as_it_is_and_not_written(
    earlier: Settings, obstacle: Callable[[], None], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COLLECTIONS, "spells", with_fields("spells", MOOD))
    monkeypatch.setitem(COLLECTIONS, "songs", replace(COLLECTIONS["rules"], name="songs", tool=None))
    before = entities_of(copies_of(earlier)[0])
    new = make("x", mood="grim")
    async with Library.from_settings(earlier) as library:
        cache = library.cache
        stored = [e for t in COLLECTIONS for e in await everything(cache, t)]
        assert [replace(e, fields={}) for e in stored] == [replace(e, fields={}) for e in before]
        spells = await cache.count_entities("spells")
        assert len(await cache.get_entities("spells", level_max=9)) == spells
        assert await cache.count_entities("spells", mood="grim") == 0
        assert await cache.count_entities("songs") == 0
        assert await cache.rank_semantic("spells", "fire", mood="grim") == []
        assert len(await cache.rank_semantic("spells", "fire")) == spells
        assert await cache.rank_keyword("spells", before[0].name)
        with pytest.raises(LoreKeeperError, match="nothing was written"):
            await cache.store_entities([new], "spells")
        assert "could not be upgraded, and is read as it is" in caplog.text
        assert any("free" in message or "cannot be used" in message for message in await problems_of(earlier))
        assert list(map(renewed, entities_of(copies_of(earlier)[0]))) == list(map(renewed, before))
        obstacle()
        assert await cache.store_entities([new], "spells") == 1
        assert await cache.count_entities("spells", mood="grim") == 1
        assert await cache.count_entities("spells") == spells + 1


async def problems_of(chosen: Settings) -> list[str]:
    """What `doctor` finds wrong with a library."""
    findings = await examine(chosen, dict.fromkeys(Settings.model_fields, ""))
    return [check.message for check in findings.checks if not check.ok]


def test_of_two_that_open_a_library_at_once_one_upgrades_it(
    earlier: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "lorekeeper")
    stores = [open_store(earlier) for _ in range(2)]
    asyncio.run(_all(store.upgrade for store in stores))
    assert stores[0].content_hashes("spells") == stores[1].content_hashes("spells") != {}
    assert len([r for r in caplog.messages if r.startswith("upgrading spells") or "upgrading the library" in r]) == 1
    for store in stores:
        store.close()


async def _all(calls: Iterable[Callable[[], None]]) -> None:
    await asyncio.gather(*(asyncio.to_thread(call) for call in calls))
