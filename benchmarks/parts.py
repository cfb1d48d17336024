"""One semantic answer by the libraries alone, without LoreKeeper's search: what `cold_start` compares a server with.

    python -m benchmarks.parts FOLDER QUESTION

Imports the MCP SDK, Milvus Lite and ONNX Runtime, loads the model, opens the library in FOLDER with Milvus Lite, embeds the
question, and prints the names of the ten nearest spells. FOLDER must be a copy that nobody else has open.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mcp.server.lowlevel  # noqa: F401  # a server cannot do without it
from milvus_lite import MilvusLite

from benchmarks.common import settings_of
from lorekeeper.cache.milvus.rows import SEARCH_PARAMS
from lorekeeper.composition import load_provider


def main() -> None:
    """Answer the question of the command line."""
    folder, question = Path(sys.argv[1]), sys.argv[2]
    vector = load_provider(settings_of(folder)).embed([question])[0]
    spells = MilvusLite(str(folder / "milvus.db")).get_collection("spells")
    spells.load()
    (hits,) = spells.search(
        [vector],
        top_k=10,
        metric_type=SEARCH_PARAMS["metric_type"],
        output_fields=["name"],
        search_params=SEARCH_PARAMS["params"],
    )
    print(*(hit["entity"]["name"] for hit in hits), sep="\n")


if __name__ == "__main__":
    main()
