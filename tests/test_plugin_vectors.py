"""The cache of other programs: vectors of their own, searches by meaning and words, sharing, and names of its arguments."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lorekeeper import (
    COLLECTIONS,
    CacheConfig,
    CacheError,
    Collection,
    ConfigError,
    EmbeddingError,
    EmbeddingService,
    Entity,
    EntityCache,
    EntityError,
    FilterError,
    HashingProvider,
    MilvusCache,
    SqliteCache,
    create_cache,
    select_entities,
)
from tests.support.commands import ROOT, environment
from tests.support.toy_backend import ToyCache

TICKETS = Collection("tickets", fields=[], text=["body"])

LONG = {"key": "t-1", "name": "Pump", "body": "The pump is loud at night. " * 120}
SHORT = {"key": "t-2", "name": "Roof", "body": "Rain comes through the roof."}
BOTH = [LONG, SHORT]

DIMENSION = HashingProvider().dimension


class Counting(HashingProvider):
    """Says which texts were embedded as passages."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        return super().embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Any:
        return HashingProvider().embed(texts)


def axis(number: int, length: float = 1.0) -> list[float]:
    """A vector along one axis."""
    return [length if place == number else 0.0 for place in range(DIMENSION)]


@pytest.fixture(params=["milvus", "sqlite"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> EntityCache:
    kind, name = (MilvusCache, "milvus.db") if request.param == "milvus" else (SqliteCache, "cache.db")
    return kind(db_path=tmp_path / name, embedding=Counting(), collections=[TICKETS])


async def cosines(cache: EntityCache, query: str) -> dict[str, float]:
    """The scores of all tickets, by key."""
    return {ticket["key"]: ticket["_score"] for ticket in await cache.semantic_search("tickets", query)}


@pytest.mark.parametrize("given", ["array", "key"])
async def test_given_vectors_are_those_that_are_searched_and_their_texts_are_not_embedded(
    cache: EntityCache, given: str
) -> None:
    provider = await cache.embedding.provider()
    assert isinstance(provider, Counting)
    query = provider.embed_queries(["thunder"])[0]
    vectors = np.stack([3 * query, -query])
    async with cache:
        if given == "array":
            assert await cache.store_entities(BOTH, "tickets", vectors=vectors) == 2
        else:
            tickets = [{**ticket, "own": vector.tolist()} for ticket, vector in zip(BOTH, vectors, strict=True)]
            assert await cache.store_entities(tickets, "tickets", vectors="own") == 2
        assert provider.texts == []
        assert await cosines(cache, "thunder") == pytest.approx({"t-1": 1.0, "t-2": -1.0}, abs=1e-5)
        assert (await cache.statistics()).passages["tickets"] == 2
        assert await cache.get_entities("tickets") == BOTH  # without the key of the vectors
        assert [ticket["key"] for ticket in await cache.search("tickets", "loud night", mode="keyword")] == ["t-1"]
    async with cache:
        assert await cosines(cache, "thunder") == pytest.approx({"t-1": 1.0, "t-2": -1.0}, abs=1e-5)
        assert await cache.reindex() == 2
        assert len(provider.texts) > 2


async def test_dicts_without_a_vector_under_the_key_are_embedded(cache: EntityCache) -> None:
    async with cache:
        await cache.store_entities([{**LONG, "own": axis(0)}, SHORT], "tickets", vectors="own")
        provider = await cache.embedding.provider()
        assert isinstance(provider, Counting)
        assert ["Rain comes" in text for text in provider.texts] == [True]


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([axis(0)], "there are 1 vectors for 2 entities"),
        ([axis(0), [1.0, 2.0]], f"entity 2 cannot be stored under tickets: its vector must be {DIMENSION} numbers"),
        ([axis(0), "near"], "entity 2"),
        ([axis(0), axis(0, 0.0)], "no direction"),
        ([axis(0), axis(0, float("nan"))], "no direction"),
    ],
)
async def test_wrong_vectors_are_refused_and_nothing_is_stored(cache: EntityCache, vectors: Any, said: str) -> None:
    async with cache:
        with pytest.raises(EntityError, match=said) as refused:
            await cache.store_entities(BOTH, "tickets", vectors=vectors)
        assert "nothing was stored" in str(refused.value)
        assert await cache.count_entities("tickets") == 0


