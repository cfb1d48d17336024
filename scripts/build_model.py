"""Build ``lorekeeper/data/model``: all-MiniLM-L6-v2 with 8-bit weights, which goes into the wheel.

    python scripts/build_model.py [FOLDER]

From the checked float32 weights it writes the graph and its weights (``model.onnx``, ``model.onnx_data``), the tokenizer, the
licence, and a manifest with the SHA-256 of each file and of the source. The same source gives the same bytes. Needs the
``onnx`` package and the model (extra ``dev``).

Each matrix is stored as 8-bit integers with one float32 scale for each of its rows (a word, or an output of a linear layer):
symmetric quantisation, value = integer x scale, scale = largest absolute value / 127 (Jacob et al., "Quantization and Training
of Neural Networks for Efficient Integer-Arithmetic-Only Inference", 2018). The computation is that of float32: the runtime
expands the layers when it loads them, and of the word embeddings, half of the model, only the rows that a text needs. Vectors
of positions, norms and biases stay float32.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto

from lorekeeper.embedding.digests import file_sha256
from lorekeeper.embedding.model import MINILM, MINILM_SHA256, WEIGHTS, find_model
from lorekeeper.embedding.packed import DATA, GRAPH, MANIFEST, MEASURED, PACKED, TOKENIZER, packed_graph
from lorekeeper.embedding.protocol import Vectors
from scripts.build_minilm_graph import EPSILON, Graph, Place, assembled, weight_ranges

LICENCE = Path(__file__).with_name("all-MiniLM-L6-v2.LICENSE")

ALIGNMENT = 64
"""Bytes at which each weight begins, so that the runtime can use it where it is mapped."""

Rows = NDArray[np.int8]


def quantised(matrix: Vectors) -> tuple[Rows, Vectors]:
    """A matrix, shape (rows, columns), as 8-bit integers of that shape, and the scales of its rows, shape (rows,)."""
    scales = (np.abs(matrix).max(axis=1) / 127).astype(np.float32)
    scales[scales == 0] = 1.0
    return np.rint(matrix / scales[:, None]).astype(np.int8), scales


class PackedGraph(Graph):
    """A graph over weights that it collects itself, in ``data``; matrices are 8-bit rows there."""

    def __init__(self, tensors: Mapping[str, Vectors]) -> None:
        super().__init__()
        self.tensors = tensors
        self.data = bytearray()

    def stored(self, name: str, values: Rows | Vectors) -> str:
        """Append a weight to the data, and declare it."""
        self.data += bytes(-len(self.data) % ALIGNMENT)
        kind = TensorProto.INT8 if values.dtype == np.int8 else TensorProto.FLOAT
        place = Place(DATA, len(self.data), values.nbytes)
        self.data += np.ascontiguousarray(values).tobytes()
        return self.external(name, kind, values.shape, place)

    def weight(self, name: str, *shape: int) -> str:
        return self.stored(name, self.tensors[name].reshape(shape))

    def transposed(self, name: str, outputs: int, inputs: int) -> str:
        """A linear layer's weight as (inputs, outputs), expanded when the session starts; one scale for each output."""
        rows, scales = quantised(self.tensors[name].reshape(outputs, inputs))
        integers = self.node("Cast", [self.stored(f"{name}.rows", rows.T)], f"{name}.cast", to=TensorProto.FLOAT)
        return self.node("Mul", [integers, self.stored(f"{name}.scales", scales)], f"{name}.T")


def embeddings(graph: PackedGraph) -> str:
    """Word embeddings in 8-bit rows, and those of positions."""
    prefix = "embeddings"
    rows, scales = quantised(graph.tensors[f"{prefix}.word_embeddings.weight"])
    segment = graph.tensors[f"{prefix}.token_type_embeddings.weight"][0]  # a text is always the first segment
    return packed_embeddings(
        graph,
        graph.stored("word.rows", rows),
        graph.stored("word.scales", scales[:, None]),
        graph.stored("positions", graph.tensors[f"{prefix}.position_embeddings.weight"] + segment),
    )


def packed_embeddings(graph: Graph, rows: str, scales: str, places: str) -> str:
    """Word embeddings, expanded for the words of the texts alone, and those of positions, summed and normalised."""
    found = graph.node("Gather", [rows, "input_ids"], "word.found")
    integers = graph.node("Cast", [found], "word.cast", to=TensorProto.FLOAT)
    scale = graph.node("Gather", [scales, "input_ids"], "word.scale")
    words = graph.node("Mul", [integers, scale], "words_embedded")
    number = graph.node("Shape", ["input_ids"], "words_number", start=1, end=2)
    used = graph.node("Slice", [places, graph.node("Constant", [], "first", value_ints=[0]), number], "positions_used")
    summed = graph.node("Add", [words, used], "embedded_sum")
    return graph.node("LayerNormalization", [summed, *graph.normalised("embeddings")], "embedded", epsilon=EPSILON)


def build(weights: Path) -> tuple[ModelProto, bytes]:
    """The graph, and the data of its weights."""
    content = weights.read_bytes()
    graph = PackedGraph(
        {
            name: np.frombuffer(content, np.float32, (end - start) // 4, start).reshape(shape)
            for name, (start, end, shape) in weight_ranges(weights).items()
        }
    )
    model = assembled(graph, embeddings(graph))
    return model, bytes(graph.data)


def write(folder: Path) -> None:
    """Write the packed model.

    Raises:
        EmbeddingError: the source is not on this machine, or damaged; or what came of it are not the files that were measured.
        ValueError: its weights or its tokenizer are others.
    """
    found = find_model(MINILM, offline=True)
    source = found.path
    if found.sha256 != MINILM_SHA256:  # as may be in the hub cache, where another revision is as good as any
        raise ValueError(f"{source / WEIGHTS} is not that of {MINILM}")
    if file_sha256(source / TOKENIZER) != MEASURED[TOKENIZER]:
        raise ValueError(f"{source / TOKENIZER} is not that of {MINILM}")
    model, data = build(source / WEIGHTS)
    contents = {
        GRAPH: model.SerializeToString(deterministic=True),
        DATA: data,
        TOKENIZER: (source / TOKENIZER).read_bytes(),
        "LICENSE": LICENCE.read_bytes(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    hashes = {name: file_sha256(folder / name) for name in contents}
    manifest = {"model": MINILM, "source_sha256": MINILM_SHA256, "files": hashes}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", "utf-8")
    packed_graph(folder)


def main() -> int:
    """Write it, and say how big it is."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PACKED
    write(folder)
    size = sum(file.stat().st_size for file in folder.iterdir())
    print(f"{folder}: {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
