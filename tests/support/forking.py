"""LoreKeeper in a process of its own that need not start: a fork of one that has imported the package.

`run` does what ``python -m lorekeeper`` does with the same arguments, variables and folder; `command` is a command line for what
is started otherwise, such as servers. What Python itself does at a start is not tested with them. One process for all workers of
a run forks once for every command: the runner, which passes signals on to the command, ends it once nobody waits for it, and
reports its exit status, so that several may be under way.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

from tests.support import shim

ROOT = Path(__file__).parents[2]

ALSO = "TESTS_FORK_ALSO"
"""Variable: a folder that a command can import from too."""

_IMPORTED = """
numpy sqlite3 httpx rich.table rich.progress milvus_lite pyarrow.dataset faiss markdown_it yaml
lorekeeper.cli.main lorekeeper.composition lorekeeper.library lorekeeper.cache.async_cache
lorekeeper.cache.milvus.store lorekeeper.cache.sqlite.store lorekeeper.embedding.http lorekeeper.intake.sync
lorekeeper.intake.files lorekeeper.normalize.notes lorekeeper.vaults.vaults lorekeeper.search.dossier
uvicorn lorekeeper.cli.serving lorekeeper.server.mcp lorekeeper.server.stdio lorekeeper.server.http
lorekeeper.server.rest.routes lorekeeper.server.page.routes lorekeeper.maintenance.migrate lorekeeper.intake.open5e
""".split()
"""Nothing that reads the variables of the environment when it is imported, as the consoles of `lorekeeper.cli.render` do."""


SHARED = "TESTS_FORK_SHARED"
"""Variable: the address of the process of all workers."""


@cache
def _server() -> str:
    """Address of the process that forks: this worker's own where there is none of all workers."""
    return os.environ.get(SHARED) or start()


def start() -> str:
    """Begin a process that forks, which ends with this one; its address."""
    address = str(Path(tempfile.mkdtemp(prefix="lkf")) / "s")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.forking", str(listening.fileno())],
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a fork has no threads
        stdin=subprocess.PIPE,  # its end is that of this process
        pass_fds=[listening.fileno()],
    )
    listening.close()

    def end() -> None:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()

    atexit.register(end)
    return address


def command(module: str, *arguments: object) -> list[str]:
    """The command line that does what ``python -m MODULE`` does, in a fork where `variables` are in its environment."""
    return [sys.executable, "-I", "-S", shim.__file__, module, *map(str, arguments)]


def variables() -> dict[str, str]:
    """Variables for programs that start `command`; none where there are no forks."""
    if not hasattr(os, "fork"):
        return {}
    path = os.environ.get("PYTHONPATH", "")  # not passed on if it is empty: some programs take no empty variable
    return {shim.ADDRESS: _server()} | ({shim.PATH: path} if path else {})


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
        environ = (f"{name}={value}" for name, value in env.items())
        job = os.fsencode("\0".join([str(cwd), str(len(arguments) + 1), "lorekeeper", *arguments, *environ]))
        with Path(os.devnull).open() as nothing:
            streams = [nothing.fileno(), out.fileno(), err.fileno()]
            socket.send_fds(asking, [len(job).to_bytes(4, "big")], streams)
        asking.sendall(job)
        try:
            status = int(asking.makefile("r").readline())
        except TimeoutError:  # it is killed, as nobody waits for it any more
            raise subprocess.TimeoutExpired(list(arguments), seconds) from None
        return subprocess.CompletedProcess(["lorekeeper", *arguments], status, _read(out), _read(err))


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().replace("\r\n", "\n")


# --- in the process that forks ---------------------------------------------------------------------------------------


def _command(job: str, streams: Sequence[int]) -> int:
    """Becomes the command; its exit status."""
    cwd, number, *rest = job.split("\0")
    module, *arguments = rest[: int(number)]
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
    os.closerange(3, 256)
    os.environ.clear()
    for variable in rest[int(number) :]:
        name, _, value = variable.partition("=")
        os.environ[name] = value
    sys.path[:0] = filter(None, [os.environ.pop(ALSO, "")])
    time.tzset()
    tempfile.tempdir = None
    os.chdir(cwd)
    sys.argv = [module, *arguments]
    try:
        if module != "lorekeeper":
            runpy.run_module(module, run_name="__main__", alter_sys=True)
            return 0
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
    size, streams, _, _ = socket.recv_fds(client, 4, 3)
    with client.makefile("rb") as reading:
        job = os.fsdecode(reading.read(int.from_bytes(size, "big")))
    pid = os.fork()
    if not pid:
        client.close()
        return _command(job, streams)
    for stream in streams:
        os.close(stream)
    threading.Thread(target=_pass_on_signals, args=(client, pid), daemon=True).start()
    _, status = os.waitpid(pid, 0)
    with contextlib.suppress(OSError):
        client.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    return None


def _pass_on_signals(client: socket.socket, pid: int) -> None:
    """Send a command the signals that arrive as bytes, and SIGKILL once nobody waits for it."""
    with contextlib.suppress(ProcessLookupError):
        while number := client.recv(1):
            os.kill(pid, number[0])
        os.kill(pid, signal.SIGKILL)


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
