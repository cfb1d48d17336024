"""How soon a server is ready, and gives its first semantic answer, beside its parts and the sentence-transformers provider.

    python -m benchmarks.cold_start [--json]

The parts are what no server can do without: a Python process that imports the MCP SDK, Milvus Lite and ONNX Runtime, loads
the model, opens the library with Milvus Lite alone, and embeds and searches for one question.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import Result, Server, environment, library, milliseconds, missing, questions, run
from lorekeeper.embedding.packed import PACKED, is_packed

ROUNDS = 7
FACTOR, SHARE, PACKED_FACTOR = 1.0, 0.25, 1.05

BITS = "onnx, 8-bit weights"
"""The model as it comes with the wheel, beside the float32 weights of ``onnx``."""


def measure() -> Result:
    """Spawn the parts and servers of both providers in turn; a process is fresh each time, the file cache is warm."""
    folder, asked = library(), questions(2 * ROUNDS)
    absent = missing("sentence_transformers")
    providers = ["onnx"] if absent else ["onnx", "sentence-transformers"]
    if is_packed(PACKED):
        providers.append(BITS)
    else:
        absent = [*absent, "the model with 8-bit weights is not built and was left out; make wheel"]
    ready: dict[str, list[float]] = {p: [] for p in providers}
    answered: dict[str, list[float]] = {p: [] for p in providers}
    alone: list[float] = []
    with tempfile.TemporaryDirectory(prefix="lorekeeper-bench-") as place:
        shutil.copytree(folder / "milvus.db", Path(place) / "milvus.db")
        for number in range(ROUNDS):
            alone.append(_parts(Path(place), asked[number]))
            for provider in providers:
                with Server(folder, **_settings(provider)) as server:
                    page = server.ask("lookup_spell", semantic_query=asked[number])
                    answered[provider].append(time.perf_counter() - server.began)
                    ready[provider].append(server.initialized)
                    assert page["mode"] == "hybrid", page.get("note")
    rows = [
        [p, *(milliseconds(v) for v in (min(ready[p]), _middle(ready[p]), min(answered[p]), _middle(answered[p])))]
        for p in providers
    ]
    rows.append(["*the parts alone*", "", "", milliseconds(min(alone)), milliseconds(_middle(alone))])
    factor = min(answered["onnx"]) / min(alone)
    claims = [
        (f"spawn to first semantic answer at most {FACTOR} x the parts alone", f"{factor:.2f} x", factor <= FACTOR)
    ]
    if BITS in answered:
        factor = min(answered[BITS]) / min(answered["onnx"])
        claims.append(
            (f"with 8-bit weights at most {PACKED_FACTOR} x float32", f"{factor:.2f} x", factor <= PACKED_FACTOR)
        )
    if "sentence-transformers" in answered:
        share = min(answered["onnx"]) / min(answered["sentence-transformers"])
        claims.append((f"at most {SHARE} x that of sentence-transformers", f"{share:.2f} x", share <= SHARE))
    columns = ["provider", "initialized, best", "median", "first answer, best", "median"]
    return Result("Cold start", columns, rows, claims, [f"best and median of {ROUNDS} spawns, in turn", *absent])


def _settings(provider: str) -> dict[str, str]:
    """The settings of a server with that provider."""
    if provider == BITS:
        return {"embedding_provider": "onnx", "embedding_model": str(PACKED)}
    return {"embedding_provider": provider}


def _parts(folder: Path, question: str) -> float:
    """Seconds that a process takes which has the parts alone."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.parts", str(folder), question]
    subprocess.run(command, env=environment(folder), stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
