"""The ready library of the wheel: what a new library begins as, and when it does not."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier
from zipfile import ZipFile

import pytest

from lorekeeper.cache.async_cache import ThreadedCache
from lorekeeper.cache.milvus import bundled_library
from lorekeeper.cache.milvus.embedded import EmbeddedStore
from lorekeeper.cache.store import Store
from lorekeeper.composition import open_cache, open_store, vector_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.embedding.model import default_space, known_space
from lorekeeper.filters import Selection
from lorekeeper.intake.bundled_library import ReadyLibrary
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.text.phrases import RULES_2024
from lorekeeper.views.view import STARTED
from scripts.build_ready_library import build
from tests.support.commands import run_lorekeeper
from tests.support.entities import batch
from tests.support.libraries import need_books, settings
from tests.support.programs import ask_new_library, command_of
from tests.support.tools import text_of

SPACE = default_space().fingerprint

CLIFF = Query(types=["spells"], text="we are falling off a cliff", mode="keyword")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ready library with few of the first books."""
    need_books()
    file = tmp_path_factory.mktemp("ready") / "library.zip"
    asyncio.run(build(file))
    return file


def new_library(folder: Path, archive: Path) -> Library:
    """The library in a folder, which begins as a copy."""
    chosen = settings(milvus_db_path=folder / "milvus.db")
    embedding = EmbeddingService(default_space, vector_cache(chosen))
    cache = open_cache(chosen, embedding)
    return Library(cache, embedding, imports=folder / "milvus.db.imports", ready=ReadyLibrary(archive, SPACE))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The store of a library that does not exist."""
    opened = open_store(settings(milvus_db_path=tmp_path / "new" / "milvus.db"))
    yield opened
    opened.close()


async def test_a_new_library_begins_as_a_copy_and_says_so_once(tmp_path: Path, archive: Path) -> None:
    async with new_library(tmp_path, archive) as library:
        first, second = await library.search(CLIFF), await library.search(CLIFF)
        assert first.results[0].entity.name == "Feather Fall"
        assert STARTED in (first.note or "")
        assert STARTED not in (second.note or "")
        assert (library.store.embedding_of("spells") or "").startswith(SPACE)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_entity", {"uri": "lore://spells/srd-2014/feather-fall"}),
        ("gather_topic", {"topic": "Feather Fall"}),
        ("list_documents", {}),
    ],
)
async def test_the_first_call_waits_for_the_first_books_whatever_it_asks(
    tool: str, arguments: dict[str, str], tmp_path: Path, archive: Path
) -> None:
    async with new_library(tmp_path, archive) as library:
        assert ("srd-2014" if tool == "list_documents" else "falling") in await text_of(library, tool, **arguments)


async def test_a_library_of_which_only_statistics_were_asked_begins_as_a_copy(tmp_path: Path, archive: Path) -> None:
    run = run_lorekeeper(tmp_path, "stats")
    assert "0 entries" in run.stdout
    async with new_library(tmp_path, archive) as library:
        assert STARTED in ((await library.search(CLIFF)).note or "")


async def test_the_copy_is_what_loading_the_entries_gives(tmp_path: Path, archive: Path) -> None:
    async with new_library(tmp_path, archive) as library:
        await library.open()
        report = await library.load_starter()
        assert (report.stored, report.unchanged > 100) == (0, True)
        assert (await library.cache.get_entity("spells", "srd-2014", "feather-fall")) is not None


def test_the_first_answer_takes_no_rules_of_sources_and_no_client(tmp_path: Path, archive: Path) -> None:
    program = command_of(ask_new_library, tmp_path, archive)
    loaded = set(subprocess.run(program, capture_output=True, text=True, check=True, timeout=200).stdout.split())
    assert "milvus_lite" not in loaded, "a copy is read as what it is a copy of"
    assert loaded & {"lorekeeper.normalize", "lorekeeper.intake.files", "httpx", "rich", "yaml"} == set()


async def test_files_of_the_copy_are_private(tmp_path: Path, archive: Path) -> None:
    async with new_library(tmp_path, archive) as library:
        await library.open(["spells"])
        files = [path for path in tmp_path.rglob("*") if path.name.startswith("milvus.db")]
        assert len(files) > 3
        assert not [path for path in files if path.stat().st_mode & 0o077]


async def test_a_library_that_exists_stays_as_it_is(tmp_path: Path, archive: Path) -> None:
    async with new_library(tmp_path, archive) as library:
        await library.import_paths([RULES_2024 / "documents.jsonl"])
        page = await library.search(CLIFF)
        assert (page.total, STARTED in (page.note or "")) == (0, False)


def test_another_vector_space_or_package_is_not_copied(
    store: Store, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not ReadyLibrary(archive, None).copy_to(store, "another model")
    monkeypatch.setattr("lorekeeper.intake.bundled_library.rules", lambda: "other rules")
    assert not ReadyLibrary(archive, None).copy_to(store, SPACE)
    assert store.is_new()


@pytest.mark.parametrize("kept", [0.5, 1.0], ids=["truncated", "altered"])
def test_a_damaged_archive_leaves_nothing(
    kept: float, store: Store, archive: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged, content = tmp_path / "damaged.zip", bytearray(archive.read_bytes())
    content[len(content) // 3] ^= 0xFF
    damaged.write_bytes(content[: int(len(content) * kept)])
    with caplog.at_level(logging.WARNING):
        assert not ReadyLibrary(damaged, None).copy_to(store, SPACE)
    assert "cannot be used" in caplog.text
    assert store.is_new()
    assert {path.name for path in tmp_path.glob("new/*")} <= {"milvus.db.keywords.lock"}


def test_a_python_without_lzma_leaves_nothing(
    store: Store, archive: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lzma", None)
    assert not ReadyLibrary(archive, None).copy_to(store, SPACE)
    assert "built without lzma" in caplog.text
    assert store.is_new()


def test_the_vectors_that_collections_and_companion_share_are_packed_once(archive: Path, store: Store) -> None:
    with ZipFile(archive) as opened:
        assert store.unpack(opened)
    folder = store.path.parent  # type: ignore[attr-defined]
    files = [file.read_bytes() for file in folder.rglob("*") if file.is_file()]
    assert archive.stat().st_size < 0.8 * sum(len(zlib.compress(content, 9)) for content in files)


def test_of_several_at_a_time_one_makes_the_library(tmp_path: Path, archive: Path) -> None:
    chosen, together = settings(milvus_db_path=tmp_path / "milvus.db"), Barrier(4)
    with ExitStack() as opened, ThreadPoolExecutor(4) as threads:
        stores = [open_store(chosen) for _ in range(4)]
        for store in stores:
            opened.callback(store.close)

        def copied(store: Store) -> bool:
            together.wait()
            return ReadyLibrary(archive, None).copy_to(store, SPACE)

        assert sum(threads.map(copied, stores)) == 1


async def test_what_another_process_makes_meanwhile_stays(
    tmp_path: Path, archive: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_store(settings(milvus_db_path=tmp_path / "new" / "milvus.db"))
    settle = bundled_library._settle

    def opened_by_another(file: Path) -> None:
        settle(file)
        other.open(["spells"])

    monkeypatch.setattr(bundled_library, "_settle", opened_by_another)
    async with ThreadedCache(other, EmbeddingService(lambda: HashingProvider(64))) as cache:
        assert not await asyncio.to_thread(ReadyLibrary(archive, None).copy_to, store, SPACE)
        await cache.store_entities(batch("a", 0, 3), "spells")
    assert store.ask("count", int, Selection("spells")) == 3, "the companion is the other's too"


def test_a_companion_that_was_made_meanwhile_stays_and_gets_the_entries(
    tmp_path: Path, archive: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle, companion = bundled_library._settle, tmp_path / "new" / "milvus.db.keywords"

    def made_by_another(file: Path) -> None:
        settle(file)
        companion.touch()

    monkeypatch.setattr(bundled_library, "_settle", made_by_another)
    assert ReadyLibrary(archive, None).copy_to(store, SPACE)
    assert companion.stat().st_size == 0
    store.open(["spells"])
    assert store.ask("count", int, Selection("spells")) > 30


def test_an_open_library_is_not_replaced(store: Store, archive: Path) -> None:
    store.open(["spells"])
    with ZipFile(archive) as opened:
        assert not store.unpack(opened)


def test_other_places_are_never_new(tmp_path: Path) -> None:
    assert isinstance(open_store(settings(milvus_db_path=tmp_path / "milvus.db")), EmbeddedStore)
    assert not open_store(settings(cache_backend="sqlite", sqlite_db_path=tmp_path / "cache.db")).is_new()
    assert not open_store(settings(milvus_uri="http://127.0.0.1:9")).is_new()


def test_the_space_is_known_beforehand_for_the_default_model_as_it_is() -> None:
    assert known_space(settings()) == SPACE
    assert known_space(settings(embedding_model="owner/other")) is None
    assert known_space(settings(query_prefix="query: ")) is None
    assert known_space(settings(embedding_provider="http", embedding_url="http://127.0.0.1:9")) is None
