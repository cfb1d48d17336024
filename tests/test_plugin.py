"""The cache as programs of other projects use it: plain dicts, types of their own, and what happens without a model."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, cast

import pytest

import lorekeeper
from lorekeeper import (
    CacheError,
    Collection,
    ConfigError,
    EmbeddingError,
    EmbeddingService,
    Entity,
    EntityCache,
    EntityError,
    Field,
    FieldType,
    FilterError,
    HashingProvider,
    MilvusCache,
    Settings,
    SqliteCache,
)
from lorekeeper.embedding.protocol import Vectors
from tests.support.commands import environment, run_lorekeeper
from tests.support.tables import each_row

SPELLS: list[dict[str, Any]] = [
    {
        "slug": "ember-veil",
        "name": "Ember Veil",
        "desc": "A veil of embers wraps you and protects you from cold and from fire.",
        "level": 4,
        "school": "Evocation",
        "document": "hearth",
        "our own key": {"list": [1, None, "ä"], "deep": {"x": 1.5}},
    },
    {
        "key": "hail-drum",
        "name": "Hail Drum",
        "description": "Hail drums on everything below the cloud that you call.",
        "level": 4,
        "school": {"name": "Evocation", "key": "evocation"},
    },
    {"name": "Salt Ring", "desc": "A ring of salt keeps the restless dead away.", "level": "2", "ritual": True},
]

OPEN5E_V2 = {
    "key": "srd-2014_dim-light",
    "name": "Dim Light",
    "document": {"key": "srd-2014", "name": "A System Reference"},
    "school": {"name": "Evocation", "key": "evocation"},
    "level": 0,
    "casting_time": "action",
    "desc": "The object that you touch shines, though not brightly.",
}

OPEN5E_V1 = {
    "slug": "moss-hound",
    "name": "Moss Hound",
    "document__slug": "tob",
    "document__title": "A Tome",
    "challenge_rating": "1/2",
    "hit_points": 22,
    "armor_class": 12,
    "type": "Beast",
    "size": "Medium",
    "actions": [{"name": "Bite", "desc": "The hound bites, and leaves wet moss in the wound."}],
}

SHIPS = Collection(
    "ships",
    fields=[Field("crew", FieldType.INTEGER, "people aboard"), Field("rig", FieldType.TEXT)],
    text=["hull", "log"],
)

ALBATROSS = {
    "name": "Albatross",
    "crew": 12,
    "rig": "Sloop",
    "hull": "Oak planks from the northern forest.",
    "log": "She lost her mast off the cape in a gale.",
}
PETREL = {
    "name": "Petrel",
    "crew": 3,
    "hull": "Tarred canvas over willow, light as a leaf.",
    "log": "No storm sank her.",
}

BACKENDS = ["milvus", "sqlite", pytest.param("server", marks=pytest.mark.slow)]

Open = Callable[..., EntityCache]


@pytest.fixture(params=BACKENDS)
def open_cache(request: pytest.FixtureRequest, tmp_path: Path) -> Open:
    """Makes caches on one store of each kind."""

    def opened(embedding: Any = HashingProvider, **options: Any) -> EntityCache:
        if request.param == "sqlite":
            return SqliteCache(tmp_path / "cache.db", embedding=embedding, **options)
        if request.param == "milvus":
            return MilvusCache(tmp_path / "milvus.db", embedding=embedding, **options)
        return MilvusCache(
            request.getfixturevalue("empty_milvus_server"), embedding=embedding, folder=tmp_path, **options
        )

    return opened


@pytest.fixture
async def cache(open_cache: Open) -> AsyncIterator[EntityCache]:
    async with open_cache() as opened:
        yield opened


def names(entries: Sequence[dict[str, Any]]) -> list[str]:
    return [entry["name"] for entry in entries]


# --- dicts -----------------------------------------------------------------------------------------------------------


async def test_dicts_of_any_project_come_back_as_they_were_stored(cache: EntityCache):
    assert await cache.store_entities([*SPELLS, OPEN5E_V2], "spells") == 4
    stored = await cache.get_entities("spells")
    assert stored == [OPEN5E_V2, *SPELLS]
    assert [entry async for entry in cache.iterate("spells")] == [SPELLS[0], SPELLS[1], SPELLS[2], OPEN5E_V2]
    assert await cache.store_entities([OPEN5E_V1], "creatures") == 1
    assert await cache.get_entities("creatures", challenge_rating=0.5, type="beast") == [OPEN5E_V1]
    assert await cache.documents() == {
        "hearth": {"spells": 1},
        "homebrew": {"spells": 2},
        "srd-2014": {"spells": 1},
        "tob": {"creatures": 1},
    }


async def test_one_entity_is_found_by_slug_by_key_and_by_name(cache: EntityCache):
    await cache.store_entities([*SPELLS, OPEN5E_V2], "spells")
    assert await cache.get_entity("spells", "ember-veil") == SPELLS[0]
    assert await cache.get_entity("spells", "hail-drum", "homebrew") == SPELLS[1]
    assert await cache.get_entity("spells", "Salt Ring") == SPELLS[2]
    assert await cache.get_entity("spells", "srd-2014_dim-light") == OPEN5E_V2
    assert await cache.get_entity("spells", "ember-veil", "homebrew") is None
    assert await cache.get_entity("spells", "") is None
    assert await cache.delete_entities("spells", ["Ember Veil"]) == 0
    assert await cache.delete_entities("spells", ["srd-2014_dim-light"]) == 1


async def test_rules_are_found_by_their_content_and_other_prose_is_named(
    cache: EntityCache, caplog: pytest.LogCaptureFixture
):
    rest = {"name": "Rest", "desc": "A pause in adventuring.", "content": "You sleep for eight hours beside a lantern."}
    assert "lantern" in EmbeddingService(HashingProvider).get_searchable_text(rest, "rules")
    await cache.store_entities([rest], "rules")
    assert "not searched" not in caplog.text
    lore = "The sailors tell that it was sung first when the lighthouse went dark, and nobody has dared to finish it."
    told = [
        {
            "name": "Song",
            "desc": "A song of the sea, which is sung at night.",
            "lore": lore,
            "url": "https://" + "x" * 99,
        }
    ]
    await cache.store_entities(told, "spells")
    (message,) = [message for message in caplog.messages if "not searched" in message]
    assert "'lore' (1 of 1)" in message
    assert "url" not in message
    assert await cache.get_entities("spells") == told


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("get_entities", {"limit": -1}, "limit must be"),
    ("get_entities", {"limit": "3"}, "limit must be"),
    ("get_entities", {"limit": True}, "limit must be"),
    ("get_entities", {"offset": -3}, "offset must be"),
    ("get_entities", {"document": 3}, "document must be"),
    ("get_entities", {"document": ["one", 3]}, "document must be"),
    ("semantic_search", {"query": None}, "query must be"),
    ("semantic_search", {"query": "x", "limit": -1}, "limit must be"),
    ("semantic_search", {"query": "x", "document": 3}, "document must be"),
    ("get_entity", {"key": "x", "document": 3}, "document must be"),
    ("delete_entities", {"keys": ["x"], "document": 3}, "document must be"),
    ("delete_entities", {"keys": None}, "keys must be"),
    ("count_entities", {"document": 3.5}, "document must be"),
]


@each_row(("method", "arguments", "said"), WRONG)
async def test_arguments_that_no_method_takes_are_refused_in_words(method: str, arguments: dict[str, Any], said: str):
    async with SqliteCache.temporary() as cache:
        with pytest.raises(FilterError, match=said):
            await getattr(cache, method)("spells", **arguments)
        with pytest.raises(FilterError, match="document must be"):
            await cache.delete_document(cast(Any, None))


async def test_dates_of_python_are_taken_where_texts_are(open_cache: Open):
    tickets = Collection("tickets", fields=[Field("opened", FieldType.DATE)], text=["desc"])
    days = [date(2026, 9, 1), datetime(2026, 9, 2, 18, 30, tzinfo=UTC), "2026-09-03"]
    stored = [{"name": f"Ticket {n}", "opened": day, "desc": "A lamp is broken."} for n, day in enumerate(days)]
    async with open_cache(collections=[tickets]) as cache:
        await cache.store_entities([{**each, "log": [{"at": each["opened"]}]} for each in stored], "tickets")
        assert names(await cache.get_entities("tickets", opened_min=date(2026, 9, 2))) == ["Ticket 1", "Ticket 2"]
        late = datetime(2026, 9, 2, 18, 30, tzinfo=UTC)
        assert names(await cache.get_entities("tickets", opened_max=late)) == ["Ticket 0", "Ticket 1"]
        assert names(await cache.get_entities("tickets", opened=date(2026, 9, 1))) == ["Ticket 0"]
        first = await cache.get_entity("tickets", "Ticket 0")
        assert first is not None
        assert (first["opened"], first["log"]) == ("2026-09-01", [{"at": "2026-09-01"}])


async def test_filters_work_on_dicts_as_on_entities(cache: EntityCache):
    await cache.store_entities(SPELLS, "spells")
    assert names(await cache.get_entities("spells", level_min=3, school="evocation")) == ["Ember Veil", "Hail Drum"]
    assert names(await cache.get_entities("spells", ["hearth", "nowhere"])) == ["Ember Veil"]
    assert names(await cache.get_entities("spells", level=[2, 9], ritual=True)) == ["Salt Ring"]
    assert names(await cache.get_entities("spells", limit=1, offset=1)) == ["Hail Drum"]
    assert await cache.count_entities("spells", "homebrew", name="ring") == 1
    with pytest.raises(FilterError, match=r"colour.*known: .*level, level_min, level_max, school"):
        await cache.semantic_search("spells", "fire", colour="red")
    with pytest.raises(FilterError, match=r"'starships'.*known: spells, creatures"):
        await cache.get_entities("starships")


async def test_entities_of_ours_are_accepted_too(cache: EntityCache):
    entity = Entity("spells", "x", "Xylophone Call", "spell", "own", "tests", {"desc": "Bells ring."}, {"level": 1})
    assert await cache.store_entities([entity, SPELLS[2]], "spells") == 2
    assert await cache.get_entities("spells", level=1) == [{"desc": "Bells ring."}]


@each_row(
    ("wrong", "said"),
    [
        ({"desc": "nameless"}, "needs a slug, a key or a name.*desc"),
        ({"slug": "", "name": "  "}, "needs a slug"),
        ({"name": "A", "level": "three"}, "level must be a number, not 'three'"),
        ({"name": "A", "x": float("nan")}, "cannot be stored as JSON"),
        ({"name": "A", "x": {1, 2}}, "cannot be stored as JSON"),
        (["name", "A"], "a dict or a lorekeeper.Entity, not list"),
        (Entity("spells", "", "Empty", "spell", "own", "tests", {}), "'Empty' of spells has an empty slug"),
        (
            Entity("spells", "a", "A", "spell", "own", "tests", {}, {"colour": "red"}),
            "unknown field of spells: 'colour'",
        ),
        (Entity("rules", "a", "A", "rule", "own", "tests", {}), "store it under rules"),
    ],
)
async def test_what_cannot_be_stored_is_said_and_nothing_is_stored(wrong: Any, said: str):
    async with SqliteCache.temporary() as cache:
        with pytest.raises(EntityError, match=said):
            await cache.store_entities([SPELLS[0], wrong], "spells")
        assert await cache.count_entities("spells") == 0


async def test_what_a_dict_says_of_its_audience_counts():
    secret = {**SPELLS[0], "audience": "dm"}
    async with SqliteCache.temporary() as cache:
        await cache.store_entities([secret, SPELLS[1]], "spells")
        assert await cache.get_entities("spells", audience="dm") == [secret]


# --- types of a program's own ----------------------------------------------------------------------------------------


async def test_another_game_declares_its_own_types(open_cache: Open):
    async with open_cache(collections=[SHIPS]) as cache:
        assert await cache.store_entities([ALBATROSS, PETREL], "ships") == 2
        assert await cache.get_entities("ships", rig="sloop", crew_min=5) == [ALBATROSS]
        assert names(await cache.semantic_search("ships", "lost her mast in a gale")) == ["Albatross", "Petrel"]
        assert (await cache.statistics()).counts == {"ships": 2}
        with pytest.raises(FilterError, match="known: ships"):
            await cache.get_entities("spells")
        with pytest.raises(FilterError, match=r"known: .*crew, crew_min, crew_max, rig"):
            await cache.get_entities("ships", level=3)
        with pytest.raises(EntityError, match="crew must be a number"):
            await cache.store_entities([{"name": "Gull", "crew": "many"}], "ships")
    async with open_cache(collections=[SHIPS]) as again:
        assert await again.get_entities("ships") == [ALBATROSS, PETREL]


async def test_two_caches_of_a_process_may_each_have_a_type_of_one_name(tmp_path: Path):
    other = Collection("ships", fields=[Field("range", FieldType.DECIMAL), Field("rig", FieldType.TEXTS)], text=["log"])
    comet = {"name": "Comet", "range": 4.2, "rig": ["sail", "ion"], "log": "She crossed the belt without a scratch."}
    for cls in (MilvusCache, SqliteCache):
        suffix = f"{cls.__name__}.db"
        async with (
            cls(tmp_path / f"sea-{suffix}", embedding=HashingProvider, collections=[SHIPS]) as sea,
            cls(
                tmp_path / f"sky-{suffix}",
                embedding=HashingProvider,
                collections=[other, *lorekeeper.COLLECTIONS.values()],
            ) as sky,
        ):
            await asyncio.gather(sea.store_entities([ALBATROSS, PETREL], "ships"), sky.store_entities([comet], "ships"))
            await sky.store_entities(SPELLS, "spells")
            assert await sea.get_entities("ships", crew_min=5) == [ALBATROSS]
            assert await sky.get_entities("ships", range_min=4, rig="ion") == [comet]
            assert names(await sea.semantic_search("ships", "a gale off the cape")) == ["Albatross", "Petrel"]
            assert names(await sky.semantic_search("ships", "without a scratch", range_max=5)) == ["Comet"]
            with pytest.raises(FilterError, match=r"known: .*crew, crew_min"):
                await sea.get_entities("ships", range=4)
            with pytest.raises(FilterError, match=r"known: .*range, range_min"):
                await sky.get_entities("ships", crew=4)
            assert [ship async for ship in sea.iterate("ships")] == [ALBATROSS, PETREL]
            assert [ship async for ship in sky.iterate("ships")] == [comet]
        async with cls(tmp_path / f"sea-{suffix}", embedding=HashingProvider, collections=[SHIPS]) as again:
            assert await again.get_entities("ships", rig="sloop") == [ALBATROSS]
            assert await again.reindex() == 2


async def test_a_library_with_other_fields_of_a_programs_type_is_refused_and_left_alone(open_cache: Open):
    fewer = Collection("ships", fields=[SHIPS.fields[0]], text=["hull", "log"])
    async with open_cache(collections=[fewer]) as first:
        await first.store_entities([ALBATROSS, PETREL], "ships")
    async with open_cache(collections=[SHIPS]) as later:
        with pytest.raises(CacheError, match=r"other fields of ships.*store the ships there, or declare the fields"):
            await later.get_entities("ships", rig="sloop", crew=12)
    async with open_cache(collections=[fewer]) as again:
        assert len(await again.get_entities("ships")) == 2


@pytest.mark.parametrize(
    ("collection", "said"),
    [
        (Collection("Ships!"), "cannot be the name of a type"),
        (Collection("order"), "no word of SQL"),
        (Collection("boats", fields=[Field("like", FieldType.INTEGER)]), "cannot be the name of a field"),
        (Collection("meta"), "cannot be the name of a type"),
        (Collection("boats", fields=[Field("limit", FieldType.INTEGER)]), "cannot be the name of a field"),
        (Collection("boats", fields=[Field("slug", FieldType.TEXT)]), "cannot be the name of a field"),
        (Collection("boats", fields=[Field("a", FieldType.TEXT), Field("a", FieldType.TEXT)]), "have one name"),
        (
            Collection("spells", fields=[Field("rank", FieldType.INTEGER)]),
            r"spells is a type of 5e with the fields level.*as in my_spells",
        ),
    ],
)
def test_a_type_that_cannot_be_declared_is_refused(tmp_path: Path, collection: Collection, said: str):
    with pytest.raises(ConfigError, match=said):
        SqliteCache(tmp_path / "cache.db", embedding=HashingProvider, collections=[collection])


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_maintenance_says_which_types_of_other_programs_it_leaves_alone(backend: str, tmp_path: Path):
    both = [*lorekeeper.COLLECTIONS.values(), SHIPS]
    path = tmp_path / ("milvus.db" if backend == "milvus" else "cache.db")
    cls = MilvusCache if backend == "milvus" else SqliteCache
    async with cls(path, collections=both) as cache:
        await cache.store_entities([ALBATROSS, PETREL], "ships")
        await cache.store_entities(SPELLS, "spells")
    env = environment(tmp_path, CACHE_BACKEND=backend)
    done = run_lorekeeper(tmp_path, "doctor", "--json", env=env)
    assert "also 2 ships of another program, which are not examined" in " ".join(done.stdout.split())
    done = run_lorekeeper(tmp_path, "backup", str(tmp_path / "all.zip"), env=env)
    assert "Left out: 2 ships, which only the program that declares them can read." in " ".join(done.stdout.split())
    if backend == "milvus":
        for data in (path / "collections" / "spells").rglob("*.parquet"):
            os.truncate(data, 100)
    else:
        with closing(sqlite3.connect(path)) as c, c:
            c.execute("UPDATE spells SET record = x'00' WHERE slug = 'ember-veil'")
    done = run_lorekeeper(tmp_path, "repair", env=env)
    assert "Not moved: 2 ships, which another program declares." in " ".join(done.stdout.split())
    (aside,) = [other for other in tmp_path.glob(f"{path.name}.damaged*") if not other.name.endswith(".keywords")]
    async with cls(aside, collections=[SHIPS]) as cache:
        assert await cache.get_entities("ships") == [ALBATROSS, PETREL]


# --- without a model -------------------------------------------------------------------------------------------------


class Broken(HashingProvider):
    """A provider whose queries fail as drivers do, with an error of their own."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        raise RuntimeError(f"CUDA out of memory for {len(texts)} texts")


