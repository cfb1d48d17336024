"""The server opens store and model in the background, once a client is connected and not before."""

from __future__ import annotations

from pathlib import Path

import pytest
from mcp import Client

from lorekeeper.cache.milvus.lite import Engine
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import COLLECTIONS
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.server.mcp import build_server
from tests.support.backends import Caches
from tests.support.entities import make
from tests.support.libraries import settings
from tests.support.waiting import eventually


async def test_a_query_opens_its_own_type_and_the_rest_follows(
    embedded: Caches, monkeypatch: pytest.MonkeyPatch
) -> None:
    for entity_type in COLLECTIONS:
        await embedded.open().store_entities([make("a", "text", type=entity_type)], entity_type)
    await embedded.close()
    for file in embedded.settings.milvus_db_path.rglob("manifest.json"):
        file.write_text(file.read_text() + "\n")  # types whose files have changed are compared with their copies
    service = EmbeddingService(HashingProvider)
    loaded: set[str] = set()
    load = Engine.load_collection

    def watched(engine: Engine, name: str) -> None:
        loaded.add(name)
        load(engine, name)

    monkeypatch.setattr(Engine, "load_collection", watched)
    async with Library(open_cache(embedded.settings, service), service) as library:
        assert (await library.search(Query(types=["spells"], text="text"))).total == 1
        assert loaded == {"spells", "documents"}
        async with Client(build_server(library)) as client:
            await client.list_tools()
            await eventually(lambda: loaded == set(COLLECTIONS))


async def test_a_library_that_cannot_be_opened_fails_the_call_that_needs_it(tmp_path: Path) -> None:
    (tmp_path / "milvus.db").write_text("no library")
    service = EmbeddingService(HashingProvider)
    cache = open_cache(settings(milvus_db_path=tmp_path / "milvus.db"), service)
    async with Library(cache, service) as library, Client(build_server(library)) as client:
        listed = await client.list_tools()
        assert listed.tools
        result = await client.call_tool("lookup_spell", {"semantic_query": "fire"})
    assert result.is_error
    assert "plain file" in str(result.content)
