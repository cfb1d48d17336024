#!/usr/bin/env python3
"""Add vectors to entries in our own JSON shape, so that whoever imports them with the same model embeds nothing.

    python scripts/add_vectors.py ENTRIES.jsonl > ENTRIES-WITH-VECTORS.jsonl

The model is that of the settings (LOREKEEPER_EMBEDDING_MODEL). One entry a line goes in and comes out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from pathlib import Path

from lorekeeper.cache.supplied_vectors import embedded_texts, written
from lorekeeper.composition import embedding_of
from lorekeeper.normalize import normalize
from lorekeeper.normalize.own import VECTORS
from lorekeeper.settings import load_settings


async def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, help="entries, one JSON object a line")
    embedding = embedding_of(load_settings()[0])
    try:
        model = (await embedding.provider_now()).fingerprint
        for line in parser.parse_args().file.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            (entity,) = normalize(entry)
            entry[VECTORS] = written(model, await embedding.embed(embedded_texts(entity)))
            print(json.dumps(entry, ensure_ascii=False))
    finally:
        embedding.close()


if __name__ == "__main__":
    asyncio.run(main())
