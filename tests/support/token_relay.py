"""A relay that adds a token to requests, for clients that cannot send one."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.support.loopback import QuietServer, running

SECONDS = 60
HOP_BY_HOP = ("connection", "transfer-encoding", "content-length")
"""Headers of responses that are about one connection; each response ends with its own."""


@contextmanager
def with_token(url: str, token: str) -> Iterator[str]:
    """The URL at which a server is reached as with that token; all else of requests and responses is as it was sent."""
    upstream = urlsplit(url)

    class Relay(BaseHTTPRequestHandler):
        def relay(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {**dict(self.headers.items()), "Authorization": f"Bearer {token}", "Connection": "close"}
            with closing(http.client.HTTPConnection(upstream.netloc, timeout=SECONDS)) as connection:
                connection.request(self.command, self.path, body or None, headers)
                self.answer(connection.getresponse())

        def answer(self, response: http.client.HTTPResponse) -> None:
            self.send_response_only(response.status, response.reason)
            for name, value in response.getheaders():
                if name.lower() not in HOP_BY_HOP:
                    self.send_header(name, value)
            self.end_headers()
            while part := response.read1(65_536):
                self.wfile.write(part)

        do_GET = do_POST = do_DELETE = do_OPTIONS = do_PUT = relay  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with running(QuietServer(("127.0.0.1", 0), Relay)) as address:
        yield address + upstream.path
