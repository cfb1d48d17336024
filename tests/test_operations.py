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
from tests.support.libraries import open_library

OPERATIONS = [value for value in vars(protocol).values() if isinstance(value, Operation)]

METHODS = {name for cache in (SearchCache, LibraryCache) for name in vars(cache) if not name.startswith("_")} - {
    "types",
    "has_snapshots",
}

SECRET = Entity("notes", "Vault.md", "Vault", "note", "saga", "vault", {"path": "Vault.md"}, {"audience": ("dm",)})


def test_a_layer_declares_no_operation_again() -> None:
    own = {"call", "close", "store"}
    assert set(vars(ThreadedCache)) & METHODS <= own
    assert set(vars(ViewCache)) & METHODS <= own | {"statistics"}, "these are of several types at once"
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
    everything = Operation[list[str]]("everything", blocking=lambda store, name: store.ask("names", list, name))
    async with open_library(tmp_path, backend="sqlite") as library:
        await library.cache.store_entities([SECRET], "notes")
        assert await library.cache.call(everything, "notes") == ["vault"]
        player = await seen_by_a_player(library)
        with pytest.raises(CacheError, match="not for views"):
            await player.call(everything, "notes")
        declared = Operation[list[str]]("everything", InView.READS, everything.blocking)
        assert await player.call(declared, "notes") == []


async def seen_by_a_player(library: Library) -> SearchCache:
    """The cache of a player, once the library is read for them."""
    view = library.view(Viewer.player())
    await view.refresh()
    return view.cache
