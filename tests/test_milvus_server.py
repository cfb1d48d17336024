"""What is different on a Milvus server: versions, limits, calls that are refused, collections of earlier versions.

Most runs through a proxy that has the limits of newer servers, some on the real standalone server of an older version.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import stamina

from lorekeeper.cache.milvus import collections as milvus_collections
from lorekeeper.cache.milvus import remote as milvus_remote
from lorekeeper.cache.milvus import rows as layout
from lorekeeper.cache.milvus import server as milvus_server
from lorekeeper.cache.milvus.rows import PROPERTY
from lorekeeper.cache.milvus.server import MilvusServer
from lorekeeper.cache.protocol import SearchCache
from lorekeeper.embedding import HashingProvider
from lorekeeper.errors import CacheError, MilvusConnectionError, MilvusSchemaError
from lorekeeper.maintenance.doctor import Check, examine
from lorekeeper.settings import load_settings
from lorekeeper.text.passages import passages
from tests.support.backends import Caches
from tests.support.entities import everything, make
from tests.support.libraries import settings
from tests.support.limited_milvus import LimitedServer, limited_server
from tests.support.tables import each_row

pytestmark = pytest.mark.processes

Client = Callable[[str], SearchCache]

HALF_MADE = json.dumps({"format": 1, "store": "0", "embedding": "hashing", "dimension": 512, "words": 1})
"""What an earlier version says of a collection that it could not finish on a server without sparse vectors."""


@pytest.fixture(params=["limited", pytest.param("standalone", marks=pytest.mark.milvus_server)])
def uri(request: pytest.FixtureRequest) -> str:
    """Address of a server without a collection, of each kind."""
    server: Any = request.getfixturevalue(f"empty_{request.param}_server")
    return server if isinstance(server, str) else server.uri


@pytest.fixture
async def client(uri: str, tmp_path: Path) -> AsyncIterator[Client]:
    """Opens the server's library as another machine would."""
    async with clients(uri, tmp_path) as open_client:
        yield open_client


class clients:  # noqa: N801
    """Machines that use one server, each with files of its own, as an async context manager."""

    def __init__(self, uri: str, folder: Path) -> None:
        self._uri, self._folder = uri, folder
        self._stores: list[Caches] = []

    async def __aenter__(self) -> Client:
        def open_client(machine: str) -> SearchCache:
            chosen = settings(milvus_db_path=self._folder / machine / "milvus.db", milvus_uri=self._uri)
            self._stores.append(Caches(chosen))
            return self._stores[-1].open()

        return open_client

    async def __aexit__(self, *_: object) -> None:
        for store in self._stores:
            await store.close()


def make_half(uri: str, name: str, description: str) -> None:
    """Make a collection without an index."""
    from pymilvus import DataType, MilvusClient

    client = MilvusClient(uri, dedicated=True)
    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False, description=description)
    schema.add_field("pk", DataType.VARCHAR, max_length=100, is_primary=True)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=8)
    client.create_collection(name, schema=schema, properties={PROPERTY: description})
    client.close()


# --- versions --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v2.2.16", "2.3.4", "v1.1.0"])
async def test_a_server_that_is_too_old_is_refused_before_anything_is_made(
    version: str, empty_milvus_server: str, tmp_path: Path
) -> None:
    with limited_server(empty_milvus_server.removeprefix("http://"), version) as server:
        async with clients(server.uri, tmp_path) as client:
            for call in (lambda c: c.store_entities([make("x", "Ash.")], "spells"), everything):
                with pytest.raises(MilvusConnectionError, match=rf"{version[-5:]}.*2\.3\.5 or newer"):
                    await call(client("one"))
            assert not server.calls["CreateCollection"]
            (check,) = [c for c in await checks(server.uri, tmp_path) if c.name == "library"]
            assert not check.ok
            assert "2.3.5 or newer" in check.message


@each_row(
    ("version", "words", "infix"),
    [
        ("v2.3.5", None, False),
        ("v2.3.5-lite", None, False),
        ("v2.4.23", None, True),
        ("v2.5.0", 1, True),
        ("2.6.4-gpu", 1, True),
        ("v3.0-beta", 1, True),
        ("milvus_lite-3.2.2", 1, True),
        ("Zilliz Cloud Vector Database(Compatible with Milvus 2.5)", 1, True),
        ("unknown", None, False),
    ],
)
def test_what_a_server_can_do_follows_from_its_version(version: str, words: int | None, infix: bool) -> None:
    able = milvus_server.capabilities(version, "http://x")
    assert (able.format, able.words, able.infix) == (layout.SERVER_FORMAT, words, infix)
    assert version in able.remarks
    assert ("BM25" in able.remarks) == (words is None)


