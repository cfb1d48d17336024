"""Small text models of random weights: for sentence-transformers (BERT, Devlin et al. 2018), and the same as an ONNX graph."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper, save_model
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing

from lorekeeper.embedding.protocol import Vectors

LAYERS, HEADS, HIDDEN, INTERMEDIATE, POSITIONS = 2, 2, 16, 32, 64
EPSILON = 1e-12
MICROSOFT = "com.microsoft"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")

Weights = Mapping[str, Vectors]

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
WORDS = """a an the of and in on cold fire ice dragon goblin sword lamp tide ash storm feather cliff river night old young burns
falls sings : , | _ - query passage search document title none text task result represent this sentence for searching relevant
passages instruct given""".split()
"""All that the models can tell apart."""

TEXTS = ["the old dragon burns", "", "a goblin", "ice and fire and ash in the river of the night", "zzz", "tide " * 100]


def random_weights(seed: int) -> dict[str, Vectors]:
    """The weights of an encoder, by their names in transformers' BertModel."""
    draw = np.random.default_rng(seed)
    shapes = {
        "embeddings.word_embeddings": (len(SPECIAL) + len(WORDS), HIDDEN),
        "embeddings.position_embeddings": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings": (2, HIDDEN),
    }
    weights: dict[str, Vectors] = {}
    for number in range(LAYERS):
        base = f"encoder.layer.{number}"
        shapes |= {f"{base}.attention.self.{part}": (HIDDEN, HIDDEN) for part in ("query", "key", "value")}
        shapes |= {f"{base}.attention.output.dense": (HIDDEN, HIDDEN), f"{base}.output.dense": (HIDDEN, INTERMEDIATE)}
        shapes[f"{base}.intermediate.dense"] = (INTERMEDIATE, HIDDEN)
    for name, shape in shapes.items():
        weights[f"{name}.weight"] = draw.normal(0, 0.5, shape).astype(np.float32)
        if name.startswith("encoder"):
            weights[f"{name}.bias"] = draw.normal(0, 0.1, shape[0]).astype(np.float32)
    for name in [
        "embeddings",
        *(f"encoder.layer.{n}.{p}" for n in range(LAYERS) for p in ("attention.output", "output")),
    ]:
        weights[f"{name}.LayerNorm.weight"] = draw.normal(1, 0.1, HIDDEN).astype(np.float32)
        weights[f"{name}.LayerNorm.bias"] = draw.normal(0, 0.1, HIDDEN).astype(np.float32)
    return weights


def save_weights(folder: Path, weights: Weights, architecture: str = "BertModel") -> None:
    """A model as transformers saves it."""
    _save_common(folder, architecture)
    save_file(dict(weights), folder / "model.safetensors", {"format": "pt"})


