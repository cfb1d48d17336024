"""Any model, as its makers want it used: pooling, prefixes and length, from its own files, the table of families, or settings."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save_model

from lorekeeper.embedding.model import find_model
from lorekeeper.embedding.onnx import OnnxProvider
from lorekeeper.embedding.protocol import Prefixes, Vectors, prefixes_of
from lorekeeper.embedding.sentence_transformers import SentenceTransformersProvider
from lorekeeper.errors import EmbeddingError
from lorekeeper.maintenance.doctor import examine
from lorekeeper.settings import load_settings
from tests.support.providers import load_model
from tests.support.tiny_models import (
    TEXTS,
    random_weights,
    save_complete,
    save_graph,
    save_usage,
    save_weights,
    write,
)

WEIGHTS = random_weights(16)

PROVIDERS = ["onnx", pytest.param("sentence-transformers", marks=pytest.mark.slow)]
"""PyTorch takes seconds to import: what needs it is left to the thorough tests."""


def assert_equal(first: Vectors, second: Vectors) -> None:
    np.testing.assert_allclose(first, second, atol=1e-5)


def apart(first: Vectors, second: Vectors) -> float:
    """The least distance of two vectors of the same text."""
    return float(np.linalg.norm(first - second, axis=1).min())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "some-model"


@pytest.fixture
def complete(folder: Path) -> Path:
    """A folder with the same weights for both runtimes."""
    return save_complete(folder, WEIGHTS)


def both(folder: Path) -> tuple[OnnxProvider, SentenceTransformersProvider]:
    path = str(folder)
    return (
        OnnxProvider(find_model(path, offline=True, graphs=True)),
        SentenceTransformersProvider(find_model(path, offline=True)),
    )


# --- pooling -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "architecture", "pooling"),
    [
        ("bge-tiny", "BertModel", "cls"),
        ("e5-tiny", "BertModel", "mean"),
        ("Qwen3-Embedding-tiny", "BertModel", "lasttoken"),
        ("nobody-knows", "BertModel", "mean"),
        ("nobody-knows", "BertForCausalLM", "lasttoken"),
    ],
)
def test_files_that_state_no_pooling_get_that_of_the_family_or_the_usual_one(
    tmp_path: Path, name: str, architecture: str, pooling: str
) -> None:
    folder = tmp_path / name
    save_weights(folder, WEIGHTS, architecture)
    save_graph(folder / "model.onnx", WEIGHTS)
    onnx, torch = both(folder)
    assert_equal(onnx.embed(TEXTS), torch.embed(TEXTS))
    stated = tmp_path / "stated"
    shutil.copytree(folder, stated)
    save_usage(stated, pooling=pooling)
    prefixes = prefixes_of(onnx)
    bare = load_model(stated, "onnx", query_prefix=prefixes.query, passage_prefix=prefixes.passage)
    assert_equal(onnx.embed(TEXTS), bare.embed(TEXTS))


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("ending", ["_data", ".data"])
def test_weights_beside_a_graph_are_read_and_are_part_of_the_space(complete: Path, ending: str, linked: bool) -> None:
    apart_from = complete.with_name("some-model-2")
    save_graph(apart_from / "onnx" / "model.onnx", WEIGHTS, external=ending)
    if linked:
        for path in (apart_from / "onnx").iterdir():
            path.symlink_to(path.rename(apart_from / f"blob-{path.name}"))
    provider = load_model(apart_from)
    assert_equal(provider.embed(TEXTS), load_model(complete).embed(TEXTS))
    with (apart_from / "onnx" / f"model.onnx{ending}").resolve().open("r+b") as file:
        file.seek(8)
        file.write(b"\0\0\0\1")
    assert load_model(apart_from).fingerprint != provider.fingerprint


def test_layers_behind_the_pooling_are_part_of_the_space(complete: Path) -> None:
    found = set()
    for number in range(2):
        folder = complete.with_name(f"with-layer-{number}")
        shutil.copytree(complete, folder)
        shutil.rmtree(folder / "onnx", ignore_errors=True)
        (folder / "2_Dense").mkdir()
        (folder / "2_Dense" / "model.safetensors").write_bytes(bytes([number]))
        found.add(find_model(str(folder), offline=True).fingerprint.partition(" ")[2])
    assert len(found) == 2


# --- the runtime ---------------------------------------------------------------------------------------------------


def needs_more(folder: Path) -> None:
    save_usage(folder, pooling="max")


def has_a_dense_layer(folder: Path) -> None:
    save_usage(folder, pooling="mean")
    modules = json.loads((folder / "modules.json").read_text())
    write(folder / "modules.json", [*modules, {"idx": 3, "path": "", "type": "sentence_transformers.models.Dense"}])


def has_other_inputs(folder: Path) -> None:
    _other_graph(folder, ["input_ids", "pixel_values"], "last_hidden_state")


def has_other_outputs(folder: Path) -> None:
    _other_graph(folder, ["input_ids"], "logits")


def _other_graph(folder: Path, inputs: list[str], output: str) -> None:
    values = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["a", "b", "c"][: 2 + i])
        for i, name in enumerate(inputs)
    ]
    result = helper.make_tensor_value_info(output, TensorProto.INT64, ["a", "b", "c"])
    node = helper.make_node("Identity", [inputs[-1]], [output])
    graph = helper.make_graph([node], "other", values, [result])
    save_model(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9),
        str(folder / "onnx" / "model.onnx"),
    )


@pytest.mark.parametrize("change", [needs_more, has_a_dense_layer, has_other_inputs, has_other_outputs])
def test_a_graph_that_is_not_enough_is_an_error_without_weights(complete: Path, change: Callable[[Path], None]) -> None:
    (complete / "model.safetensors").unlink()
    change(complete)
    with pytest.raises(EmbeddingError, match=re.escape(str(complete / "onnx" / "model.onnx"))):
        load_model(complete)


@pytest.mark.parametrize("content", [b"", b"no graph", b"\x08\x09"])
def test_a_broken_graph_is_an_error_that_names_it(complete: Path, content: bytes) -> None:
    graph = complete / "onnx" / "model.onnx"
    graph.write_bytes(content)
    with pytest.raises(EmbeddingError, match=re.escape(str(graph))):
        load_model(complete)


# --- prefixes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("name", "prompts", "values", "expected"),
    [
        ("e5-tiny", {}, {}, Prefixes("query: ", "passage: ")),
        ("bge-tiny", {}, {}, Prefixes("Represent this sentence for searching relevant passages: ")),
        ("unknown", {"query": "task | ", "document": "title none | "}, {}, Prefixes("task | ", "title none | ")),
        ("unknown", {"query": "task | ", "passage": "text "}, {"query_prefix": "fire "}, Prefixes("fire ", "text ")),
        ("e5-tiny", {}, {"query_prefix": "", "passage_prefix": "ice  "}, Prefixes("", "ice  ")),
        ("e5-tiny", {}, {"query_prefix": "", "passage_prefix": ""}, Prefixes()),
        ("unknown", {}, {}, Prefixes()),
    ],
)
def test_the_model_sees_the_prefix_as_if_it_were_written_in_front(
    tmp_path: Path, provider: str, name: str, prompts: dict[str, str], values: dict[str, str], expected: Prefixes
) -> None:
    folder = tmp_path / name
    save_weights(folder, WEIGHTS)
    save_graph(folder / "onnx" / "model.onnx", WEIGHTS)
    save_usage(folder, pooling="mean", prompts=prompts)
    bare = load_model(folder, provider, query_prefix="", passage_prefix="")
    model = load_model(folder, provider, **values)
    assert prefixes_of(model) == expected
    for vectors, prefix in ((model.embed_queries(TEXTS), expected.query), (model.embed(TEXTS), expected.passage)):
        assert_equal(vectors, bare.embed([prefix + text for text in TEXTS]))
        assert not prefix or apart(vectors[:3], bare.embed(TEXTS[:3])) > 0.01


async def test_the_doctor_tells_which_prefixes_are_in_force(tmp_path: Path) -> None:
    folder = tmp_path / "e5-tiny"
    save_graph(folder / "model.onnx", WEIGHTS)
    values = {"CACHE_BACKEND": "sqlite", "SQLITE_DB_PATH": str(tmp_path / "cache.db"), "OFFLINE": "1"}
    values |= {"EMBEDDING_MODEL": str(folder), "PASSAGE_PREFIX": "text: "}
    found = await examine(*load_settings({f"LOREKEEPER_{k}": v for k, v in values.items()}, Path("no.env")))
    shown = {setting["name"]: setting["value"] for setting in found.settings}
    assert (shown["LOREKEEPER_QUERY_PREFIX"], shown["LOREKEEPER_PASSAGE_PREFIX"]) == ("", '"text: "')
    model = next(check.message for check in found.checks if check.name == "embedding model")
    assert 'passage:"text: "' in model
    assert '"query: " before queries' in model


def test_the_prefix_of_passages_makes_another_space_and_that_of_queries_does_not(complete: Path) -> None:
    plain, queries = load_model(complete), load_model(complete, query_prefix="a ")
    passages = load_model(complete, passage_prefix="a ")
    assert plain.fingerprint == queries.fingerprint
    assert passages.fingerprint == f'{plain.fingerprint} passage:"a "'


# --- length, and the default model ---------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", PROVIDERS)
def test_texts_are_read_up_to_the_length_of_the_files(complete: Path, provider: str) -> None:
    save_usage(complete, max_tokens=8)
    first, other, beyond = load_model(complete, provider).embed(["a " * 6, "a a a a a fire", "a a a a a a fire fire"])
    assert np.linalg.norm(first - other) > 0.01
    assert_equal(first, beyond)


def test_the_default_model_keeps_its_fingerprint_wherever_it_is() -> None:
    found = find_model("all-MiniLM-L6-v2", offline=True)
    assert found.fingerprint == "all-MiniLM-L6-v2 sha256:53aa51172d142c89 tokens:256 mean"
    assert load_model("all-MiniLM-L6-v2").fingerprint == found.fingerprint
