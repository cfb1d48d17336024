"""Stands for ``python -m MODULE`` in command lines: the module runs in a fork of a process that has imported what it imports.

    python -I -S shim.py MODULE ARGUMENT...

Its standard streams, environment and folder become those of the fork, its signals are passed on, its exit status is the fork's,
and the fork ends when this is killed. Python itself is started where `tests.support.forking` does not run, or where the modules
are to come from somewhere else. Only what starts at once is imported here, since this is what starts.
"""

import os
import signal
import sys

ADDRESS, PATH = "TESTS_FORK_AT", "TESTS_FORK_PATH"
"""Variables: the address of the process that forks, and where that one has its modules from, if PYTHONPATH says so."""


def main() -> None:
    address, path = os.environ.pop(ADDRESS, ""), os.environ.pop(PATH, "")
    if not address or os.environ.get("PYTHONPATH", "") != path:
        os.execv(sys.executable, [sys.executable, "-m", *sys.argv[1:]])

    from _socket import AF_UNIX, SCM_RIGHTS, SOL_SOCKET, socket

    job = "\0".join([os.getcwd(), str(len(sys.argv) - 1), *sys.argv[1:], *(f"{k}={v}" for k, v in os.environ.items())])  # noqa: PTH109
    sent = os.fsencode(job)
    with open(os.devnull) as nothing:  # noqa: PTH123 - pathlib takes longer to import than all else here
        asking = socket(AF_UNIX)
        asking.connect(address)
        streams = b"".join(_stream(number, nothing.fileno()).to_bytes(4, sys.byteorder) for number in range(3))
        asking.sendmsg([len(sent).to_bytes(4, "big")], [(SOL_SOCKET, SCM_RIGHTS, streams)])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, lambda number, _: asking.send(bytes([number])))
    asking.sendall(sent)
    for stream in range(3):  # whoever is at the other end sees that the fork has closed them
        os.close(stream)
    said = b""
    while not said.endswith(b"\n"):
        part = asking.recv(64)
        if not part:
            os._exit(1)
        said += part
    status = int(said)
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _stream(number: int, nothing: int) -> int:
    try:
        os.fstat(number)
    except OSError:
        return nothing
    return number


if __name__ == "__main__":
    main()
