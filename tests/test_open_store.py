"""An embedded library is one of Milvus Lite, which any program reads; and reading it is quick, from data that is derived."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import pytest
from mcp import Client

from lorekeeper.cache import formats
from lorekeeper.cache.milvus.embedded import EmbeddedStore
from lorekeeper.cache.milvus.lite import Engine
from lorekeeper.cache.protocol import Ranked, SearchCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.library import Library
from lorekeeper.server.mcp import build_server
from tests.support.backends import Caches
from tests.support.entities import batch, make
from tests.support.libraries import settings
from tests.support.library_process import Program
from tests.support.plain_milvus import Found, has_index, index_files, nearest

PROVIDER = HashingProvider(512)

WORDS = ["amber", "birch", "cinder", "dusk", "ember", "frost", "glow", "heath"]

SPELLS = [
    make(f"s{i}", f"{WORDS[i % 8]} {WORDS[i // 8 % 8]} " * (1 + i % 4), level=i % 9, school="evocation")
    for i in range(150)
]

QUESTION = "cinder and frost at dusk"


class Embedded(HashingProvider):
    """Counts the texts that it embeds."""

    texts = 0

    def embed(self, texts: Any) -> Any:
        self.texts += len(texts)
        return super().embed(texts)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a library of 150 spells that was closed."""
    folder = tmp_path_factory.mktemp("filled")

    async def fill() -> None:
        caches = Caches(settings(milvus_db_path=folder / "milvus.db"))
        await caches.open().store_entities(SPELLS, "spells")
        await caches.close()

    asyncio.run(fill())
    return folder


