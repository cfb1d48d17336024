"""Warm lookups, searches, opening and memory of this checkout beside those of another commit, in one run.

    git worktree add OTHER COMMIT
    python -m benchmarks.beside_commit OTHER THEIRS OURS [--rounds 4] [--json]

OTHER is the checkout of the commit, which runs in this environment. THEIRS is the folder of a library that it wrote, with
`milvus.db`; OURS is a copy that this checkout has made again (`lorekeeper repair` does). Neither may be open. CPU time is compared,
since both share the machine. A question is one request, answered as each of them answers a client that asks for nothing more.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from benchmarks.common import Host, Result, environment, median, milliseconds, questions, report

IN_A_ROW = 15
LOOKUP, SEARCH, OPENING, MEMORY = 0.8, 0.7, 0.9, 1.0
"""Most that each may be, as a multiple of the other commit's."""

ASKED = {"lookup_spell": "semantic_query", "search_lore": "query"}
"""The parameter of each tool that has the question."""

OPEN = """
import sys, time
from pathlib import Path
from lorekeeper.composition import open_store
from lorekeeper.entities import COLLECTIONS
from lorekeeper.settings import load_settings
def seconds():
    store = open_store(load_settings()[0])
    began = time.process_time()
    store.open(COLLECTIONS)
    used = time.process_time() - began
    store.close()
    return used
print(min([seconds() for _ in range(6)][1:]))
"""
"""Prints the CPU seconds of the best of five openings, everything that is imported for them in memory."""


class Side:
    """A checkout with its library."""

    def __init__(self, checkout: Path, library: Path) -> None:
        self.checkout = checkout.resolve()
        values = {"offline": "1", "background_sync": "0"}
        self.environment = environment(library.resolve(), **values) | {"PYTHONPATH": str(self.checkout)}
        self.opened: list[float] = []
        self.asked: dict[str, list[float]] = {tool: [] for tool in ASKED}

    def serve(self) -> Host:
        """Its server."""
        return Host([sys.executable, "-m", "lorekeeper", "serve"], self.environment, self.checkout)

    def open(self) -> None:
        """Measure an opening."""
        command = [sys.executable, "-c", OPEN]
        ran = subprocess.run(command, env=self.environment, cwd=self.checkout, stdout=subprocess.PIPE, check=True)
        self.opened.append(float(ran.stdout))


def measure(sides: Mapping[str, Side], rounds: int) -> Result:
    """Open both and ask both the same questions, in turn."""
    for _ in range(rounds):
        for side in sides.values():
            side.open()
    phrases = questions((rounds + 1) * IN_A_ROW * len(ASKED), "spells")
    servers = {name: side.serve() for name, side in sides.items()}
    for start in range(0, len(phrases), IN_A_ROW):
        tool, parameter = list(ASKED.items())[start // IN_A_ROW % len(ASKED)]
        for name, server in servers.items():
            began = _cpu_seconds(server)
            for query in phrases[start : start + IN_A_ROW]:
                server.timed(tool, **{parameter: query})
            if start >= IN_A_ROW * len(ASKED):  # the first questions load the model and the index
                sides[name].asked[tool].append((_cpu_seconds(server) - began) / IN_A_ROW)
    memory = {name: server.megabytes() for name, server in servers.items()}
    for server in servers.values():
        with server:
            pass
    ours, theirs = sides.values()
    lookup, search = (median(ours.asked[tool]) / median(theirs.asked[tool]) for tool in ASKED)
    ratios = (
        ("warm semantic lookup, CPU time", lookup, LOOKUP),
        ("search over all types, CPU time", search, SEARCH),
        ("opening, CPU time", min(ours.opened) / min(theirs.opened), OPENING),
        ("memory of the server", memory["this checkout"] / memory["the other"], MEMORY),
    )
    rows = [
        [
            name,
            *(milliseconds(median(asked)) for asked in side.asked.values()),
            milliseconds(min(side.opened)),
            f"{memory[name]:.0f} MB",
        ]
        for name, side in sides.items()
    ]
    claims = [(f"{what} at most {most} x", f"{ratio:.2f} x", ratio <= most) for what, ratio, most in ratios]
    notes = [
        f"{rounds} rounds of {IN_A_ROW} distinct questions of each kind, in turn; the best of {5 * rounds} openings"
    ]
    return Result("Beside another commit", ["", "lookup", "search", "opening", "memory"], rows, claims, notes)


def _cpu_seconds(server: Host) -> float:
    """CPU time that a server has used, all its threads."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    """Measure and print; exit status 1 if a ratio is too large."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("other", type=Path, help="checkout of the other commit")
    parser.add_argument("theirs", type=Path, help="folder of a library that it wrote")
    parser.add_argument("ours", type=Path, help="folder of a copy that this checkout has made again")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    chosen = parser.parse_args()
    here = Path(__file__).resolve().parent.parent
    sides = {"this checkout": Side(here, chosen.ours), "the other": Side(chosen.other, chosen.theirs)}
    return report(measure(sides, chosen.rounds), as_json=chosen.json)


if __name__ == "__main__":
    sys.exit(main())
