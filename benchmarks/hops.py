"""What a warm question passes: functions and files of ours, transactions, statements, `stat` calls, threads; and its CPU time.

    python -m benchmarks.hops [--number N] [--list] [--json]

Questions are asked as a client asks them, through the server, but in this process. Functions are counted for a question that has
not been asked before, without comprehensions: the fewest of some, since the server also reads vaults and the like in the
background. A hop is a call from one thread into another, or its answer. ``--list`` prints functions by file. CPU time is that of
the whole process, client included, for N other questions without a profiler. The library is the one that `common.library`
gives; to compare with another version, run this file with that version in PYTHONPATH, and its library in LOREKEEPER_BENCH_LIBRARY.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import os
import sqlite3
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import lorekeeper

PACKAGE = str(Path(lorekeeper.__file__).parent)

UNNAMED = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>")
"""Code that is no function of its own."""

FUNCTIONS, FILES = 200, 50
"""What is claimed of a warm lookup by meaning."""

ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "lookup_spell(semantic_query)": ("lookup_spell", {}),
    "lookup_spell(semantic_query, level_max)": ("lookup_spell", {"level_max": 3}),
    "search_lore(query)": ("search_lore", {}),
}

WARM, COUNTED, NUMBER = 12, 6, 60
"""Questions of each kind that are asked before anything is counted, of which the functions are counted, and timed."""

Calls = Counter[CodeType]

_calls: Calls = Counter()
_further: Counter[str] = Counter()
_counts = False

FURTHER = ("transactions", "statements", "stat", "hops")

HOPS = {("thread.py", "submit"), ("base_events.py", "call_soon_threadsafe")}
"""Functions of the standard library by which one thread calls into another."""


class Counted(sqlite3.Connection):
    """A connection that counts what is executed."""

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        """Count a statement; one that begins or ends a transaction as such."""
        if _counts and not sql.startswith(("COMMIT", "ROLLBACK")):
            _further["transactions" if sql.startswith("BEGIN") else "statements"] += 1
        return super().execute(sql, *arguments)


def _count(frame: FrameType, event: str, what: object) -> None:
    if not _counts:
        return
    if event == "c_call":
        _further["stat"] += what is os.stat
    elif event == "call":
        code = frame.f_code
        if code.co_filename.startswith(PACKAGE):
            _calls[code] += 1
        else:
            _further["hops"] += (code.co_filename.rpartition("/")[2], code.co_name) in HOPS


def _profile(profiler: Any) -> None:
    """Call a function at each call, in this thread and in those that are started from now on; None for nothing."""
    threading.setprofile(profiler)
    sys.setprofile(profiler)


async def measure(number: int) -> tuple[dict[str, Calls], dict[str, Counter[str]], dict[str, list[float]]]:
    """The calls of one warm question, what else it does, and the CPU seconds of each of ``number`` others, by what is asked."""
    global _counts  # the profiler runs in all threads
    _profile(_count)
    from mcp import Client

    from benchmarks.common import library, questions, settings_of
    from lorekeeper.library import Library
    from lorekeeper.server.mcp import build_server

    sqlite3.connect = functools.partial(sqlite3.connect, factory=Counted)  # type: ignore[assignment]
    calls: dict[str, Calls] = {}
    further: dict[str, Counter[str]] = {}
    seconds: dict[str, list[float]] = {name: [] for name in ASKED}
    texts = questions(WARM + COUNTED + number)
    async with (
        Library.from_settings(settings_of(library())) as opened,
        Client(build_server(opened), read_timeout_seconds=600) as client,
    ):

        async def ask(name: str, text: str) -> None:
            tool, arguments = ASKED[name]
            wording = "query" if tool == "search_lore" else "semantic_query"
            answer = await client.call_tool(tool, {wording: text, **arguments})
            if answer.is_error:
                raise RuntimeError(str(answer.content))

        for text in texts[:WARM]:
            for name in ASKED:
                await ask(name, text)
        for text in texts[WARM : WARM + COUNTED]:
            for name in ASKED:
                _calls.clear()
                _further.clear()
                _counts = True
                await ask(name, f"{text}, {name}")
                _counts = False
                passed = Counter({code: n for code, n in _calls.items() if code.co_name not in UNNAMED})
                calls[name] = min(calls.get(name, passed), passed, key=len)
                further[name] = min(further.get(name, _further.copy()), _further.copy(), key=Counter.total)
        _profile(None)
        for text in texts[WARM + COUNTED :]:
            for name in ASKED:
                began = time.process_time()
                await ask(name, f"{text}, {name}")
                seconds[name].append(time.process_time() - began)
    return calls, further, seconds


def listed(calls: Calls) -> str:
    """The functions by file, with how often each was called."""
    files: dict[str, list[str]] = {}
    for code, number in sorted(calls.items(), key=lambda item: (item[0].co_filename, item[0].co_firstlineno)):
        name = Path(code.co_filename).relative_to(PACKAGE).as_posix()
        files.setdefault(name, []).append(f"{code.co_qualname} {number}")
    return "\n".join(f"{name}: {', '.join(functions)}" for name, functions in files.items())


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=NUMBER, help="questions whose CPU time is measured")
    parser.add_argument("--list", action="store_true", help="print the functions")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args(arguments)
    from benchmarks.common import Result, median, milliseconds, percentile, report

    calls, further, seconds = asyncio.run(measure(options.number))
    numbers = {name: (len(found), len({code.co_filename for code in found})) for name, found in calls.items()}
    rows = [
        [
            name,
            *map(str, numbers[name]),
            f"{sum(calls[name].values()):,}",
            *(str(further[name][each]) for each in FURTHER),
        ]
        + [
            milliseconds(part(seconds[name])) if seconds[name] else ""
            for part in (median, lambda v: percentile(v, 0.95))
        ]
        for name in ASKED
    ]
    functions, files = numbers["lookup_spell(semantic_query)"]
    claim = f"a warm lookup by meaning passes at most {FUNCTIONS} functions in {FILES} files"
    claims = [(claim, f"{functions} in {files}", functions <= FUNCTIONS and files <= FILES)]
    columns = ["question", "functions", "files", "calls", *FURTHER, "CPU p50", "CPU p95"]
    status = report(Result("What a warm question passes", columns, rows, claims), as_json=options.json)
    for name in ASKED if options.list else ():
        print(f"\n{name}\n{listed(calls[name])}")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
