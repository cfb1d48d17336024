"""The onnx provider: all-MiniLM-L6-v2 on ONNX Runtime, from the model's own weights, without PyTorch."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lorekeeper.embedding.model import MAX_TOKENS, MINILM_SHA256, ModelFiles, find_model
from lorekeeper.embedding.protocol import Vectors, normalized
from lorekeeper.errors import EmbeddingError

if TYPE_CHECKING:
    from lorekeeper.settings import Settings

GRAPH = Path(__file__).resolve().parent.parent / "data" / "minilm.onnx"
"""The computation without weights; made by scripts/build_minilm_graph.py."""

WEIGHTS = "model.safetensors"

FOLDER_ENTRY = "session.model_external_initializers_file_folder_path"
"""Option that gives the runtime the weights; it maps them into memory, and copies only those it rearranges."""

PROVIDERS = ["CPUExecutionProvider"]

BATCH = 4
"""Texts per batch, of about equal length in word pieces: as fast on two cores as 8, with 17 MB less."""

DIMENSION = 384

UNUSED = "pooler."
"""Prefix of weights that sentence embeddings do not use."""


class OnnxProvider:
    """all-MiniLM-L6-v2 in float32: the vectors of sentence-transformers, faster and in a third of the memory."""

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
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry(
            "session.intra_op.allow_spinning", "0"
        )  # it would take the processor from other threads
        self._session = self._opened(files.path / WEIGHTS, options)
        self.fingerprint = files.fingerprint

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, DIMENSION), dtype=np.float32)
        encoded = self._tokenizer.encode_batch_fast(list(texts))
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for start in range(0, len(order), BATCH):
            group = order[start : start + BATCH]
            ids = np.zeros((len(group), len(encoded[group[-1]].ids)), dtype=np.int32)
            mask = np.zeros_like(ids)
            for row, i in enumerate(group):
                ids[row, : len(encoded[i].ids)] = encoded[i].ids
                mask[row, : len(encoded[i].ids)] = 1
            vectors[group] = self._session.run(["embedding"], {"input_ids": ids, "attention_mask": mask})[0]
        return normalized(vectors)

    def _opened(self, weights: Path, options: Any) -> Any:
        """A session; the runtime maps the weights into memory itself, or, since it does not follow links, as in a hub cache,
        uses our mapping."""
        from onnxruntime import InferenceSession, OrtValue

        if not weights.is_symlink():
            options.add_session_config_entry(FOLDER_ENTRY, str(weights.parent.resolve()))
            return InferenceSession(GRAPH.read_bytes(), options, providers=PROVIDERS)
        with weights.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._views = _views(mapped, weight_ranges(weights))
        values = [OrtValue.ortvalue_from_numpy(view) for view in self._views.values()]
        options.add_external_initializers(list(self._views), values)
        session = InferenceSession(GRAPH.read_bytes(), options, providers=PROVIDERS)
        if hasattr(mmap, "MADV_DONTNEED"):
            mapped.madvise(mmap.MADV_DONTNEED)  # drop what was copied; the rest is read again on demand
        return session


def load(settings: Settings) -> OnnxProvider:
    """The provider with the model of the settings. Blocking; EmbeddingError if it cannot be loaded."""
    return OnnxProvider(find_model(settings.embedding_model, offline=settings.offline))


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