async def checks(uri: str, folder: Path) -> list[Check]:
    """What doctor looks at. The model is none, which is a failure of its own."""
    values = {"MILVUS_URI": uri, "MILVUS_DB_PATH": str(folder / "milvus.db"), "EMBEDDING_MODEL": str(folder / "none")}
    found, origins = load_settings({f"LOREKEEPER_{k}": v for k, v in values.items()}, folder / "no.env")
    return (await examine(found, origins)).checks


async def test_a_server_without_bm25_is_ranked_by_the_copy_of_its_words(
    empty_milvus_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_remote, "COMPARE_SECONDS", 0.0)
    monkeypatch.setattr(milvus_remote, "COMPARE_SHARE", 0)
    with limited_server(empty_milvus_server.removeprefix("http://"), "v2.3.5") as server:
        async with clients(server.uri, tmp_path) as client:
            one, two = client("one"), client("two")
            await one.store_entities([make("a", "Ash and bone."), make("b", "Coal.")], "spells")
            assert [h.entity.slug for h in await two.keyword_search("spells", "ashes")] == ["a"]
            await one.store_entities([make("a", "Dusk."), make("c", "Gate of ash.")], "spells")
            assert [h.entity.slug for h in await two.keyword_search("spells", "ashes")] == ["c"]
            assert [e.slug for e in await two.get_entities("spells", name="C")] == ["c"]
            assert not server.calls["Flush"]


# --- limits ----------------------------------------------------------------------------------------------------------------


async def test_nothing_is_flushed(empty_limited_server: LimitedServer, tmp_path: Path) -> None:
    async with clients(empty_limited_server.uri, tmp_path) as client:
        one, two = client("one"), client("two")
        for i in range(3):
            await one.store_entities([make(f"s{i}", "Ash.")], "spells")
            assert await two.count_entities("spells") == i + 1
        await one.delete_entities("spells", [("own", "s0")])
        await one.reindex()
        assert {e.slug for e in await everything(two)} == {"s1", "s2"}
    assert not empty_limited_server.calls["Flush"]
    assert not empty_limited_server.refused


@pytest.mark.slow
async def test_answers_that_are_too_large_are_read_in_parts(
    empty_limited_server: LimitedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_server, "MAX_ROWS", 150)
    random = Random(7)
    stored = [make(f"s{i:03}", data={"noise": random.randbytes(30_000).hex()}) for i in range(220)]
    async with clients(empty_limited_server.uri, tmp_path) as client:
        cache = client("one")
        await cache.store_entities(stored, "spells")
        assert not empty_limited_server.refused
        found = await cache.load("spells", [e.identity for e in stored])
        assert found == stored
        assert empty_limited_server.refused["Query"]
        assert len(await cache.content_hashes("spells")) == 220
        backend: MilvusServer = cache._store.server  # type: ignore[attr-defined]
        records = backend.query("spells", "part == 0", ["slug", "record"])
        assert sorted(row["slug"] for row in records) == [e.slug for e in stored]
        nearest = backend.search("spells", np.full(512, 0.1, dtype=np.float32), "part == 0", 150, ["slug", "record"])
        assert empty_limited_server.refused["Search"]
        assert len({row["slug"] for row in nearest}) == 150
        assert all(row["record"] for row in nearest)
        assert [r["distance"] for r in nearest] == sorted((r["distance"] for r in nearest), reverse=True)


@pytest.mark.slow
async def test_calls_that_are_refused_for_being_too_many_are_made_again(
    empty_limited_server: LimitedServer, tmp_path: Path
) -> None:
    async with clients(empty_limited_server.uri, tmp_path) as client:
        cache = client("one")
        with stamina.set_testing(True, attempts=4, cap=True):
            empty_limited_server.busy.update({"Upsert": 9, "Query": 9, "Search": 9, "Delete": 9})
            await cache.store_entities([make("a", "Ash."), make("b", "Bone.")], "spells")
            assert len(await cache.semantic_search("spells", "ash")) == 2
            assert await cache.delete_entities("spells", [("own", "a")]) == 1
            assert +empty_limited_server.busy == {}
            empty_limited_server.busy["Upsert"] = 1000
            with pytest.raises(CacheError, match=r"is busy.*rate limit exceeded.*try again later"):
                await cache.store_entities([make("c", "Coal.")], "spells")
        empty_limited_server.busy.clear()
        assert await cache.store_entities([make("c", "Coal.")], "spells") == 1
        assert {e.slug for e in await everything(cache)} == {"b", "c"}


