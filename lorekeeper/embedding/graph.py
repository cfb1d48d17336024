"""ONNX graphs of embedding models: sessions, inputs, and the pooling of what they give."""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lorekeeper.embedding.families import CLS, LAST, MEAN
from lorekeeper.embedding.model import ModelFiles, graph_data
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.errors import EmbeddingError

NO_TELEMETRY = "ORT_DISABLE_TELEMETRY"
"""Variable that keeps published builds of ONNX Runtime from sending usage data, and a device id out of the cache folder."""

os.environ.setdefault(
    NO_TELEMETRY, "1"
)  # it is read when the runtime is loaded, which every way to it here comes after

PROVIDERS = ["CPUExecutionProvider"]

FOLDER_ENTRY = "session.model_external_initializers_file_folder_path"
"""Option with the folder of the weights of a graph that is elsewhere."""

SENTENCE_OUTPUTS = ("sentence_embedding", "embedding")
"""Outputs that are vectors of texts already, as sentence-transformers and our own graph name them."""

TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
"""Outputs that are vectors of tokens, as transformers and sentence-transformers name them."""

INPUTS = ("input_ids", "attention_mask", "token_type_ids")

POOLINGS = (MEAN, CLS, LAST)

_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}

Mask = NDArray[np.int64]


class GraphError(EmbeddingError):
    """A graph that is not for texts alone, or needs more than pooling: its weights may still run elsewhere."""


class Graph:
    """A session that turns token ids into vectors of texts.

    Args:
        session: of ONNX Runtime.
        files: the model's; they say how it is pooled.

    Raises:
        GraphError: it has other inputs than `INPUTS`, or none of the outputs above, or it cannot be pooled here.
    """

    def __init__(self, session: Any, files: ModelFiles) -> None:
        self._session = session
        self._pooling = files.usage.pooling
        self._fingerprint = files.fingerprint
        self._inputs = {each.name: _TYPES.get(each.type) for each in session.get_inputs()}
        self._output = _output(session, files)
        unknown = [name for name, kind in self._inputs.items() if name not in INPUTS or kind is None]
        if unknown or "input_ids" not in self._inputs:
            raise _unusable(files, f"its inputs are {', '.join(self._inputs)}, not those of a text model")
        self.dimension = int(self.vectors([[0]]).shape[1])

    def vectors(self, ids: Sequence[Sequence[int]]) -> Vectors:
        """Vectors of texts by the ids of their tokens, at least one each; shape (len(ids), dimension), of any length."""
        mask = np.zeros((len(ids), max(map(len, ids))), dtype=np.int64)
        padded = np.zeros_like(mask)
        for row, tokens in enumerate(ids):
            padded[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        given = {"input_ids": padded, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}
        inputs = {name: given[name].astype(kind) for name, kind in self._inputs.items()}
        try:
            output = np.asarray(self._session.run([self._output], inputs)[0], dtype=np.float32)
        except Exception as error:  # the runtime's own errors have no common base
            raise EmbeddingError(f"the model {self._fingerprint} failed: {_first_line(error)}") from error
        vectors: Vectors = output if output.ndim == 2 else pooled(output, mask, self._pooling)
        if vectors.ndim != 2 or len(vectors) != len(ids):
            raise EmbeddingError(f"the model {self._fingerprint} gave an array of shape {output.shape}, not of vectors")
        return vectors


def pooled(hidden: Vectors, mask: Mask, pooling: str) -> Vectors:
    """Vectors of texts, shape (texts, dimension), from those of their tokens, shape (texts, tokens, dimension).

    Args:
        hidden: the vectors of the tokens.
        mask: 1 for a token, 0 for padding, which is on the right; shape (texts, tokens).
        pooling: one of `POOLINGS`.
    """
    if pooling == MEAN:
        kept = mask[:, :, None].astype(np.float32)
        mean: Vectors = (hidden * kept).sum(axis=1) / kept.sum(axis=1)
        return mean
    last = mask.sum(axis=1) - 1
    tokens: Vectors = hidden[np.arange(len(hidden)), last if pooling == LAST else 0]
    return tokens


def session_options() -> Any:
    """Options that every session has."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # errors are raised
    # Spinning would take the processor from other threads.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def opened(files: ModelFiles) -> Graph:
    """The graph in a model's folder. Blocking.

    Raises:
        GraphError: it is not one of a text model, or needs more than pooling.
        EmbeddingError: it cannot be loaded.
    """
    assert files.graph is not None
    try:
        return Graph(session(files.graph, graph_data(files.graph)), files)
    except EmbeddingError:
        raise
    except Exception as error:  # the runtime's own errors have no common base
        raise EmbeddingError(
            f"the graph {files.graph} cannot be run: {_first_line(error)}. Download the model again, or set "
            "LOREKEEPER_EMBEDDING_MODEL to another one"
        ) from error


def session(graph: Path, data: Sequence[Path]) -> Any:
    """A session of a graph and its files of weights, which are in one folder.

    The runtime maps them, and copies only what it rearranges. Links, as in a hub cache, it refuses: their content is given to it,
    and it copies all of that.
    """
    from onnxruntime import InferenceSession

    options = session_options()
    if not any(path.is_symlink() for path in data):
        if all(path.parent == graph.parent for path in data):
            return InferenceSession(str(graph.resolve()), options, providers=PROVIDERS)
        options.add_session_config_entry(FOLDER_ENTRY, str(data[0].parent.resolve()))
        return InferenceSession(graph.read_bytes(), options, providers=PROVIDERS)
    with ExitStack() as stack:
        files = [stack.enter_context(path.open("rb")) for path in data]
        maps = [mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) for file in files]
        names = [path.name for path in data]
        options.add_external_initializers_from_files_in_memory(names, maps, [len(content) for content in maps])
        return InferenceSession(graph.read_bytes(), options, providers=PROVIDERS)


def _output(session: Any, files: ModelFiles) -> str:
    """The output to take: vectors of texts, otherwise those of tokens."""
    ranks = {each.name: len(each.shape or []) for each in session.get_outputs()}  # 0 if a graph does not say
    for name in SENTENCE_OUTPUTS:
        if ranks.get(name) in (0, 2):
            return name
    tokens = [name for name in TOKEN_OUTPUTS if ranks.get(name) in (0, 3)]
    if not tokens:
        raise _unusable(files, f"its outputs are {', '.join(ranks)}, not {' or '.join(TOKEN_OUTPUTS)}")
    if not files.usage.plain or files.usage.pooling not in POOLINGS:
        raise _unusable(files, f"it gives vectors of tokens, and this model needs more than {', '.join(POOLINGS)}")
    return tokens[0]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _unusable(files: ModelFiles, why: str) -> GraphError:
    return GraphError(
        f"the graph {files.graph} cannot be used: {why}; set LOREKEEPER_EMBEDDING_PROVIDER=sentence-transformers, or "
        "LOREKEEPER_EMBEDDING_MODEL to another model"
    )
