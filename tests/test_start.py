"""``lorekeeper`` alone says what to do next, in whatever state the library is, and opens neither it nor the model."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lorekeeper.cache.milvus.failover import EmbeddedBackend
from lorekeeper.cache.places import LibraryStatus
from lorekeeper.cli.start import next_steps
from lorekeeper.composition import library_status
from lorekeeper.entities import Entity
from lorekeeper.settings import Settings
from tests.support.commands import environment, run_lorekeeper
from tests.support.entities import make
from tests.support.libraries import open_library, settings

LINES = 10


def settings_of(folder: Path, backend: str) -> Settings:
    return settings(cache_backend=backend, milvus_db_path=folder / "milvus.db", sqlite_db_path=folder / "cache.db")


async def fill(folder: Path, backend: str, *entities: Entity) -> LibraryStatus:
    """Store entities, and look at the library afterwards."""
    async with open_library(folder, backend=backend) as library:
        await library.cache.store_entities(list(entities), "spells")
    return library_status(settings_of(folder, backend))


def said(seen: LibraryStatus, *, offline: bool = False) -> str:
    lines = next_steps(seen, offline=offline)
    assert len(lines) <= LINES
    return "\n".join(lines)


BACKENDS = pytest.mark.parametrize("backend", ["milvus", "sqlite"])


@BACKENDS
def test_without_a_library_it_says_so_and_makes_none(tmp_path, backend):
    seen = library_status(settings_of(tmp_path / "new", backend))
    assert (seen.found, seen.documents, seen.problem, seen.process) == (False, {}, None, None)
    assert "There is no library yet" in said(seen)
    assert "lorekeeper demo" in said(seen)
    assert not (tmp_path / "new").exists()


@BACKENDS
async def test_the_starter_alone_is_told_from_books(tmp_path, backend):
    starter = await fill(tmp_path, backend, make("a", document="srd-2014"))
    assert starter.documents == {"srd-2014": 1}
    assert "no others yet" in said(starter)
    books = await fill(tmp_path, backend, make("b", document="own"), make("c", document="own"))
    assert books.documents == {"srd-2014": 1, "own": 2}
    assert "3 entries" in said(books)
    assert "lorekeeper show" in said(books)


@BACKENDS
async def test_a_look_leaves_no_trace_beside_the_library(tmp_path, backend):
    await fill(tmp_path, backend, make("a"))
    before = sorted(path.name for path in tmp_path.iterdir())
    library_status(settings_of(tmp_path, backend))
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@BACKENDS
@pytest.mark.parametrize("content", [b"nothing that SQLite wrote", b"SQLite format 3\0" + b"\xff" * 5000])
async def test_a_library_that_cannot_be_read_leads_to_doctor_and_repair(tmp_path, backend, content):
    await fill(tmp_path, backend, make("a"))
    file = tmp_path / ("cache.db" if backend == "sqlite" else "milvus.db.keywords")
    file.write_bytes(content)
    seen = library_status(settings_of(tmp_path, backend))
    assert str(file) in (seen.problem or "")
    assert "cannot be used" in said(seen)
    assert "lorekeeper repair" in said(seen)


async def test_the_process_that_has_the_library_open_is_named(tmp_path):
    await fill(tmp_path, "milvus", make("a"))
    backend = EmbeddedBackend(tmp_path / "milvus.db")
    backend.open()
    try:
        seen = library_status(settings_of(tmp_path, "milvus"))
        assert f"Process {seen.process} has the library open" in said(seen)
    finally:
        backend.close()
    assert library_status(settings_of(tmp_path, "milvus")).process is None


def test_offline_nothing_is_proposed_that_needs_the_network():
    for seen in (LibraryStatus("here", found=False), LibraryStatus("here", found=True, documents={"own": 1})):
        assert "sync" in said(seen)
        assert "sync" not in said(seen, offline=True)


def test_the_command_alone_is_no_error_and_loads_neither_model_nor_engine(tmp_path):
    done = run_lorekeeper(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) <= LINES
    program = "from lorekeeper.cli.main import main; main([]); import sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
        timeout=200,
    ).stdout.split()
    assert not {"onnxruntime", "tokenizers", "milvus_lite", "faiss", "pymilvus", "mcp", "rich"} & set(loaded)


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="Windows has no such priorities")
def test_a_command_that_imports_gives_way_to_what_answers(tmp_path):
    program = "import os, sys; from lorekeeper.cli.main import main; main(sys.argv[1:]); print(os.getpriority(0, 0))"
    told = [
        subprocess.run(
            [sys.executable, "-c", program, *words],
            env=environment(tmp_path),
            capture_output=True,
            text=True,
            check=True,
            timeout=200,
        ).stdout.split()[-1]
        for words in (("help", "import"), ("import", str(tmp_path / "nothing.json")))
    ]
    assert told == [str(os.getpriority(os.PRIO_PROCESS, 0)), "10"]
