"""The vectors of the data package: found by binary search, exact to a hundredth of a percent, and never in the way."""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lorekeeper.cache.vectors import VectorCache, vector_key
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider, open_vectors
from lorekeeper.embedding.open_vectors import FILE, HEAD, PACKAGE, OpenVectors, packaged_file, write_open_vectors
from lorekeeper.embedding.protocol import is_unit, normalized
from lorekeeper.library import Library
from lorekeeper.text.passages import passages
from scripts.build_open_vectors import open_entities
from tests.support.entities import make
from tests.support.libraries import settings
from tests.support.samples import write_lines

MODEL = "model-1"
TEXTS = [f"text number {i}" for i in range(500)]
VECTORS = normalized(np.random.default_rng(17).normal(size=(len(TEXTS), 384)).astype(np.float32))
KEYS = [vector_key(MODEL, text) for text in TEXTS]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / FILE
    write_open_vectors(path, MODEL, dict(zip(KEYS, VECTORS, strict=True)))
    return path


def test_vectors_come_back_of_length_1_and_nearly_as_they_were(file):
    found = OpenVectors(lambda: file).get(MODEL, KEYS, 384)
    assert found.keys() == set(KEYS)
    cosines = [float(found[key] @ vector) for key, vector in zip(KEYS, VECTORS, strict=True)]
    assert min(cosines) > 0.9998
    assert all(map(is_unit, found.values()))
    assert all(vector.dtype == np.float32 for vector in found.values())
    assert file.stat().st_size == HEAD + len(TEXTS) * (384 + 8 + 4)


def test_only_what_is_there_is_found(file):
    vectors = OpenVectors(lambda: file)
    others = [vector_key(MODEL, f"other {i}") for i in range(500)]
    assert vectors.get(MODEL, [*others, KEYS[3]]).keys() == {KEYS[3]}
    assert vectors.get(MODEL, [bytes(16), b"\xff" * 16]) == {}
    assert vectors.get(MODEL, []) == {}


def test_another_model_or_dimension_has_none(file):
    vectors = OpenVectors(lambda: file)
    assert vectors.get("model-2", KEYS) == {}
    assert vectors.get(MODEL, KEYS, 256) == {}


def test_a_damaged_vector_is_not_used_and_the_others_are(file):
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    assert len(OpenVectors(lambda: file).get(MODEL, KEYS)) == len(KEYS) - 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda _: b"",
        lambda _: b"nothing that we wrote",
        lambda content: content.replace(b'"format": 1', b'"format": 9'),
        lambda content: b'{"model": "model-1"}'.ljust(HEAD) + content[HEAD:],
        lambda content: b"[1, 2, 3]".ljust(HEAD) + content[HEAD:],
    ],
)
def test_a_file_that_is_not_whole_is_named_once_and_passed_over(file, caplog, spoil):
    file.write_bytes(spoil(file.read_bytes()))
    vectors = OpenVectors(lambda: file)
    with caplog.at_level(logging.WARNING):
        assert vectors.get(MODEL, KEYS) == {}
        assert vectors.get(MODEL, KEYS) == {}
    assert [str(file) in record.getMessage() for record in caplog.records] == [True]


def test_keys_of_one_beginning_are_refused(tmp_path):
    twins = {KEYS[0]: VECTORS[0], KEYS[0][:8] + b"another!": VECTORS[1]}
    with pytest.raises(ValueError, match="same 8 bytes"):
        write_open_vectors(tmp_path / FILE, MODEL, twins)


def test_cached_vectors_come_first_and_nothing_is_mapped_before_it_is_asked_for(tmp_path, file):
    asked: list[Path] = []

    def find() -> Path:
        asked.append(file)
        return Path(file)

    cache = VectorCache(tmp_path / "vectors.db", open_books=OpenVectors(find))
    cache.put(MODEL, TEXTS[:1], VECTORS[1:2])
    assert asked == []
    found = cache.get(MODEL, TEXTS[:2], 384)
    assert asked == [file]
    assert np.array_equal(found[TEXTS[0]], VECTORS[1]), "as it was cached"
    assert float(found[TEXTS[1]] @ VECTORS[1]) > 0.9998


