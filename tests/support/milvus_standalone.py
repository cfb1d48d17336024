"""A real Milvus server for tests: the standalone server of the package ``milvus``, in a network of its own.

Its listeners cannot be bound to an address: all eight are open to other machines. So it runs in a network namespace that
has nothing but a loopback interface. Run as a program, this module is what runs in there: it starts the server and
forwards what arrives at a socket that it inherited, which listens on 127.0.0.1 outside. Run with a folder alone, it is such
a server until its standard input is closed, and prints its address.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.support.waiting import until

EXECUTABLE = "LOREKEEPER_MILVUS_SERVER"
"""Variable that names the server's executable; without it, ``milvus-server`` is looked for on the PATH."""

START_SECONDS = 120
INNER_PORT = 19530
_SETTINGS = {
    "LOG_LEVEL": "error",
    "PROXY_TIMETICKINTERVAL": "20",
    "QUERYCOORD_CHECKCHANNELINTERVAL": "50",
    "QUERYCOORD_CHECKSEGMENTINTERVAL": "50",
    "QUERYCOORD_DISTPULLINTERVAL": "50",
}
"""What it does every so many milliseconds, it does ten times as often as usual, so that tests need not wait for it. The
environment wins."""

_NAMESPACE = ["unshare", "--user", "--map-root-user", "--net"]


class UnavailableError(Exception):
    """The server cannot run here; says why."""


def executable() -> Path:
    """The server's executable; UnavailableError where there is none, or nothing to keep other machines from it."""
    found = os.environ.get(EXECUTABLE) or shutil.which("milvus-server")
    if not found or not Path(found).is_file():
        raise UnavailableError(
            f"needs the standalone Milvus server: install milvus==2.3.5 in a virtual environment of its own and set "
            f"{EXECUTABLE} to its milvus-server"
        )
    try:
        subprocess.run([*_NAMESPACE, "true"], check=True, capture_output=True, timeout=10)
    except (OSError, subprocess.SubprocessError) as error:
        raise UnavailableError(
            f"no network namespace can be made, so other machines could reach it: {error}"
        ) from error
    return Path(found)


@contextlib.contextmanager
def standalone_server(folder: Path) -> Iterator[str]:
    """Address of a server that keeps its data in a folder; it ends with the block, or with this process."""
    command = [*_NAMESPACE, sys.executable, __file__, str(executable()), str(folder / "data")]
    with socket.create_server(("127.0.0.1", 0)) as listener, (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            uri = f"http://127.0.0.1:{listener.getsockname()[1]}"
            _wait_until_ready(uri, process, folder / "log")
            yield uri
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            assert process.stdin
            process.stdin.close()


def _wait_until_ready(uri: str, process: subprocess.Popen[bytes], log: Path) -> None:
    from pymilvus import MilvusClient

    def answers() -> bool:
        if process.poll() is not None:
            raise UnavailableError(f"the Milvus server does not start: {log.read_text()[-2000:]}")
        with contextlib.suppress(Exception):
            client = MilvusClient(uri, timeout=5, dedicated=True)
            client.list_collections(timeout=5)
            client.close()
            return True
        return False

    try:
        until(answers, START_SECONDS)
    except TimeoutError as error:
        raise UnavailableError(f"the Milvus server does not start: {log.read_text()[-2000:]}") from error


# --- inside the namespace --------------------------------------------------------------------------------------------------


def _enable_loopback() -> None:
    get_flags, set_flags, up = 0x8913, 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack_from("H", fcntl.ioctl(any_socket, get_flags, request), 16)
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sH14x", b"lo", flags | up))


async def _forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


async def _serve(listener: socket.socket) -> None:
    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", INNER_PORT)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_forward(reader, inner_writer), _forward(inner_reader, writer))

    await asyncio.start_server(connected, sock=listener)
    loop, parent_gone = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), parent_gone.set)
    await parent_gone.wait()


def _main(server: str, folder: str, descriptor: str) -> None:
    _enable_loopback()
    subprocess.Popen(
        [server, "--data", folder, "--proxy-port", str(INNER_PORT)],
        env={**_SETTINGS, **os.environ, "no_proxy": "*"},
        stdin=subprocess.DEVNULL,
    )
    try:
        asyncio.run(_serve(socket.socket(fileno=int(descriptor))))
    finally:
        os.killpg(0, signal.SIGKILL)


def _serve_until_closed(folder: str) -> None:
    with standalone_server(Path(folder)) as uri:
        print(uri, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        _main(*sys.argv[1:])
    else:
        _serve_until_closed(sys.argv[1])
