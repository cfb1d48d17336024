"""A server process as a service: TLS, its audit log, metrics and limits, and its end."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import threading
from pathlib import Path

import httpx
import pytest

from lorekeeper.errors import ConfigError
from lorekeeper.server.tls import server_context
from tests.support.certificates import write_certificate
from tests.support.service import Serving, ask, begin, library, serving
from tests.support.serving import SECONDS
from tests.support.waiting import until

__all__ = ["library"]


@pytest.mark.slow
def test_streams_end_with_the_server_and_what_is_new_is_refused(library: Path) -> None:
    with serving(library) as server, server.client() as client:
        begin(client)
        ended: list[bytes] = []

        def listen() -> None:
            with client.stream("GET", "/mcp") as stream:
                begun.set()
                ended.append(stream.read())

        begun = threading.Event()
        listening = threading.Thread(target=listen)
        listening.start()
        assert begun.wait(SECONDS)
        assert "Tide Lance" in ask(client).text
        assert server.end(signal.SIGINT) == 0
        listening.join(SECONDS)
        assert ended == [b""]
        with pytest.raises(httpx.TransportError):
            ask(client)


HALF = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAuthorization: Bearer master\r\nContent-Length: 9\r\n"
    b"Expect: 100-continue\r\n\r\n"
)


def ask_half(connection: socket.socket) -> None:
    """Send the head of a request, and wait until the server waits for the rest."""
    connection.sendall(HALF)
    assert connection.recv(100).startswith(b"HTTP/1.1 100")


def is_ending(server: Serving) -> bool:
    """Whether it takes no connections any more."""
    try:
        socket.create_connection(("127.0.0.1", server.port)).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("signals", "status"), [(1, 0), (2, -signal.SIGTERM)])
def test_a_request_that_does_not_end_is_waited_for_once(library: Path, signals: int, status: int) -> None:
    with serving(library) as server, socket.create_connection(("127.0.0.1", server.port)) as connection:
        ask_half(connection)
        for _ in range(signals - 1):
            server.process.send_signal(signal.SIGTERM)
            until(lambda: is_ending(server))
        assert server.end() == status


# --- TLS -------------------------------------------------------------------------------------------------------------


def test_files_that_are_no_certificate_and_key_say_what_is_wrong(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    certificate, key = write_certificate(tmp_path)
    other = write_certificate(tmp_path, "other")[1]
    locked = write_certificate(tmp_path, "locked", b"password")
    for files, complaint in (
        ((tmp_path / "none", key), "certificate .*none of --tls-cert cannot be read"),
        ((certificate, tmp_path / "none"), "private key .*none of --tls-key cannot be read"),
        ((certificate, tmp_path), "cannot be read"),
        ((certificate, other), "does not belong to"),
        ((key, key), "not a certificate and its private key"),
        (locked, "is encrypted.*openssl pkey"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            server_context(*files)
    assert server_context(certificate, key).minimum_version == ssl.TLSVersion.TLSv1_2
    assert caplog.messages == []
    if os.name == "posix":
        key.chmod(0o640)
        server_context(certificate, key)
        assert "chmod 600" in caplog.text