def save_usage(
    folder: Path, *, pooling: str = "", max_tokens: int = 0, prompts: Mapping[str, str] | None = None
) -> None:
    """What sentence-transformers writes beside a model: its pooling, by flags as before version 6, its length and prompts."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds.items())
    ]
    if pooling:
        flags = {"cls": "cls_token", "mean": "mean_tokens", "lasttoken": "lasttoken", "max": "max_tokens"}
        stated = {f"pooling_mode_{flag}": pooling == name for name, flag in flags.items()}
        write(folder / "modules.json", modules)
        write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": HIDDEN, **stated})
        (folder / "2_Normalize").mkdir(exist_ok=True)
    if max_tokens:
        write(folder / "sentence_bert_config.json", {"max_seq_length": max_tokens})
    if prompts:
        write(folder / "config_sentence_transformers.json", {"prompts": dict(prompts)})


def save_graph(path: Path, weights: Weights, *, output: str = "last_hidden_state", external: str = "") -> None:
    """The encoder as a graph: the vectors of tokens, or, as ``sentence_embedding``, the first one's, halved."""
    _save_common(path.parent.parent if path.parent.name == "onnx" else path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    options = {"save_as_external_data": True, "location": path.name + external, "size_threshold": 0} if external else {}
    save_model(_encoder(weights, output), str(path), **options)


def save_complete(folder: Path, weights: Weights) -> Path:
    """A folder with the same weights for both runtimes."""
    save_weights(folder, weights)
    save_graph(folder / "onnx" / "model.onnx", weights)
    return folder


def write(path: Path, value: object) -> None:
    """Write a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")


def _save_common(folder: Path, architecture: str = "") -> None:
    """The configuration, and a tokenizer of words, which puts the usual marks around a text; what is there stays."""
    if (folder / "config.json").exists():
        return
    config = {
        "model_type": "bert",
        "architectures": [architecture],
        "vocab_size": len(SPECIAL) + len(WORDS),
        "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INTERMEDIATE,
        "max_position_embeddings": POSITIONS,
        "layer_norm_eps": EPSILON,
    }
    write(folder / "config.json", config)
    ids = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = BertPreTokenizer()
    marks = [(mark, ids[mark]) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", **names})


class _Encoder:
    """The nodes of an encoder and its tensors, linear layers as (inputs, outputs)."""

    def __init__(self, weights: Weights) -> None:
        self.nodes: list[NodeProto] = []
        self.tensors = {name: value.T if name.startswith("encoder") else value for name, value in weights.items()}

    def node(
        self, operator: str, inputs: list[str], result: str, domain: str = "", more: int = 0, **attributes: object
    ) -> str:
        """Add one node, with some further results; returns its result's name."""
        results = [result, *(f"{result}.{i}" for i in range(more))]
        self.nodes.append(helper.make_node(operator, inputs, results, domain=domain, **attributes))
        return result

    def embedded(self) -> str:
        tables = [f"embeddings.{name}_embeddings.weight" for name in ("word", "position", "token_type")]
        norm = ["embeddings.LayerNorm.weight", "embeddings.LayerNorm.bias"]
        for name in INPUTS:
            self.node("Cast", [name], f"{name}.32", to=TensorProto.INT32)
        inputs = ["input_ids.32", "token_type_ids.32", *tables, *norm]
        return self.node("EmbedLayerNormalization", inputs, "embedded", MICROSOFT, more=1, epsilon=EPSILON)

    def layer(self, number: int, hidden: str) -> str:
        base = f"encoder.layer.{number}"
        parts = [f"{base}.attention.self.{part}" for part in ("query", "key", "value")]
        self.tensors[f"{base}.qkv"] = np.concatenate([self.tensors.pop(f"{part}.weight") for part in parts], axis=1)
        self.tensors[f"{base}.qkv.bias"] = np.concatenate([self.tensors.pop(f"{part}.bias") for part in parts])
        attention = [hidden, f"{base}.qkv", f"{base}.qkv.bias", "attention_mask.32"]
        attended = self.node("Attention", attention, f"{base}.attended", MICROSOFT, num_heads=HEADS)
        hidden = self.added(f"{base}.attention.output", attended, hidden)
        wide = self.node("MatMul", [hidden, f"{base}.intermediate.dense.weight"], f"{base}.wide")
        active = self.node("BiasGelu", [wide, f"{base}.intermediate.dense.bias"], f"{base}.active", MICROSOFT)
        return self.added(f"{base}.output", active, hidden)

    def added(self, name: str, changed: str, unchanged: str) -> str:
        linear = self.node("MatMul", [changed, f"{name}.dense.weight"], f"{name}.linear")
        inputs = [linear, unchanged, f"{name}.LayerNorm.weight", f"{name}.LayerNorm.bias", f"{name}.dense.bias"]
        return self.node("SkipLayerNormalization", inputs, f"{name}.added", MICROSOFT, epsilon=EPSILON)


def _encoder(weights: Weights, output: str) -> ModelProto:
    encoder = _Encoder(weights)
    hidden = encoder.embedded()
    for number in range(LAYERS):
        hidden = encoder.layer(number, hidden)
    if output == "sentence_embedding":
        encoder.tensors["half"] = np.array(0.5, dtype=np.float32)
        first = encoder.node("Gather", [hidden, "zero"], "first", axis=1)
        encoder.node("Mul", [first, "half"], output)
    else:
        encoder.node("Identity", [hidden], output)
    return _model(encoder.nodes, encoder.tensors, output)


def _model(nodes: list[NodeProto], tensors: Weights, output: str) -> ModelProto:
    initializers = [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in tensors.items()]
    if output == "sentence_embedding":
        initializers.append(helper.make_tensor("zero", TensorProto.INT64, [], [0]))
    texts: list[str | int] = ["texts", "tokens"]
    shape = ["texts", HIDDEN] if output == "sentence_embedding" else [*texts, HIDDEN]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, TensorProto.INT64, texts) for name in INPUTS],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        initializers,
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)