@pytest.mark.milvus_server
async def test_a_narrow_filter_finds_every_row_of_the_standalone_server_that_is_not_sealed(
    empty_standalone_server: str, tmp_path: Path
) -> None:
    random = np.random.default_rng(3)
    vectors = random.normal(size=(6000, 512)).astype(np.float32)
    entities = [make(f"s{i}", "Text.", level=i % 60) for i in range(len(vectors))]
    async with clients(empty_standalone_server, tmp_path) as client:
        cache = client("one")
        await cache.store_entities(entities[:1], "spells")
        backend: MilvusServer = cache._store.server  # type: ignore[attr-defined]
        pairs = zip(entities, vectors, strict=True)
        own = layout.ServerLayout()
        rows = [row for entity, vector in pairs for row in own.rows(entity, passages(entity), [vector])]
        backend.upsert("spells", rows)
        found = backend.search("spells", vectors[7], "level == 7", 1000, ["slug"])
        assert {row["slug"] for row in found} == {e.slug for e in entities[7::60]}
        exact = vectors @ vectors[7] / np.linalg.norm(vectors, axis=1)
        nearest = backend.search("spells", vectors[7], "", 50, ["slug"])
        assert {row["slug"] for row in nearest} == {f"s{i}" for i in np.argsort(-exact)[:50]}


# --- numbers, versions of one entity ---------------------------------------------------------------------------------------


async def test_pieces_of_two_versions_are_never_put_together(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "PAUSE_SECONDS", 0.0)
    one, two = client("one"), client("two")
    random = Random(5)
    first, second = (make("x", data={"noise": random.randbytes(60_000).hex()}) for _ in range(2))
    await one.store_entities([first], "spells")
    backend: MilvusServer = two._store.server  # type: ignore[attr-defined]
    assert await two.get_entity("spells", "own", "x") == first
    get, calls = backend.get, itertools.count(1)

    def interrupted(*args: Any) -> Any:
        if next(calls) == 2:  # between the entity record and the other pieces
            store = one._store  # type: ignore[attr-defined]
            store.collections.upsert("spells", [(second, passages(second))], vectors, store.collections.info("spells"))
        return get(*args)

    vectors = HashingProvider(512).embed([p.embedded for p in passages(second)])
    monkeypatch.setattr(backend, "get", interrupted)
    assert await two.get_entity("spells", "own", "x") == second


async def test_an_entity_that_lacks_a_piece_is_an_error_that_says_what_to_do(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layout, "PAUSE_SECONDS", 0.0)
    cache = client("one")
    whole = make("x", data={"noise": Random(5).randbytes(60_000).hex()})
    await cache.store_entities([whole, make("y", "Why.")], "spells")
    cache._store.server.delete("spells", ["own/x#1"])  # type: ignore[attr-defined]
    with pytest.raises(MilvusSchemaError, match="parts of own/x are missing"):
        await cache.get_entity("spells", "own", "x")
    assert await cache.get_entity("spells", "own", "y")
    await cache.store_entities([whole], "spells")
    assert await cache.get_entity("spells", "own", "x") == whole


# --- collections of others -------------------------------------------------------------------------------------------------


async def test_a_collection_that_was_left_half_made_is_made_again(
    client: Client, uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(milvus_server, "HALF_MADE_SECONDS", 0.0)
    make_half(uri, "spells", HALF_MADE)
    make_half(uri, "spells__reindex", HALF_MADE)
    cache = client("one")
    assert await everything(cache) == []
    assert (await cache.statistics()).counts["spells"] == 0
    assert await cache.store_entities([make("x", "Ash.")], "spells") == 1
    assert await cache.reindex() == 1
    assert [h.entity.slug for h in await client("two").semantic_search("spells", "ash")] == ["x"]


async def test_a_rebuilt_collection_whose_process_ended_takes_the_place_of_the_old_one(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = client("one"), client("two")
    await first.store_entities([make("x", "Ash.")], "spells")
    backend: MilvusServer = first._store.server  # type: ignore[attr-defined]
    backend.release_collection("spells")
    backend.rename_collection("spells", "spells__reindex")
    monkeypatch.setattr(milvus_collections, "SWAP_SECONDS", 0.1)
    assert [e.slug for e in await everything(second)] == ["x"]
    assert await second.store_entities([make("y", "Bone.")], "spells") == 1
    assert len(await second.semantic_search("spells", "ash")) == 2
