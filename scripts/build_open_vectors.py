"""Embed the passages of the open books with the default model, into the file of the data package `lorekeeper-rpg-vectors`.

    python scripts/build_open_vectors.py CORPUS OUT

CORPUS is a folder of Open5e files, which is read as an import reads it; OUT is the file to write. Vectors in the embedding
cache of the configured library are taken from there, and new ones are added to it. `make vectors` runs this and builds a wheel.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from lorekeeper.cache.open_vectors import write_open_vectors
from lorekeeper.cache.vectors import VectorCache, load_vectors, vector_key
from lorekeeper.composition import VECTORS, load_provider
from lorekeeper.embedding import EmbeddingService
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.settings import load_settings
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import SHIPPED_VECTORS, hint_text

LARGEST_BYTES = 20_000_000
"""Most that the data package may take."""


def corpus_texts(corpus: Path) -> list[str]:
    """Every text that an import of the corpus embeds, each once."""
    found = Reader([corpus], None, ImportReport()).read()
    return sorted({p.embedded for entity, _ in found for p in passages(entity, hint=hint_text(entity))})


async def main(corpus: Path, out: Path) -> None:
    """Write the file without the starter's vectors, which ship with LoreKeeper, and say how big it is."""
    settings = load_settings()[0]
    cache = VectorCache(settings.library_path.parent / VECTORS)
    embedding = EmbeddingService(lambda: load_provider(settings), cache)
    provider = await embedding.provider()
    shipped = load_vectors(SHIPPED_VECTORS)
    texts = [text for text in corpus_texts(corpus) if vector_key(provider.fingerprint, text) not in shipped]
    vectors = await embedding.embed(texts, lambda done: print(f"\r+{done}", end="", file=sys.stderr))
    keys = [vector_key(provider.fingerprint, text) for text in texts]
    write_open_vectors(out, provider.fingerprint, dict(zip(keys, vectors, strict=True)))
    embedding.close()
    print(f"\n{len(texts):,} vectors, {embedding.computed:,} of them computed now")


def check_size(out: Path) -> None:
    """End with an error if the file is too large."""
    size = out.stat().st_size
    print(f"{size / 1e6:.1f} MB")
    if size > LARGEST_BYTES:
        raise SystemExit(f"{out} is larger than {LARGEST_BYTES / 1e6:.0f} MB")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
    check_size(Path(sys.argv[2]))
