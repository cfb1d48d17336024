"""What growth costs on a real Milvus server, beside the embedded library with the same entries, and where it leads.

    python -m benchmarks.server_growth [--sizes 1000 10000 40000] [--more] [--json]

`LOREKEEPER_MILVUS_SERVER` names the server, as for the tests. It is a standalone one of version 2.3.5 on this machine, with
its own intervals and not the short ones of the tests, and is started anew for each size. The entries are those of
`benchmarks/growth.py`: known ones, varied, with noise on their vectors. The points are kept in `.bench/server-growth.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.common import FOLDER, Result, Server, library, median, percentile, questions, settings_of, stopwatch
from benchmarks.extrapolation import ENTRIES, POINTS, Line, short, shown, table
from benchmarks.growth import TYPES, Batch, varied_batches
from lorekeeper.cache.milvus import rows as ms
from lorekeeper.cache.milvus.remote import RemoteStore
from lorekeeper.cache.store import Store
from lorekeeper.composition import load_provider, open_store
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.filters import Selection
from lorekeeper.text.passages import CHUNKER

SIZES = (1_000, 10_000, 40_000)
ASKED, FEWER = 40, 20
"""Questions by meaning, and by filters and names, which take a second on this server."""

SEARCHED = "creatures"
"""The type with the most passages, whose vectors are searched by themselves."""

SAMPLED = 50
"""One entity of so many is weighed."""

INTERVALS = {"PROXY_TIMETICKINTERVAL": "200"}
"""The server's own interval between two time ticks, in milliseconds: a read at consistency Strong waits for the next one."""

SETTLE_SECONDS = 10
"""How long a server has after a flush to put sealed rows in the place of growing ones."""

MB = 1e6

WAITING = {
    "lookup by meaning, p50": "ms",
    "lookup by meaning, p95": "ms",
    "the same under a filter, p50": "ms",
    "lookup by filters, p50": "ms",
    "lookup by name, p50": "ms",
    "flush of all types": "s",
    "vector search, sealed, p50": "ms",
    "memory of the Milvus server, sealed": "MB",
}
"""What is measured, and in what, but not extrapolated: waits for time ticks are most of it, or the server is still sealing."""

GROWING = {
    "vector search, p50": "ms",
    "filling": "s",
    "first companion of a machine": "s",
    "comparison of the companion": "s",
    "memory of LoreKeeper": "MB",
    "memory of the Milvus server": "MB",
    "disk of the store": "MB",
    "disk of the companion": "MB",
}
"""What is extrapolated too."""

UNITS = WAITING | GROWING

EMBEDDED = "embedded: "
"""Before the names of what was measured of the embedded library."""

Costs = dict[str, float]
"""Measured values by the names of `UNITS`."""


@dataclass(frozen=True)
class Shelf:
    """The costs of one size.

    Attributes:
        passages: how many there are.
        row_bytes: what a passage weighs on its way to the server, vector included; the mean.
        server, embedded: what was measured.
    """

    entries: int
    passages: int
    row_bytes: float
    server: Costs
    embedded: Costs


# --- one library -----------------------------------------------------------------------------------------------------


def measured_shelf(size: int) -> Shelf:
    """Fill an embedded library, then one on a server, with the same entries, and ask both the same questions."""
    folder = FOLDER / f"server-growth-{size}"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "embedded").mkdir(parents=True)
    embedded, passages, weight = _filled(open_store(settings_of(folder / "embedded")), size)
    embedded |= _asked(folder / "embedded")
    embedded |= {"disk of the store": _megabytes(folder / "embedded" / "milvus.db")}
    embedded |= {"disk of the companion": _companion_megabytes(folder / "embedded")}
    with milvus_server(folder / "server") as uri:
        server = _server_costs(folder, uri, size)
    shutil.rmtree(folder)
    return Shelf(size, passages, weight / passages, server, embedded)


