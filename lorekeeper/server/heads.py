"""Heads of HTTP requests: refused if they are too long, or if two servers could read them differently (RFC 9112)."""

from __future__ import annotations

import re
from typing import Any

import h11

HEADER_BYTES = 16 * 2**10
"""Largest request line with headers."""

HEADER_LINES = 100
"""Most headers of a request."""

_BARE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_FOLDED = re.compile(rb"\n[ \t]")
_NAME = re.compile(rb"\n([^:\r\n]+):")


class Connection(h11.Connection):
    """A server's connection that looks at each head as it came, before it is parsed.

    Attributes:
        status: of the response to what was refused.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, HEADER_BYTES)
        self.status = 400

    def next_event(self) -> Any:
        """The next event; h11.RemoteProtocolError if what has come is to be refused."""
        if self.their_state is h11.IDLE:
            self._check(self.trailing_data[0])
        try:
            return super().next_event()
        except h11.RemoteProtocolError as error:
            self.status = 431 if error.error_status_hint == 431 else 400
            raise

    def _check(self, data: bytes) -> None:
        ends = [at + len(mark) for mark in (b"\n\r\n", b"\n\n") if (at := data.find(mark)) >= 0]
        head = data[: min(ends)] if ends else data
        if len(head) > HEADER_BYTES or head.count(b"\n") > HEADER_LINES + 2:
            self.status = 431
            raise h11.RemoteProtocolError("request line and headers are too long", error_status_hint=431)
        if not ends:
            return  # the rest is still to come
        names = {name.strip().lower() for name in _NAME.findall(head)}
        if _BARE_LINE_FEED.search(head) or _FOLDED.search(head) or {b"content-length", b"transfer-encoding"} <= names:
            raise h11.RemoteProtocolError("request line and headers may be read differently by other servers")
