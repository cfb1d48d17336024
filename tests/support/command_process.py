"""Runs commands of LoreKeeper one after the other, each in a process of its own, with limits and with measurements.

    python -m tests.support.command_process

Reads one JSON job a line, answers with one line. Everything is imported once, and each job runs in a fork of that: what is
measured is the work, not the start of Python. Nothing of a job is shared with the next one.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.support.commands import ROOT

MAX_ADDRESSES = 2 << 30
"""Bytes of address space a job may have: what grows without end meets a MemoryError, not the machine."""

POLL_SECONDS = 0.005

_IMPORTED = """
lorekeeper.cache.async_cache lorekeeper.cache.sqlite.foreign lorekeeper.cache.sqlite.repair lorekeeper.cache.sqlite.store
lorekeeper.cli.main lorekeeper.cli.render lorekeeper.embedding.http lorekeeper.intake.open5e lorekeeper.intake.sync
lorekeeper.library lorekeeper.maintenance.backup lorekeeper.maintenance.migrate lorekeeper.maintenance.repair
lorekeeper.normalize.legacy lorekeeper.normalize.orcbrew rich.progress tests.support.hostile.check
""".split()


@dataclass(frozen=True)
class Done:
    """What became of a job.

    Attributes:
        status: exit status; the negative number of a signal.
        seconds: processor time.
        peak_mb: largest resident size of the process, in MB of 2**20 bytes, with all that was imported.
        timed_out: whether it was ended because its time was up.
        stdout: what it printed; bytes that are no UTF-8 are surrogates.
        stderr: what it printed there, likewise.
    """

    status: int
    seconds: float
    peak_mb: float
    timed_out: bool
    stdout: str = ""
    stderr: str = ""


class CommandProcess:
    """The process that runs the jobs; use it as a context manager."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.command_process"],
            cwd=ROOT,
            env={**environ, "OPENBLAS_NUM_THREADS": "1"},  # a fork has no threads
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: Sequence[str], environ: Mapping[str, str], folder: Path, seconds: float) -> Done:
        """``lorekeeper`` with these arguments, in that folder."""
        return self._job({"argv": list(arguments)}, environ, folder, seconds)

    def check(self, arguments: Mapping[str, Any], environ: Mapping[str, str], folder: Path, seconds: float) -> Done:
        """`tests.support.hostile.check.check` with these arguments; its result is printed as JSON."""
        return self._job({"check": dict(arguments)}, environ, folder, seconds)

    def _job(self, job: dict[str, Any], environ: Mapping[str, str], folder: Path, seconds: float) -> Done:
        said = {name: folder / f"said-{name}" for name in ("stdout", "stderr")}
        job |= {"env": dict(environ), "cwd": str(folder), "seconds": seconds, **{n: str(p) for n, p in said.items()}}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        texts = {name: path.read_text(encoding="utf-8", errors="surrogateescape") for name, path in said.items()}
        return Done(**answer | texts)

    def __enter__(self) -> CommandProcess:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(timeout=200)
        finally:
            self._process.kill()


# --- in the process --------------------------------------------------------------------------------------------------


def _child(job: Mapping[str, Any]) -> int:
    """Becomes the job; its exit status."""
    os.setpgid(0, 0)
    for name, number in (("stdout", 1), ("stderr", 2)):
        target = os.open(job[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(target, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESSES, MAX_ADDRESSES))
    try:
        if "check" in job:
            from lorekeeper.system import claim_process
            from tests.support.hostile.check import check

            claim_process()  # as a command does; otherwise Arrow's allocator reserves more addresses than a job may have
            print(json.dumps(asyncio.run(check(**job["check"]))))
            return 0
        from lorekeeper.cli.main import main

        return main(job["argv"])
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
        return 1


def _wait(pid: int, seconds: float) -> Done:
    began, timed_out = time.monotonic(), False
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - began > seconds and not timed_out:
            os.kill(pid, signal.SIGKILL)
            timed_out = True
        time.sleep(POLL_SECONDS)
    seconds = usage.ru_utime + usage.ru_stime
    return Done(os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss / 1024, timed_out)


def main() -> int:
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    sys.stdout.flush()
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if not pid:
            return _child(job)  # from here on it ends as a command does
        done = asdict(_wait(pid, job["seconds"]))
        print(json.dumps({k: v for k, v in done.items() if k not in ("stdout", "stderr")}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