def _server_costs(folder: Path, uri: str, size: int) -> Costs:
    """What is measured of a server: as LoreKeeper leaves it, and then with all rows sealed by a flush."""
    one, data = folder / "one", folder / "server" / "data" / "data"
    costs, _, _ = _filled(open_store(settings_of(one, milvus_uri=uri)), size)
    costs |= _asked(one, milvus_uri=uri)
    costs |= {"memory of the Milvus server": _server_megabytes(folder / "server")}
    costs |= {"disk of the companion": _companion_megabytes(one)}
    costs |= _other_machine(folder / "two", uri)
    store = open_store(settings_of(one, milvus_uri=uri))
    assert isinstance(store, RemoteStore)
    costs |= {"comparison of the companion": _seconds(lambda: _compare(store))}
    costs |= {"flush of all types": _seconds(lambda: _flush(uri))}
    time.sleep(SETTLE_SECONDS)
    costs |= {"vector search, sealed, p50": _raw_search(store), "disk of the store": _megabytes(data)}
    costs |= {"memory of the Milvus server, sealed": _server_megabytes(folder / "server")}
    store.close()
    return costs


def _filled(store: Store, size: int) -> tuple[Costs, int, float]:
    """Fill a store and search its vectors: the costs, how many passages it took, and what they weigh in bytes."""
    passages, weight, seconds = 0, 0.0, list[float]()
    for batch in varied_batches(size):
        with stopwatch(seconds):
            store.write(*batch)
        passages += len(batch.vectors)
        weight += _row_bytes(batch) * len(batch.vectors)
    with stopwatch(seconds):
        for entity_type in TYPES:
            store.flush(entity_type)
    costs = {"filling": sum(seconds), "vector search, p50": _raw_search(store)}
    store.close()
    return costs, passages, weight


def _row_bytes(batch: Batch) -> float:
    """Mean bytes of a row on its way to the server, by a sample."""
    vector = batch.vectors[0]
    sample = batch.chunked[::SAMPLED]
    layout = ms.ServerLayout()
    rows = [row for entity, found in sample for row in layout.rows(entity, found, [vector] * len(found))]
    return sum(map(ms.row_bytes, rows)) / len(rows)


def _asked(folder: Path, **values: str) -> Costs:
    """What questions through a process of ``lorekeeper serve`` cost, and its memory after them."""
    asked = questions(2 * ASKED)
    tools = [f"lookup_{name}" for name in ("spell", "creature", "equipment", "character_option", "rule")]
    with Server(folder, offline="1", **values) as server:
        for tool in tools:
            server.ask(tool, semantic_query="warm up")
        meaning = [server.timed(tools[i % 5], semantic_query=query) for i, query in enumerate(asked[:ASKED])]
        narrow = [server.timed("lookup_spell", semantic_query=query, level_max=3) for query in asked[ASKED:]]
        filters = [server.timed("lookup_spell", level=number % 10) for number in range(FEWER)]
        named = [server.timed("lookup_creature", name=query.split()[-1]) for query in asked[:FEWER]]
        memory = server.megabytes() * 2**20 / MB
    return {
        "lookup by meaning, p50": 1e3 * median(meaning),
        "lookup by meaning, p95": 1e3 * percentile(meaning, 0.95),
        "the same under a filter, p50": 1e3 * median(narrow),
        "lookup by filters, p50": 1e3 * median(filters),
        "lookup by name, p50": 1e3 * median(named),
        "memory of LoreKeeper": memory,
    }


def _raw_search(store: Store) -> float:
    """Milliseconds of a search for the vector of a question, without embedding it; the median."""
    embedding, vectors = _question_vectors()
    seconds: list[float] = []
    for vector in vectors:
        with stopwatch(seconds):
            store.rank_semantic(Selection(SEARCHED), vector, 10, embedding)
    return 1e3 * median(seconds[1:])


@cache
def _question_vectors() -> tuple[str, Vectors]:
    provider = load_provider(settings_of(library()))
    return f"{provider.fingerprint} {CHUNKER}", provider.embed(questions(ASKED))


