"""Libraries in a folder: their settings, and open ones that are embedded by hashing."""

from __future__ import annotations

import functools
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import lorekeeper
from lorekeeper.composition import open5e_of, open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.intake.shipped_books import lacking, pack_books, shipped_books
from lorekeeper.intake.starter_record import DECLINED
from lorekeeper.library import Library
from lorekeeper.settings import Settings, load_settings
from lorekeeper.system import private_file
from lorekeeper.text.phrases import PACKED, RULES_2024
from tests.support.commands import run_lorekeeper, variables
from tests.support.embedding_server import EmbeddingServer
from tests.support.entities import everything
from tests.support.once import made_once
from tests.support.samples import SAMPLES, write_lines


def settings(**values: object) -> Settings:
    """Settings with these values, and defaults for the rest; libraries in folders that exist decline the first books."""
    for name in ("milvus_db_path", "sqlite_db_path"):
        path = Path(str(values.get(name, "")))
        if name in values and path.parent.is_dir():
            private_file(path.with_name(f"{path.name}.starter")).write_text(DECLINED)
    return load_settings({f"LOREKEEPER_{k.upper()}": str(v) for k, v in values.items()}, Path("no.env"))[0]


def settings_in(folder: Path, backend: str, server: EmbeddingServer) -> Settings:
    """Settings of a library in a folder, whose texts that server embeds."""
    return settings(
        cache_backend=backend,
        milvus_db_path=folder / "milvus.db",
        sqlite_db_path=folder / "cache.db",
        embedding_provider="http",
        embedding_url=server.url,
    )


@asynccontextmanager
async def open_library(
    folder: Path, embedding: EmbeddingService | None = None, backend: str = "milvus", imports: Path | None = None
) -> AsyncIterator[Library]:
    """A library in that folder, embedded by hashing unless another service is given."""
    service = embedding or EmbeddingService(lambda: HashingProvider(384))
    chosen, _ = load_settings(variables(folder, backend), folder / "no-env-file")
    views = folder / "views"
    async with Library(open_cache(chosen, service), service, offline=True, imports=imports, views=views) as library:
        yield library


@asynccontextmanager
async def sample_library(folder: Path, backend: str = "milvus") -> AsyncIterator[Library]:
    """A library that holds the sample entries: a copy of one that each process makes once."""
    made = Path(os.environ["XDG_RUNTIME_DIR"]) / f"samples-{backend}"
    if not made.exists():
        being_made = made.with_suffix(".part")
        being_made.mkdir()
        async with open_library(being_made, backend=backend) as library:
            report = await library.import_paths([write_lines(being_made / "samples.jsonl")])
            assert (report.stored, report.failed) == (len(SAMPLES), [])
        being_made.rename(made)
    shutil.copytree(made, folder, dirs_exist_ok=True)
    async with open_library(folder, backend=backend) as library:
        yield library


@asynccontextmanager
async def server_library(folder: Path, address: str, backend: str = "sqlite", **options: Any) -> AsyncIterator[Library]:
    """A library in that folder, embedded by hashing, whose source is the Open5e server at an address."""
    service = EmbeddingService(lambda: HashingProvider(64))
    paths = {f"{name}_db_path": folder / f"{name}.db" for name in ("milvus", "sqlite")}
    chosen = settings(cache_backend=backend, open5e_base_url=address, **paths)
    async with Library(open_cache(chosen, service), service, source=open5e_of(chosen), **options) as library:
        yield library


async def entities_in(target: Settings, *types: str) -> dict[str, Entity]:
    """What a library holds, by uri; spells and creatures where no types are given."""
    async with Library.from_settings(target) as library:
        return {e.uri: e for t in types or ("spells", "creatures") for e in await everything(library.cache, t)}


# --- few of the first books ------------------------------------------------------------------------------------------

SHARE = 20
"""Of so many entries of the first books a library of tests has one."""

KEPT = ("feather-fall", "fireball", "influence", "lich", "magic-missile", "shield")
"""Entries that it has too."""

BOOKS = (PACKED, RULES_2024)
"""Where the first books are: the SRDs, and the rules of 2024 in our own words."""


def need_books() -> None:
    """Skip what asks for the texts of the SRDs where a package with them is not installed."""
    if lacking():
        pytest.skip(f"needs {', '.join(lacking())}, which 'make test' installs where it can be had")


@functools.cache
def whole_books() -> Sequence[Entity]:
    """Every entry of the SRDs."""
    return tuple(shipped_books())


def small_books(folder: Path, also: Collection[str] = ()) -> list[Path]:
    """Files like `BOOKS`, with some of their entries: what is said of all is shown with few.

    Args:
        folder: where to write them.
        also: slugs of entries that are wanted too.
    """
    kept = {*KEPT, *also}
    some = [e for n, e in enumerate(whole_books()) if n % SHARE == 0 or e.slug in kept or e.type == "documents"]
    pack_books(some, folder / PACKED.name)
    (folder / RULES_2024.name).mkdir(parents=True)
    for file in RULES_2024.glob("*.jsonl"):
        lines = file.read_text("utf-8").splitlines()
        rows = [line for n, line in enumerate(lines) if n % SHARE == 0 or json.loads(line)["slug"] in kept]
        (folder / RULES_2024.name / file.name).write_text("\n".join(rows) + "\n", "utf-8")
    return [folder / PACKED.name, folder / RULES_2024.name]


def ship(books: Sequence[Path], patch: pytest.MonkeyPatch) -> None:
    """Let libraries of this process begin with these files instead of `BOOKS`."""
    packed, rules = books
    patch.setattr("lorekeeper.intake.shipped_books.PACKED", packed)
    patch.setattr("lorekeeper.library.RULES_2024", rules)


# --- libraries that several test modules begin with ----------------------------------------------------------------


def shelf_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder whose library holds the sample entries, embedded by the real model, and their file ``shelf.jsonl``."""
    return _copy(factory, _make_shelf)


def starter_folder(factory: pytest.TempPathFactory) -> Path:
    """A folder whose library holds the first books, as after a first search."""
    need_books()
    return _copy(factory, _make_starter)


def _make_shelf(folder: Path) -> None:
    done = run_lorekeeper(folder, "import", str(write_lines(folder / "shelf.jsonl")), "--json")
    assert json.loads(done.stdout)["stored"] == len(SAMPLES), done.stderr


def _make_starter(folder: Path) -> None:
    done = run_lorekeeper(folder, "search", "anything", "--mode", "keyword")
    assert done.returncode == 0, done.stderr


def _copy(factory: pytest.TempPathFactory, make: Callable[[Path], None]) -> Path:
    """A copy of a folder that is made once for all workers of a run."""
    original = made_once(factory, make.__name__.strip("_"), make)
    return shutil.copytree(original, factory.mktemp("library") / original.name)


def table_folder(factory: pytest.TempPathFactory) -> Path:
    """The same with the notes of the demo's campaign, as a vault that the library has."""
    return _with_notes(starter_folder(factory))


def make_table(folder: Path) -> None:
    """Make such a library in an empty folder."""
    _make_starter(folder)
    _with_notes(folder)


def _with_notes(folder: Path) -> Path:
    vault = shutil.copytree(Path(lorekeeper.__file__).with_name("data") / "vault", folder / "drowned-bells")
    done = run_lorekeeper(folder, "vault", "add", str(vault), "--json")
    assert done.returncode == 0, done.stderr
    return folder