async def test_a_search_without_vectors_falls_back_to_names_words_and_filters(
    open_cache: Open, caplog: pytest.LogCaptureFixture
):
    async with open_cache(Broken) as cache:
        await cache.store_entities(SPELLS, "spells")
        hits = await cache.semantic_search("spells", "salt ring", level_min=2)
        assert names(hits) == ["Salt Ring"]
        assert [hit["_score"] for hit in hits] == [None]
        filtered = await cache.semantic_search("spells", "volcano", 1, level_min=2)
        assert (names(filtered), filtered[0]["_score"]) == (["Ember Veil"], None)
        assert "filters alone" in (cache.last_fallback or "")
        assert await cache.semantic_search("spells", "volcano", level=None) == []
        assert names(await cache.semantic_search("spells", "the restless dead")) == ["Salt Ring"]
        assert "CUDA out of memory" in (cache.last_fallback or "")
        assert any("searched by names and words" in message for message in caplog.messages)
        assert caplog.records[-1].levelno == logging.WARNING


@each_row("error", [RuntimeError("no CUDA"), OSError("disk"), MemoryError(), ValueError("shape"), KeyError("x")])
async def test_whatever_a_provider_raises_is_an_embedding_error_with_its_cause(error: Exception):
    def load() -> HashingProvider:
        raise error

    class Failing(HashingProvider):
        def embed(self, texts: Sequence[str]) -> Vectors:
            raise error

    for service in (EmbeddingService(load), EmbeddingService(Failing)):
        with pytest.raises(EmbeddingError, match=f"{type(error).__name__}.*LOREKEEPER_EMBEDDING_MODEL") as raised:
            await service.embed(["a text"])
        assert raised.value.__cause__ is error
        service.close()


