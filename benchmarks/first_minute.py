"""The first minute of a client: `lorekeeper serve` as it is installed, an empty home, one question, as a host asks it.

    python -m benchmarks.first_minute [--json]

It measures the command that is installed beside this Python, from spawning it to its answers: `initialize`, then one tool call that
describes a spell. The home has no library and no model but the wheel's, and there is no network, where the system lets us
take it away. The same with another model, which is not there, and a hub that refuses, and one that accepts and is silent.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import Host, Result, median, milliseconds, run

ROUNDS = 5

INITIALIZED, SEMANTIC, KEYWORD = 1.0, 2.0, 3.0
"""Most seconds from spawning the server to its answers."""

QUESTION = "we are falling off a cliff"

ABSENT = "owner/another-model"

SETTLE_SECONDS = 0.5
"""After a server has ended: its children may still be ending."""


@dataclass(frozen=True)
class Times:
    """Seconds from spawning a server."""

    initialized: float
    answered: float


def measure() -> Result:
    """Spawn servers for each case in turn; every one finds an empty home, and warm file caches."""
    _first(_alone(), {})  # reads the files from the disk, and lets Python keep what it compiles
    cases: dict[str, list[Times]] = {"by meaning, no network": [], "hub refuses": [], "hub is silent": []}
    for _ in range(ROUNDS):
        cases["by meaning, no network"].append(_first(_alone(), {}))
        with _port(listening=False) as port:
            cases["hub refuses"].append(_first([], _hub(port), mode="keyword"))
        with _port(listening=True) as port:
            cases["hub is silent"].append(_first([], _hub(port), mode="keyword"))
    rows = [
        [
            name,
            milliseconds(median([t.initialized for t in times])),
            milliseconds(median([t.answered for t in times])),
            milliseconds(max(t.answered for t in times)),
        ]
        for name, times in cases.items()
    ]
    every = [times.initialized for case in cases.values() for times in case]
    claims = [_claim("initialize", every, INITIALIZED)]
    limits = dict(zip(cases, (SEMANTIC, KEYWORD, KEYWORD), strict=True))
    claims += [_claim(f"first answer, {name}", [t.answered for t in cases[name]], limits[name]) for name in cases]
    columns = ["case", "initialized", "first answer", "slowest"]
    return Result("First minute", columns, rows, claims, [f"medians of {ROUNDS} spawns in empty homes, in turn"])


def _claim(name: str, seconds: list[float], limit: float) -> tuple[str, str, bool]:
    middle = median(seconds)
    return f"{name} within {limit} s of the start", milliseconds(middle), middle <= limit


def _first(before: list[str], values: dict[str, str], *, mode: str = "hybrid") -> Times:
    """The times of one server in an empty home, once its answer is known to be right."""
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as home:
        environment = {"HOME": home, "PATH": os.defpath, "LANG": "C.UTF-8", **values}
        with Host([*before, _command(), "serve"], environment, Path(home)) as server:
            page = server.ask("lookup_spell", semantic_query=QUESTION)
            answered = time.perf_counter() - server.began
        assert (page["mode"], page["results"][0]["name"]) == (mode, "Feather Fall"), page
        time.sleep(SETTLE_SECONDS)
        return Times(server.initialized, answered)


def _command() -> str:
    command = shutil.which("lorekeeper", path=str(Path(sys.executable).parent))
    assert command, "install the wheel of 'make wheel' beside this Python"
    return command


def _alone() -> list[str]:
    """What a command is begun with to have no network, [] where that is not possible."""
    unshare = shutil.which("unshare")
    if unshare and subprocess.run([unshare, "-rn", "true"], check=False, capture_output=True).returncode == 0:
        return [unshare, "-rn"]
    return []


def _hub(port: int) -> dict[str, str]:
    """The settings that make a server look for a model that it does not have."""
    return {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "LOREKEEPER_EMBEDDING_MODEL": ABSENT}


@contextmanager
def _port(*, listening: bool) -> Iterator[int]:
    """A port that accepts and says nothing, or refuses."""
    with socket.socket() as hub:
        hub.bind(("127.0.0.1", 0))
        if listening:
            hub.listen()
        yield hub.getsockname()[1]


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
