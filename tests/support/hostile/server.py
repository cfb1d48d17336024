"""An Open5e server that answers one list in a hostile way, byte by byte, and all others as it should."""

from __future__ import annotations

import json
import random
import socket
import socketserver
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from tests.support.loopback import running
from tests.support.open5e_server import Open5eServer, lists

HOSTILE_LIST = "v2/spells"

Page = dict[str, Any]

Reply = Callable[[Page, int], bytes | Iterator[bytes]]
"""From the right page and the number of the request, from 1, to the bytes of a whole HTTP answer."""


@dataclass(frozen=True)
class Attack:
    """How the hostile list is answered.

    Attributes:
        name: what is wrong with it.
        reply: makes the answer; None for the right one.
        mutate: makes another body of the right page, from a random source.
        lasting: whether a polite client tries again for some seconds.
        swapped: whether one value stands in the place of another.
    """

    name: str
    reply: Reply | None = None
    mutate: Callable[[random.Random, Page], bytes] | None = None
    lasting: bool = False
    swapped: bool = False


def http(body: bytes, status: str = "200 OK", headers: Mapping[str, str] | None = None) -> bytes:
    """A whole answer; a header of None is left out."""
    own = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        **(headers or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in own.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("utf-8", "surrogateescape") + body


@contextmanager
def serving(attack: Attack, chance: random.Random) -> Iterator[str]:
    """The server's address while it serves."""
    good = Open5eServer(lists(), page_size=100)
    asked = count(1)

    class Handler(socketserver.StreamRequestHandler):
        timeout = 20

        def handle(self) -> None:
            target = self.rfile.readline(65_536).split(b" ")[1].decode()
            while self.rfile.readline(65_536).strip():
                pass
            try:
                for part in self._answer(target):
                    self.wfile.write(part)
            except OSError:
                pass  # the client has gone, as it should

        def _answer(self, target: str) -> Iterator[bytes]:
            right = good.answer(target, {})
            if urlsplit(target).path.strip("/") != HOSTILE_LIST:
                yield http(right.body, f"{right.status} OK")
                return
            page, number = json.loads(right.body), next(asked)
            if attack.mutate:
                yield http(attack.mutate(chance, page))
            elif attack.reply is None:
                yield http(right.body)
            else:
                answer = attack.reply(page, number)
                yield from [answer] if isinstance(answer, bytes) else answer

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True
        address_family = socket.AF_INET

        def handle_error(self, request: object, client_address: object) -> None:
            pass

    with running(Server(("127.0.0.1", 0), Handler)) as address:
        yield address