async def test_a_backend_that_makes_its_vectors_itself_takes_none(tmp_path: Path) -> None:
    service = EmbeddingService(HashingProvider)
    from lorekeeper.cache.completed import CompletedCache

    backend = CompletedCache(ToyCache(tmp_path / "toy.json", service), service, tmp_path / "index", list(COLLECTIONS))
    async with EntityCache(backend, service) as cache:
        with pytest.raises(CacheError, match="makes its vectors itself"):
            await cache.store_entities([{"name": "A", "desc": "a"}], "spells", vectors=[axis(0)])
        assert await cache.count_entities("spells") == 0


async def test_a_hybrid_search_joins_both_rankings_by_their_ranks(cache: EntityCache) -> None:
    provider = await cache.embedding.provider()
    query = "loud pump"
    near = provider.embed_queries([query])[0]
    tickets = [
        {"key": "meant", "name": "Noise", "body": "It hums."},
        {"key": "said", "name": "Pump", "body": "A loud pump."},
        {"key": "neither", "name": "Roof", "body": "Rain."},
    ]
    far = np.array(axis(1)) - near * near[1]
    vectors = np.stack([near, near + 2 * far, far])
    async with cache:
        await cache.store_entities(tickets, "tickets", vectors=vectors)
        found = await cache.search("tickets", query, score_key="rrf", match_key="by")
        assert [(t["key"], t["by"], round(t["rrf"], 6)) for t in found] == [
            ("said", "meaning and words", round(1 / 62 + 1 / 61, 6)),
            ("meant", "meaning", round(1 / 61, 6)),
            ("neither", "meaning", round(1 / 63, 6)),
        ]
        assert {k: v for k, v in found[0].items() if k not in ("rrf", "by")} == tickets[1]
        assert [t["key"] for t in await cache.search("tickets", query, 1, mode="semantic")] == ["meant"]
        (only,) = await cache.search("tickets", query, mode="keyword", name=None)
        assert (only["key"], only["_match"]) == ("said", "words")
        assert [t["key"] for t in await cache.search("tickets", query, name="roof")] == ["neither"]
        assert cache.last_fallback is None
        with pytest.raises(FilterError, match="mode must be one of hybrid, semantic, keyword, not 'fuzzy'"):
            await cache.search("tickets", query, mode="fuzzy")  # type: ignore[arg-type]


async def test_a_search_without_a_model_says_what_found_its_answers(cache: EntityCache) -> None:
    class Broken(HashingProvider):
        def embed_queries(self, texts: Sequence[str]) -> Any:
            raise OSError("no such model")

    async with cache:
        await cache.store_entities(BOTH, "tickets")
        cache.embedding._provider = Broken()
        (found,) = await cache.search("tickets", "rain")
        assert (found["key"], found["_score"], found["_match"]) == ("t-2", None, "words")
        assert "names and words" in (cache.last_fallback or "")
        filtered = await cache.search("tickets", "volcano", name="pump")
        assert [(each["key"], each["_match"]) for each in filtered] == [("t-1", "filters")]


async def test_dicts_without_a_document_belong_to_the_default_one(tmp_path: Path) -> None:
    async with SqliteCache(
        tmp_path / "a.db", embedding=HashingProvider, collections=[TICKETS], default_document="desk"
    ) as cache:
        await cache.store_entities([SHORT, {**LONG, "document": "home"}], "tickets")
        assert await cache.documents() == {"desk": {"tickets": 1}, "home": {"tickets": 1}}
        assert await cache.delete_entities("tickets", ["t-2"]) == 1


# --- sharing -----------------------------------------------------------------------------------------------------------


