"""The onnx provider: models on ONNX Runtime, without PyTorch.

all-MiniLM-L6-v2 runs from its own weights, with a graph that LoreKeeper has; others need a graph of theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from lorekeeper.embedding.graph import Graph, opened, session
from lorekeeper.embedding.model import WEIGHTS, ModelFiles, configured_model
from lorekeeper.embedding.protocol import Vectors, normalized
from lorekeeper.errors import EmbeddingError

if TYPE_CHECKING:
    from lorekeeper.settings import Settings

GRAPH = Path(__file__).resolve().parent.parent / "data" / "minilm.onnx"
"""The computation without weights; made by scripts/build_minilm_graph.py."""

AT_ONCE = 1
"""Texts per call: some 10 ms, for which a question waits; more at once take as long each."""

TOKENS = 512
"""Word pieces per batch, of texts of about equal length: as fast on two cores as four of the longest texts, with 20 MB less."""


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
        self._graph = opened(files) if files.graph else Graph(session(GRAPH, [files.path / WEIGHTS]), files)
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
