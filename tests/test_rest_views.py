"""The gateway for a player: every answer, error and header as if what is kept from him had never been written."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from lorekeeper.audience import Viewer
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.library import Library
from lorekeeper.vaults.registry import Registry
from tests.support.entities import make
from tests.support.gateway import gateway
from tests.support.libraries import settings
from tests.support.secret_vaults import NAMES, NOUNS, secret_vault

PLAYER = Viewer.player()

SHOWN, SECRET = make("shown", "A lantern.", name="Lantern Ward"), make("kept", "A dagger.", name="Dagger Ward")


@asynccontextmanager
async def asked_by_a_player(folder: Path, vault: Path, spells: Sequence[Entity]) -> AsyncIterator[httpx.AsyncClient]:
    """The gateway over a library of a vault and some spells, whose requests are those of a player."""
    folder.mkdir()
    chosen = settings(cache_backend="sqlite", sqlite_db_path=folder / "cache.db")
    embedding = EmbeddingService(lambda: HashingProvider(64), VectorCache(folder / "vectors.db"))
    vaults = Registry(folder / "library.vaults", [vault], chosen.library_path)
    library = Library(
        open_cache(chosen, embedding), embedding, offline=True, vaults=vaults, views=folder / "views", asks=PLAYER
    )
    async with library:
        await library.cache.store_entities(spells, "spells")
        await library.vaults.sync()
        async with gateway(library) as client:
            yield client


def paths(random: Random) -> list[str]:
    """One request at least of each operation."""
    what, who = random.choice(NOUNS), random.choice(NAMES)
    return [
        f"search?query={what}&limit=50",
        f"search?query=who+{what}s+the+{random.choice(NOUNS)}&query={who}&limit=5&offset=3",
        "search?types=notes&order=newest&limit=50",
        f"search?types=notes&links_to={who}",
        f"search?types=notes&similar_to=lore://notes/saga/npcs%2F{who}.md",
        "search?types=spells&order=name&documents=saga",
        "search?types=spells&documents=nowhere",
        "types",
        "documents",
        "documents?type=notes",
        "documents/saga",
        f"entities/notes/saga/npcs/{who}.md",
        f"entities/notes/saga/npcs%2F{who}.md",
        "entities/spells/own/kept",
        "entities/spells/own/shown",
        f"topics?q={who}",
        f"topics?q=lore://notes/saga/npcs%2F{who}.md",
        "recent?limit=50",
    ]


async def answers(client: httpx.AsyncClient, asked: Sequence[str]) -> list[Any]:
    """Status, headers and content of each answer, without what differs between two equal ones."""
    given = [await client.get(f"/api/v1/{path}") for path in asked]
    apart = ("date", "etag", "content-length")
    headers = [{name: value for name, value in each.headers.items() if name not in apart} for each in given]
    return [(each.status_code, head, rounded(each.json())) for each, head in zip(given, headers, strict=True)]


def rounded(value: Any) -> Any:
    """A value with numbers to five digits."""
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("example", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 6))])
async def test_a_player_is_answered_as_if_there_were_no_secrets(example: int, tmp_path: Path, seed: int) -> None:
    random = Random(f"{seed} {example}")
    vault = secret_vault(tmp_path, random, PLAYER)
    kept = replace(SECRET, fields={**SECRET.fields, "audience": ("dm",)})
    asked = [path for _ in range(3) for path in paths(random)]
    async with asked_by_a_player(tmp_path / "a", vault.whole, [SHOWN, kept]) as client:
        given = await answers(client, asked)
    async with asked_by_a_player(tmp_path / "b", vault.cut, [SHOWN]) as client:
        expected = await answers(client, asked)
    for path, got, wanted in zip(asked, given, expected, strict=True):
        assert got == wanted, path
    statuses = dict(zip(asked, (status for status, _, _ in given), strict=True))
    assert (statuses["entities/spells/own/kept"], statuses["entities/spells/own/shown"]) == (404, 200)
