"""Build ``lorekeeper/data/library.zip``, unless it is that of this package: the first books as a ready library.

    python -m scripts.build_ready_library

A new library begins as a copy of it (`lorekeeper.intake.bundled_library`). It needs no model: the vectors of these books ship with
the package. The texts come from the packages of ``data-packages.txt``, and go into ``lorekeeper/data/books.jsonl.gz`` too, for
libraries with another model or store.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from contextlib import suppress
from pathlib import Path
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from lorekeeper.cache.milvus.bundled_library import pack
from lorekeeper.composition import open_cache, vector_cache
from lorekeeper.embedding import EmbeddingService
from lorekeeper.embedding.model import default_space
from lorekeeper.intake.bundled_library import MANIFEST, SHIPPED, contents, is_current
from lorekeeper.library import Library
from lorekeeper.settings import PREFIX, load_settings
from scripts import pack_books


async def build(out: Path) -> None:
    """Load what a new library begins with into one, and pack that into a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "milvus.db"
        settings = load_settings({f"{PREFIX}MILVUS_DB_PATH": str(path)}, Path(folder) / "no.env")[0]
        embedding = EmbeddingService(default_space, vector_cache(settings))
        imports = path.with_name(f"{path.name}.imports")
        async with Library(open_cache(settings, embedding), embedding, imports=imports) as library:
            await library.load_starter()
        with ZipFile(out, "w", ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr(MANIFEST, json.dumps(contents(default_space().fingerprint)))
            pack(archive, path)


def main() -> None:
    """Build it if that is due."""
    pack_books.main()
    with suppress(OSError, ValueError, KeyError, BadZipFile), ZipFile(SHIPPED) as archive:
        if is_current(archive, default_space().fingerprint):
            return
    print("The books as a ready library, half a minute ...")
    asyncio.run(build(SHIPPED))


if __name__ == "__main__":
    main()
