"""Keywords on a Milvus server: its own BM25 ranks them, and what other machines write is seen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.cache.milvus import remote as milvus_remote
from lorekeeper.cache.milvus.rows import TEXT_BYTES
from lorekeeper.cache.milvus.server import REPEATS, stored_words
from lorekeeper.cache.protocol import SearchCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.embedding.protocol import EmbeddingProvider
from lorekeeper.errors import EmbeddingError
from lorekeeper.text.passages import passages
from tests.support.backends import Caches, change_capabilities
from tests.support.entities import everything, make
from tests.support.libraries import settings

Client = Callable[[str], SearchCache]

# --- words, without a server -------------------------------------------------------------------------------------------


def test_a_name_counts_for_more_than_the_text():
    words = stored_words(make("x", "Salt.", name="Ash")).split()
    assert words.count("ash") == REPEATS[0]
    assert words.count("salt") == REPEATS[1]


def test_of_an_overlong_entry_every_word_stays_before_any_stands_there_twice():
    different = [f"w{i:05}" for i in range(4000)]
    stored = stored_words(make("x", " ".join(["again"] * 40_000 + different), name="Long")).split()
    assert len(" ".join(stored).encode("utf-8")) <= TEXT_BYTES
    assert set(different) <= set(stored)
    assert stored.count("again") > 1000
    wide = stored_words(make("x", " ".join(f"龍{i}" for i in range(20_000)), name="Wide"))
    assert TEXT_BYTES - 10 < len(wide.encode("utf-8")) <= TEXT_BYTES
    assert stored_words(make("x", "z" * 70_000, name="Fire")).split()[0] == "fire"


# --- ranking on the server -----------------------------------------------------------------------------------------------


@pytest.fixture
async def client(empty_milvus_server: str, tmp_path: Path) -> AsyncIterator[Client]:
    """Opens the server's library as another machine would: each with files of its own."""
    stores: list[Caches] = []

    def open_client(machine: str) -> SearchCache:
        stores.append(Caches(settings(milvus_db_path=tmp_path / machine / "milvus.db", milvus_uri=empty_milvus_server)))
        return stores[-1].open()

    yield open_client
    for store in stores:
        await store.close()


