"""basic-memory with all-MiniLM-L6-v2 put in, run by its own Python: `beside_basic_memory` compares LoreKeeper with it.

    PYTHON benchmarks/other_with_minilm.py ARGUMENT ...    as basic-memory's own command

Its default model comes from a hub and is another one; with the same one, both programs differ only in
how they read, split and rank.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
with suppress(ImportError):
    sys.modules["sqlite3"] = import_module("pysqlite3")  # not every Python's own loads extensions

from basic_memory.cli.main import app
from basic_memory.repository.fastembed_provider import FastEmbedEmbeddingProvider

from lorekeeper.embedding.model import MINILM, find_model
from lorekeeper.embedding.onnx import OnnxProvider


class Model:
    """What basic-memory asks of fastembed's models."""

    def __init__(self) -> None:
        self._provider = OnnxProvider(find_model(MINILM, offline=True))

    def embed(self, texts: Sequence[str], **_: Any) -> Iterator[Any]:
        """One vector for each text, shape (384,)."""
        yield from self._provider.embed(texts)


if __name__ == "__main__":
    FastEmbedEmbeddingProvider._create_model = lambda _: Model()
    app()
