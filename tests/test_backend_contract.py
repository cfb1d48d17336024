"""The public contract of backends: our own pass it, and so does a toy of another package, which then answers the MCP tools."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from lorekeeper.cache.completed import CompletedCache
from lorekeeper.cache.protocol import CacheProtocol, Hit
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import COLLECTIONS
from lorekeeper.intake.starter_record import DECLINED
from lorekeeper.system import private_file
from lorekeeper.testing import CacheContract
from tests.support import forking
from tests.support.asking import asked
from tests.support.commands import environment, run_lorekeeper
from tests.support.entities import make
from tests.support.libraries import settings
from tests.support.serving import SECONDS, SERVE
from tests.support.toy_backend import ToyCache

ENTRY_POINT = "[lorekeeper.cache_backends]\ntoy = tests.support.toy_backend:toy_backend\n"


class TestMilvus(CacheContract):
    def open_cache(self, folder: Path, embedding: EmbeddingService) -> CacheProtocol:
        return open_cache(settings(milvus_db_path=folder / "milvus.db"), embedding)


class TestSqlite(CacheContract):
    def open_cache(self, folder: Path, embedding: EmbeddingService) -> CacheProtocol:
        return open_cache(settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db"), embedding)


class TestToy(CacheContract):
    def open_cache(self, folder: Path, embedding: EmbeddingService) -> CacheProtocol:
        return ToyCache(folder / "toy.json", embedding)


def test_the_protocol_of_backends_has_at_most_fourteen_methods():
    methods = [name for name, value in vars(CacheProtocol).items() if inspect.isfunction(value) and name != "__init__"]
    own = [name for name in methods if not name.startswith("_") or name in ("__aenter__", "__aexit__")]
    assert len(own) == 14
    assert all(inspect.getdoc(getattr(CacheProtocol, name)) for name in own if not name.startswith("_"))


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine with the toy's package, which is a folder on the path."""
    package = tmp_path / "site" / "toy_backend-1.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-backend\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(ENTRY_POINT)
    private_file(tmp_path / "toy.db.starter").write_text(DECLINED)
    env = environment(tmp_path, CACHE_BACKEND="toy")
    return env | {forking.ALSO: str(package.parent), "TOY_FILE": str(tmp_path / "toy.json")}


ENTRY = {
    "collection": "spells",
    "name": "Bell Ward",
    "level": 1,
    "school": "abjuration",
    "description": "A drowned bell tolls once when a stranger crosses the line that you drew with salt.",
}


async def test_the_tools_answer_from_another_packages_backend(tmp_path: Path, installed: dict[str, str]):
    file = tmp_path / "own.json"
    file.write_text(json.dumps(ENTRY))
    done = run_lorekeeper(tmp_path, "import", str(file), env=installed)
    assert done.returncode == 0, done.stderr
    assert "Bell Ward" in (tmp_path / "toy.json").read_text()
    parameters = StdioServerParameters(command=SERVE[0], args=SERVE[1:], env=installed)
    async with Client(stdio_client(parameters), read_timeout_seconds=SECONDS) as client:
        for tool, arguments in (
            ("lookup_spell", {"name": "bell", "level": 1}),
            ("lookup_spell", {"semantic_query": "warn me of strangers", "school": "abjuration"}),
            ("search_lore", {"query": "drowned bell"}),
            ("list_documents", {}),
        ):
            assert "Bell Ward" in str(await asked(client, tool, **arguments)) or tool == "list_documents"
        assert "salt" in str(await asked(client, "get_entity", uri="Bell Ward, homebrew"))


async def test_names_and_words_of_a_foreign_backend_are_derived_again_from_a_damaged_index(tmp_path: Path):
    index, embedding = tmp_path / "index.db", EmbeddingService(HashingProvider)
    spells = [
        make("bell-ward", "A drowned bell tolls.", name="Bell Ward"),
        make("salt-ring", "Salt.", name="Salt Ring"),
    ]
    async with CompletedCache(
        ToyCache(tmp_path / "toy.json", embedding), embedding, index, tuple(COLLECTIONS)
    ) as cache:
        await cache.store_entities(spells, "spells")
        assert [ranked.identity[1] for ranked in await cache.rank_names("spells", "bel ward")] == ["bell-ward"]
        assert await cache.delete_entities("spells", [spells[0].identity]) == 1
        assert await cache.rank_names("spells", "bel ward") == []
    index.write_bytes(b"no database " * 400)
    async with CompletedCache(
        ToyCache(tmp_path / "toy.json", embedding), embedding, index, tuple(COLLECTIONS)
    ) as cache:
        assert [ranked.identity[1] for ranked in await cache.rank_keyword("spells", "salt")] == ["salt-ring"]
    embedding.close()


class Backwards(ToyCache):
    """A toy that gives hits of one score in the order of its file, from its end."""

    async def semantic_search(self, entity_type: str, *arguments: Any, **options: Any) -> list[Hit]:
        return [Hit(entity, 0.5, entity.name) async for batch in self.iterate(entity_type) for entity in batch][::-1]


async def test_hits_of_one_score_are_in_the_order_of_their_identities(tmp_path: Path):
    embedding = EmbeddingService(HashingProvider)
    toy = Backwards(tmp_path / "toy.json", embedding)
    async with CompletedCache(toy, embedding, tmp_path / "index.db", tuple(COLLECTIONS)) as cache:
        await cache.store_entities([make(slug, "Salt.") for slug in ("bell", "ash", "crab")], "spells")
        ranked = [hit.identity[1] for hit in await cache.rank_semantic("spells", "salt", 3)]
        assert ranked == ["ash", "bell", "crab"]
    embedding.close()


def test_a_backend_that_is_not_installed_is_refused_with_those_that_are(tmp_path: Path, installed: dict[str, str]):
    done = run_lorekeeper(tmp_path, "stats", env={**installed, "LOREKEEPER_CACHE_BACKEND": "nosuch"})
    assert done.returncode == 2
    assert "allowed: milvus, sqlite, toy" in done.stderr


def test_commands_that_maintain_our_own_stores_say_so(tmp_path: Path, installed: dict[str, str]):
    done = run_lorekeeper(tmp_path, "backup", str(tmp_path / "x.zip"), env=installed)
    assert done.returncode in (1, 2)
    assert "backend of another package" in done.stderr
    assert run_lorekeeper(tmp_path, "stats", "--json", env=installed).returncode == 0
    assert run_lorekeeper(tmp_path, "doctor", env=installed).returncode in (0, 1)


def test_the_contract_needs_no_plugin_of_pytest():
    program = "import lorekeeper.testing, sys; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=200)
    assert done.stdout.strip() == "False"
