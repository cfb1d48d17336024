"""Build ``lorekeeper/data/multilingual.onnx``: the computation of multilingual-e5-small over 8-bit weights, without these.

    python scripts/build_e5_graph.py [--check]

The weights stand where `lorekeeper.embedding.multilingual.PLACES` says, in the file that `build` there writes. The transformer is
that of `build_minilm_graph`, with twelve layers. ``--check`` exits 1 where the file in the package differs from what this
script builds. Needs the ``onnx`` package (extra ``dev``), and no model.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from onnx import ModelProto, TensorProto

from lorekeeper.embedding.multilingual import DATA, GRAPH, LAYERS, NAME, WORDS, Weight, places
from scripts.build_minilm_graph import Graph, Place, assembled, written
from scripts.build_model import packed_embeddings


class PlacedGraph(Graph):
    """A graph over weights whose places are known before they are written."""

    def __init__(self, places: Mapping[str, Weight]) -> None:
        super().__init__()
        self.places = places

    def placed(self, name: str) -> str:
        """Declare a weight by its name."""
        weight = self.places[name]
        kind = TensorProto.INT8 if weight.dtype == "i1" else TensorProto.FLOAT
        return self.external(name, kind, weight.shape, Place(DATA, weight.offset, weight.length))

    def weight(self, name: str, *shape: int) -> str:
        assert self.places[name].shape == shape
        return self.placed(name)

    def transposed(self, name: str, outputs: int, inputs: int) -> str:
        """A linear layer's weight as (inputs, outputs), expanded when the session starts; one scale for each output."""
        assert self.places[f"{name}.rows"].shape == (inputs, outputs)
        integers = self.node("Cast", [self.placed(f"{name}.rows")], f"{name}.cast", to=TensorProto.FLOAT)
        return self.node("Mul", [integers, self.placed(f"{name}.scales")], f"{name}.T")


def build(words: int = WORDS, layers: int = LAYERS) -> ModelProto:
    """The whole graph: ``input_ids``, ``attention_mask`` (batch, words) int32 to ``embedding`` (batch, 384) float32."""
    graph = PlacedGraph(places(words, layers))
    hidden = packed_embeddings(graph, *map(graph.placed, ("word.rows", "word.scales", "positions")))
    return assembled(graph, hidden, NAME, layers)


if __name__ == "__main__":
    sys.exit(written(build(), GRAPH, __doc__))
