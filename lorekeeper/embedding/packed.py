"""The default model as it comes with the wheel: all-MiniLM-L6-v2 with 8-bit weights, made by scripts/build_model.py.

Its vectors are in the space of the float32 weights, and it has their fingerprint: libraries that were embedded with one are
searched with the other, without embedding anything again. On the graded queries of the Open5e library, nDCG@10 with 8-bit
queries over float32 passages, and with 8 bits on both sides, is within 0.005 of float32. That was measured of the files with the
hashes of `MEASURED`: others are refused, whatever their manifest says of them.
"""

from __future__ import annotations

from pathlib import Path

from lorekeeper.embedding.digests import file_sha256
from lorekeeper.errors import EmbeddingError
from lorekeeper.version import DISTRIBUTION

PACKED = Path(__file__).resolve().parent.parent / "data" / "model"
"""The folder; a build without the model has none."""

GRAPH, DATA, TOKENIZER, MANIFEST = "model.onnx", "model.onnx_data", "tokenizer.json", "manifest.json"

MEASURED = {
    GRAPH: "fa7a4cc78d13539710cb62225fa857e3de5ac614e7be6347a858b6d38bcecd2c",
    DATA: "ab127a546c5b6670cd2ed8a0ffa402ed4400b4bcf79c9352ec6daa1f3a76359b",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
"""SHA-256 of each file."""


def is_packed(folder: Path) -> bool:
    """Whether a folder has a packed model, sound or not."""
    return (folder / MANIFEST).is_file()


def packed_graph(folder: Path) -> Path:
    """The graph of the packed model in a folder, after every file of it was checked. Blocking.

    Raises:
        EmbeddingError: a file is missing, damaged or another one.
    """
    try:
        wrong = [name for name, sha256 in MEASURED.items() if file_sha256(folder / name) != sha256]
        if wrong:
            raise ValueError(f"{', '.join(wrong)} is not as it was made")
    except (OSError, ValueError) as error:
        raise EmbeddingError(
            f"the embedding model in {folder} is damaged ({error}). Install it again: "
            f"pip install --force-reinstall --no-deps {DISTRIBUTION}"
        ) from error
    return folder / GRAPH
