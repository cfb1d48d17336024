"""Take over a SQLite library, or the cache of an earlier LoreKeeper, into the Milvus library: `lorekeeper migrate`.

python scripts/migrate_sqlite_to_milvus.py FILE [--map TABLE=TYPE]... [--dry-run] [--json]
"""

from __future__ import annotations

import os
import sys

from lorekeeper.cli.main import main

if __name__ == "__main__":
    os.environ["LOREKEEPER_CACHE_BACKEND"] = "milvus"
    sys.exit(main(["migrate", *sys.argv[1:]]))
