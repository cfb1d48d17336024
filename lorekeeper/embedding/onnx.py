"""The onnx provider: models on ONNX Runtime, without PyTorch.

all-MiniLM-L6-v2 runs from its own weights, with a graph that LoreKeeper has; others need a graph of theirs.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lorekeeper.embedding.graph import PROVIDERS, Graph, opened, session_options
from lorekeeper.embedding.model import WEIGHTS, ModelFiles, configured_model
from lorekeeper.embedding.protocol import Vectors, normalized
from lorekeeper.errors import EmbeddingError

if TYPE_CHECKING:
    from lorekeeper.settings import Settings

GRAPH = Path(__file__).resolve().parent.parent / "data" / "minilm.onnx"
"""The computation without weights; made by scripts/build_minilm_graph.py."""

FOLDER_ENTRY = "session.model_external_initializers_file_folder_path"
"""Option that gives the runtime the weights; it maps them into memory, and copies only those it rearranges."""

AT_ONCE = 4
"""Texts per call: some 30 ms, for which a question waits."""

TOKENS = 512
"""Word pieces per batch, of texts of about equal length: as fast on two cores as four of the longest texts, with 20 MB less."""

UNUSED = "pooler."
"""Prefix of weights that sentence embeddings do not use."""


class OnnxProvider:
    """A model on ONNX Runtime: the vectors of sentence-transformers, faster and in a third of the memory."""

    name = "onnx"
    at_once = AT_ONCE

    def __init__(self, files: ModelFiles) -> None:
        if not files.runs_on_onnx:
            raise EmbeddingError(
                f"the onnx provider needs a graph, and {files.path} of {files.name} has none (onnx/model.onnx); set "
                "LOREKEEPER_EMBEDDING_PROVIDER=sentence-transformers for this model"
            )
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(str(files.path / "tokenizer.json"))
        except Exception as error:  # the tokenizer's own errors have no common base
            raise EmbeddingError(f"the tokenizer in {files.path} cannot be read: {error}") from error
        self._tokenizer.enable_truncation(files.usage.max_tokens)
        self._tokenizer.no_padding()
        self._graph = opened(files) if files.graph else _minilm(files)
        self.prefixes = files.usage.prefixes
        self.fingerprint = files.fingerprint
        self.dimension = self._graph.dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._vectors(self.prefixes.of_passages(texts))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._vectors(self.prefixes.of_queries(texts))

    def _vectors(self, texts: list[str]) -> Vectors:
        ids = [encoding.ids or [0] for encoding in self._tokenizer.encode_batch_fast(texts)]  # no graph reads nothing
        order = sorted(range(len(texts)), key=lambda i: len(ids[i]))
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        while order:
            longest = len(ids[order[-1]])
            group, order = order[-max(TOKENS // longest, 1) :], order[: -max(TOKENS // longest, 1)]
            vectors[group] = self._graph.vectors([ids[i] for i in group])
        return normalized(vectors)


def load(settings: Settings) -> OnnxProvider:
    """The provider with the model of the settings. Blocking; EmbeddingError if it cannot be loaded."""
    return OnnxProvider(configured_model(settings, graphs=True))


def _minilm(files: ModelFiles) -> Graph:
    """The shipped graph with the weights of a folder; the runtime maps these into memory itself, or, since it does not
    follow links, as in a hub cache, uses our mapping."""
    from onnxruntime import InferenceSession, OrtValue

    options, weights = session_options(), files.path / WEIGHTS
    if not weights.is_symlink():
        options.add_session_config_entry(FOLDER_ENTRY, str(weights.parent.resolve()))
        return Graph(InferenceSession(GRAPH.read_bytes(), options, providers=PROVIDERS), files)
    with weights.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    views = _views(mapped, weight_ranges(weights))
    values = [OrtValue.ortvalue_from_numpy(view) for view in views.values()]
    options.add_external_initializers(list(views), values)
    session = InferenceSession(GRAPH.read_bytes(), options, providers=PROVIDERS)
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)  # drop what was copied; the rest is read again on demand
    return Graph(session, files, views)


class TensorRange(NamedTuple):
    """The position of a tensor in a file: its first byte, the byte after its last, and its shape."""

    start: int
    end: int
    shape: tuple[int, ...]


def weight_ranges(path: Path) -> dict[str, TensorRange]:
    """The positions of the float32 tensors of a safetensors file, by name.

    The format is described in https://huggingface.co/docs/safetensors/index#format
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(size))
    return {
        name: TensorRange(
            8 + size + tensor["data_offsets"][0], 8 + size + tensor["data_offsets"][1], tuple(tensor["shape"])
        )
        for name, tensor in header.items()
        if tensor.get("dtype") == "F32" and not name.startswith(UNUSED)
    }


def _views(mapped: mmap.mmap, ranges: Mapping[str, TensorRange]) -> dict[str, Vectors]:
    """The tensors of a file that is mapped into memory."""
    return {
        name: np.frombuffer(mapped, np.float32, (end - start) // 4, start).reshape(shape)
        for name, (start, end, shape) in ranges.items()
    }
