"""The files of docs/serving.md, tried: nginx in front of a server, and the unit of systemd."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import stamina

from tests.support.certificates import write_certificate
from tests.support.commands import ROOT
from tests.support.service import HEADERS, ask, begin, library, serving
from tests.support.serving import SECONDS

__all__ = ["library"]

NGINX = shutil.which("nginx") or shutil.which(
    "nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin"
)

MAIN = """daemon off;
pid nginx.pid;
error_log error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    {server}
}}
"""

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def proxy(folder: Path, upstream: int) -> Iterator[httpx.Client]:
    """A client of nginx as docs/nginx.conf sets it up, in front of a server on that port."""
    assert NGINX is not None
    certificate, key = write_certificate(folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = (ROOT / "docs" / "nginx.conf").read_text("utf-8")
    for documented, tried in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("http://127.0.0.1:8765", f"http://127.0.0.1:{upstream}"),
        ("/etc/ssl/certs/lore.example.com.pem", str(certificate)),
        ("/etc/ssl/private/lore.example.com.key", str(key)),
    ):
        assert documented in text
        text = text.replace(documented, tried)
    (folder / "nginx.conf").write_text(MAIN.format(server=text))
    process = subprocess.Popen([NGINX, "-p", str(folder), "-c", "nginx.conf", "-e", "error.log"])
    try:
        for attempt in stamina.retry_context(on=OSError, attempts=None, timeout=SECONDS, wait_max=0.2):
            with attempt:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
        trusted = ssl.create_default_context(cafile=certificate)
        with httpx.Client(
            base_url=f"https://127.0.0.1:{port}", headers=HEADERS, timeout=SECONDS, verify=trusted
        ) as client:
            yield client
    finally:
        process.terminate()
        process.wait(SECONDS)


ASKED = b"GET /healthz HTTP/1.1\r\nHost: lore.example.com\r\n"

READ_IN_TWO_WAYS = (
    ASKED + b"X-Long: " + b"x" * 70_000,
    ASKED + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n",
    ASKED + b"transfer-encoding: chunked\r\nCONTENT-LENGTH: 4\r\n\r\n0\r\n\r\n",
    ASKED + b"Content-Length : 4\r\n\r\nabcd",
    b"nonsense\r\n\r\n",
)
"""Heads that are too long, or that two servers could read differently."""


def refused(client: httpx.Client, head: bytes) -> bool:
    """Whether the proxy answers a head with one error, and ends the connection."""
    address = ("127.0.0.1", client.base_url.port)
    trusted = ssl.create_default_context()
    trusted.check_hostname, trusted.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(address, SECONDS) as plain, trusted.wrap_socket(plain) as connection:
        connection.sendall(head)
        answer = connection.makefile("rb").read()
    return answer.startswith(b"HTTP/1.1 4") and answer.count(b"HTTP/1.1") == 1


@pytest.mark.skipif(NGINX is None, reason="needs nginx")
def test_a_server_behind_nginx_answers_and_streams(library: Path, tmp_path: Path) -> None:
    with serving(library) as server, proxy(tmp_path, server.port) as client:
        assert client.get("/nowhere", headers={"Authorization": "Bearer wrong"}).status_code == 401
        begin(client)
        assert "Tide Lance" in ask(client).text
        assert client.get("/metrics").text.startswith("# HELP lorekeeper_")
        assert all(refused(client, head) for head in READ_IN_TWO_WAYS)
        begun, content = threading.Event(), list[bytes]()

        def listen() -> None:
            with client.stream("GET", "/mcp") as stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                begun.set()
                content.append(stream.read())

        listening = threading.Thread(target=listen)
        listening.start()
        assert begun.wait(10), "the beginning of a stream is passed on at once"
        assert "Tide Lance" in ask(client).text
        assert client.post("/mcp", content=b"x" * 5_000_000).status_code == 413
        assert server.end() == 0
        listening.join(SECONDS)
        assert content == [b""]
        assert ask(client).status_code == 502


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_the_unit_is_one_that_systemd_takes(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "lorekeeper.service").read_text("utf-8")
    documented = "/opt/lorekeeper/bin/lorekeeper"
    assert documented in text
    unit = tmp_path / "lorekeeper.service"
    unit.write_text(text.replace(documented, "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False, timeout=200
    )
    assert (done.returncode, done.stderr) == (0, "")
