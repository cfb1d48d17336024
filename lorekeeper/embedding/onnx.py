"""The onnx provider: all-MiniLM-L6-v2 on ONNX Runtime, from the model's own weights, without PyTorch."""

from __future__ import annotations

import json
import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lorekeeper.embedding.model import MAX_TOKENS, MINILM_SHA256, ModelFiles
from lorekeeper.embedding.provider import Vectors, normalized
from lorekeeper.errors import EmbeddingError

GRAPH = Path(__file__).resolve().parent.parent / "data" / "minilm.onnx"
"""The computation without weights; made by scripts/build_minilm_graph.py."""

DIMENSION = 384

UNUSED = "pooler."
"""Weights that the model carries and sentence embeddings do not use."""


class OnnxProvider:
    """all-MiniLM-L6-v2 in float32: the same vectors as sentence-transformers gives, sooner and in a third of the memory."""

    name = "onnx"
    dimension = DIMENSION

    def __init__(self, files: ModelFiles) -> None:
        if files.sha256 != MINILM_SHA256:
            raise EmbeddingError(
                f"the onnx provider runs all-MiniLM-L6-v2 only, not {files.name}; set "
                "LOREKEEPER_EMBEDDING_PROVIDER=sentence-transformers for other models"
            )
        import onnxruntime
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_file(str(files.path / "tokenizer.json"))
        except Exception as error:  # the tokenizer's own errors have no common base
            raise EmbeddingError(f"the tokenizer in {files.path} cannot be read: {error}") from error
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # other threads need the processor too
        self._weights = _weights(files.path / "model.safetensors")
        wrapped = [onnxruntime.OrtValue.ortvalue_from_numpy(w) for w in self._weights.values()]
        options.add_external_initializers(list(self._weights), wrapped)
        self._session = onnxruntime.InferenceSession(GRAPH.read_bytes(), options, providers=["CPUExecutionProvider"])
        self.fingerprint = files.fingerprint

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, DIMENSION), dtype=np.float32)
        encoded = self._tokenizer.encode_batch(list(texts))
        inputs = {
            "input_ids": np.array([e.ids for e in encoded], dtype=np.int32),
            "attention_mask": np.array([e.attention_mask for e in encoded], dtype=np.int32),
        }
        return normalized(self._session.run(["embedding"], inputs)[0])


def _weights(path: Path) -> dict[str, Any]:
    """Every float32 tensor of a safetensors file by name, as views of the mapped file.

    Format: https://huggingface.co/docs/safetensors/index#format
    """
    with path.open("rb") as file:
        view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    size = int.from_bytes(view[:8], "little")
    header: dict[str, Any] = json.loads(view[8 : 8 + size])
    weights = {}
    for name, tensor in header.items():
        if tensor.get("dtype") == "F32" and not name.startswith(UNUSED):
            start, end = tensor["data_offsets"]
            values = np.frombuffer(view, np.float32, (end - start) // 4, 8 + size + start)
            weights[name] = values.reshape(tensor["shape"])
    return weights
