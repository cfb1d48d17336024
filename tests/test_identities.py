"""Identities of entries from an earlier cache: those that sync and imports give, also where a migration gave others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lorekeeper.attribution import attribution
from lorekeeper.entities import Entity
from lorekeeper.library import Library
from lorekeeper.maintenance.migrate import migrate
from lorekeeper.normalize import normalize
from lorekeeper.normalize.orcbrew import packs
from lorekeeper.settings import Settings
from lorekeeper.text.passages import passages
from tests.support.embedding_server import EmbeddingServer
from tests.support.legacy_cache import write_cache
from tests.support.libraries import entities_in, settings_in


@pytest.fixture(params=["milvus", "sqlite"])
def target(request: pytest.FixtureRequest, tmp_path: Path, embeddings: EmbeddingServer) -> Settings:
    """An empty library of each backend."""
    return settings_in(tmp_path / "library", request.param, embeddings)


# --- Open5e ----------------------------------------------------------------------------------------------------------

BOOK = "Adventurer's Guide"
GUIDE: dict[str, Any] = {
    "key": "a5e-ag", "slug": "a5e-ag", "name": BOOK, "display_name": BOOK, "publisher": {"name": "EN", "key": "en"},
    "licenses": [{"name": "Creative Commons Attribution 4.0", "key": "cc-by-40"}], "permalink": "https://example.org",
}  # fmt: skip


def of_the_api(slug: str, name: str, key: str = "a5e-ag", title: str = BOOK) -> dict[str, Any]:
    """A spell as Open5e's second API gives it."""
    return {
        "key": slug, "name": name, "desc": f"{name} does what it says.", "level": 2, "casting_time": "action",
        "verbal": True, "somatic": True, "material": False,
        "document": {"key": key, "name": title}, "school": {"name": "Evocation", "key": "evocation"},
        "classes": [{"name": "Wizard", "key": "srd_wizard"}], "range": 60, "range_unit": "feet", "ritual": False,
        "concentration": True, "duration": "1 minute",
    }  # fmt: skip


def of_the_cache(obj: dict[str, Any]) -> dict[str, Any]:
    """The same as the earlier cache keeps it: without keys, the book by its title."""
    return {
        "name": obj["name"], "slug": obj["key"], "desc": obj["desc"], "document": obj["document"]["name"],
        "document_url": None, "source_api": None, "level": obj["level"], "school": obj["school"]["name"],
        "casting_time": obj["casting_time"], "range": f"{obj['range']} feet", "components": "V, S",
        "duration": obj["duration"], "concentration": obj["concentration"], "ritual": obj["ritual"], "material": None,
        "higher_level": None, "damage_type": None, "classes": ["wizard"],
    }  # fmt: skip


API = [
    of_the_api("a5e-ag_salt-lance", "Salt Lance"),
    of_the_api("a5e_kelp-grasp", "Kelp Grasp"),
    of_the_api("srd_brine-ward", "Brine Ward", "srd-2014", "System Reference Document 5.1"),
    of_the_api("open5e_gull-call", "Gull Call", "open5e", "Open5e Originals"),
    of_the_api("srd_tide-step", "Tide Step", "core", "5e Core Concepts"),
]


@pytest.fixture
def api_cache(tmp_path: Path) -> Path:
    (tmp_path / "api").mkdir()
    return write_cache(tmp_path / "api" / "cache.db", {"spells": [of_the_cache(o) for o in API], "documents": [GUIDE]})


async def test_d8_migrated_entries_have_the_identities_that_sync_gives(target: Settings, api_cache: Path) -> None:
    await migrate(target, api_cache)
    synced = {e.identity: e for obj in API for e in normalize(obj, hint="spells")}
    found = {e.identity: e for e in (await entities_in(target)).values()}
    assert found.keys() == synced.keys()
    for identity, entity in found.items():
        right = synced[identity]
        assert (entity.name, entity.kind, entity.source_api) == (right.name, right.kind, right.source_api)
        assert entity.fields == right.fields
        assert [p.embedded for p in passages(entity)] == [p.embedded for p in passages(right)]
    async with Library.from_settings(target) as library:
        guide = await library.cache.get_entity("documents", "a5e-ag", "a5e-ag")
        assert attribution(guide).licenses == ["CC-BY-4.0"]
        await library.cache.store_entities(list(synced.values()), "spells")
        assert await library.cache.count_entities("spells") == len(API), "a sync doubles nothing"
    again = await migrate(target, api_cache)
    assert again.tables["spells"].unchanged == len(API), "what the source gave whole is not replaced by a part of it"


# --- OrcBrew rows ----------------------------------------------------------------------------------------------------------

ORCBREW = (
    '{"Tide Pack" {:orcpub.dnd.e5/spells {:salt-spark {:key :salt-spark, :name "Salt Spark", :option-pack "Tide Pack", '
    ':level 1, :school "evocation", :casting-time "1 action", :range "60 feet", :duration "Concentration, up to 1 minute", '
    ':description "A spark of salt stings.", :spell-lists {:bard false, :druid true, :wizard true}}}}}'
)


def orcbrew_row(entry: Entity) -> dict[str, Any]:
    """A row of the earlier cache for an entry of a pack: what it searched by, and the entry inside."""
    data = dict(entry.data)
    return {
        "slug": entry.slug, "name": entry.name, "source": "Tide Pack", "source_api": "orcbrew", "document": "Tide Pack",
        "data": data, "level": data["level"], "school": data["school"],
    }  # fmt: skip


async def test_d11_migrated_orcbrew_entries_are_those_of_an_import(target: Settings, tmp_path: Path) -> None:
    (imported,) = packs(ORCBREW, "tide").entities
    (tmp_path / "packs").mkdir()
    await migrate(target, write_cache(tmp_path / "packs" / "cache.db", {"spells": [orcbrew_row(imported)]}))
    assert await entities_in(target) == {imported.uri: imported}
