"""The samples of the design and of docs/plugin.md, on every store: both local ones, Milvus Lite's server, the standalone server."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.support.commands import ROOT, environment
from tests.support.plugin_page import SERVER, TWENTY
from tests.support.serving import SECONDS

STORES = [
    "milvus",
    pytest.param("sqlite", marks=pytest.mark.slow),
    pytest.param("server", marks=pytest.mark.slow),
    pytest.param("standalone", marks=pytest.mark.milvus_server),
]

DESIGN = """
import asyncio, json
from lorekeeper import EmbeddingService, create_cache

SPELLS = [
    {"slug": "ember-shield", "name": "Ember Shield", "level": 4, "school": "evocation", "document": "srd",
     "desc": "Thin flames wrap your body and shield you from heat and from fire."},
    {"slug": "hail-storm", "name": "Hail Storm", "level": 4, "school": "evocation", "document": "srd",
     "desc": "Hail pounds the ground and cuts all who stand in it."},
    {"slug": "ember-ball", "name": "Ember Ball", "level": 3, "school": "evocation", "document": "other",
     "desc": "A ball of flame bursts and burns all who are near."},
]

async def main():
    said = {}
    service = EmbeddingService()
    assert service.get_model() is EmbeddingService().get_model()
    said["encoded"] = [len(service.encode("protect from fire")), len(service.encode_batch(["a mast", "an oar"]))]
    said["text"] = service.get_searchable_text(SPELLS[0], "spells")
    async with create_cache() as cache:
        said["stored"] = await cache.store_entities(SPELLS, "spells")
        said["level"] = [s["slug"] for s in await cache.get_entities("spells", level=4, school="Evocation")]
        said["books"] = [s["slug"] for s in await cache.get_entities("spells", document=["other", "third"])]
        hits = await cache.semantic_search("spells", "protect from fire", limit=2, document="srd", level=4)
        said["meant"] = [hit["slug"] for hit in hits]
        said["scores"] = [hit["_score"] for hit in hits]
        said["same"] = {k: v for k, v in hits[0].items() if k != "_score"} == SPELLS[0]
        said["fallback"] = cache.last_fallback
        said["deleted"] = await cache.delete_document("other")
        said["left"] = await cache.count_entities("spells")
    service.close()
    print(json.dumps(said))

asyncio.run(main())
"""


@dataclass(frozen=True)
class Store:
    """A store that programs of their own use.

    Attributes:
        folder: where they run.
        cache: what replaces ``MilvusCache(PATH`` in their text.
        env: their environment, by which `create_cache` finds the store.
    """

    folder: Path
    cache: str
    env: dict[str, str]

    def program(self, text: str, path: str) -> str:
        """A program of the page that uses this store."""
        written = f'MilvusCache("{path}"'
        assert text.count(written) == 1
        return text.replace(written, self.cache).replace("MilvusCache\n", "MilvusCache, SqliteCache\n")

    def run(self, program: str) -> list[str]:
        """What it prints, in a process of its own; nothing may be printed on stderr."""
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, cwd=self.folder, env=self.env, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    env = environment(tmp_path) | {"PYTHONPATH": str(ROOT)}
    if request.param == "sqlite":
        env["LOREKEEPER_CACHE_BACKEND"] = "sqlite"
        return Store(tmp_path, 'SqliteCache("own/cache.db"', env)
    if request.param == "milvus":
        return Store(tmp_path, 'MilvusCache("own/milvus.db"', env)
    uri = request.getfixturevalue(f"empty_{'milvus' if request.param == 'server' else 'standalone'}_server")
    return Store(tmp_path, f'MilvusCache("{uri}", folder="own"', env | {"LOREKEEPER_MILVUS_URI": uri})


def test_the_sample_of_the_design_gives_the_same_on_every_store(store: Store) -> None:
    (line,) = store.run(DESIGN)
    said = json.loads(line)
    best, second = said.pop("scores")
    assert 1 > best > second > -1
    assert "Ember Shield" in said["text"]
    assert "shield you from heat" in said.pop("text")
    assert said == {
        "encoded": [384, 2],
        "stored": 3,
        "level": ["ember-shield", "hail-storm"],
        "books": ["ember-ball"],
        "meant": ["ember-shield", "hail-storm"],
        "same": True,
        "fallback": None,
        "deleted": 1,
        "left": 2,
    }


def test_the_twenty_lines_give_the_same_on_every_store(store: Store) -> None:
    found, refused = store.run(store.program(TWENTY, "library/milvus.db"))
    assert re.fullmatch(r"Salt Ring: 0\.\d\d", found)
    assert refused == "unknown filter for spells: 'colour'"


async def test_the_server_of_forty_lines_answers_on_every_store(store: Store) -> None:
    (store.folder / "ships.py").write_text(store.program(SERVER, "ships/milvus.db"))
    parameters = StdioServerParameters(command=sys.executable, args=["ships.py"], env=store.env, cwd=store.folder)
    async with Client(stdio_client(parameters), read_timeout_seconds=SECONDS) as client:

        async def found(**asked: object) -> list[str]:
            answer = await client.call_tool("lookup_ship", asked)
            assert "semantic_query" not in asked or answer.structured_content["note"] is None
            return [ship["name"] for ship in answer.structured_content["ships"]]

        (tool,) = (await client.list_tools()).tools
        assert sorted(tool.input_schema["properties"]) == ["crew_min", "rig", "semantic_query"]
        assert (await client.call_tool("lookup_ship", {"rig": "sloop", "crew_min": "many"})).is_error
        assert await found() == ["Albatross", "Petrel"]
        assert await found(rig="LUGGER") == ["Petrel"]
        assert await found(semantic_query="a light boat of willow") == ["Petrel", "Albatross"]
        assert await found(semantic_query="a light boat of willow", crew_min=5) == ["Albatross"]
