"""Resident memory of servers after a hundred semantic lookups: with the store, as second client, and on PyTorch.

python -m benchmarks.memory [--json]
"""

from __future__ import annotations

import sys

from benchmarks.common import Result, Server, library, missing, questions, run

LOOKUPS = 100
OWNER, GUEST = 450, 250


def measure() -> Result:
    """The three of them, one after the other."""
    folder, asked = library(), questions(LOOKUPS, "spells")

    def after_lookups(server: Server) -> float:
        for query in asked:
            server.ask("lookup_spell", semantic_query=query)
        return server.megabytes()

    with Server(folder) as first:
        owner = after_lookups(first)
        with Server(folder) as second:
            guest = after_lookups(second)
    rows = [["with the store", f"{owner:.0f} MB"], ["second client", f"{guest:.0f} MB"]]
    absent = missing("sentence_transformers")
    if not absent:
        with Server(folder, embedding_provider="sentence-transformers") as server:
            rows.append(["with the store, on sentence-transformers", f"{after_lookups(server):.0f} MB"])
    claims = [
        (f"with the store at most {OWNER} MB", f"{owner:.0f} MB", owner <= OWNER),
        (f"as second client at most {GUEST} MB", f"{guest:.0f} MB", guest <= GUEST),
    ]
    return Result("Memory", ["server", f"resident after {LOOKUPS} lookups"], rows, claims, absent)


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