# --- the service -----------------------------------------------------------------------------------------------------


def test_all_services_of_a_model_share_it(monkeypatch: pytest.MonkeyPatch):
    from concurrent.futures import ThreadPoolExecutor

    from lorekeeper.embedding import configured

    loaded: list[str] = []

    def load(settings: Settings) -> HashingProvider:
        loaded.append(settings.embedding_model)
        return HashingProvider(8)

    monkeypatch.setattr(configured, "load_provider", load)
    monkeypatch.setattr(configured, "_SHARED", {})
    monkeypatch.setenv("LOREKEEPER_EMBEDDING_MODEL", "moss/small")
    services = [EmbeddingService() for _ in range(8)] + [EmbeddingService("moss/large")]
    with ThreadPoolExecutor(8) as threads:
        models = list(threads.map(EmbeddingService.get_model, services))
    assert sorted(loaded) == ["moss/large", "moss/small"]
    assert len({id(model) for model in models}) == 2
    for service in services:
        service.close()


# --- opening -------------------------------------------------------------------------------------------------


async def test_nothing_is_opened_before_its_first_use_and_a_temporary_cache_leaves_nothing(tmp_path: Path):
    async with MilvusCache(tmp_path / "milvus.db"), SqliteCache(tmp_path / "cache.db"):
        pass
    assert list(tmp_path.iterdir()) == []
    cache = MilvusCache.temporary()
    async with cache:
        await cache.store_entities(SPELLS, "spells")
        folder = Path((await cache.statistics()).location).parent
        assert folder.is_dir()
    assert not folder.exists()
