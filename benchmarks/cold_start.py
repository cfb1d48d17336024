"""How soon a server is ready, and gives its first semantic answer, beside the sentence-transformers provider.

python -m benchmarks.cold_start [--json]
"""

from __future__ import annotations

import sys
import time

from benchmarks.common import Result, Server, library, milliseconds, missing, questions, run

ROUNDS = 7
SECONDS, SHARE = 1.1, 0.25


def measure() -> Result:
    """Spawn servers of both providers in turn; a server is fresh each time, the file cache is warm."""
    folder, asked = library(), questions(2 * ROUNDS)
    absent = missing("sentence_transformers")
    providers = ["onnx"] if absent else ["onnx", "sentence-transformers"]
    ready: dict[str, list[float]] = {p: [] for p in providers}
    answered: dict[str, list[float]] = {p: [] for p in providers}
    for number in range(ROUNDS):
        for provider in providers:
            with Server(folder, embedding_provider=provider) as server:
                page = server.ask("lookup_spell", semantic_query=asked[number])
                answered[provider].append(time.perf_counter() - server.began)
                ready[provider].append(server.initialized)
                assert page["mode"] == "hybrid", page["note"]
    rows = [
        [p, *(milliseconds(v) for v in (min(ready[p]), _middle(ready[p]), min(answered[p]), _middle(answered[p])))]
        for p in providers
    ]
    best = min(answered["onnx"])
    claims = [(f"spawn to first semantic answer at most {SECONDS} s", f"{best:.2f} s", best <= SECONDS)]
    if not absent:
        share = best / min(answered["sentence-transformers"])
        claims.append((f"at most {SHARE} x that of sentence-transformers", f"{share:.2f} x", share <= SHARE))
    columns = ["provider", "initialized, best", "median", "first answer, best", "median"]
    return Result("Cold start", columns, rows, claims, [f"best and median of {ROUNDS} spawns, in turn", *absent])


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


if __name__ == "__main__":
    sys.exit(run(measure, __doc__ or ""))