def _other_machine(folder: Path, uri: str) -> Costs:
    """What the first use costs a machine that has no companion yet."""
    store = open_store(settings_of(folder, milvus_uri=uri))
    costs = {"first companion of a machine": _seconds(lambda: store.open(TYPES))}
    store.close()
    return costs


def _compare(store: RemoteStore) -> None:
    """What LoreKeeper does now and then to see what other machines have written: read all content hashes."""
    for entity_type in TYPES:
        asked = "content_hashes", dict, entity_type
        assert store.ask(*asked) == store.companion.ask(*asked)


def _flush(uri: str) -> None:
    """Seal all rows and index them, which the server does by itself in time, and LoreKeeper never asks for."""
    from pymilvus import MilvusClient

    client = MilvusClient(uri, dedicated=True)
    for entity_type in TYPES:
        client.flush(entity_type)
    client.close()


def _seconds(action: Callable[[], object]) -> float:
    taken: list[float] = []
    with stopwatch(taken):
        action()
    return taken[0]


# --- the server ------------------------------------------------------------------------------------------------------


@contextmanager
def milvus_server(folder: Path) -> Iterator[str]:
    """Address of a standalone server with its data in a folder, which ends with the block; RuntimeError if it does not start."""
    folder.mkdir(parents=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.milvus_standalone", str(folder.absolute())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **INTERVALS},
    )
    assert process.stdin
    assert process.stdout
    try:
        uri = process.stdout.readline().strip()
        if not uri:
            raise RuntimeError("the Milvus server does not start; the error is above")
        yield uri
    finally:
        process.stdin.close()
        process.wait(60)


def _server_megabytes(folder: Path) -> float:
    """Resident memory of the server whose data are in a folder."""
    shown = subprocess.run(["ps", "-eo", "rss=,args="], capture_output=True, text=True, check=True).stdout
    program = f"{folder.absolute()}/data/bin/milvus run"
    (kibibytes,) = [int(line.split()[0]) for line in shown.splitlines() if program in line]
    return kibibytes * 1024 / MB


def _megabytes(folder: Path) -> float:
    """What the files of a folder take on the disk; files that are being replaced may go meanwhile."""
    taken = 0
    for path in folder.rglob("*"):
        try:
            taken += path.stat().st_blocks * 512 if path.is_file() else 0
        except FileNotFoundError:
            continue
    return taken / MB


def _companion_megabytes(folder: Path) -> float:
    (companion,) = folder.glob("*.keywords")
    return companion.stat().st_size / MB


# --- the report ------------------------------------------------------------------------------------------------------


def measured_costs(shelves: Sequence[Shelf]) -> Result:
    """A row for each cost, a column for each size: that of the server, and as a multiple of the embedded library's."""
    rows = [
        [name, *(_cell(shelf.server[name], shelf.embedded.get(name), unit) for shelf in shelves)]
        for name, unit in UNITS.items()
    ]
    rate = [f"{s.passages / s.server['filling']:,.0f}/s ({_ratio(s)} x)" for s in shelves]
    rows.append(["passages stored", *rate])
    passages = ", ".join(f"{s.passages:,}" for s in shelves)
    notes = [
        f"with {passages} passages; in brackets: as a multiple of the embedded library of the same run",
        f"{ASKED} questions by meaning, {FEWER} by filters and by name; vector search is in {SEARCHED}, for 10 entries",
        "the server has version 2.3.5, and its own intervals",
        f"load of the machine at the end: {', '.join(f'{load:.1f}' for load in os.getloadavg())}",
    ]
    return Result("Growth on a Milvus server", ["", *(f"{s.entries:,} entries" for s in shelves)], rows, [], notes)


def _cell(value: float, beside: float | None, unit: str) -> str:
    return shown(value, unit) + (f" ({short(value / beside)} x)" if beside else "")


