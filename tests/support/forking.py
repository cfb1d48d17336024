"""LoreKeeper in a process of its own that need not start: a fork of one that has imported the package.

`run` does what ``python -m lorekeeper`` does with the same arguments, variables and folder. What Python itself does at a start is
not tested with it. One process for each test worker, begun at the first call, forks once for every command: the runner, which
waits for the command and reports its exit status, so that several may be under way.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]

_IMPORTED = """
numpy sqlite3 httpx rich.table rich.progress milvus_lite pyarrow.dataset faiss markdown_it yaml
lorekeeper.cli.main lorekeeper.composition lorekeeper.library lorekeeper.cache.async_cache
lorekeeper.cache.milvus.store lorekeeper.cache.sqlite.store lorekeeper.embedding.http lorekeeper.intake.sync
lorekeeper.intake.files lorekeeper.normalize.notes lorekeeper.vaults.vaults lorekeeper.search.dossier
""".split()
"""Nothing that reads the variables of the environment when it is imported, as the consoles of `lorekeeper.cli.render` do."""


@cache
def _server() -> str:
    """Address of this worker's process that forks."""
    address = str(Path(tempfile.mkdtemp(prefix="lkf")) / "s")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.forking", str(listening.fileno())],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a fork has no threads
        stdin=subprocess.PIPE,  # its end is that of the worker
        pass_fds=[listening.fileno()],
    )
    listening.close()

    def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()

    atexit.register(end)
    return address


def run(
    arguments: Sequence[str], env: Mapping[str, str], cwd: Path, seconds: float
) -> subprocess.CompletedProcess[str]:
    """``lorekeeper`` with these arguments, and nothing to read.

    Raises:
        TimeoutExpired: it took longer, and was killed.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, socket.socket(socket.AF_UNIX) as asking:
        asking.connect(_server())
        asking.settimeout(seconds)
        job = json.dumps({"argv": list(arguments), "env": dict(env), "cwd": str(cwd)}).encode()
        socket.send_fds(asking, [len(job).to_bytes(4, "big")], [out.fileno(), err.fileno()])
        asking.sendall(job)
        said = asking.makefile("r")
        pid = int(said.readline())
        try:
            status = int(said.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(arguments), seconds) from None
        return subprocess.CompletedProcess(["lorekeeper", *arguments], status, _read(out), _read(err))


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


# --- in the process that forks ---------------------------------------------------------------------------------------


def _command(job: Mapping[str, Any], out: int, err: int) -> int:
    """Becomes the command; its exit status."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(err, 2)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(job["env"])
    time.tzset()
    tempfile.tempdir = None
    os.chdir(job["cwd"])
    sys.argv = ["lorekeeper", *job["argv"]]
    try:
        from lorekeeper.cli.main import main

        return main()
    except SystemExit as error:
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        return error.code if isinstance(error.code, int) else bool(error.code)
    except BaseException:
        traceback.print_exc()
        return 1


def _serve(client: socket.socket) -> int | None:
    """Becomes the runner of one command, in which a status is returned to end with; None in the runner once it is done."""
    size, (out, err), _, _ = socket.recv_fds(client, 4, 2)
    with client.makefile("rb") as reading:
        job = json.loads(reading.read(int.from_bytes(size, "big")))
    pid = os.fork()
    if not pid:
        client.close()
        return _command(job, out, err)
    client.sendall(f"{pid}\n".encode())
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(BrokenPipeError):
        client.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    return None


def main(descriptor: str) -> int:
    for name in _IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    listening = socket.socket(fileno=int(descriptor))
    while True:
        waited: list[Any] = [listening, 0]
        ready = select.select(waited, [], [])[0]
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if 0 in ready:
            return 0
        client, _ = listening.accept()
        if not os.fork():
            listening.close()
            status = _serve(client)
            if status is None:
                os._exit(0)
            return status  # from here on it ends as a command does
        client.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