async def test_an_import_embeds_only_what_the_package_does_not_have(tmp_path):
    provider = HashingProvider(384)
    known, new = make("known", "A spell of the books."), make("new", "A spell of the house.")
    texts = [passage.embedded for passage in passages(known)]
    keys = [vector_key(provider.fingerprint, text) for text in texts]
    write_open_vectors(tmp_path / FILE, provider.fingerprint, dict(zip(keys, provider.embed(texts), strict=True)))
    cache = VectorCache(tmp_path / "vectors.db", open_books=OpenVectors(lambda: tmp_path / FILE))
    service = EmbeddingService(lambda: provider, cache)
    chosen = settings(milvus_db_path=tmp_path / "milvus.db")
    async with Library(open_cache(chosen, service), service) as library:
        await library.cache.store_entities([known, new], "spells")
        assert service.computed == len(list(passages(new)))
        assert [r.name for r in await library.cache.rank_semantic("spells", "a spell of the books", 1)] == ["known"]


BOOKS: list[dict[str, Any]] = [
    {"key": "open", "name": "Open Book", "licenses": [{"name": "OPEN GAME LICENSE Version 1.0a", "key": "ogl-10a"}]},
    {"key": "closed", "name": "Closed Book", "licenses": [{"name": "All rights reserved", "key": "own"}]},
    {"key": "silent", "name": "Silent Book", "licenses": []},
]
CLASS = {"name": "Wizard", "key": "wizard"}


@pytest.mark.parametrize("folder", ["", "entities"], ids=["alone", "of a larger corpus"])
def test_only_open_books_get_into_the_data_package(tmp_path, folder):
    books = [{"type": "SOURCE", "publisher": {"name": "P", "key": "p"}, "gamesystem": {}, **book} for book in BOOKS]
    spells = [
        {
            "key": f"{key}_spell",
            "name": f"Spell of the {key} book",
            "desc": "It glows.",
            "level": 1,
            "school": {},
            "classes": [CLASS],
            "document": {"name": key, "key": key},
        }
        for key in ("open", "closed", "silent", "unknown")
    ]
    (tmp_path / folder).mkdir(exist_ok=True)
    write_lines(tmp_path / folder / "documents.jsonl", books)
    write_lines(tmp_path / folder / "spells.jsonl", spells)
    write_lines(tmp_path / folder / "own.jsonl", [{"collection": "spells", "name": "Our spell", "document": "open"}])
    (tmp_path / "campaign.jsonl").write_text('{"collection": "rules", "name": "Our rule", "document": "open"}')
    assert {entity.name for entity in open_entities(tmp_path)} == {"Open Book", "Spell of the open book"}


def test_the_data_package_has_what_is_looked_for_and_keeps_it_out_of_the_repository():
    root = Path(__file__).parent.parent
    project = tomllib.loads((root / "packaging" / "vectors" / "pyproject.toml").read_text("utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["packages"] == [PACKAGE]
    assert [pattern for pattern in wheel["artifacts"] if Path(FILE).match(pattern)]
    assert set(wheel["artifacts"]) <= set((root / ".gitignore").read_text("utf-8").split())
    assert (root / "packaging" / "vectors" / PACKAGE / "__init__.py").is_file()


def test_the_file_is_found_in_the_installed_package_without_importing_it(tmp_path, monkeypatch):
    monkeypatch.setattr(open_vectors, "PACKAGE", f"{PACKAGE}_of_this_test")
    assert packaged_file() is None
    folder = tmp_path / open_vectors.PACKAGE
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert packaged_file() is None, "a package without its file is none"
    (folder / FILE).write_bytes(b"content")
    assert packaged_file() == folder / FILE
