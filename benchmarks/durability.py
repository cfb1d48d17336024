"""Kill programs at random moments of an import, a reindex, a sync and a migration, and count what is lost.

Each round starts a real program on a real library, sends it SIGKILL, opens the library and compares everything with what the
program had acknowledged: every entity as it was stored or deleted last, none twice, and the list, the keywords and the vectors
holding the same.

    python -m benchmarks.durability [--rounds 50] [--suite import] [--backend milvus] [--seed 1]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.killing import SUITES, Outcome


def main() -> int:
    """Run the suites and print one line each; 1 where anything was lost."""
    parser = argparse.ArgumentParser(description="Kill programs at random moments, and count what is lost.")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--suite", choices=list(SUITES), action="append")
    parser.add_argument("--backend", choices=["milvus", "sqlite"], action="append")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    bad = 0
    for backend in arguments.backend or ["milvus", "sqlite"]:
        for suite in arguments.suite or SUITES:
            began, outcome = time.monotonic(), Outcome()
            with tempfile.TemporaryDirectory(prefix="lorekeeper-") as folder:
                run = SUITES[suite](Path(folder), backend, arguments.rounds, outcome, random.Random(arguments.seed))
                asyncio.run(run)
            bad += outcome.lost + outcome.doubled + outcome.apart
            print(
                f"{backend:7} {suite:8} {outcome.rounds} killed, {outcome.acknowledged:,} acknowledged: {outcome.lost} lost, "
                f"{outcome.doubled} doubled, {outcome.apart} times apart ({time.monotonic() - began:.0f} s)",
                flush=True,
            )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
