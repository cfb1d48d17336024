"""Run all benchmarks and write benchmarks/RESULTS.md and the chart of growth.

    python -m benchmarks.results [--without growth ...]

Each benchmark runs in its own process. If one fails, the file says so and still has the results of the others.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.common import Result, library, machine
from benchmarks.growth import chart

NAMES = ("cold_start", "latency", "indexing", "memory", "growth")
HERE = Path(__file__).resolve().parent


def main() -> int:
    """Run the benchmarks and write the file; exit status 1 if a benchmark failed or a claim does not hold."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--without", nargs="*", default=[], choices=NAMES, metavar="NAME", help="leave these out")
    without = parser.parse_args().without
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, text=True).strip()
    library()
    sections, holds, began = [], True, time.monotonic()
    for name in [n for n in NAMES if n not in without]:
        print(f"{name} ...", file=sys.stderr, flush=True)
        ran = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", "--json"], stdout=subprocess.PIPE, text=True, check=False
        )
        try:
            result = Result(**json.loads(ran.stdout))
        except ValueError:
            sections.append(f"## {name}\n\nfailed with exit status {ran.returncode}\n")
            holds = False
            continue
        holds = holds and ran.returncode == 0
        section = result.markdown()
        if name == "growth":
            chart(result, HERE / "growth.svg")
            section += "\n![Growth](growth.svg)\n"
        sections.append(section)
    head = (
        f"# Benchmarks\n\nWritten by `make bench-results` on {datetime.now(UTC):%Y-%m-%d}, of commit "
        f"{commit}, on {machine()}, in {time.monotonic() - began:.0f} s. The references in each "
        "table were measured in the same run.\n"
    )
    (HERE / "RESULTS.md").write_text("\n".join([head, *sections]), "utf-8")
    print(HERE / "RESULTS.md")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
