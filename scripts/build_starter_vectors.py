"""Embed the starter compendium and the demo's notes with the default model, into the file that ships: data/starter.npz.

    python scripts/build_starter_vectors.py

Texts whose vectors ship already are not embedded again. Run it after any change of the starter, its phrases, the notes or the way
texts are cut; a test tells when it is due.
"""

from __future__ import annotations

import asyncio

import numpy as np

from lorekeeper.cache.vectors import load_vectors, save_vectors, vector_key
from lorekeeper.composition import load_provider
from lorekeeper.embedding import EmbeddingService
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.shipped_notes import shipped_notes
from lorekeeper.normalize.book_tables import book_tables
from lorekeeper.settings import load_settings
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import SHIPPED_BOOKS, SHIPPED_VECTORS, hint_text


def starter_texts() -> list[str]:
    """Every text that loading the entries of a new library and the notes of the demo embeds, each once."""
    entries = [entity for entity, _ in Reader(list(SHIPPED_BOOKS), None, ImportReport()).read()]
    entries += [table for entity in entries for table in book_tables(entity).entities]
    entries += [entity for entities in shipped_notes().values() for entity in entities]
    return sorted({p.embedded for entity in entries for p in passages(entity, hint=hint_text(entity))})


async def main() -> None:
    """Write the file, and say how big it is."""
    texts = starter_texts()
    embedding = EmbeddingService(lambda: load_provider(load_settings()[0]))
    provider = await embedding.provider()
    known = load_vectors(SHIPPED_VECTORS) if SHIPPED_VECTORS.exists() else {}
    new = [text for text in texts if vector_key(provider.fingerprint, text) not in known]
    known |= dict(
        zip((vector_key(provider.fingerprint, text) for text in new), await embedding.embed(new), strict=True)
    )
    vectors = np.stack([known[vector_key(provider.fingerprint, text)] for text in texts])
    save_vectors(SHIPPED_VECTORS, provider.fingerprint, texts, vectors)
    embedding.close()
    print(f"{len(load_vectors(SHIPPED_VECTORS))} vectors, {SHIPPED_VECTORS.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    asyncio.run(main())
