"""Who may see what is imported, and how that lasts: through imports of the same file, backups, repairs and upgrades."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.audience import DM, PLAYERS, Audience, Viewer, narrower, within
from lorekeeper.cache.vectors import VectorCache
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.intake.reports import ImportReport
from lorekeeper.library import Library
from lorekeeper.maintenance.backup import backup, restore
from lorekeeper.maintenance.migrate import migrate
from lorekeeper.maintenance.repair import repair
from lorekeeper.normalize import UnknownShapeError, normalize
from lorekeeper.normalize.derive_fields import derive_fields
from lorekeeper.settings import Settings, load_settings
from tests.support.commands import variables
from tests.support.entities import everything
from tests.support.samples import write_lines
from tests.support.tables import each_row

ANYBODY, ANA = Viewer.player(), Viewer.player("Ana")

VILLAINS = [
    {"collection": "creatures", "name": "Tide Ape", "document": "villains", "description": "An ape of the shallows."},
    {"collection": "spells", "name": "Kelp Snare", "document": "villains", "description": "Kelp grips a target."},
]
BOOK = {"collection": "documents", "name": "The Villains", "slug": "villains", "document": "villains"}


@each_row(
    ("one", "other", "both"),
    [
        (("Ana", "Bo"), ("bo", "Cy"), ("Bo",)),
        (("Ana",), ("Bo",), DM),
        (("Ana",), PLAYERS, ("Ana",)),
        (PLAYERS, PLAYERS, PLAYERS),
        (PLAYERS, DM, DM),
        (DM, ("Ana",), DM),
    ],
)
def test_a_part_is_for_those_only_who_are_in_all_that_is_said(one: Audience, other: Audience, both: Audience) -> None:
    assert narrower(one, other) == both
    assert within(other, one, PLAYERS) == both
    assert (within(None, one, DM), within(None, None, DM)) == (one, DM)


def settings_in(folder: Path, backend: str = "sqlite") -> Settings:
    """Settings of a library in a folder, offline."""
    return load_settings({**variables(folder, backend), "LOREKEEPER_OFFLINE": "1"}, folder / "no-env-file")[0]


@asynccontextmanager
async def library_in(folder: Path, backend: str = "sqlite") -> AsyncIterator[Library]:
    """A library that remembers vectors and imports, and has players."""
    folder.mkdir(exist_ok=True)
    embedding = EmbeddingService(lambda: HashingProvider(64), VectorCache(folder / "vectors.db"))
    cache, imports, views = (
        open_cache(settings_in(folder, backend), embedding),
        folder / "library.imports",
        folder / "library.views",
    )
    async with Library(cache, embedding, offline=True, imports=imports, views=views) as library:
        yield library


async def brought_in(library: Library, file: Path, audience: Any = None) -> ImportReport:
    """Import a file, none of which may fail."""
    report = await library.import_paths([file], audience=audience)
    assert report.failed == []
    return report


async def audiences(library: Library, *types: str) -> dict[str, object]:
    """The audiences of what a library holds, by name; None for everybody."""
    found = [e for t in types or ("creatures", "spells") for e in await everything(library.cache, t)]
    return {entity.name: entity.fields.get("audience") for entity in found}


async def seen(library: Library, viewer: Viewer = ANYBODY) -> set[str]:
    """Names of what a player sees."""
    cache = library.view(viewer).cache
    return {e.name for t in ("creatures", "spells") for e in await cache.get_entities(t)}


def with_audience(value: object, obj: Mapping[str, Any] = VILLAINS[1]) -> dict[str, Any]:
    return {**obj, "audience": value}


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_an_import_for_the_game_master_is_kept_from_players_until_it_is_opened(
    backend: str, tmp_path: Path
) -> None:
    file = write_lines(tmp_path / "villains.jsonl", [*VILLAINS, BOOK])
    async with library_in(tmp_path / "library", backend) as library:
        assert (await brought_in(library, file, "dm")).stored == 3
        assert set((await audiences(library, "creatures", "spells", "documents")).values()) == {("dm",)}
        assert await seen(library) == set()
        opened = await brought_in(library, file, "players")
        assert (opened.stored, opened.unchanged, opened.embedded) == (3, 0, 0)
        assert await seen(library) == {"Tide Ape", "Kelp Snare"}
        closed = await brought_in(library, file, "dm")
        assert (closed.stored, closed.unchanged, closed.embedded) == (3, 0, 0)
        assert await seen(library) == set()


@pytest.mark.parametrize("pause", [False, True], ids=["at once", "in another process"])
async def test_an_import_that_says_nothing_opens_nothing(pause: bool, tmp_path: Path) -> None:
    file = write_lines(tmp_path / "villains.jsonl", VILLAINS)
    async with library_in(tmp_path / "library") as library:
        await brought_in(library, file, "dm")
        if not pause:
            again = await brought_in(library, file)
    if pause:
        async with library_in(tmp_path / "library") as library:
            again = await brought_in(library, file)
    assert (again.stored, again.unchanged) == (0, 2)
    write_lines(file, [{**VILLAINS[0], "description": "An ape of the deep."}, with_audience("players")])
    async with library_in(tmp_path / "library") as library:
        await brought_in(library, file)
        assert set((await audiences(library)).values()) == {("dm",)}, "neither a change nor a key opens it"
        await brought_in(library, file, "players")
        assert set((await audiences(library)).values()) == {None}


async def test_an_import_for_players_leaves_what_entries_say_themselves(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "villains.jsonl", [VILLAINS[0], with_audience(["Ana", "Bo"])])
    async with library_in(tmp_path / "library") as library:
        for audience in (None, "players", None):
            await brought_in(library, file, audience)
            assert await audiences(library) == {"Tide Ape": None, "Kelp Snare": ("ana", "bo")}
        assert await seen(library, ANA) == {"Tide Ape", "Kelp Snare"}
        assert await seen(library) == {"Tide Ape"}
        await brought_in(library, file, "dm")
        assert await seen(library, ANA) == set()


async def test_people_in_a_file_are_those_of_its_last_import(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "villains.jsonl", [with_audience("Ana")])
    async with library_in(tmp_path / "library") as library:
        await brought_in(library, file)
        await brought_in(library, write_lines(file, [with_audience("Bo")]))
        assert await audiences(library) == {"Kelp Snare": ("bo",)}
        await brought_in(library, write_lines(file, [VILLAINS[1]]))
        assert await audiences(library) == {"Kelp Snare": ("bo",)}, "a key that is gone opens nothing"


async def test_packs_of_orcbrew_can_be_secret(tmp_path: Path) -> None:
    file = tmp_path / "blue.orcbrew"
    glint = '{:key :glint :name "Glint" :option-pack "Blue" :description "It glints."}'
    file.write_text(f'{{"Blue" {{:orcpub.dnd.e5/feats {{:glint {glint}}}}}}}', "utf-8")
    async with library_in(tmp_path / "library") as library:
        for audience, expected in (("dm", ("dm",)), (None, ("dm",)), ("players", None)):
            await brought_in(library, file, audience)
            assert await audiences(library, "character_options") == {"Glint": expected}


@pytest.mark.parametrize("secret", [{"audience": "dm"}, {}], ids=["by its entries", "by the import"])
async def test_a_book_is_not_known_to_players_while_all_of_it_is_secret(secret: dict[str, Any], tmp_path: Path) -> None:
    entries = [{**each, **secret} for each in VILLAINS]
    file = write_lines(tmp_path / "villains.jsonl", [BOOK, *entries])
    async with library_in(tmp_path / "library") as library:
        await brought_in(library, file, None if secret else "dm")
        assert await library.view(ANYBODY).cache.get_entities("documents") == []
        assert await library.view(ANYBODY).cache.documents() == {}
        await brought_in(library, write_lines(file, [BOOK, VILLAINS[0], entries[1]]), "players")
        (book,) = await library.view(ANYBODY).cache.get_entities("documents")
        assert book.name == "The Villains"
        assert await seen(library) == ({"Tide Ape"} if secret else {"Tide Ape", "Kelp Snare"})


@each_row(
    ("written", "stored"),
    [
        ("dm", ("dm",)),
        ("GM", ("dm",)),
        ("players", None),
        (["everyone"], None),
        (None, None),
        ([], ("dm",)),
        ("Ana", ("ana",)),
        ("Ana, Bo", ("ana", "bo")),
        (["Ana", "dm"], ("ana",)),
        (["players", "Ana"], ("ana",)),
    ],
)
def test_an_entry_of_our_own_says_who_may_see_it(written: object, stored: object) -> None:
    (entity,) = normalize(with_audience(written))
    assert entity.fields.get("audience") == stored
    assert "audience" not in entity.data, "it would tell a player with whom else the entry is shared"


@each_row("written", [3, True, {"dm": True}, [3], "", ["a\tb"], [["dm"]]])
def test_what_is_no_audience_is_refused(written: object) -> None:
    with pytest.raises(UnknownShapeError, match="audience must"):
        normalize(with_audience(written))


def test_foreign_data_says_nothing_of_audiences() -> None:
    spell: dict[str, Any] = {
        "slug": "kelp",
        "name": "Kelp",
        "desc": "It grips.",
        "level": "1st-level",
        "audience": "dm",
        "dnd_class": "",
    }
    spell |= {"level_int": 1, "school": "conjuration", "document__slug": "srd"}
    (entity,) = normalize(spell, hint="spells")
    assert "audience" not in entity.fields
    assert "audience" not in derive_fields(entity)


async def test_copies_of_a_library_keep_what_is_secret(tmp_path: Path) -> None:
    entries = [VILLAINS[0], with_audience("Ana")]
    one = settings_in(tmp_path / "one")
    async with library_in(tmp_path / "one") as library:
        await brought_in(library, write_lines(tmp_path / "a.jsonl", entries[:1]), "dm")
        await brought_in(library, write_lines(tmp_path / "b.jsonl", entries[1:]))
        expected = await audiences(library)
        assert expected == {"Tide Ape": ("dm",), "Kelp Snare": ("ana",)}
        assert all(derive_fields(e) == e.fields for e in await everything(library.cache, "creatures"))
    await backup(one, tmp_path / "all.zip")
    await restore(settings_in(tmp_path / "two"), tmp_path / "all.zip")
    await migrate(settings_in(tmp_path / "three"), one.library_path)
    await repair(settings_in(tmp_path / "three"))
    for name in ("two", "three"):
        async with library_in(tmp_path / name) as library:
            assert await audiences(library) == expected