def _ratio(shelf: Shelf) -> str:
    return short(shelf.embedded["filling"] / shelf.server["filling"])


def model(shelves: Sequence[Shelf]) -> Result:
    """What a passage should take, from the layout of its row, beside the slopes of what was measured."""
    largest = shelves[-1]
    per_passage = largest.passages / largest.entries
    dimension = _question_vectors()[1].shape[1]
    expected = {
        "memory of the Milvus server": (largest.row_bytes, "server", f"vector of {4 * dimension} bytes and columns"),
        "disk of the store": (largest.row_bytes, "server", "the same once"),
        "disk of the embedded store": (9 * dimension, "embedded", "vector in 32 bits twice and in 8 bits, no text"),
    }
    rows = []
    for name, (size, side, why) in expected.items():
        points = _points(shelves, side, name.replace("embedded store", "store"))
        measured = Line(points).slope * MB / per_passage
        rows.append([name, f"{size:,.0f} bytes", why, f"{measured:,.0f} bytes", f"{measured / size:.2f} x"])
    return Result("What a passage takes", ["", "predicted", "for", "measured", "measured / predicted"], rows)


def _points(shelves: Sequence[Shelf], side: str, name: str) -> tuple[tuple[float, float], ...]:
    return tuple((float(s.entries), getattr(s, side)[name]) for s in shelves)


def extrapolation(shelves: Sequence[Shelf]) -> Result:
    """What the costs lead to, of the server and then of the embedded library."""
    costs = lines(shelves)
    heads, rows = table(costs, {name: UNITS[name.removeprefix(EMBEDDED)] for name in costs}, ENTRIES)
    notes = [
        "extrapolated, not measured: straight lines from one machine; the range is that of the slopes between every two sizes"
    ]
    return Result("Extrapolated", heads, rows, [], notes)


def lines(shelves: Sequence[Shelf]) -> dict[str, Line]:
    """The lines through what was measured of the server, and of the embedded library."""
    server = {name: Line(_points(shelves, "server", name)) for name in GROWING}
    beside = [name for name in GROWING if name in shelves[0].embedded]
    return server | {EMBEDDED + name: Line(_points(shelves, "embedded", name)) for name in beside}


def kept() -> dict[int, Shelf]:
    """What earlier runs measured, by size."""
    if not POINTS.exists():
        return {}
    return {values["entries"]: Shelf(**values) for values in json.loads(POINTS.read_text("utf-8"))["shelves"]}


def keep(shelves: Sequence[Shelf]) -> None:
    """Write the points for `benchmarks/extrapolation.py`."""
    costs = {
        name: {"unit": UNITS[name.removeprefix(EMBEDDED)], "points": line.points}
        for name, line in lines(shelves).items()
    }
    POINTS.write_text(json.dumps({"costs": costs, "shelves": [s.__dict__ for s in shelves]}, indent=1) + "\n", "utf-8")


def main() -> int:
    """Measure, keep the points and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES, metavar="N", help="numbers of entries")
    parser.add_argument("--more", action="store_true", help="add them to the sizes of earlier runs, which are kept")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    chosen = parser.parse_args()
    found, began = kept() if chosen.more else {}, time.monotonic()
    for size in sorted(chosen.sizes):
        found[size] = measured_shelf(size)
        print(f"{size:,} entries after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
        keep(_ascending(found))
    results = report_of(_ascending(found))
    print(json.dumps([r.__dict__ for r in results]) if chosen.json else "\n".join(r.markdown() for r in results))
    return 0


def _ascending(found: dict[int, Shelf]) -> list[Shelf]:
    return [found[size] for size in sorted(found)]


def report_of(shelves: Sequence[Shelf]) -> list[Result]:
    """All tables that the number of sizes allows."""
    compared = [model(shelves), extrapolation(shelves)] if len(shelves) > 1 else []
    return [measured_costs(shelves), *compared]


if __name__ == "__main__":
    sys.exit(main())
