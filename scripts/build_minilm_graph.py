"""Build ``lorekeeper/data/minilm.onnx``: the computation of all-MiniLM-L6-v2 without its weights.

    python scripts/build_minilm_graph.py [--check]

The graph (about 100 nodes of ONNX Runtime's fused operators) names every weight and where it stands in the model's
untouched ``model.safetensors``. Mean pooling over the mask and the scaling to length 1 are part of it. ``--check`` exits 1
where the file in the package differs from what this script builds. Needs the ``onnx`` package and the model (extra ``dev``).

Architecture: Devlin et al., "BERT", 2018; pooling: Reimers and Gurevych, "Sentence-BERT", 2019; operators:
https://github.com/microsoft/onnxruntime/blob/main/docs/ContribOperators.md
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from onnx import ModelProto, NodeProto, TensorProto, helper

from lorekeeper.embedding.model import MINILM, WEIGHTS, find_model

TARGET = Path(__file__).resolve().parent.parent / "lorekeeper" / "data" / "minilm.onnx"
LAYERS, HEADS, HIDDEN, INTERMEDIATE = 6, 12, 384, 1536
WORDS, POSITIONS, SEGMENTS = 30522, 512, 2
EPSILON = 1e-12
MICROSOFT = "com.microsoft"

UNUSED = "pooler."
"""Prefix of weights that sentence embeddings do not use."""


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


class Place(NamedTuple):
    """Where a weight is: a file, and the first byte and the number of bytes there."""

    location: str
    offset: int
    length: int


class Graph:
    """Nodes and weights, collected in order."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def node(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        """Add one node; returns its output's name."""
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def external(self, name: str, kind: int, shape: Sequence[int], place: Place) -> str:
        """Declare a weight whose data are in a file beside the graph."""
        tensor = TensorProto(name=name, data_type=kind, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in place._asdict().items():
            tensor.external_data.add(key=key, value=str(value))
        self.weights.append(tensor)
        return name

    def weight(self, name: str, *shape: int) -> str:
        """Declare a float32 weight by its name in the model's own file."""
        raise NotImplementedError

    def transposed(self, name: str, outputs: int, inputs: int) -> str:
        """A linear layer's weight, stored (outputs, inputs), as (inputs, outputs); folded when the session starts."""
        return self.node("Transpose", [self.weight(name, outputs, inputs)], f"{name}.T", perm=[1, 0])

    def normalised(self, name: str) -> list[str]:
        """Scale and shift of a layer normalisation."""
        return [self.weight(f"{name}.LayerNorm.weight", HIDDEN), self.weight(f"{name}.LayerNorm.bias", HIDDEN)]


class FloatGraph(Graph):
    """A graph over the model's own safetensors file; ``ranges`` says where a weight begins and ends in it."""

    def __init__(self, ranges: Mapping[str, TensorRange]) -> None:
        super().__init__()
        self._ranges = ranges

    def weight(self, name: str, *shape: int) -> str:
        start, end, _ = self._ranges[name]
        return self.external(name, TensorProto.FLOAT, shape, Place(WEIGHTS, start, end - start))


def embeddings(graph: Graph) -> str:
    """Word, position and segment embeddings, summed and normalised."""
    tables = [
        graph.weight("embeddings.word_embeddings.weight", WORDS, HIDDEN),
        graph.weight("embeddings.position_embeddings.weight", POSITIONS, HIDDEN),
        graph.weight("embeddings.token_type_embeddings.weight", SEGMENTS, HIDDEN),
    ]
    segments = graph.node("Sub", ["input_ids", "input_ids"], "segment_ids")
    inputs = ["input_ids", segments, *tables, *graph.normalised("embeddings")]
    outputs = ["embedded", "mask_index"]
    graph.nodes.append(
        helper.make_node("EmbedLayerNormalization", inputs, outputs, name="embedded", domain=MICROSOFT, epsilon=EPSILON)
    )
    return "embedded"


def layer(graph: Graph, number: int, hidden: str) -> str:
    """One transformer layer."""
    base = f"encoder.layer.{number}"
    parts = [f"{base}.attention.self.{part}" for part in ("query", "key", "value")]
    weight = graph.node(
        "Concat", [graph.transposed(f"{p}.weight", HIDDEN, HIDDEN) for p in parts], f"{base}.qkv", axis=1
    )
    bias = graph.node("Concat", [graph.weight(f"{p}.bias", HIDDEN) for p in parts], f"{base}.qkv.bias", axis=0)
    attended = graph.node(
        "Attention", [hidden, weight, bias, "attention_mask"], f"{base}.attended", MICROSOFT, num_heads=HEADS
    )
    hidden = residual(graph, f"{base}.attention.output", attended, hidden, HIDDEN)
    inner = graph.transposed(f"{base}.intermediate.dense.weight", INTERMEDIATE, HIDDEN)
    widened = graph.node("MatMul", [hidden, inner], f"{base}.widened")
    shift = graph.weight(f"{base}.intermediate.dense.bias", INTERMEDIATE)
    active = graph.node("BiasGelu", [widened, shift], f"{base}.active", MICROSOFT)
    return residual(graph, f"{base}.output", active, hidden, INTERMEDIATE)


def residual(graph: Graph, name: str, changed: str, unchanged: str, width: int) -> str:
    """A linear layer back to the hidden width, the residual connection and a layer normalisation."""
    linear = graph.node("MatMul", [changed, graph.transposed(f"{name}.dense.weight", HIDDEN, width)], f"{name}.linear")
    inputs = [linear, unchanged, *graph.normalised(name), graph.weight(f"{name}.dense.bias", HIDDEN)]
    return graph.node("SkipLayerNormalization", inputs, f"{name}.hidden", MICROSOFT, epsilon=EPSILON)


def pooled(graph: Graph, hidden: str) -> str:
    """Mean over the words that the mask keeps, scaled to length 1."""
    mask = graph.node("Cast", ["attention_mask"], "mask", to=TensorProto.FLOAT)
    column = graph.node("Unsqueeze", [mask, "last_axis"], "mask_column")
    kept = graph.node("Mul", [hidden, column], "kept")
    total = graph.node("ReduceSum", [kept, "word_axis"], "total", keepdims=0)
    number = graph.node("ReduceSum", [column, "word_axis"], "number", keepdims=0)
    mean = graph.node("Div", [total, number], "mean")
    return graph.node("LpNormalization", [mean], "embedding", axis=-1, p=2)


def build() -> ModelProto:
    """The whole graph: ``input_ids``, ``attention_mask`` (batch, words) int32 to ``embedding`` (batch, 384) float32."""
    graph = FloatGraph(weight_ranges(find_model(MINILM, offline=True).path / WEIGHTS))
    return assembled(graph, embeddings(graph))


def assembled(graph: Graph, hidden: str, name: str = MINILM, layers: int = LAYERS) -> ModelProto:
    """The model, from the graph of its embeddings: the transformer, and what makes one vector of a text."""
    for number in range(layers):
        hidden = layer(graph, number, hidden)
    pooled(graph, hidden)
    axes = [
        helper.make_tensor(name, TensorProto.INT64, [1], [axis]) for name, axis in (("last_axis", 2), ("word_axis", 1))
    ]
    words = ["batch", "words"]
    made = helper.make_graph(
        graph.nodes,
        name,
        [helper.make_tensor_value_info(n, TensorProto.INT32, words) for n in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", HIDDEN])],
        [*graph.weights, *axes],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9, producer_name="lorekeeper")


def written(graph: ModelProto, target: Path, usage: str | None) -> int:
    """Write a graph, or with --check compare it with the one that is there; the exit status."""
    parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only")
    content = graph.SerializeToString(deterministic=True)
    if parser.parse_args().check:
        same = target.exists() and target.read_bytes() == content
        print("the graph is up to date" if same else f"{target.name} differs: run scripts/{Path(sys.argv[0]).name}")
        return 0 if same else 1
    target.write_bytes(content)
    print(f"{target.name}: {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(written(build(), TARGET, __doc__))
