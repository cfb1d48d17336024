"""What plain pymilvus sees of an embedded cache, in a process without LoreKeeper, and what `migrate` sees of others' databases."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lorekeeper import HashingProvider, MilvusCache
from tests.support.commands import ROOT, environment, run_lorekeeper

pytestmark = pytest.mark.slow


FOREIGN = """
import sys
from pymilvus import DataType, MilvusClient

client = MilvusClient(sys.argv[1])
schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=True)
schema.add_field("slug", DataType.VARCHAR, is_primary=True, max_length=256)
schema.add_field("title", DataType.VARCHAR, max_length=256)
schema.add_field("level", DataType.INT64, nullable=True)
schema.add_field("embedding", DataType.FLOAT_VECTOR, dim=4)
indexes = MilvusClient.prepare_index_params()
indexes.add_index("embedding", index_type="IVF_FLAT", metric_type="COSINE", params={"nlist": 16})
client.create_collection("magic", schema=schema, index_params=indexes)
client.insert("magic", [
    {"slug": "salt-ring", "title": "Salt Ring", "level": 2, "embedding": [1, 0, 0, 0],
     "body": "A ring of salt keeps the restless dead away.", "school": "abjuration"},
    {"slug": "hail-drum", "title": "Hail Drum", "level": None, "embedding": [0, 1, 0, 0], "body": "Hail drums on all below."},
])
client.close()
"""


def in_a_process_of_its_own(program: str, *arguments: str, folder: Path) -> str:
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_the_program_of_the_page_reads_a_cache_with_plain_pymilvus(tmp_path: Path):
    page = (ROOT / "docs" / "plugin.md").read_text("utf-8")
    (program,) = (
        b for b in re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE) if "import MilvusClient" in b
    )
    async with MilvusCache(tmp_path / "library" / "milvus.db", embedding=HashingProvider) as cache:
        salt = {
            "slug": "salt-ring",
            "name": "Salt Ring",
            "level": 2,
            "desc": "A ring of salt keeps the restless dead away.",
        }
        hail = {"slug": "hail-drum", "name": "Hail Drum", "level": 3, "desc": "Hail drums on all that stands below."}
        await cache.store_entities([salt, hail, {**hail, "slug": "far", "level": 9}], "spells")
    first, second = in_a_process_of_its_own(program, folder=tmp_path).splitlines()
    assert first == "Salt Ring 1.0 salt-ring"
    assert second.startswith("Hail Drum 0.")


def test_a_milvus_database_of_another_program_is_read_by_a_mapping(tmp_path: Path):
    in_a_process_of_its_own(FOREIGN, str(tmp_path / "foreign.db"), folder=tmp_path)
    env = environment(tmp_path, CACHE_BACKEND="sqlite")
    mapping = "magic=spells:name=title,desc=body"
    done = run_lorekeeper(tmp_path, "migrate", str(tmp_path / "foreign.db"), "--map", mapping, "--json", env=env)
    report = json.loads(done.stdout)
    assert (done.returncode, report["read"], report["stored"]) == (0, 2, 2)
    shown = run_lorekeeper(tmp_path, "show", "Salt Ring", env=env)
    assert "restless dead" in shown.stdout


def test_a_milvus_database_of_another_program_is_refused_by_name_without_one(tmp_path: Path):
    in_a_process_of_its_own(FOREIGN, str(tmp_path / "foreign.db"), folder=tmp_path)
    before = sorted((file, file.read_bytes()) for file in (tmp_path / "foreign.db").rglob("*") if file.is_file())
    env = environment(tmp_path, CACHE_BACKEND="sqlite")
    for arguments, said in (
        ([], "was not made by LoreKeeper; its collections are magic"),
        (["--map", "x=spells"], "no collection x"),
    ):
        done = run_lorekeeper(tmp_path, "migrate", str(tmp_path / "foreign.db"), *arguments, env=env)
        assert done.returncode == 1
        assert said in done.stderr
        assert "--map" in done.stderr
    assert (
        sorted((file, file.read_bytes()) for file in (tmp_path / "foreign.db").rglob("*") if file.is_file()) == before
    )
