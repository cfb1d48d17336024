"""Small servers on loopback, each in a thread of the tests' process."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from socketserver import TCPServer

POLL_SECONDS = 0.01
"""How often a server looks whether it is to end: its test waits that long for it."""


class QuietServer(ThreadingHTTPServer):
    """A server to whom a client that was killed is no news."""

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@contextmanager
def running(server: TCPServer) -> Iterator[str]:
    """The address of a server while it serves; it is closed at the end."""
    thread = threading.Thread(target=server.serve_forever, args=[POLL_SECONDS], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