@pytest.fixture
def always_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare with the server before every answer, so that no test has to wait."""
    monkeypatch.setattr(milvus_remote, "COMPARE_SECONDS", 0.0)
    monkeypatch.setattr(milvus_remote, "COMPARE_SHARE", 0)


async def by_words(cache: SearchCache, query: str, **filters: Any) -> list[str]:
    return [r.identity[1] for r in await cache.rank_keyword("spells", query, 10, **filters)]


async def by_name(cache: SearchCache, query: str) -> list[str]:
    return [r.identity[1] for r in await cache.rank_names("spells", query)]


async def test_the_server_ranks_stems_and_letters_without_accents(client: Client) -> None:
    cache = client("one")
    await cache.store_entities(
        [
            make("ship", "It burns the SHIPS of a fleet.", level=1),
            make("cafe", "Served in the Café of Zoë.", level=2),
            make("stone", "Stone lasts, and does nothing else at all."),
        ],
        "spells",
    )
    assert await by_words(cache, "burning ship") == ["ship"]
    assert await by_words(cache, "cafes zoe") == ["cafe"]
    assert await by_words(cache, "burning cafe", level=2) == ["cafe"]
    assert await by_words(cache, "burning cafe", document="other") == []
    assert await by_words(cache, "the of a") == []


async def test_the_server_ranks_words_where_there_is_no_model_and_no_copy(
    client: Client, empty_milvus_server: str, tmp_path: Path
) -> None:
    def load() -> EmbeddingProvider:
        raise EmbeddingError("no model")

    await client("one").store_entities([make("a", "Ash."), make("b", "Bone.")], "spells")
    chosen = settings(milvus_db_path=tmp_path / "two" / "milvus.db", milvus_uri=empty_milvus_server)
    async with open_cache(chosen, EmbeddingService(load)) as cache:
        assert await by_words(cache, "ashes") == ["a"]
        assert not list((tmp_path / "two").glob("*.keywords"))
        with pytest.raises(EmbeddingError):
            await cache.rank_semantic("spells", "ash")


# --- what other machines write -------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("always_compared")
async def test_a_change_that_leaves_the_number_of_entries_is_noticed(client: Client) -> None:
    one, two = client("one"), client("two")
    await one.store_entities([make(s, f"Text {s}.", name=f"Gate {s}") for s in ("ash", "bone", "coal")], "spells")
    assert await by_name(two, "gate ash") == ["ash"]
    assert await by_name(two, "gate bone") == ["bone"]
    await one.store_entities([make("ash", "Dusk.", name="Ember Road")], "spells")
    await one.delete_entities("spells", [("own", "bone")])
    await one.store_entities([make("frost", "Frost.", name="Frozen Lake")], "spells")
    assert await by_name(two, "ember road") == ["ash"]
    assert await by_name(two, "frozen lake") == ["frost"]
    assert await by_name(two, "gate ash") == []
    assert await by_name(two, "gate bone") == []
    assert (await two.word_counts("spells", ["bone", "dusk", "coal"])).keys() == {"dusk", "coal"}
    assert {e.slug for e in await everything(two)} == {"ash", "coal", "frost"}


@pytest.mark.usefixtures("always_compared")
async def test_a_question_does_not_wait_for_a_writer_of_its_own_machine(client: Client) -> None:
    one, two, writer = client("one"), client("two"), client("two")
    await one.store_entities([make("a", "Ash.", name="Ashen Gate")], "spells")
    assert await by_name(two, "ashen gate") == ["a"]
    await one.store_entities([make("b", "Bone.", name="Bone Tower")], "spells")
    lock = writer._store.write_lock()  # type: ignore[attr-defined]
    await asyncio.to_thread(lock.__enter__)
    try:
        assert await asyncio.wait_for(by_name(two, "ashen gate"), 30) == ["a"]
    finally:
        await asyncio.to_thread(lock.__exit__, None, None, None)
    assert await by_name(two, "bone tower") == ["b"]


async def test_a_write_that_was_cut_off_is_taken_over_from_the_server(client: Client) -> None:
    first = client("one")
    await first.store_entities([make("a", "Ash.", name="Ashen Gate"), make("b", "Bone.", name="Bone Tower")], "spells")
    entity, store = make("a", "Coal.", name="Ember Road"), first._store  # type: ignore[attr-defined]
    cut = [(entity, passages(entity))]
    vectors = HashingProvider(512).embed([p.embedded for _, found in cut for p in found])
    await asyncio.to_thread(store.companion.begin, "spells", [entity.identity])
    await asyncio.to_thread(store.collections.upsert, "spells", cut, vectors, store.collections.info("spells"))
    await first.close()
    again = client("one")
    assert await by_words(again, "coal") == ["a"]
    assert await by_name(again, "ember road") == ["a"]
    assert await by_name(again, "ashen gate") == []
    assert await by_name(again, "bone tower") == ["b"]


# --- a library from before -------------------------------------------------------------------------------------------------


async def test_a_library_with_other_words_is_ranked_by_the_local_index(client: Client) -> None:
    old, cache = client("one"), client("one")
    stored = [make("ship", "It burns ships.", name="Red Tide"), make("long", "A walrus plays chess. " * 100)]
    change_capabilities(old, words=99)
    await old.store_entities(stored, "spells")
    await old.close()
    assert await by_words(cache, "burning") == ["ship"]
    assert await by_words(cache, "playing") == ["long"]
    assert await by_name(cache, "red tide") == ["ship"]
    assert len(await cache.semantic_search("spells", "chess")) == 2
    assert await cache.store_entities([make("x", "Ash.")], "spells") == 1
    assert {e.slug for e in await everything(cache)} == {"ship", "long", "x"}
