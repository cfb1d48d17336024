"""The default model as it comes with the wheel: all-MiniLM-L6-v2 with 8-bit weights, made by scripts/build_model.py.

Its vectors are in the space of the float32 weights, and it has their fingerprint: libraries that were embedded with one are
searched with the other, without embedding anything again. On the graded queries of the Open5e library, nDCG@10 with 8-bit
queries over float32 passages, and with 8 bits on both sides, is within 0.005 of float32. That was measured of the files of
`PACKED_SHA256`: others have a fingerprint of their own, whatever they say of their source.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from lorekeeper.embedding.digests import file_sha256
from lorekeeper.errors import EmbeddingError
from lorekeeper.version import DISTRIBUTION

PACKED = Path(__file__).resolve().parent.parent / "data" / "model"
"""The folder; a build without the model has none."""

GRAPH, DATA, TOKENIZER, MANIFEST = "model.onnx", "model.onnx_data", "tokenizer.json", "manifest.json"

PACKED_SHA256 = "00accdd83c86fd86f21e45af1059cfa12f8d5fdef61083bfdb3b12278259555d"
"""Of the hashes of the graph, its data and the tokenizer."""


def is_packed(folder: Path) -> bool:
    """Whether a folder has a packed model, sound or not."""
    return (folder / MANIFEST).is_file()


def packed_graph(folder: Path) -> tuple[Path, str]:
    """The graph of the packed model in a folder, after every file of it was checked, and the hash of them all. Blocking.

    Raises:
        EmbeddingError: a file is missing or damaged.
    """
    try:
        made = json.loads((folder / MANIFEST).read_bytes())["files"]
        hashes = {name: file_sha256(folder / name) for name in (GRAPH, DATA, TOKENIZER)}
        wrong = [name for name in hashes if hashes[name] != made[name]]
        if wrong:
            raise ValueError(f"{', '.join(wrong)} is not as it was made")
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise EmbeddingError(
            f"the embedding model in {folder} is damaged ({error}). Install it again: "
            f"pip install --force-reinstall --no-deps {DISTRIBUTION}"
        ) from error
    return folder / GRAPH, hashlib.sha256("".join(hashes.values()).encode()).hexdigest()