@pytest.fixture
def path(filled: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(filled, tmp_path, dirs_exist_ok=True) / "milvus.db"


@pytest.fixture
async def caches(path: Path) -> AsyncIterator[Caches]:
    """Opens it."""
    opened = Caches(settings(milvus_db_path=path))
    yield opened
    await opened.close()


def vector(question: str = QUESTION) -> Any:
    return PROVIDER.embed([question])[0]


def scores(ranking: list[Ranked]) -> Found:
    return {ranked.identity[1]: ranked.score for ranked in ranking}


def alike(one: Found, other: Found) -> bool:
    """Whether two rankings have the same scores, and the same entries but for equal ones at the end."""
    last = min(one.values())
    same = np.allclose(list(one.values()), list(other.values()), atol=1.5e-5)
    return same and {key for key, score in one.items() if score > last + 2e-5} <= other.keys()


def store_of(cache: SearchCache) -> EmbeddedStore:
    store = cache._store  # type: ignore[attr-defined]
    assert isinstance(store, EmbeddedStore)
    return store


def role_of(store: EmbeddedStore) -> str:
    return store.embedded.role


# --- what other programs see -------------------------------------------------------------------------------------------


async def test_milvus_lite_alone_finds_what_we_find(path: Path, caches: Caches) -> None:
    found = scores(await caches.open().rank_semantic("spells", QUESTION, 10))
    filtered = scores(await caches.open().rank_semantic("spells", QUESTION, 10, level=3))
    await caches.close()
    assert max(found.values()) > 0.3
    assert alike(found, nearest(path, vector(), 10))
    assert alike(filtered, nearest(path, vector(), 10, expression="level == 3"))


def test_pymilvus_alone_finds_what_we_find(path: Path) -> None:
    program = (
        "import json, sys; from pymilvus import MilvusClient; client = MilvusClient(sys.argv[1]); "
        "client.load_collection('spells'); "
        "(hits,) = client.search('spells', data=[json.loads(sys.argv[2])], limit=5, output_fields=['slug', 'level'], "
        "search_params={'metric_type': 'COSINE', 'params': {'nprobe': 128}}); "
        "print('RESULT', json.dumps([[hit['entity']['slug'], hit['distance']] for hit in hits]))"
    )
    command = [sys.executable, "-c", program, str(path), json.dumps(vector().tolist())]
    environ = {**os.environ, "PYTHON_DOTENV_DISABLED": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=200, env=environ)
    found = json.loads(done.stdout.rpartition("RESULT")[2])
    assert [score for _, score in found] == pytest.approx(list(nearest(path, vector(), 5).values()), abs=1e-5)
    assert found[0][1] > 0.3


def test_a_closed_library_declares_the_index_of_milvus_lite_and_has_no_file_of_ours(path: Path) -> None:
    assert has_index(path)
    kinds = {file.suffix for file in path.rglob("*") if file.is_file()}
    assert kinds <= {".parquet", ".json", ".prev", ""}, "the index is built when a program loads the collection"
    nearest(path, vector(), 1)
    indexes = [faiss.read_index(str(file)) for file in index_files(path)]
    assert indexes
    assert all(isinstance(index, faiss.IndexIVFFlat) for index in indexes)
    assert all(index.metric_type == faiss.METRIC_INNER_PRODUCT for index in indexes)


# --- vectors in memory -------------------------------------------------------------------------------------------------


async def test_with_and_without_the_copy_of_the_vectors_the_answers_are_the_same(caches: Caches, path: Path) -> None:
    cache = caches.open()
    asked: list[dict[str, Any]] = [{}, {"level": 3}, {"level_min": 7}, {"name": "s1"}]
    with_copy = [await cache.rank_semantic("spells", text, 20, **f) for text in WORDS for f in asked]
    await cache.close()
    itself = Caches(settings(milvus_db_path=path, milvus_search="milvus"))
    cache = itself.open()
    without = [await cache.rank_semantic("spells", text, 20, **f) for text in WORDS for f in asked]
    await itself.close()
    assert len(with_copy) == len(WORDS) * len(asked)
    for one, other in zip(with_copy, without, strict=True):
        assert alike(scores(one), scores(other))
        assert {r.identity: r.passage for r in one}.items() >= {r.identity: r.passage for r in other[:1]}.items()


async def test_what_another_process_has_written_is_found_at_once(caches: Caches, path: Path) -> None:
    cache, program = caches.open(), Program({"LOREKEEPER_MILVUS_DB_PATH": str(path)})
    assert len(await cache.rank_semantic("spells", QUESTION, 200)) == 150
    assert await asyncio.to_thread(program.ask, "store", "b", 0, 20) == 20
    assert len(await cache.rank_semantic("spells", QUESTION, 200)) == 170
    program.kill()
    assert len(await cache.rank_semantic("spells", QUESTION, 200)) == 170


async def test_a_write_that_a_killed_process_did_not_end_is_finished_with_its_vectors(caches: Caches) -> None:
    cache = caches.open()
    await cache.rank_semantic("spells", QUESTION, 1)
    store = store_of(cache)
    changed = [make("s1", "a quite different text on walnut bread"), make("new", "walnut bread and more of it")]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(store.companion, "replace", lambda *_: None)  # as if the process ended here
        await cache.store_entities(changed, "spells")
    found = scores(await caches.open().rank_semantic("spells", "walnut bread", 2))
    assert found.keys() == {"s1", "new"}


# --- types that are as they were left ----------------------------------------------------------------------------------


async def read_all(cache: SearchCache) -> None:
    await cache.rank_semantic("spells", QUESTION, 10)
    await cache.rank_keyword("spells", "amber", 10)
    await cache.get_entities("spells", level=3)
    await cache.get_entities("creatures")
    await cache.statistics()


async def test_after_a_while_without_writes_milvus_lite_is_closed(caches: Caches, path: Path) -> None:
    cache = caches.open()
    store = store_of(cache)
    for number in range(2):
        await cache.store_entities(batch("a", number, 1), "spells")
        assert role_of(store) == "server"
        assert store._settling
        assert store._settling.is_alive()
        await asyncio.to_thread(store._settling.function)
        assert role_of(store) == "closed"
        assert len(await cache.rank_semantic("spells", QUESTION, 200)) == 151 + number
        await read_all(cache)
        assert role_of(store) == "closed"
    assert has_index(path)


def _left_open(path: Path) -> None:
    program = Program({"LOREKEEPER_MILVUS_DB_PATH": str(path)})
    program.ask("store", "s", 0, 1)
    program.kill()


def _written_by_others(path: Path) -> None:
    engine = Engine(path)
    (row,) = engine.get("spells", ["own/s1#0"], engine.columns("spells"))
    engine.upsert("spells", [{**row, "vector": np.array(row["vector"], np.float32)}])
    engine.close()


@pytest.mark.parametrize("change", [_left_open, _written_by_others])
async def test_a_library_whose_files_have_changed_is_compared_first(
    path: Path, caches: Caches, change: Callable[[Path], None]
) -> None:
    await asyncio.to_thread(change, path)
    verified = list[str]()
    cache = caches.open()
    store = store_of(cache)
    store.collections._verify = lambda name, _info: verified.append(name)
    assert len(await cache.rank_semantic("spells", QUESTION, 200)) == 150
    assert "spells" in verified
    await cache.close()
    again = caches.open()
    await read_all(again)
    assert role_of(store_of(again)) == "closed"


# --- copies of a library -----------------------------------------------------------------------------------------------


def _by_cp(path: Path, copy: Path) -> None:
    shutil.copytree(path, copy, copy_function=shutil.copyfile)


def _by_zip(path: Path, copy: Path) -> None:
    packed = shutil.make_archive(str(copy.with_name("packed")), "zip", path)
    shutil.unpack_archive(packed, copy)


def _long_ago(path: Path, copy: Path) -> None:
    _by_cp(path, copy)
    for file in copy.rglob("*"):
        os.utime(file, (0, 0))


@pytest.mark.parametrize("copied", [_by_cp, _by_zip, _long_ago])
async def test_a_copied_library_is_read_as_the_library_is(
    filled: Path, tmp_path: Path, copied: Callable[[Path, Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    copied(filled, tmp_path / "copy")
    caches = Caches(settings(milvus_db_path=tmp_path / "copy" / "milvus.db"))
    cache = caches.open()
    await read_all(cache)
    assert role_of(store_of(cache)) == "closed"
    await caches.close()


@pytest.fixture
def comparing(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """A library that another program left open, whose types are not compared until the event is set."""
    _left_open(path)
    go_on, load = threading.Event(), Engine.load_collection

    def held(engine: Engine, name: str) -> None:
        go_on.wait()
        load(engine, name)

    monkeypatch.setattr(Engine, "load_collection", held)
    monkeypatch.setattr("lorekeeper.cache.milvus.embedded.GRACE_SECONDS", 0.0, raising=False)
    monkeypatch.setattr(formats, "ANSWER_SECONDS", 0.2)
    yield go_on
    go_on.set()


async def test_while_a_library_is_compared_it_answers_as_it_was_left_and_says_so(
    path: Path, comparing: threading.Event
) -> None:
    service = EmbeddingService(lambda: HashingProvider(512))
    library = Library(open_cache(settings(milvus_db_path=path), service), service)
    async with library, Client(build_server(library)) as client:
        found = await client.call_tool("lookup_spell", {"semantic_query": QUESTION})
        assert not found.is_error
        said = "being checked, since its files are not as they were when it was closed last: spells, 1 of 1"
        assert said in str(found.content)
        named = await client.call_tool("lookup_spell", {"name": "s7"})
        assert "s7, own" in str(named.content)
        comparing.set()
        await library.cache.count_entities("spells")
        again = await client.call_tool("lookup_spell", {"semantic_query": QUESTION})
        assert "checked" not in str(again.content)


# --- the page on storage -----------------------------------------------------------------------------------------------


async def test_the_program_on_the_page_about_storage_reads_a_library(embedded: Caches) -> None:
    rat = make("rat", "A rat.", type="creatures", kind="creature", challenge_rating=0.25)
    cache = embedded.open()
    await cache.store_entities([rat, make("cat", "A cat.", type="creatures", kind="creature")], "creatures")
    await cache.close()
    page = Path("docs/storage.md").read_text("utf-8")
    program = page.partition("```python\n")[2].partition("```")[0] + "\nprint('READ', entity['data']['desc'])"
    folder = embedded.settings.milvus_db_path.parent
    environ = {**os.environ, "PYTHON_DOTENV_DISABLED": "1"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=200, env=environ)
    assert "READ A rat." in done.stdout
