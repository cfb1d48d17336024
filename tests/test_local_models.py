"""Models in this process: sentence-transformers, the onnx provider against it on the same weights, and the graph that ships."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lorekeeper.embedding.model import MINILM, ModelFiles, find_model
from lorekeeper.embedding.onnx import OnnxProvider
from lorekeeper.embedding.sentence_transformers import SentenceTransformersProvider
from lorekeeper.errors import EmbeddingError
from tests.support.programs import command_of, embed_with_default_model
from tests.support.providers import check_contract

pytestmark = pytest.mark.slow

TEXTS = [
    "we are falling off a cliff",
    "Fireball",
    "",
    " ",
    "a",
    "Smaug's hoard: 3,000 gp, 2d6 gems; “cursed”?!",
    "Ein Drache im Nebel, écu d'or, ドラゴン, 龍, 🐉",
    "Level 3 evocation spell. " * 12,
    "It heals its wounds at the start of each turn unless it was burned with fire or acid. " * 8,
    "goblin " * 250,
    "every word of this is read until the model's window is full, " * 60,
    "x" * 5000,
]


@pytest.fixture(scope="module")
def files() -> ModelFiles:
    return find_model(MINILM, offline=True)


@pytest.fixture(scope="module")
def onnx(files: ModelFiles) -> OnnxProvider:
    return OnnxProvider(files)


@pytest.fixture(scope="module")
def minilm(files: ModelFiles) -> SentenceTransformersProvider:
    """The real model."""
    return SentenceTransformersProvider(files)


@pytest.mark.slow
def test_the_real_model_keeps_the_contract(minilm: SentenceTransformersProvider) -> None:
    assert minilm.dimension == 384
    assert minilm.name == "sentence-transformers"
    check_contract(minilm)


def test_the_real_model_knows_what_is_alike(minilm: SentenceTransformersProvider) -> None:
    vectors = minilm.embed(
        [
            "An explosion of flame burns everyone nearby.",
            "A blast of fire scorches all around.",
            "A merchant sells cheese.",
        ]
    )
    assert vectors[0] @ vectors[1] > 0.5 > 0.2 > vectors[0] @ vectors[2]


def not_safetensors(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"no weights at all")


def cut_off(folder: Path) -> None:
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(1_000_000)


def empty(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"")


def not_json(folder: Path) -> None:
    (folder / "config.json").write_text("{")


def no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("[]")


@pytest.mark.alike(2)
@pytest.mark.parametrize("spoil", [not_json, no_tokenizer, not_safetensors, cut_off, empty])
def test_a_broken_model_is_an_error_that_names_the_folder(
    files: ModelFiles, tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    model_folder = Path(shutil.copytree(files.path, tmp_path / "my-model"))
    spoil(model_folder)
    with pytest.raises(EmbeddingError) as caught:
        SentenceTransformersProvider(find_model(str(model_folder), offline=True))
    assert str(model_folder) in str(caught.value)


def test_the_vectors_are_those_of_sentence_transformers(
    onnx: OnnxProvider, minilm: SentenceTransformersProvider
) -> None:
    assert onnx.fingerprint == minilm.fingerprint
    assert onnx.dimension == minilm.dimension
    expected = np.concatenate([minilm.embed([text]) for text in TEXTS])
    together = onnx.embed(TEXTS)
    alone = np.concatenate([onnx.embed([text]) for text in TEXTS])
    for vectors in (together, alone):
        assert vectors.dtype == np.float32
        assert float((vectors * expected).sum(axis=1).min()) >= 0.9999


def test_other_weights_are_refused_with_the_provider_that_runs_them(files: ModelFiles) -> None:
    with pytest.raises(EmbeddingError, match="LOREKEEPER_EMBEDDING_PROVIDER=sentence-transformers"):
        OnnxProvider(replace(files, sha256="0" * 64))


def test_it_needs_no_other_runtime() -> None:
    program = command_of(embed_with_default_model)
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=200)
    name, *rest = done.stdout.split()
    assert name == "onnx"
    assert done.stderr == ""
    assert not {"torch", "transformers", "sentence_transformers", "sklearn", "scipy", "pandas"} & set(rest)
