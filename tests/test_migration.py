"""Migration: real files of both kinds, read and never changed, into both backends."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.errors import ImportFileError
from lorekeeper.library import Library
from lorekeeper.maintenance.migrate import MigrationReport, TableReport, migrate
from lorekeeper.normalize.book_tables import entry_of
from lorekeeper.settings import Settings
from tests.support.commands import ROOT, environment, run_lorekeeper
from tests.support.corpus import apart
from tests.support.embedding_server import EmbeddingServer
from tests.support.entities import batch, make
from tests.support.legacy_cache import HOUND, SPELLS, TABLES, add, write_cache
from tests.support.libraries import entities_in, settings_in


@pytest.fixture(params=["milvus", "sqlite"])
def target(request: pytest.FixtureRequest, tmp_path: Path, embeddings: EmbeddingServer) -> Settings:
    """An empty library of each backend."""
    return settings_in(tmp_path / "library", request.param, embeddings)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    (tmp_path / "old").mkdir()
    return write_cache(tmp_path / "old" / "cache.db", TABLES)


def content(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def sums(table: TableReport) -> tuple[int, int, int, int, int, int]:
    return table.read, table.stored, table.unchanged, table.merged, table.skipped, len(table.failed)


# --- an earlier cache ------------------------------------------------------------------------------------------------


async def test_an_earlier_cache_is_taken_over_whole_and_left_as_it_was(target: Settings, cache: Path) -> None:
    before = content(cache.parent)
    steps: list[int] = []
    report = await migrate(target, cache, progress=steps.append)
    assert {name: sums(table) for name, table in report.tables.items()} == {
        "spells": (3, 3, 0, 0, 0, 0),
        "monsters": (1, 1, 0, 0, 0, 0),
        "creatures": (1, 0, 0, 1, 0, 0),
        "classes": (1, 1, 0, 0, 0, 0),
        "rule_sections": (1, 1, 0, 0, 0, 0),
        "equipment": (1, 1, 0, 0, 0, 0),
        "sizes": (1, 0, 0, 0, 1, 0),
        "feats": (0, 0, 0, 0, 0, 0),
    }
    assert content(cache.parent) == before
    types = ["spells", "creatures", "character_options", "rules", "equipment"]
    found = {uri: dict(e.data) for uri, e in (await entities_in(target, *types)).items()}
    assert sum(steps) == len(found) == 8
    assert found["lore://spells/wotc-srd/drift-bolt"] == SPELLS[0]
    assert found["lore://spells/srd-2024/salt-ward"] == SPELLS[1]
    assert found["lore://spells/my-pack/ash-veil"] == SPELLS[2]
    assert found["lore://creatures/wotc-srd/brine-hound"] == HOUND
    assert found["lore://equipment/earlier-cache/tar-lamp"] == TABLES["equipment"][0]
    assert "lore://character_options/wotc-srd/storm" in found


async def test_a_dry_run_counts_the_same_and_stores_nothing(target: Settings, cache: Path) -> None:
    counted = await migrate(target, cache, dry_run=True)
    assert await entities_in(target) == {}
    done = await migrate(target, cache)
    assert {n: sums(t) for n, t in counted.tables.items()} == {n: sums(t) for n, t in done.tables.items()}
    assert not target.library_path.with_name("vectors.db").exists() or done.embedded


async def test_a_second_run_stores_only_what_is_new(target: Settings, cache: Path) -> None:
    first = await migrate(target, cache)
    with closing(sqlite3.connect(cache)) as c, c:
        add(c, "spells", {**SPELLS[0], "slug": "late", "name": "Late"})
        c.execute("UPDATE monsters SET data = json_set(data, '$.hit_points', 99), updated_at = 2e9")
    second = await migrate(target, cache)
    assert (second.total("stored"), second.total("unchanged"), second.total("merged")) == (
        2,
        first.total("stored") - 1,
        1,
    )
    assert second.tables["creatures"].merged == 1
    found = await entities_in(target)
    assert len(found) == 5
    assert found["lore://creatures/wotc-srd/brine-hound"].data["hit_points"] == 99


async def test_what_cannot_be_read_is_named_and_all_else_is_stored(target: Settings, cache: Path) -> None:
    with closing(sqlite3.connect(cache)) as c, c:
        for slug, data in [
            ("broken", '{"name": "Bro'), ("a-list", "[1]"), ("nan", '{"name": "x", "level": NaN}'), (None, '{"name": "x"}'),
            ("raw", b'{"name": "\xff\xfe"}'), ("huge-number", '{"slug": "h", "name": "H", "level": 99999999999999999999}'),
            ("  ", "{}"),
        ]:  # fmt: skip
            c.execute("INSERT INTO spells (slug, name, data) VALUES (?, 'X', CAST(? AS TEXT))", (slug, data))
        big = {**SPELLS[0], "slug": "big", "name": "Big", "blob": "no words " * 100_000}
        add(c, "spells", big)
        add(c, "spells", {**big, "slug": "larger", "blob": "no words " * 200_000})
        add(c, "spells", {**big, "slug": "huge", "blob": "no words " * 580_000})
    report = await migrate(target, cache)
    failed = {f.slug: f.reason for f in report.tables["spells"].failed}
    assert report.tables["spells"].stored == 4
    assert failed.keys() == {"broken", "a-list", "nan", None, "raw", "huge-number", "  ", "larger", "huge"}
    for slug, reason in {
        "broken": "JSON", "a-list": "object", "nan": "NaN", None: "slug", "raw": "UTF-8", "huge-number": "64 bits", "  ": "slug",
        "larger": "1,048,576", "huge": "1,048,576",
    }.items():  # fmt: skip
        assert reason in failed[slug]
    assert (await entities_in(target))["lore://spells/wotc-srd/big"].data == big


async def test_a_cache_whose_owner_was_killed_is_read_with_its_log(
    target: Settings, cache: Path, tmp_path: Path
) -> None:
    open_one = sqlite3.connect(cache)
    add(open_one, "spells", {**SPELLS[0], "slug": "late", "name": "Late"})
    open_one.commit()
    left = tmp_path / "left"
    left.mkdir()
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{cache}{suffix}", left / f"cache.db{suffix}")
    before = content(left)
    assert (await migrate(target, left / "cache.db")).tables["spells"].stored == 4
    assert content(left) == before
    assert (await migrate(target, cache)).total("stored") == 0, "while its owner has it open"
    open_one.close()


# --- our own files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_our_own_library_is_taken_over_without_computing_a_vector(
    backend: str, tmp_path: Path, embeddings: EmbeddingServer
) -> None:
    source = settings_in(tmp_path / "from", backend, embeddings)
    stored = [*batch("a", 0, 30), make("wolf", "A wolf.", type="creatures", kind="creature")]
    async with Library.from_settings(source) as library:
        await library.cache.store_entities(stored[:30], "spells")
        await library.cache.store_entities(stored[30:], "creatures")
        ranked = await library.cache.rank_semantic("spells", "text a 7", 10)
    if backend == "sqlite":  # it has the vectors itself; those of Milvus are in the file beside it
        (tmp_path / "from" / "vectors.db").unlink()
    other = {"milvus": "sqlite", "sqlite": "milvus"}[backend]
    target = settings_in(tmp_path / ("to" if backend == "sqlite" else "from"), other, embeddings)
    report = await migrate(target, source.library_path)
    assert (report.total("stored"), report.embedded, report.failed) == (31, 0, [])
    assert list((await entities_in(target)).values()) == list((await entities_in(source)).values())
    async with Library.from_settings(target) as library:
        again = await library.cache.rank_semantic("spells", "text a 7", 10)
    assert [r.identity for r in again] == [r.identity for r in ranked]


# --- places that hold nothing to migrate -------------------------------------------------------------------------------


async def refusal(target: Settings, source: Path) -> str:
    with pytest.raises(ImportFileError) as refused:
        await migrate(target, source)
    assert str(source) in str(refused.value)
    async with Library.from_settings(target) as library:
        assert await library.cache.store_entities(batch("z", 0, 1), "spells") == 1, "the target is usable"
    return str(refused.value)


@pytest.mark.parametrize(
    ("held", "reason"),
    [(b"", "is empty"), (b"notes", "not an SQLite database"), (b"SQLite format 3\0" + b"x" * 4000, "not a database")],
)
async def test_a_file_that_is_no_database_is_named(target: Settings, tmp_path: Path, held: bytes, reason: str) -> None:
    (tmp_path / "source").write_bytes(held)
    assert reason in await refusal(target, tmp_path / "source")
    assert (tmp_path / "source").read_bytes() == held


async def test_the_library_itself_is_refused_by_any_of_its_names(tmp_path: Path, embeddings: EmbeddingServer) -> None:
    for backend in ("sqlite", "milvus"):
        target = settings_in(tmp_path / "library", backend, embeddings)
        async with Library.from_settings(target) as library:
            await library.cache.store_entities(batch("a", 0, 2), "spells")
        alias = tmp_path / f"{backend}-alias"
        alias.symlink_to(target.library_path)
        for name in (target.library_path, alias):
            with pytest.raises(ImportFileError, match="the current library itself"):
                await migrate(target, name)
        assert len(await entities_in(target)) == 2


# --- the commands ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_command_and_the_script_print_one_report(tmp_path: Path, cache: Path, embeddings: EmbeddingServer) -> None:
    env = environment(tmp_path, EMBEDDING_PROVIDER="http", EMBEDDING_URL=embeddings.url, CACHE_BACKEND="sqlite")
    done = run_lorekeeper(tmp_path, "migrate", str(cache), "--json", env=env)
    said = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert (said["read"], said["stored"], said["merged"], said["skipped"], said["failed"]) == (9, 7, 1, 1, 0)
    assert said["tables"]["spells"] == {
        "read": 3, "stored": 3, "unchanged": 0, "merged": 0, "skipped": 0, "failed": []
    }  # fmt: skip
    script = [sys.executable, str(ROOT / "scripts" / "migrate_sqlite_to_milvus.py"), str(tmp_path / "cache.db")]
    moved = subprocess.run([*script, "--json"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    said = json.loads(moved.stdout)
    assert (moved.returncode, said["stored"], said["embedded"]) == (0, 8, 0)
    table = run_lorekeeper(tmp_path, "migrate", str(cache), "--dry-run", env=env)
    assert table.returncode == 0
    assert "to store" in table.stdout
    refused = run_lorekeeper(tmp_path, "migrate", str(tmp_path / "cache.db"), env=env)
    assert (refused.returncode, refused.stdout) == (1, "")


# --- the corpus --------------------------------------------------------------------------------------------------------

CORPUS_TABLES = {
    "spells": "spells", "creatures": "creatures", "magicitems": "magicitems", "weapons": "weapons", "armor": "armor",
    "backgrounds": "backgrounds", "feats": "feats", "conditions": "conditions", "classes": "classes", "species": "species",
    "rules": "rules", "sections": "sections_v1",
}  # fmt: skip


@pytest.mark.corpus
@pytest.mark.parametrize("target", ["milvus"], indirect=True)
async def test_two_thousand_entries_of_the_corpus_come_over_as_they_are(
    corpus: Path, tmp_path: Path, target: Settings
) -> None:
    tables: dict[str, list[dict[str, Any]]] = {}
    for table, name in CORPUS_TABLES.items():
        (file,) = (f for f in (corpus / "entities").glob(f"{name}.jsonl*"))
        packed = file.read_bytes()
        text = gzip.decompress(packed) if file.suffix == ".gz" else packed
        tables[table] = [json.loads(line) for line in text.splitlines()[:600]]
    tables["monsters"] = tables["creatures"][:100]
    source = write_cache(tmp_path / "cache.db", tables)
    report: MigrationReport = await migrate(target, source)
    number = sum(map(len, tables.values()))
    print({name: sums(table) for name, table in report.tables.items()})
    assert number > 2000
    assert (report.failed, report.total("read"), report.total("stored")) == (
        [],
        number,
        number - report.total("merged"),
    )
    assert report.total("merged") == 100
    types = ["spells", "creatures", "equipment", "character_options", "rules"]
    entities = (await entities_in(target, *types)).values()
    assert sum(entry_of(e) is not None for e in entities) > 100, "the tables in their texts come along"
    found = [json.dumps(e.data, sort_keys=True) for e in entities if not entry_of(e)]
    assert sorted(found) == sorted(
        {json.dumps(part, sort_keys=True) for table in tables.values() for o in table for part in apart(o)}
    )
