"""The model that comes with the wheel: 8-bit weights, in the space of the float32 ones."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from lorekeeper.embedding import model
from lorekeeper.embedding.digests import file_sha256
from lorekeeper.embedding.model import MINILM, MINILM_SHA256, WEIGHTS, default_space, find_model
from lorekeeper.embedding.onnx import OnnxProvider
from lorekeeper.embedding.packed import DATA, GRAPH, MANIFEST, TOKENIZER
from lorekeeper.errors import EmbeddingError
from lorekeeper.version import DISTRIBUTION
from scripts import build_model
from scripts.build_model import write

TEXTS = [
    "we are falling off a cliff",
    "Fireball",
    "a dragon",
    "Smaug's hoard: 3,000 gp, 2d6 gems; “cursed”?!",
    "Ein Drache im Nebel, écu d'or, ドラゴン, 龍, 🐉",
    "It heals its wounds at the start of each turn unless it was burned with fire or acid. " * 8,
    "every word of this is read until the model's window is full, " * 60,
]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packed model, as the wheel has it."""
    folder = tmp_path_factory.mktemp("packed") / "model"
    write(folder)
    return folder


@pytest.fixture(scope="module")
def provider(packed: Path) -> OnnxProvider:
    return OnnxProvider(find_model(str(packed), offline=True, graphs=True))


@pytest.fixture(scope="module")
def float32() -> OnnxProvider:
    return OnnxProvider(find_model(MINILM, offline=True, graphs=True))


@pytest.fixture
def copy(packed: Path, tmp_path: Path) -> Path:
    """A copy that may be spoilt."""
    return Path(shutil.copytree(packed, tmp_path / "model"))


def test_other_weights_are_not_packed_under_the_name_of_the_default_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = replace(find_model(MINILM, offline=True), sha256="0" * 64)
    monkeypatch.setattr(build_model, "find_model", lambda *_, **__: source)
    with pytest.raises(ValueError, match=f"{WEIGHTS} is not that of {MINILM}"):
        write(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_its_vectors_are_those_of_the_float32_weights_and_of_their_space(
    provider: OnnxProvider, float32: OnnxProvider
) -> None:
    assert provider.fingerprint == float32.fingerprint == default_space().fingerprint
    cosines = (provider.embed(TEXTS) * float32.embed(TEXTS)).sum(axis=1)
    assert float(cosines.min()) >= 0.996
    assert float(cosines.mean()) >= 0.999


def test_the_licence_and_the_source_come_along(packed: Path) -> None:
    licence = (packed / "LICENSE").read_text("utf-8")
    assert "Apache License" in licence
    assert "LoreKeeper has changed" in licence
    assert json.loads((packed / MANIFEST).read_text("utf-8"))["source_sha256"] == MINILM_SHA256


# --- where it is found ---------------------------------------------------------------------------------------------


def test_it_is_used_where_no_float32_weights_are_installed(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "PACKED", packed)
    assert find_model(MINILM, offline=True, graphs=True).origin == "package"
    monkeypatch.setattr(model, "MINILM_PACKAGE", "no_such_package")
    found = find_model(MINILM, offline=True, graphs=True)
    assert (found.origin, found.path, found.graph) == ("wheel", packed, packed / GRAPH)


@pytest.mark.parametrize("name", [GRAPH, DATA, TOKENIZER])
def test_a_damaged_file_is_refused_with_what_to_do_whatever_the_manifest_says(copy: Path, name: str) -> None:
    content = bytearray((copy / name).read_bytes())
    content[len(content) // 2] ^= 1
    (copy / name).write_bytes(content)
    manifest = json.loads((copy / MANIFEST).read_text("utf-8"))
    manifest["files"][name] = file_sha256(copy / name)
    (copy / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(EmbeddingError, match=rf"{name}.*pip install --force-reinstall --no-deps {DISTRIBUTION}"):
        find_model(str(copy), offline=True, graphs=True)
