"""What plain pymilvus sees of an embedded cache, in a process without LoreKeeper, and what `migrate` sees of others' databases."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lorekeeper import Collection, EmbeddingService, Field, FieldType, HashingProvider, MilvusCache
from tests.support.commands import ROOT, environment, run_lorekeeper

pytestmark = pytest.mark.slow

WORDS = "moss salt bell ember frost crow well mast gale oak willow tide ash thorn lantern river bone glass copper wolf".split()

TYPES = ("spells", "creatures", "equipment", "rules", "ships")

SHIPS = Collection("ships", fields=[Field("level", FieldType.INTEGER)])

SEARCH = """
import json, sys
from pymilvus import MilvusClient

assert not [name for name in sys.modules if name.startswith("lorekeeper")]
asked = json.load(open(sys.argv[2]))
client = MilvusClient(sys.argv[1])
answers = []
for question in asked:
    client.load_collection(question["type"])
    index = client.describe_index(question["type"], "vector")
    assert (index["index_type"], index["metric_type"]) == ("IVF_FLAT", "COSINE"), index
    found = client.search(
        question["type"], data=[question["vector"]], filter=question["filter"], limit=10,
        output_fields=["document", "slug"], search_params={"metric_type": "COSINE", "params": {"nprobe": 128}},
    )[0]
    answers.append([[hit["entity"]["slug"], hit["distance"]] for hit in found])
client.close()
print(json.dumps(answers))
"""

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


def entries(entity_type: str, number: int, random: Random) -> list[dict[str, Any]]:
    """Entities of one short passage each, so that a row is an entity."""
    texts = [" ".join(random.choices(WORDS, k=8)) for _ in range(number)]
    return [
        {
            "slug": f"e{place:03}",
            "name": f"{entity_type} {place:03}",
            "desc": f"{text}.",
            "level": place % 4,
            "kind": "gear",
        }
        for place, text in enumerate(texts)
    ]


def assert_same(ours: Sequence[tuple[str, float]], theirs: Sequence[tuple[str, float]]) -> None:
    """Two engines give one order and the same cosines, as far as scores of five decimals can say."""
    assert [score for _, score in ours] == pytest.approx([score for _, score in theirs], abs=1.01e-5)
    assert {slug for slug, score in ours if score > ours[-1][1] + 1.01e-5} <= {slug for slug, _ in theirs}
    assert ours[0][1] > ours[-1][1]


async def test_pymilvus_finds_the_same_order_and_cosines_as_we_do(tmp_path: Path, seed: int):
    from lorekeeper import COLLECTIONS

    random, service = Random(seed), EmbeddingService(HashingProvider)
    path, asked, expected, types = tmp_path / "milvus.db", [], [], [*COLLECTIONS.values(), SHIPS]
    async with MilvusCache(path, embedding=service, collections=types) as cache:
        for entity_type in TYPES:
            await cache.store_entities(entries(entity_type, 120, random), entity_type)
        for place in range(50):
            entity_type, query = TYPES[place % len(TYPES)], " ".join(random.choices(WORDS, k=4))
            filters: dict[str, Any] = {"level": place % 4} if entity_type in ("spells", "ships") and place % 3 else {}
            expression = f"level == {filters['level']}" if filters else ""
            vector = (await service.embed_query(query)).tolist()
            asked.append(
                {"type": entity_type, "vector": vector, "filter": expression, "query": query, "where": filters}
            )
            hits = await cache.semantic_search(entity_type, query, 10, **filters)
            expected.append([(hit["slug"], hit["_score"]) for hit in hits])
    async with MilvusCache(path, embedding=service, collections=types, search="milvus") as cache:
        for question, expected_hits in zip(asked, expected, strict=True):
            itself = await cache.semantic_search(question["type"], question["query"], 10, **question["where"])
            assert_same(expected_hits, [(hit["slug"], hit["_score"]) for hit in itself])
    service.close()
    (tmp_path / "asked.json").write_text(json.dumps(asked))
    answers = json.loads(in_a_process_of_its_own(SEARCH, str(path), str(tmp_path / "asked.json"), folder=tmp_path))
    assert len(answers) == len(expected) == 50
    for ours, theirs in zip(expected, answers, strict=True):
        assert_same(ours, theirs)


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
