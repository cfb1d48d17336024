"""How many functions of ours, in how many files, a warm question passes, and the CPU time that such questions take.

    python -m benchmarks.hops [--number N] [--list] [--json]

Questions are asked as a client asks them, through the server, but in this process. Functions are counted for a question that has
not been asked before, without comprehensions: the fewest of some, since the server also reads vaults and the like in the
background. ``--list`` prints them by file. CPU time is that of the whole process, client
included, for N other questions without a profiler. The library is the one that `benchmarks.common.library` gives; to compare with
another version, run this file with that version in PYTHONPATH, and its library in LOREKEEPER_BENCH_LIBRARY.
"""

from __future__ import annotations

import argparse
import asyncio
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
_counts = False


def _count(frame: FrameType, event: str, _: object) -> None:
    if _counts and event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
        _calls[frame.f_code] += 1


def _profile(profiler: Any) -> None:
    """Call a function at each call, in this thread and in those that are started from now on; None for nothing."""
    threading.setprofile(profiler)
    sys.setprofile(profiler)


async def measure(number: int) -> tuple[dict[str, Calls], dict[str, list[float]]]:
    """The calls of one warm question, and the CPU seconds of each of ``number`` others, by what is asked."""
    global _counts  # the profiler runs in all threads
    _profile(_count)
    from mcp import Client

    from benchmarks.common import library, questions, settings_of
    from lorekeeper.library import Library
    from lorekeeper.server.mcp import build_server

    calls: dict[str, Calls] = {}
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
                _counts = True
                await ask(name, f"{text}, {name}")
                _counts = False
                passed = Counter({code: n for code, n in _calls.items() if code.co_name not in UNNAMED})
                calls[name] = min(calls.get(name, passed), passed, key=len)
        _profile(None)
        for text in texts[WARM + COUNTED :]:
            for name in ASKED:
                began = time.process_time()
                await ask(name, f"{text}, {name}")
                seconds[name].append(time.process_time() - began)
    return calls, seconds


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

    calls, seconds = asyncio.run(measure(options.number))
    numbers = {name: (len(found), len({code.co_filename for code in found})) for name, found in calls.items()}
    rows = [
        [name, *map(str, numbers[name]), f"{sum(calls[name].values()):,}"]
        + [
            milliseconds(part(seconds[name])) if seconds[name] else ""
            for part in (median, lambda v: percentile(v, 0.95))
        ]
        for name in ASKED
    ]
    functions, files = numbers["lookup_spell(semantic_query)"]
    claim = f"a warm lookup by meaning passes at most {FUNCTIONS} functions in {FILES} files"
    claims = [(claim, f"{functions} in {files}", functions <= FUNCTIONS and files <= FILES)]
    columns = ["question", "functions", "files", "calls", "CPU p50", "CPU p95"]
    status = report(Result("What a warm question passes", columns, rows, claims), as_json=options.json)
    for name in ASKED if options.list else ():
        print(f"\n{name}\n{listed(calls[name])}")
    return status


if __name__ == "__main__":
    raise SystemExit(main())
