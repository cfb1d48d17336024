"""An Open5e server that answers one list in a hostile way, byte by byte, and all others as it should."""

from __future__ import annotations

import gzip
import json
import random
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from tests.open5e_server import Open5eServer, book, ref, shelf, spell
from tests.shelf import ATLAS

HOSTILE_LIST = "v2/spells"

BODY_MEGABYTES = 400
"""What is sent at most of an answer without end."""

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
    """

    name: str
    reply: Reply | None = None
    mutate: Callable[[random.Random, Page], bytes] | None = None
    lasting: bool = False


def http(body: bytes, status: str = "200 OK", headers: Mapping[str, str] | None = None) -> bytes:
    """A whole answer; a header of None is left out."""
    own = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close", **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in own.items())
    return f"HTTP/1.1 {status}\r\n{head}\r\n".encode("utf-8", "surrogateescape") + body


@contextmanager
def serving(attack: Attack, chance: random.Random) -> Iterator[str]:
    """The server's address while it serves."""
    good = Open5eServer(shelf(), page_size=100)
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

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


# --- attacks ---------------------------------------------------------------------------------------------------------


def attacks(
    values: Mapping[str, Any], dumps: Callable[[Any], str], zeros: Callable[[int, int], bytes]
) -> Iterator[Attack]:
    """All known ones.

    Args:
        values: what may stand where something else is expected.
        dumps: writes them as JSON.
        zeros: makes a packed stream of zeros of some size, as zlib's ``wbits`` say.
    """

    def page(name: str, change: Callable[[Page], Any], **more: Any) -> Attack:
        """The right page, changed; what ``change`` gives takes its place."""

        def reply(right: Page, _: int) -> bytes:
            other = change(right)
            return http(dumps(right if other is None else other).encode())

        return Attack(name, reply, **more)

    def raw(name: str, answer: bytes | Callable[[Page, int], bytes | Iterator[bytes]], *, lasting: bool = False) -> Attack:
        return Attack(name, answer if callable(answer) else lambda _, __: answer, lasting=lasting)

    for name, value in values.items():
        for key in ("count", "next", "results"):
            if key == "results" or value is not None:
                yield page(f"{key} is {name}", lambda p, k=key, v=value: p.update({k: v}))
        yield page(f"an entry is {name}", lambda p, v=value: p["results"].__setitem__(0, v))
        for key in ("key", "name", "document", "level", "desc", "school", "classes"):
            if (len(name) + len(key)) % 3 == 0:
                yield page(f"{key} of an entry is {name}", lambda p, k=key, v=value: p["results"][0].update({k: v}))
    yield page("it is a list", lambda p: [])
    yield page("it lacks results", lambda p: p.pop("results") and None)
    yield page("it lacks a count", lambda p: p.pop("count") and None)
    yield page("a key that is a surrogate", lambda p: p["results"][0].update({"\ud800": 1}))
    yield page("an entry twice", lambda p: p.update(results=[*p["results"], p["results"][0]], count=p["count"] + 1))
    yield page("the user's own entry", lambda p: p["results"].__setitem__(0, _users_own()))
    yield page("the user's own entry, in our own shape", lambda p: p["results"].__setitem__(0, _users_own_shape()))
    yield page("another type in our own shape", lambda p: p["results"].__setitem__(0, _users_own_shape() | {"collection": "rules"}))
    yield page("a document among the spells", lambda p: p["results"].__setitem__(0, book(ATLAS)))
    yield page("30 MB of empty lists", lambda p: p.update(x=_raw(values, b"[" + b"[]," * 10_000_000 + b"[]]")))

    for name, link in {
        "a broken address": "http://[bad?page=2",
        "a file": "file:///etc/passwd?page=2",
        "another server": "http://127.0.0.1:1/?page=2",
        "itself": "?limit=100",
        "a megabyte": "?page=" + "2" * 1_000_000,
        "escapes": "?page=\x1b[2J",
    }.items():
        yield page(f"the next page is {name}", lambda p, li=link: p.update(next=li, count=10))
    yield Attack("pages without end", _endless_pages)
    yield Attack("empty pages without end", lambda p, n: http(dumps(p | _next(n, 10**18) | {"results": []}).encode()))
    yield Attack("the same page without end", lambda p, n: http(dumps(p | _next(n, 10**18)).encode()))

    for name, location in {
        "a broken address": "http://[bad",
        "itself": "/v2/spells/?limit=100",
        "another server": "http://127.0.0.1:1/",
        "a file": "file:///etc/passwd",
        "nowhere": "",
        "a broken port": "http://127.0.0.1:99999999/",
        "a surrogate": "/\udcff",
        "a megabyte": "/" + "x" * 60_000,
    }.items():
        yield raw(f"a redirect to {name}", http(b"", "302 Found", {"Location": location}))

    inner = zeros(4 << 30, 31)
    yield raw("gzip of 4 GB", lambda _, __: http(inner, headers={"Content-Encoding": "gzip"}))
    twice = gzip.compress(inner)
    yield raw("gzip of gzip of 4 GB", http(twice, headers={"Content-Encoding": "gzip, gzip"}))
    yield raw("gzip, written twice", http(twice, headers={"Content-Encoding": "gzip", "content-encoding": "gzip"}))
    yield raw("gzip of gzip of gzip", http(gzip.compress(twice), headers={"Content-Encoding": "gzip, gzip, gzip"}))
    yield raw("a thousand encodings", http(twice, headers={"Content-Encoding": ", ".join(["gzip"] * 1_000)}))
    yield raw("deflate of 4 GB", lambda _, __: http(zeros(4 << 30, 15), headers={"Content-Encoding": "deflate"}))
    yield raw("an encoding that is not there", http(b"{}", headers={"Content-Encoding": "gzip"}), lasting=True)
    yield raw("an unknown encoding", lambda p, _: http(dumps(p).encode(), headers={"Content-Encoding": "x-unknown"}))

    yield raw("HTML", http(b"<h1>Hello</h1>", headers={"Content-Type": "text/html"}))
    yield raw("no type", http(b"{}", headers={"Content-Type": ""}))
    yield raw("nothing", http(b""), lasting=True)
    yield raw("half of it", lambda p, _: http(dumps(p).encode()[:200]), lasting=True)
    yield raw("noise", http(b"\xff\xfe" * 100), lasting=True)
    yield raw("not UTF-8", lambda p, _: http(dumps(p).encode().replace(b"Tide", b"\xff\xfe\xfd")), lasting=True)
    for status in ("204 No Content", "304 Not Modified", "404 Not Found", "418 Teapot", "999 What"):
        yield raw(f"status {status[:3]}", http(b"{}", status))
    yield raw("status 500", http(b"{}", "500 Error"), lasting=True)
    for pause in ("99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"):
        yield raw(f"come back in {pause}", http(b"{}", "503 Busy", {"Retry-After": pause}))
    for pause in ("-1", "²", "x" * 50_000):
        yield raw(f"come back in {pause[:20]}", http(b"{}", "503 Busy", {"Retry-After": pause}), lasting=True)

    yield raw("a status line of noise", b"\x00\x01\x02 what\r\n\r\n", lasting=True)
    yield raw("no answer at all", b"", lasting=True)
    yield raw("a length that is too large", lambda p, _: _with_length(dumps(p).encode(), "99999"), lasting=True)
    yield raw("a length that is too small", lambda p, _: _with_length(dumps(p).encode(), "10"), lasting=True)
    yield raw("a length that is no number", lambda p, _: _with_length(dumps(p).encode(), "abc"), lasting=True)
    yield raw("a negative length", lambda p, _: _with_length(dumps(p).encode(), "-1"), lasting=True)
    yield raw("chunks of noise", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", lasting=True)
    yield raw("a chunk of 16 EB", b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{", lasting=True)
    yield raw("a header of 5 MB", http(b"{}", headers={"X": "x" * 5_000_000}), lasting=True)
    yield raw("100,000 headers", http(b"{}", headers={f"X-{n}": "x" for n in range(100_000)}), lasting=True)
    yield raw("a body without end", lambda _, __: _endless_body())
    yield raw("interim answers without end", lambda _, __: _interim())
    yield raw("a slow answer", lambda p, _: _slowly(http(dumps(p).encode())))


def _raw(values: Mapping[str, Any], text: bytes) -> Any:
    """Text that stands in JSON as it is."""
    return type(values["NaN"])(text.decode())


def _users_own() -> dict[str, Any]:
    """As if the server had the user's own book."""
    return spell("Tide Lance") | {"document": ref(ATLAS), "key": f"{ATLAS}_tide-lance", "desc": "Overwritten."}


def _users_own_shape() -> dict[str, Any]:
    return {"collection": "spells", "document": ATLAS, "slug": "tide-lance", "name": "Tide Lance", "kind": "spell", "description": "Overwritten."}


def _next(number: int, total: int) -> Page:
    return {"count": total, "next": f"http://127.0.0.1/v2/spells/?page={number + 1}"}


def _endless_pages(right: Page, number: int) -> bytes:
    entry = spell(f"Endless {number}")
    return http(json.dumps(right | _next(number, 10**18) | {"results": [entry]}).encode())


def _with_length(body: bytes, length: str) -> bytes:
    return http(body, headers={"Content-Length": length})


def _endless_body() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    for _ in range(BODY_MEGABYTES):
        yield b" " * (1 << 20)


def _interim() -> Iterator[bytes]:
    for _ in range(2_000_000):
        yield b"HTTP/1.1 100 Continue\r\n\r\n" * 100


def _slowly(answer: bytes) -> Iterator[bytes]:
    """All of it, in about two seconds."""
    size = len(answer) // 20 + 1
    for start in range(0, len(answer), size):
        yield answer[start : start + size]
        time.sleep(0.1)
