"""Models on disk and on the hub: the table of families, files that are missing or wrong, downloads."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from lorekeeper.embedding.families import family_of
from lorekeeper.embedding.model import ModelFiles, find_model
from lorekeeper.embedding.onnx import OnnxProvider
from lorekeeper.errors import EmbeddingError
from tests.support.providers import load_model
from tests.support.tables import each_row, rows
from tests.support.tiny_models import (
    random_weights,
    save_complete,
    save_graph,
    save_weights,
)

WEIGHTS = random_weights(17)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "some-model"


@pytest.fixture
def complete(folder: Path) -> Path:
    """A folder with the same weights for both runtimes."""
    return save_complete(folder, WEIGHTS)


# --- the table -----------------------------------------------------------------------------------------------------


@each_row(
    ("name", "family"),
    rows("model_names"),
)
def test_a_model_is_known_by_its_own_name(name: str, family: str | None) -> None:
    found = family_of(name)
    assert (found.name if found else None) == family


# --- files that are not there, or not right ------------------------------------------------------------------------


def test_a_folder_without_usable_files_is_an_error_that_says_what_it_needs(folder: Path) -> None:
    folder.mkdir()
    (folder / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(EmbeddingError) as caught:
        load_model(folder)
    for part in (str(folder), "model.safetensors", "onnx/model.onnx", "tokenizer.json", "LOREKEEPER_EMBEDDING_MODEL"):
        assert part in str(caught.value)


def test_pickled_weights_of_a_module_are_not_loaded(complete: Path) -> None:
    shutil.rmtree(complete / "onnx")
    (complete / "2_Dense").mkdir()
    (complete / "2_Dense" / "pytorch_model.bin").write_bytes(b"pickle")
    with pytest.raises(EmbeddingError, match="pickles are not loaded"):
        load_model(complete)


@pytest.mark.alike(8)
@pytest.mark.parametrize("content", ["{", "3", '"text"', "NaN", "[" * 100_000, "\udcff"])
@pytest.mark.parametrize("name", ["modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "config.json"])
def test_a_broken_configuration_is_an_error_that_names_the_file(folder: Path, name: str, content: str) -> None:
    save_graph(folder / "model.onnx", WEIGHTS)
    (folder / "1_Pooling").mkdir()
    (folder / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(EmbeddingError, match=re.escape(str(folder / name))):
        load_model(folder)


# --- the hub -------------------------------------------------------------------------------------------------------


class Hub:
    """Stands for the model hub: a folder of repositories, of which only what is asked for is copied."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cache = folder / "cache"

    def list_repo_files(self, repository: str) -> list[str]:
        place = self.folder / repository
        return [file.relative_to(place).as_posix() for file in place.rglob("*") if file.is_file()]

    def snapshot_download(
        self, repository: str, *, local_files_only: bool = False, allow_patterns: list[str] | None = None, **_: object
    ) -> str:
        from huggingface_hub.errors import LocalEntryNotFoundError
        from huggingface_hub.utils import filter_repo_objects

        target = self.cache / f"models--{repository.replace('/', '--')}"
        if local_files_only and not target.is_dir():
            raise LocalEntryNotFoundError("nothing")
        files = (
            []
            if local_files_only
            else filter_repo_objects(self.list_repo_files(repository), allow_patterns=allow_patterns)
        )
        for file in files:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.folder / repository / file, target / file)
        return str(target)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    hub = Hub(tmp_path / "hub")
    for name in ("list_repo_files", "snapshot_download"):
        monkeypatch.setattr(f"huggingface_hub.{name}", getattr(hub, name))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub.cache))
    folder = hub.folder / "owner" / "bge-tiny"
    save_weights(folder, WEIGHTS)
    save_graph(folder / "onnx" / "model.onnx", WEIGHTS)
    save_graph(folder / "onnx" / "model_quantized.onnx", WEIGHTS)
    for name in ("pytorch_model.bin", "modeling_tiny.py", "onnx/modeling.py"):
        (folder / name).write_text("code")
    return hub


def found(hub: Hub, **options: bool) -> tuple[ModelFiles, set[str]]:
    files = find_model("owner/bge-tiny", offline=False, **options)
    return files, {file.name for file in files.path.rglob("*") if file.is_file()}


SMALL = {"config.json", "tokenizer.json", "tokenizer_config.json"}


def test_a_download_takes_the_graph_alone_and_says_the_licence(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    files, names = found(hub, graphs=True)
    assert (files.origin, names) == ("download", {*SMALL, "model.onnx"})
    assert "licence: MIT" in capsys.readouterr().err
    assert found(hub, graphs=True)[0].origin == "hub cache"
    assert OnnxProvider(files).prefixes.query.startswith("Represent")


def test_the_weights_are_fetched_when_they_are_needed(hub: Hub) -> None:
    found(hub, graphs=True)
    files, names = found(hub)
    assert (files.origin, names) == ("download", {*SMALL, "model.onnx", "model.safetensors"})
    shutil.rmtree(hub.cache)
    with pytest.raises(EmbeddingError, match="LOREKEEPER_OFFLINE"):
        find_model("owner/bge-tiny", offline=True)
