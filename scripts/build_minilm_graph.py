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
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from onnx import ModelProto, NodeProto, TensorProto, helper

from lorekeeper.embedding.model import MINILM, WEIGHTS, find_model
from lorekeeper.embedding.onnx import TensorRange, weight_ranges

TARGET = Path(__file__).resolve().parent.parent / "lorekeeper" / "data" / "minilm.onnx"
LAYERS, HEADS, HIDDEN, INTERMEDIATE = 6, 12, 384, 1536
WORDS, POSITIONS, SEGMENTS = 30522, 512, 2
EPSILON = 1e-12
MICROSOFT = "com.microsoft"


class Graph:
    """Nodes and weights, collected in order; ``places`` says where in the safetensors file a weight begins and ends."""

    def __init__(self, places: Mapping[str, TensorRange]) -> None:
        self._places = places
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def node(self, operator: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        """Add one node; returns its output's name."""
        self.nodes.append(helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def weight(self, name: str, *shape: int) -> str:
        """Declare a weight by its name in the safetensors file; its data stay there."""
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        start, end, _ = self._places[name]
        for key, value in (("location", WEIGHTS), ("offset", start), ("length", end - start)):
            tensor.external_data.add(key=key, value=str(value))
        self.weights.append(tensor)
        return name

    def transposed(self, name: str, outputs: int, inputs: int) -> str:
        """A linear layer's weight, stored (outputs, inputs), as (inputs, outputs); folded when the session starts."""
        return self.node("Transpose", [self.weight(name, outputs, inputs)], f"{name}.T", perm=[1, 0])

    def normalised(self, name: str) -> list[str]:
        """Scale and shift of a layer normalisation."""
        return [self.weight(f"{name}.LayerNorm.weight", HIDDEN), self.weight(f"{name}.LayerNorm.bias", HIDDEN)]


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
    graph = Graph(weight_ranges(find_model(MINILM, offline=True).path / WEIGHTS))
    hidden = embeddings(graph)
    for number in range(LAYERS):
        hidden = layer(graph, number, hidden)
    pooled(graph, hidden)
    axes = [
        helper.make_tensor(name, TensorProto.INT64, [1], [axis]) for name, axis in (("last_axis", 2), ("word_axis", 1))
    ]
    words = ["batch", "words"]
    made = helper.make_graph(
        graph.nodes,
        "all-MiniLM-L6-v2",
        [helper.make_tensor_value_info(n, TensorProto.INT32, words) for n in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", HIDDEN])],
        [*graph.weights, *axes],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=9, producer_name="lorekeeper")


def main() -> int:
    """Write the graph, or compare it with the one that is there."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare only")
    content = build().SerializeToString(deterministic=True)
    if parser.parse_args().check:
        same = TARGET.exists() and TARGET.read_bytes() == content
        print("the graph is up to date" if same else f"{TARGET.name} differs: run scripts/build_minilm_graph.py")
        return 0 if same else 1
    TARGET.write_bytes(content)
    print(f"{TARGET.name}: {len(content):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
