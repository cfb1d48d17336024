"""The sentence-transformers provider: any model it can load, on PyTorch."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lorekeeper.embedding.model import WEIGHTS, ModelFiles, configured_model
from lorekeeper.embedding.protocol import Vectors, normalized
from lorekeeper.errors import EmbeddingError
from lorekeeper.version import DISTRIBUTION

if TYPE_CHECKING:
    from lorekeeper.settings import Settings

BATCH = 8
"""Texts per batch; they are sorted by length first."""


class SentenceTransformersProvider:
    """A model folder, loaded with sentence-transformers on the CPU; only safetensors weights, no remote code."""

    name = "sentence-transformers"
    at_once = BATCH

    def __init__(self, files: ModelFiles) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        _refuse_pickles(files)
        try:
            from sentence_transformers import SentenceTransformer
            from sentence_transformers.sentence_transformer.modules import Pooling
            from transformers.utils import logging as transformers_logging
        except ImportError as error:
            raise EmbeddingError(
                f"sentence-transformers is not installed: pip install '{DISTRIBUTION}[sentence-transformers]'"
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
        for module in self._model:
            if isinstance(module, Pooling) and files.usage.pooling in Pooling.POOLING_MODES:
                module.pooling_mode = files.usage.pooling  # a folder that does not state it would get the mean
        longest = files.usage.max_tokens
        self._model.max_seq_length = min(self._model.max_seq_length or longest, longest)
        self.dimension = int(self._model.get_embedding_dimension() or 0)
        self.prefixes = files.usage.prefixes
        self.fingerprint = files.fingerprint

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._vectors(texts, self.prefixes.passage)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._vectors(texts, self.prefixes.query)

    def _vectors(self, texts: Sequence[str], prefix: str) -> Vectors:
        """Vectors of texts behind a prefix, which the library adds itself: some models leave it out of the pooling."""
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = self._model.encode(list(texts), prompt=prefix, batch_size=BATCH, show_progress_bar=False)
        return normalized(np.asarray(vectors, dtype=np.float32))


def _refuse_pickles(files: ModelFiles) -> None:
    """EmbeddingError if a module has its weights in a pickle only, which the library would load."""
    for pickle in files.path.glob("**/pytorch_model.bin"):
        if not pickle.with_name(WEIGHTS).is_file():
            raise EmbeddingError(
                f"{pickle} has no {WEIGHTS} in its folder, and weights in pickles are not loaded. Save the model again with "
                "safetensors, or set LOREKEEPER_EMBEDDING_MODEL to another one"
            )


def load(settings: Settings) -> SentenceTransformersProvider:
    """The provider with the model of the settings. Blocking; EmbeddingError if it cannot be loaded."""
    return SentenceTransformersProvider(configured_model(settings))
