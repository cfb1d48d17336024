"""Embed the shipped phrases with the default model, each by itself, into the file that ships: data/phrases.npz.

    python scripts/build_phrase_vectors.py

Run it after any change of the phrases; a test tells when it is due. It takes some minutes.
"""

from __future__ import annotations

import asyncio

from lorekeeper.composition import load_provider
from lorekeeper.embedding import EmbeddingService
from lorekeeper.embedding.phrase_vectors import PHRASE_VECTORS, save_phrase_vectors
from lorekeeper.settings import load_settings
from lorekeeper.text.phrases import shipped_phrases


async def main() -> None:
    """Write the file, and say how big it is."""
    phrases = shipped_phrases()
    embedding = EmbeddingService(lambda: load_provider(load_settings()[0]))
    provider = await embedding.provider()
    vectors = await embedding.embed([phrase for own in phrases.values() for phrase in own])
    embedding.close()
    save_phrase_vectors(PHRASE_VECTORS, provider.fingerprint, phrases, vectors)
    print(f"{len(vectors)} phrases, {PHRASE_VECTORS.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    asyncio.run(main())
