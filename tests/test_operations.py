"""The operations of a cache are declared once; each layer performs all of them by one method, and views refuse undeclared ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lorekeeper.audience import PLAYERS, Viewer
from lorekeeper.cache import protocol
from lorekeeper.cache.async_cache import ThreadedCache
from lorekeeper.cache.completed import CompletedCache
from lorekeeper.cache.protocol import CacheProtocol, InView, LibraryCache, Operation, SearchCache
from lorekeeper.entities import Entity
from lorekeeper.errors import CacheError
from lorekeeper.library import Library
from lorekeeper.views.view_cache import Projections, ViewCache
from tests.support.entities import make
from tests.support.libraries import open_library

OPERATIONS = [value for value in vars(protocol).values() if isinstance(value, Operation)]

METHODS = {name for cache in (SearchCache, LibraryCache) for name in vars(cache) if not name.startswith("_")} - {
    "types"
}

SECRET = Entity("notes", "Vault.md", "Vault", "note", "saga", "vault", {"path": "Vault.md"}, {"audience": ("dm",)})


def test_a_layer_declares_no_operation_again() -> None:
    own = {"call", "close", "store"}
    assert set(vars(ThreadedCache)) & METHODS <= own
    assert set(vars(ViewCache)) & METHODS <= own | {"versions", "statistics"}, "these are of several types at once"
    native = {name for name in vars(CacheProtocol) if not name.startswith("_")}
    assert set(vars(CompletedCache)) & METHODS <= own | native, "what a backend of another package does itself"


def test_a_cache_for_searches_is_one_for_everybody() -> None:
    assert {name for name in vars(CacheProtocol) if not name.startswith("_")} <= METHODS | {"close"}


def test_every_operation_has_another_name() -> None:
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)


async def test_what_turned_secret_is_in_no_answer_of_a_view_before_the_library_knows(tmp_path: Path) -> None:
    shared = {"audience": PLAYERS, "sections": [{"heading": "", "desc": "Salt.", "mark": ""}]}
    mira, keep = (
        replace(SECRET, slug=f"{name}.md", name=name, data=shared, fields={"audience": (PLAYERS,)})
        for name in ("Mira", "Keep")
    )
    stale_uris: set[str] = set()
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([SECRET, mira, keep], "notes")
        view = ViewCache(
            Projections(library.cache, library.embedding, tmp_path / "views"),
            Viewer.player(),
            changed=lambda: None,
            stale_uris=lambda: stale_uris,
            unreadable_vaults=frozenset,
        )

        async def seen() -> tuple[list[str], list[tuple[object, int]]]:
            found = await view.count_values("notes", "kind")
            return [entity.name for entity in await view.get_entities("notes")], [*found.counts.items()]

        assert await seen() == (["Keep", "Mira"], [("note", 2)])
        stale_uris.add(mira.uri)
        assert await seen() == (["Keep"], [("note", 1)])


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
async def test_what_is_not_declared_for_views_is_refused_there(operation: Operation[object], tmp_path: Path) -> None:
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([SECRET], "notes")
        view = library.view(Viewer.player()).cache
        assert isinstance(view, ViewCache)
        if operation.in_view is None:
            for subject in ("notes", None):
                with pytest.raises(CacheError, match="not for views"):
                    await view.call(operation, subject)
        elif operation.in_view is not InView.LIBRARY:
            with pytest.raises(CacheError, match="not for views"):
                await view.call(operation, None)


async def test_an_operation_that_somebody_adds_tells_a_player_nothing_until_it_is_declared(tmp_path: Path) -> None:
    everything = Operation[list[str]]("everything", blocking=lambda store, name: store.names(name))
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([SECRET], "notes")
        assert await library.cache.call(everything, "notes") == ["vault"]
        player = await seen_by_a_player(library)
        with pytest.raises(CacheError, match="not for views"):
            await player.call(everything, "notes")
        declared = Operation[list[str]]("everything", InView.READS, everything.blocking)
        assert await player.call(declared, "notes") == []


async def test_a_player_reads_by_every_operation_what_a_library_without_secrets_has(tmp_path: Path) -> None:
    shown = [make(f"s{n}", f"The tide turns {n}.", level=n % 3, document=f"d{n % 2}") for n in range(6)]
    content = {"path": "Open.md", "audience": "players", "sections": [{"name": "", "desc": "Tides ring the bells."}]}
    open_note = Entity("notes", "Open.md", "Open", "note", "saga", "vault", content, {})
    async with (
        open_library(tmp_path / "all", backend="sqlite") as whole,
        open_library(tmp_path / "open", backend="sqlite") as bare,
    ):
        await whole.cache.store_entities(shown, "spells")
        await whole.cache.store_entities([SECRET, open_note], "notes")
        player, reference = await seen_by_a_player(whole), bare.cache
        for entity_type, number in (("spells", 6), ("notes", 1)):
            assert await reference.store_entities(await player.get_entities(entity_type), entity_type) == number
        for entity_type in ("spells", "notes"):
            for cache in (player, reference):
                assert [entity async for batch in cache.iterate(entity_type) for entity in batch]
            assert await answers(player, entity_type) == await answers(reference, entity_type)
        assert await player.get_entity("notes", "saga", "Vault.md") is None
        assert await player.documents(["notes"]) == {"saga": {"notes": 1}}


async def seen_by_a_player(library: Library) -> SearchCache:
    """The cache of a player, once the library is read for them."""
    view = library.view(Viewer.player())
    await view.refresh()
    return view.cache


async def answers(cache: SearchCache, entity_type: str) -> list[object]:
    """What each operation that reads says of a type."""
    identities = await cache.identities(entity_type)
    return [
        identities,
        await cache.get_entities(entity_type, limit=3, offset=1),
        await cache.load(entity_type, [*identities, ("saga", "Vault.md")]),
        await cache.content_hashes(entity_type),
        await cache.count_entities(entity_type),
        (await cache.count_values(entity_type, "kind")).counts,
        await cache.rank_semantic(entity_type, "tide vault"),
        await cache.rank_keyword(entity_type, "tide vault"),
        await cache.rank_names(entity_type, "vault"),
        await cache.rank_beginnings(entity_type, "vau"),
        sorted(await cache.names(entity_type)),
        await cache.word_counts(entity_type, ["vault", "tide"]),
        await cache.word_scores(entity_type, ["tide"], identities, lambda counts, _: counts),
        await cache.documents([entity_type]),
    ]
