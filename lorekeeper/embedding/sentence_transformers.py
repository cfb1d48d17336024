"""The sentence-transformers provider: any model it can load, on PyTorch."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lorekeeper.embedding.model import MAX_TOKENS, ModelFiles, find_model
from lorekeeper.embedding.protocol import Vectors, normalized
from lorekeeper.errors import EmbeddingError

if TYPE_CHECKING:
    from lorekeeper.settings import Settings

BATCH = 8
"""Texts per batch; they are sorted by length first."""


class SentenceTransformersProvider:
    """A model folder, loaded with sentence-transformers on the CPU; only safetensors weights, no remote code."""

    name = "sentence-transformers"

    def __init__(self, files: ModelFiles) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        try:
            from sentence_transformers import SentenceTransformer
            from transformers.utils import logging as transformers_logging
        except ImportError as error:
            raise EmbeddingError(
                "sentence-transformers is not installed: pip install 'lorekeeper[sentence-transformers]'"
            ) from error
        logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
        transformers_logging.disable_progress_bar()
        transformers_logging.set_verbosity_error()
        try:
            self._model = SentenceTransformer(
                str(files.path), device="cpu", local_files_only=True, model_kwargs={"use_safetensors": True}
            )
        except Exception as error:  # a damaged folder makes the loader raise anything
            raise EmbeddingError(f"the model in {files.path} cannot be loaded: {error}") from error
        self._model.max_seq_length = min(self._model.max_seq_length or MAX_TOKENS, MAX_TOKENS)
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        self.fingerprint = files.fingerprint

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = self._model.encode(list(texts), batch_size=BATCH, show_progress_bar=False)
        return normalized(np.asarray(vectors, dtype=np.float32))


def load(settings: Settings) -> SentenceTransformersProvider:
    """The provider with the model of the settings. Blocking; EmbeddingError if it cannot be loaded."""
    return SentenceTransformersProvider(find_model(settings.embedding_model, offline=settings.offline))
