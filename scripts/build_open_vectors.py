"""Embed the passages of the open books with the default model, into the file of the data package `lorekeeper-rpg-vectors`.

    python scripts/build_open_vectors.py CORPUS OUT

CORPUS is a folder of Open5e files, or has one in its folder `entities`, which is read as an import reads it; OUT is the file to
write. Only entries of Open5e count, and only of documents with an open licence, whatever else the folder holds. Vectors in the
embedding cache of the configured library are taken from there, and new ones are added to it. `make vectors` runs this and
builds a wheel.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from lorekeeper.attribution import attribution
from lorekeeper.cache.vectors import VectorCache, vector_key
from lorekeeper.composition import VECTORS, load_provider
from lorekeeper.embedding import EmbeddingService
from lorekeeper.embedding.open_vectors import OpenVectors, shipped_file, write_open_vectors
from lorekeeper.entities import Entity
from lorekeeper.intake.files import Reader
from lorekeeper.intake.misses import SOURCES
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize.book_tables import book_tables
from lorekeeper.settings import load_settings
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import hint_text

BOOKS = "entities"
"""The folder of a corpus of many sources that has the files of Open5e."""

OPEN = {"CC-BY-4.0", "CC-BY-SA-4.0", "Creative Commons 0", "OGL-1.0a", "http://open5e.com/legal"}
"""Licences that allow to pass on what is computed from the texts; the last one is what Open5e's API v1 says of the SRD."""

LARGEST_BYTES = 20_000_000
"""Most that the data package may take."""


def corpus_texts(corpus: Path) -> list[str]:
    """Every text that an import of the open books of a corpus embeds, each once."""
    return sorted({p.embedded for entity in open_entities(corpus) for p in passages(entity, hint=hint_text(entity))})


def open_entities(corpus: Path) -> list[Entity]:
    """The entries of a corpus that are Open5e's, and of a document with a licence of `OPEN`, with the tables in their texts."""
    books = corpus / BOOKS
    entries = Reader([books if books.is_dir() else corpus], None, ImportReport()).read()
    found = [entry.entity for entry in entries if entry.entity.source_api in SOURCES]
    described = {entity.document: entity for entity in found if entity.type == "documents"}
    kept = [e for e in found if OPEN & set(attribution(described.get(e.document), e).licenses)]
    return [*kept, *(table for entity in kept for table in book_tables(entity).entities)]


async def main(corpus: Path, out: Path) -> None:
    """Write the file without the vectors that ship with LoreKeeper, and say how big it is."""
    settings = load_settings()[0]
    cache = VectorCache(settings.library_path.parent / VECTORS)
    embedding = EmbeddingService(lambda: load_provider(settings), cache)
    provider = await embedding.provider()
    keyed = {vector_key(provider.fingerprint, text): text for text in corpus_texts(corpus)}
    texts = [keyed[key] for key in keyed.keys() - OpenVectors(shipped_file).get(provider.fingerprint, keyed).keys()]
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
