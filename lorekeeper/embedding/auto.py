"""The auto provider: ONNX Runtime for the default model, sentence-transformers for any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lorekeeper.embedding.model import MINILM_SHA256, find_model
from lorekeeper.embedding.protocol import EmbeddingProvider

if TYPE_CHECKING:
    from lorekeeper.settings import Settings


def load(settings: Settings) -> EmbeddingProvider:
    """The provider that runs the model of the settings best. Blocking; EmbeddingError if it cannot be loaded."""
    files = find_model(settings.embedding_model, offline=settings.offline)
    if files.sha256 == MINILM_SHA256:
        from lorekeeper.embedding.onnx import OnnxProvider

        return OnnxProvider(files)
    from lorekeeper.embedding.sentence_transformers import SentenceTransformersProvider

    return SentenceTransformersProvider(files)
