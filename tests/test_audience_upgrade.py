"""Libraries that earlier versions stored without audiences: what is from a vault is secret in them when they are made again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from lorekeeper.audience import Viewer
from lorekeeper.cache.formats import declared
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import AUDIENCE, COLLECTIONS, Entity
from lorekeeper.library import Library
from lorekeeper.maintenance.earlier import current_entity
from lorekeeper.maintenance.repair import repair
from lorekeeper.search.query import Query
from lorekeeper.settings import Settings
from tests.support.entities import make
from tests.support.libraries import settings


def note(path: str, section: dict[str, object], **data: object) -> Entity:
    sections = [{"name": "", "desc": "It is a zqsecret.", **section}]
    return Entity("notes", path, path, "note", "saga", "vault", {"path": path, "sections": sections, **data}, {})


WYRM = Entity(
    "creatures", "w-1", "Fen Wyrm", "creature", "saga", "vault", {"name": "Fen Wyrm", "note": "lore://notes/saga/A.md"}
)
STORED = [
    note("Plain.md", {}),
    note("Marked.md", {"audience": "dm", "mark": "> [!dm]"}, audience="players"),
    WYRM,
    Entity("documents", "saga", "Saga", "document", "saga", "vault", {"name": "Saga"}),
    make("kelp", "Kelp grips.", name="Kelp Snare", level=1),
]
OPEN = note("Open.md", {"desc": "Bells ring."}, audience="players")


@contextmanager
def without_audiences() -> Iterator[None]:
    """An earlier version, whose types did not have that field."""
    current = dict(COLLECTIONS)
    for name, collection in current.items():
        COLLECTIONS[name] = replace(collection, fields=tuple(f for f in collection.fields if f.name != AUDIENCE))
    try:
        yield
    finally:
        COLLECTIONS.update(current)


@pytest.fixture(params=["milvus", "sqlite"])
def earlier(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of an empty library, of each backend."""
    paths = {"milvus_db_path": tmp_path / "milvus.db", "sqlite_db_path": tmp_path / "cache.db"}
    return settings(cache_backend=request.param, offline=1, **paths)


def library_of(chosen: Settings) -> Library:
    folder = chosen.library_path.parent
    embedding = EmbeddingService(lambda: HashingProvider(64), VectorCache(folder / "vectors.db"))
    return Library(open_cache(chosen, embedding), embedding, offline=True, views=folder / "library.views")


async def store(chosen: Settings, *entities: Entity) -> None:
    with without_audiences():
        async with library_of(chosen) as library:
            for entity in entities:
                await library.cache.store_entities([entity], entity.type)


async def seen(library: Library) -> set[str]:
    """Names of all that a player sees."""
    view = library.view(Viewer.player())
    await view.refresh()
    return {entity.name for name in COLLECTIONS for entity in await view.cache.get_entities(name)}


async def test_what_is_from_a_vault_is_secret_when_a_library_is_made_again(earlier: Settings) -> None:
    await store(earlier, *STORED, OPEN)
    await repair(earlier)
    async with library_of(earlier) as library:
        assert await seen(library) == {"Marked.md", "Open.md", "Saga", "Kelp Snare"}
        notes = {entity.name: entity.fields.get(AUDIENCE) for entity in await library.cache.get_entities("notes")}
        assert notes == {"Plain.md": ("dm",), "Marked.md": ("dm", "players"), "Open.md": None}
        (wyrm,) = await library.cache.get_entities("creatures")
        assert wyrm.fields[AUDIENCE] == ("dm",)
        assert (await library.view(Viewer.player()).search(Query(("notes",), "zqsecret", mode="keyword"))).total == 0
        assert (await library.search(Query(("notes",), "zqsecret", mode="keyword"))).total == 2


@pytest.mark.parametrize("column", ["level", "audience"])
@pytest.mark.parametrize("who", [("dm",), ("Ana", "Bo")])
def test_a_record_of_other_fields_keeps_its_audience(who: tuple[str, ...], column: str) -> None:
    secret = make("kelp", "Kelp.", audience=who)
    columns = [f"{each}0" if each.startswith(column) else each for each in declared(COLLECTIONS["spells"]).split()]
    assert current_entity("spells", secret.as_record(), " ".join(columns)).fields[AUDIENCE] == secret.fields[AUDIENCE]


async def test_the_players_view_is_made_again_when_it_is_lost(earlier: Settings) -> None:
    await store(earlier, *STORED)
    await repair(earlier)
    async with library_of(earlier) as library:
        first = await seen(library)
    shutil.rmtree(earlier.library_path.parent / "library.views")
    async with library_of(earlier) as library:
        assert await seen(library) == first == {"Marked.md", "Saga", "Kelp Snare"}
