"""A model that has to be downloaded: in the background, from a hub that works, refuses, or says nothing."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from lorekeeper.embedding import EmbeddingService, HashingProvider, fetching
from lorekeeper.embedding.configured import load_provider
from lorekeeper.embedding.fetching import ModelPendingError, require_download
from lorekeeper.embedding.model import configured_model
from tests.support.commands import environment, run_lorekeeper
from tests.support.hub_server import FOREIGN, refusing, serving, silent
from tests.support.libraries import settings
from tests.support.tiny_models import random_weights, save_graph
from tests.support.waiting import until

TINY = "owner/bge-tiny"

CLIFF = "we are falling off a cliff"

Hub = Callable[[], AbstractContextManager[str]]


def hub_environment(folder: Path, address: str) -> dict[str, str]:
    """A process's environment with a library and a hub cache in a folder, and a model that it does not have."""
    own = {name: value for name, value in environment(folder, OFFLINE="0").items() if name not in FOREIGN}
    return {**own, "HF_ENDPOINT": address, "HF_HOME": str(folder / "hub"), "LOREKEEPER_EMBEDDING_MODEL": TINY}


@pytest.fixture
def hub(tmp_path: Path) -> Path:
    """Folder of the repositories of a hub."""
    save_graph(tmp_path / "repositories" / TINY / "onnx" / "model.onnx", random_weights(3))
    return tmp_path / "repositories"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process's own hub cache, empty, and no downloads that it has begun."""
    import huggingface_hub.constants

    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub" / "hub"))
    monkeypatch.setattr(fetching, "_downloads", {})
    return tmp_path


def ended(name: str = TINY, *, graphs: bool = True) -> None:
    """Wait until the download in the background is over; its error, if it failed."""

    def is_over() -> bool:
        with contextlib.suppress(ModelPendingError):
            require_download(name, graphs=graphs)
            return True
        return False

    until(is_over)


# --- questions meanwhile -------------------------------------------------------------------------------------------


ASKED = ("search", CLIFF, "--type", "spells", "--json")


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the starter compendium, loaded while nothing could be downloaded."""
    folder = tmp_path_factory.mktemp("loaded")
    done = run_lorekeeper(folder, *ASKED, env={**hub_environment(folder, ""), "LOREKEEPER_OFFLINE": "1"})
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", [refusing, silent])
def test_the_first_question_is_answered_without_the_model(kind: Hub, loaded: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(loaded, tmp_path / "library")
    with kind() as address:
        done = run_lorekeeper(folder, *ASKED, env=hub_environment(folder, address))
    page = json.loads(done.stdout)
    assert (done.returncode, page["mode"], page["results"][0]["name"]) == (0, "keyword", "Feather Fall")
    assert f"the embedding model {TINY} is being downloaded" in page["note"], "it has waited for the hub"


# --- the download --------------------------------------------------------------------------------------------------


def test_a_model_that_has_arrived_is_used_from_then_on(
    here: Path, hub: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    chosen = settings(embedding_model=TINY, embedding_provider="onnx")
    with serving(hub) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        with pytest.raises(ModelPendingError, match="is being downloaded"):
            configured_model(chosen, graphs=True)
        ended()
    assert load_provider(chosen).fingerprint.startswith(f"{TINY} sha256:")
    said = capfd.readouterr().err
    assert "licence: MIT" in said
    assert "is here" in said


# --- who waits, and who does not -----------------------------------------------------------------------------------


class Arriving:
    """Loads a provider from the given attempt on."""

    def __init__(self, attempts: int) -> None:
        self.left = attempts

    def __call__(self) -> HashingProvider:
        self.left -= 1
        if self.left >= 0:
            raise ModelPendingError("the model is being downloaded")
        return HashingProvider(16)


async def test_an_import_waits_for_the_model_and_a_question_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lorekeeper.embedding.service.PENDING_SECONDS", 0.01)
    service = EmbeddingService(Arriving(3))
    with pytest.raises(ModelPendingError):
        await service.embed_query("a dragon")
    assert (await service.embed(["a dragon"])).shape == (1, 16)
    assert (await service.embed_query("a dragon")).shape == (16,)
    service.close()