@contextmanager
def other_process(path: Path, program: str) -> Iterator[subprocess.CompletedProcess[str]]:
    """What a program in another process does with a library, whose cache it has as ``cache``."""
    text = (
        "import asyncio\nfrom lorekeeper import HashingProvider, MilvusCache\n"
        f"async def main():\n    async with MilvusCache({str(path)!r}, embedding=HashingProvider) as cache:\n"
        f"        {program}\nasyncio.run(main())\n"
    )
    env = environment(path.parent) | {"PYTHONPATH": str(ROOT)}
    yield subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize("share", [True, False])
async def test_a_library_that_is_not_shared_is_refused_to_other_processes_until_it_is_closed(
    share: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "milvus.db"
    storing = "print(await cache.store_entities([{'name': 'B', 'desc': 'What another process has stored.'}], 'spells'))"
    async with MilvusCache(path, embedding=HashingProvider, share=share) as cache:
        await cache.store_entities([{"name": "A", "desc": "What this process has stored."}], "spells")
        with other_process(path, storing) as done:
            assert (done.stdout == "1\n") is share
            assert ("does not share it" in done.stderr) is not share
    with other_process(path, storing) as done:
        assert (done.stdout, done.stderr) == ("1\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("index", ["FLAT", "IVF_FLAT", "HNSW"])
@pytest.mark.parametrize(
    "server", ["empty_milvus_server", pytest.param("empty_standalone_server", marks=pytest.mark.milvus_server)]
)
async def test_a_server_makes_collections_with_the_index_that_was_chosen(
    server: str, index: Any, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    from pymilvus import MilvusClient

    uri = request.getfixturevalue(server)
    async with MilvusCache(
        uri, embedding=HashingProvider, folder=tmp_path, index=index, collections=[TICKETS]
    ) as cache:
        tickets = [{"key": f"k{number}", "name": f"Ticket {number}", "body": "A pump."} for number in range(40)]
        await cache.store_entities(tickets, "tickets", vectors=[axis(number) for number in range(40)])
        found = await cache.semantic_search("tickets", "pump", 40)
        assert sorted(ticket["key"] for ticket in found) == sorted(ticket["key"] for ticket in tickets)
    client = MilvusClient(uri)
    (name,) = client.list_indexes("tickets", field_name="vector")
    assert client.describe_index("tickets", name)["index_type"] == index
    client.close()


# --- the names of the design -------------------------------------------------------------------------------------------


async def test_the_config_of_the_design_chooses_backend_path_and_model(tmp_path: Path) -> None:
    config = CacheConfig(backend="sqlite", sqlite_db_path=str(tmp_path / "own.db"))
    async with create_cache(config, embedding=HashingProvider) as cache:
        await cache.store_entities([{"name": "A", "desc": "A text."}], "spells")
    assert (tmp_path / "own.db").is_file()
    with pytest.raises(ConfigError, match=r"LOREKEEPER_CACHE_BACKEND is 'cassandra'.*allowed: milvus, sqlite"):
        create_cache(CacheConfig(backend="cassandra"))
    wrong = CacheConfig(backend="sqlite", sqlite_db_path=tmp_path / "own.db", embedding_dimension=768)
    async with create_cache(wrong) as cache:
        with pytest.raises((ConfigError, EmbeddingError), match="have 384 numbers, not 768"):
            await cache.semantic_search("spells", "a text")


def test_the_model_is_had_from_the_class_too() -> None:
    assert EmbeddingService.get_model() is EmbeddingService().get_model()
    given = HashingProvider()
    assert EmbeddingService(given).get_model() is given


# --- what authors of backends use --------------------------------------------------------------------------------------


def test_entities_are_selected_by_the_arguments_of_the_protocol() -> None:
    entities = [
        Entity("spells", f"s{level}", f"Spell {level}", "spell", "own", "plain", {}, {"level": level})
        for level in range(4)
    ]

    def chosen(*asked: Any, **filters: Any) -> list[str]:
        return [entity.slug for entity in select_entities(entities, "spells", *asked, **filters)]

    assert chosen(level_min=1) == ["s1", "s2", "s3"]
    assert chosen(["own"], limit=2, offset=1, level_min=1) == ["s2", "s3"]
    assert chosen("other") == []
