"""The auto provider: ONNX Runtime for the default model and all that come with a graph, sentence-transformers for others."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lorekeeper.embedding.fetching import ModelPendingError
from lorekeeper.embedding.model import ModelFiles, configured_model
from lorekeeper.embedding.protocol import EmbeddingProvider
from lorekeeper.errors import EmbeddingError

if TYPE_CHECKING:
    from lorekeeper.settings import Settings

logger = logging.getLogger(__name__)


def load(settings: Settings) -> EmbeddingProvider:
    """The provider that runs the model of the settings best. Blocking; EmbeddingError if it cannot be loaded."""
    files = configured_model(settings, graphs=True)
    if files.runs_on_onnx:
        from lorekeeper.embedding.graph import GraphError
        from lorekeeper.embedding.onnx import OnnxProvider

        try:
            return OnnxProvider(files)
        except GraphError as error:
            files = _weights(settings, error)
    from lorekeeper.embedding.sentence_transformers import SentenceTransformersProvider

    return SentenceTransformersProvider(files)


def _weights(settings: Settings, unusable: EmbeddingError) -> ModelFiles:
    """The files of a model whose graph is unusable, for sentence-transformers; that error if there are none."""
    try:
        files = configured_model(settings)
    except ModelPendingError:
        raise
    except EmbeddingError:
        raise unusable from None
    logger.warning("%s; sentence-transformers runs its weights instead", unusable)
    return files
