"""The traps of Milvus Lite, each shown to be no danger to a library."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import stat
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from milvus_lite import MilvusLite

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.cache.sqlite.file import pack
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.errors import CacheError, EmbeddingError, MilvusConnectionError, MilvusSchemaError
from lorekeeper.text.passages import CHUNKER, passages
from tests.support.backends import Caches, drop_collections
from tests.support.commands import STARTER_RECORDS
from tests.support.entities import batch, everything, make
from tests.support.libraries import settings
from tests.support.library_process import Program
from tests.support.plain_milvus import index_files

Start = Callable[[], Program]


@pytest.fixture
def start(embedded: Caches) -> Iterator[Start]:
    """Starts other programs on the embedded library."""
    started: list[Program] = []

    def start() -> Program:
        started.append(Program({"LOREKEEPER_MILVUS_DB_PATH": str(embedded.settings.milvus_db_path)}))
        return started[-1]

    yield start
    for program in started:
        if program.process.poll() is None:
            program.kill()


async def role(cache: SearchCache) -> str:
    await cache.count_entities("spells")
    return (await cache.statistics()).details["role"]


async def sides(cache: SearchCache) -> list[set[str]]:
    """What the store, the keyword index and the vectors know, by slug; each entity once on each side."""
    stored = [e.slug for e in await everything(cache)]
    listed = [e.slug for e in await cache.get_entities("spells")]
    words = [r.identity[1] for r in await cache.rank_keyword("spells", "text", 10_000)]
    near = [r.identity[1] for r in await cache.rank_semantic("spells", "text", 10_000)]
    for side in (stored, listed, words, near):
        assert len(side) == len(set(side))
    return [set(stored), set(listed), set(words), set(near)]


def texts(prefix: str, count: int) -> set[str]:
    return {f"{prefix}{i}" for i in range(count)}


# --- several programs at one library -------------------------------------------------------------------------------


async def test_two_programs_share_a_library(embedded: Caches, start: Start) -> None:
    cache = embedded.open()
    await cache.store_entities(batch("a", 0, 10), "spells")
    other = start()
    assert await asyncio.to_thread(other.ask, "slugs") == sorted(texts("a", 10))
    assert await asyncio.to_thread(other.ask, "store", "b", 0, 10) == 10
    assert await sides(cache) == [texts("a", 10) | texts("b", 10)] * 4
    assert await role(cache) == "server"
    assert await asyncio.to_thread(other.ask, "role") == "client"


async def test_a_killed_server_is_replaced_by_the_next_caller_with_all_it_had_stored(
    embedded: Caches, start: Start
) -> None:
    server, cache = start(), embedded.open()
    assert server.ask("store", "a", 0, 50) == 50
    assert await role(cache) == "client"
    await cache.store_entities(batch("b", 0, 10), "spells")
    server.kill()
    assert await sides(cache) == [texts("a", 50) | texts("b", 10)] * 4
    assert await cache.store_entities(batch("c", 0, 10), "spells") == 10
    assert await role(cache) == "server"


async def test_a_regular_end_lets_go_of_the_library(embedded: Caches, start: Start) -> None:
    other = start()
    assert other.ask("store", "a", 0, 10) == 10
    assert other.ask("role") == "server"
    assert other.end() == ("", "")
    assert other.process.returncode == 0
    cache = embedded.open()
    assert await sides(cache) == [texts("a", 10)] * 4
    assert await cache.store_entities(batch("b", 0, 10), "spells") == 10
    assert await role(cache) == "server"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
async def test_the_end_of_a_forked_child_does_not_unlock_the_library(embedded: Caches, start: Start) -> None:
    server = start()
    server.ask("store", "a", 0, 5)
    assert server.ask("fork") == 0
    cache = embedded.open()
    assert await role(cache) == "client"
    assert await cache.store_entities(batch("b", 0, 5), "spells") == 5
    assert server.ask("slugs") == sorted(texts("a", 5) | texts("b", 5))


async def test_only_the_user_can_reach_a_shared_library(embedded: Caches) -> None:
    await embedded.open().store_entities(batch("a", 0, 1), "spells")
    runtime = Path(os.environ["XDG_RUNTIME_DIR"])
    sockets = [p for p in runtime.rglob("*") if p.is_socket()]
    assert sockets
    assert {stat.S_IMODE(s.parent.stat().st_mode) for s in sockets} == {0o700}


async def test_a_collection_that_another_program_creates_while_it_is_looked_for_is_found(
    embedded: Caches, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = embedded.open(), embedded.open()
    await first.open()
    second.store.companion.seal({"spells": ("", "other files")})  # type: ignore[attr-defined]
    collections = second.store.collections  # type: ignore[attr-defined]
    look, created = collections.info, list[int]()

    def info(entity_type: str) -> object:
        found = look(entity_type)
        if entity_type == "spells" and not created:
            assert found is None
            created.append(1)
            created.append(asyncio.run(first.store_entities(batch("b", 0, 10), "spells")))
        return found

    monkeypatch.setattr(collections, "info", info)
    await second.semantic_search("spells", "text", 5)
    assert created == [1, 10]
    assert len(await second.semantic_search("spells", "text", 5)) == 5


async def test_another_programs_new_model_is_seen(embedded: Caches) -> None:
    first, second = embedded.open(), embedded.open(HashingProvider(256))
    await first.store_entities(batch("a", 0, 5), "spells")
    with pytest.raises(EmbeddingError, match="lorekeeper reindex"):
        await second.semantic_search("spells", "text")
    assert await second.reindex() == 5
    assert len(await second.semantic_search("spells", "text")) == 5
    await first.close()
    with pytest.raises(EmbeddingError, match=r"hashing-256.*hashing-512.*lorekeeper reindex"):
        await first.semantic_search("spells", "text again")


# --- nothing acknowledged is lost ----------------------------------------------------------------------------------


async def test_rows_of_a_log_that_outlived_a_compaction_are_not_there_twice(embedded: Caches) -> None:
    cache, log = embedded.open(), embedded.settings.milvus_db_path / "collections" / "spells" / "wal"
    for start in range(0, 60, 20):
        await cache.store_entities(batch("a", start, 20), "spells")
    store = cache._store  # type: ignore[attr-defined]
    await asyncio.to_thread(_write_without_flush, store, batch("a", 60, 20))
    left = embedded.settings.milvus_db_path.with_name("log")
    shutil.copytree(log, left)
    await asyncio.to_thread(store.flush, "spells")
    await cache.close()
    left_by_compactions = Counter(file.parent for file in (log.parent / "partitions").rglob("*.parquet"))
    assert max(left_by_compactions.values()) == 1, "a compaction is what this is about"
    shutil.copytree(left, log, dirs_exist_ok=True)
    for _ in range(2):
        again = embedded.open()
        assert await sides(again) == [texts("a", 80)] * 4
        await again.close()


def _write_without_flush(store: Any, entities: list[Any]) -> None:
    cut = [(entity, passages(entity)) for entity in entities]
    provider = HashingProvider(512)
    vectors = provider.embed([p.embedded for _, found in cut for p in found])
    store.write("spells", cut, vectors, f"{provider.fingerprint} {CHUNKER}")


# --- places that hold no library -----------------------------------------------------------------------------------


async def refusal(path: Path, kind: type[CacheError] = CacheError) -> str:
    """What using a library at a path is answered with."""
    caches = Caches(settings(milvus_db_path=path))
    with pytest.raises(kind) as read:
        await caches.open().get_entities("spells")
    with pytest.raises(kind):
        await caches.open().store_entities(batch("a", 0, 1), "spells")
    await caches.close()
    assert str(path) in str(read.value)
    return str(read.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "plain file"), (b"notes\n", "plain file"), (b"SQLite format 3\0rest", "Milvus Lite 2")],
)
async def test_a_file_is_named_and_left_alone(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "milvus.db"
    path.write_bytes(content)
    said = await refusal(path, MilvusConnectionError)
    assert reason in said
    assert "LOREKEEPER_MILVUS_DB_PATH" in said
    assert path.read_bytes() == content
    assert {p.name for p in tmp_path.iterdir()} - set(STARTER_RECORDS) == {"milvus.db"}


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root can write read-only folders")
async def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "milvus.db"
    path.mkdir(mode=0o500)
    assert "permission" in await refusal(path, MilvusConnectionError)


async def test_a_damaged_library_is_named_and_not_taken_for_an_empty_one(embedded: Caches) -> None:
    cache = embedded.open()
    await cache.store_entities(batch("a", 0, 300), "spells")
    await cache.close()
    path = embedded.settings.milvus_db_path
    segments = list(path.rglob("*.parquet"))
    assert segments
    for segment in segments:
        os.truncate(segment, segment.stat().st_size // 2)
    with pytest.raises(CacheError, match="damaged") as caught:
        await embedded.open().semantic_search("spells", "text")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("left", [None, 0, 1000])
async def test_a_vector_index_that_was_cut_off_is_built_anew(embedded: Caches, left: int | None) -> None:
    cache = embedded.open()
    await cache.store_entities(batch("a", 0, 300), "spells")
    before = await cache.rank_semantic("spells", "text a 7", 300)
    await cache.close()
    with MilvusLite(str(embedded.settings.milvus_db_path)) as library:
        library.get_collection("spells").load()  # builds the index
    indexes = index_files(embedded.settings.milvus_db_path)
    assert indexes
    for index in indexes:
        if left is None:
            index.unlink()
        else:
            os.truncate(index, left)
    again = embedded.open()
    assert await sides(again) == [texts("a", 300)] * 4
    after = await again.rank_semantic("spells", "text a 7", 300)
    assert [r.identity for r in after] == [r.identity for r in before]


async def test_no_server_at_an_address_is_named(tmp_path: Path) -> None:
    caches = Caches(settings(milvus_db_path=tmp_path / "milvus.db", milvus_uri="http://127.0.0.1:9"))
    with pytest.raises(MilvusConnectionError, match=r"http://127\.0\.0\.1:9.*LOREKEEPER_MILVUS_URI"):
        await caches.open().get_entities("spells")
    await caches.close()


@pytest.mark.slow
async def test_a_foreign_collection_is_an_error_and_left_alone(empty_milvus_server: str, tmp_path: Path) -> None:
    from pymilvus import MilvusClient

    client = MilvusClient(empty_milvus_server, dedicated=True)
    client.create_collection("spells", dimension=4)
    client.insert("spells", [{"id": 1, "vector": [0.1, 0.2, 0.3, 0.4]}])
    caches = Caches(settings(milvus_db_path=tmp_path / "milvus.db", milvus_uri=empty_milvus_server))
    cache = caches.open()
    calls = (
        lambda: cache.get_entities("spells"),
        lambda: cache.store_entities(batch("a", 0, 1), "spells"),
        lambda: cache.semantic_search("spells", "text"),
        lambda: cache.delete_document("own", "spells"),
        cache.reindex,
    )
    for call in calls:
        with pytest.raises(MilvusSchemaError, match="not made by LoreKeeper"):
            await call()
    assert [row["id"] for row in client.query("spells", filter="id >= 0")] == [1]
    await caches.close()
    client.close()


async def test_a_servers_other_users_are_seen(empty_milvus_server: str, tmp_path: Path) -> None:
    one, two = (
        Caches(settings(milvus_db_path=tmp_path / n / "milvus.db", milvus_uri=empty_milvus_server))
        for n in ("one", "two")
    )
    first, second = one.open(), two.open()
    await first.store_entities(batch("a", 0, 5), "spells")
    assert await sides(second) == [texts("a", 5)] * 4
    await second.store_entities(batch("b", 0, 5), "spells")
    assert await first.count_entities("spells") == 10
    assert {e.slug for e in await first.get_entities("spells")} == texts("a", 5) | texts("b", 5)
    assert len(await first.semantic_search("spells", "text")) == 10
    await one.close()
    await two.close()
    drop_collections(empty_milvus_server)


# --- the keyword index ---------------------------------------------------------------------------------------------


def keyword_file(caches: Caches) -> Path:
    path = caches.settings.milvus_db_path
    (found,) = (p for p in path.parent.iterdir() if p.suffix == ".keywords")
    return found


def delete(path: Path) -> None:
    path.unlink()


def fill_with_garbage(path: Path) -> None:
    path.write_bytes(b"no database at all" * 1000)


def spoil_the_middle(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * 16384)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def leave_a_write_unfinished(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO unfinished SELECT 'spells', document, slug FROM spells WHERE id % 2")
        connection.execute("DELETE FROM spells_fts WHERE rowid % 2")
        connection.execute("DELETE FROM spells WHERE id % 2")
    connection.close()


def take_another_librarys(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE built SET store = 'of another library'")
        connection.execute("DELETE FROM spells")
    connection.close()


def take_another_formats(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 1")
    connection.close()


@pytest.mark.parametrize(
    "damage",
    [
        delete,
        empty,
        fill_with_garbage,
        spoil_the_middle,
        leave_a_write_unfinished,
        take_another_librarys,
        take_another_formats,
    ],
)
async def test_a_keyword_index_that_is_not_right_is_built_anew(
    embedded: Caches, damage: Callable[[Path], None]
) -> None:
    cache = embedded.open()
    await cache.store_entities(batch("a", 0, 40), "spells")
    await cache.close()
    damage(keyword_file(embedded))
    again = embedded.open()
    assert await again.count_entities("spells") == 40
    assert await sides(again) == [texts("a", 40)] * 4
    await again.store_entities(batch("b", 0, 5), "spells")
    assert await sides(again) == [texts("a", 40) | texts("b", 5)] * 4


OLDER = make("a0", name="An older copy")


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("UPDATE spells SET record = ?", [pack(OLDER)[:-1]]),
        ("DELETE FROM spells WHERE slug = ?", ["a0"]),
        ("UPDATE built SET store = ?", ["of another library"]),
    ],
)
async def test_an_entity_whose_copy_cannot_be_used_is_read_from_the_store(
    embedded: Caches, sql: str, values: list[object]
) -> None:
    cache, entities = embedded.open(), batch("a", 0, 3)
    await cache.store_entities(entities, "spells")
    with contextlib.closing(sqlite3.connect(keyword_file(embedded))) as connection, connection:
        connection.execute(sql, values)
    identities = [entity.identity for entity in entities]
    for _ in range(2):
        assert await cache.load("spells", identities[::-1]) == entities[::-1]


async def test_an_entity_that_is_being_written_is_read_from_the_store(embedded: Caches) -> None:
    cache, entities = embedded.open(), batch("a", 0, 3)
    await cache.store_entities(entities, "spells")
    with contextlib.closing(sqlite3.connect(keyword_file(embedded))) as connection, connection:
        connection.execute("UPDATE spells SET record = ? WHERE slug = 'a0'", [pack(OLDER)])
        connection.execute("INSERT INTO unfinished VALUES ('spells', ?, ?)", OLDER.identity)
    assert await cache.load("spells", [OLDER.identity]) == entities[:1]


# --- quiet ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_storing_and_searching_print_nothing(embedded: Caches, start: Start) -> None:
    program = start()
    assert program.ask("store", "a", 0, 300) == 300
    assert len(program.ask("nearest", "text", 20)) == 20
    assert program.ask("close") is None
    assert len(program.ask("nearest", "text", 20)) == 20
    assert program.end() == ("", "")


# --- the event loop ------------------------------------------------------------------------------------------------


TICK_SECONDS = 0.001


class WatchfulProvider(HashingProvider):
    """Notes the threads it is asked in."""

    def __init__(self) -> None:
        super().__init__(512)
        self.threads: set[threading.Thread] = set()

    def embed(self, texts: Any) -> Any:
        self.threads.add(threading.current_thread())
        return super().embed(texts)


async def test_the_event_loop_turns_while_entities_are_stored(embedded: Caches) -> None:
    provider, ticks, done = WatchfulProvider(), 0, asyncio.Event()

    async def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            await asyncio.sleep(TICK_SECONDS)

    ticking = asyncio.create_task(tick())
    cache = open_cache(embedded.settings, EmbeddingService(lambda: provider))
    await cache.store_entities(batch("a", 0, 300), "spells")
    await cache.semantic_search("spells", "text")
    done.set()
    await ticking
    await cache.close()
    assert ticks > 20
    assert provider.threads
    assert threading.current_thread() not in provider.threads


async def test_nothing_is_opened_or_loaded_before_it_is_used(embedded: Caches) -> None:
    def load() -> HashingProvider:
        raise AssertionError("nobody asked for a vector")

    cache = open_cache(embedded.settings, EmbeddingService(load))
    assert not embedded.settings.milvus_db_path.exists()
    assert await cache.get_entities("spells") == []
    assert await cache.semantic_search("spells", "text") == []
    await cache.close()
