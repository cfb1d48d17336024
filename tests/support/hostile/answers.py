"""Hostile answers of an Open5e server."""

from __future__ import annotations

import gzip
import json
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.hostile.input import Good, Input
from tests.support.hostile.server import Attack, Page, http
from tests.support.hostile.values import GIGABYTE, VALUES, Raw, deflated_zeros, dumps, mutated_json, put
from tests.support.open5e_server import book, ref, spell
from tests.support.samples import ATLAS

BODY_MEGABYTES = 400
"""What is sent at most of an answer without end."""

SLOW_SECONDS = 2.0
"""What a slow answer takes."""


def servers() -> Iterator[Input]:
    """Known attacks by an Open5e server."""
    for family in (_values, _links, _encodings, _statuses, _wires):
        yield from map(synced, family())


def server_mutation(number: int) -> Input:
    """One page with random changes."""

    def change(chance: random.Random, page: Page) -> bytes:
        return dumps(mutated_json(chance, page)).encode()

    return synced(Attack(f"mutation {number}", mutate=change))


def synced(attack: Attack) -> Input:
    """A sync with a server that answers so."""

    def build(_: Good, __: Path, ___: random.Random) -> list[str]:
        return ["sync", "open5e", "--type", "spells", "--json"]

    return Input(f"server: {attack.name}", build, attack, lasting=attack.lasting, swapped=attack.swapped)


def _page(name: str, change: Callable[[Page], Any], *, swapped: bool = False, lasting: bool = False) -> Attack:
    """The right page, changed; what ``change`` gives takes its place."""

    def reply(right: Page, _: int) -> bytes:
        other = change(right)
        return http(dumps(right if other is None else other).encode())

    return Attack(name, reply, swapped=swapped, lasting=lasting)


def _raw(name: str, answer: bytes | Callable[[Page, int], bytes | Iterator[bytes]], *, lasting: bool = False) -> Attack:
    return Attack(name, answer if callable(answer) else lambda _, __: answer, lasting=lasting)


def _values() -> Iterator[Attack]:
    """What a page and an entry may hold."""
    for name, value in VALUES.items():
        more = {"swapped": True, "lasting": name in ("10,000 levels", "5,000 digits")}
        for key in ("count", "next", "results"):
            if key == "results" or value is not None:
                yield _page(f"{key} is {name}", put(value, key), **more)
        yield _page(f"an entry is {name}", put(value, "results", 0), **more)
        for key in ("key", "name", "document", "level", "desc", "school", "classes"):
            if (len(name) + len(key)) % 3 == 0:
                yield _page(f"{key} of an entry is {name}", put(value, "results", 0, key), **more)
    yield _page("it is a list", lambda p: [])
    yield _page("it lacks results", lambda p: p.pop("results") and None)
    yield _page("it lacks a count", lambda p: p.pop("count") and None)
    yield _page("a key that is a surrogate", put(1, "results", 0, "\ud800"))
    yield _page("an entry twice", lambda p: p.update(results=[*p["results"], p["results"][0]], count=p["count"] + 1))
    yield _page("the user's own entry", put(_users_own(), "results", 0))
    yield _page("the user's own entry, in our own shape", put(_users_own_shape(), "results", 0))
    yield _page("another type in our own shape", put(_users_own_shape() | {"collection": "rules"}, "results", 0))
    yield _page("a document among the spells", put(book(ATLAS), "results", 0))
    yield _page("30 MB of empty lists", lambda p: p.update(x=Raw("[" + "[]," * 10_000_000 + "[]]")))


def _links() -> Iterator[Attack]:
    """Where the next page may be."""
    for name, link in {
        "a broken address": "http://[bad?page=2",
        "a file": "file:///etc/passwd?page=2",
        "another server": "http://127.0.0.1:1/?page=2",
        "itself": "?limit=100",
        "a megabyte": "?page=" + "2" * 1_000_000,
        "escapes": "?page=\x1b[2J",
    }.items():
        yield _page(f"the next page is {name}", _linked(link))
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
        yield _raw(f"a redirect to {name}", http(b"", "302 Found", {"Location": location}))


def _encodings() -> Iterator[Attack]:
    """How a body may be packed."""
    inner = deflated_zeros(4 * GIGABYTE, 31)
    yield _raw("gzip of 4 GB", lambda _, __: http(inner, headers={"Content-Encoding": "gzip"}))
    twice = gzip.compress(inner)
    yield _raw("gzip of gzip of 4 GB", http(twice, headers={"Content-Encoding": "gzip, gzip"}))
    yield _raw("gzip, written twice", http(twice, headers={"Content-Encoding": "gzip", "content-encoding": "gzip"}))
    yield _raw("gzip of gzip of gzip", http(gzip.compress(twice), headers={"Content-Encoding": "gzip, gzip, gzip"}))
    yield _raw("a thousand encodings", http(twice, headers={"Content-Encoding": ", ".join(["gzip"] * 1_000)}))
    yield _raw(
        "deflate of 4 GB", lambda _, __: http(deflated_zeros(4 * GIGABYTE, 15), headers={"Content-Encoding": "deflate"})
    )
    yield _raw("an encoding that is not there", http(b"{}", headers={"Content-Encoding": "gzip"}), lasting=True)
    yield _raw("an unknown encoding", lambda p, _: http(dumps(p).encode(), headers={"Content-Encoding": "x-unknown"}))


def _statuses() -> Iterator[Attack]:
    """What may come instead of a page."""
    yield _raw("HTML", http(b"<h1>Hello</h1>", headers={"Content-Type": "text/html"}))
    yield _raw("no type", http(b"{}", headers={"Content-Type": ""}))
    yield _raw("nothing", http(b""), lasting=True)
    yield _raw("half of it", lambda p, _: http(dumps(p).encode()[:200]), lasting=True)
    yield _raw("noise", http(b"\xff\xfe" * 100), lasting=True)
    yield _raw("not UTF-8", lambda p, _: http(dumps(p).encode().replace(b"Tide", b"\xff\xfe\xfd")), lasting=True)
    for status in ("204 No Content", "304 Not Modified", "404 Not Found", "418 Teapot", "999 What"):
        yield _raw(f"status {status[:3]}", http(b"{}", status))
    yield _raw("status 500", http(b"{}", "500 Error"), lasting=True)
    for pause in ("99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"):
        yield _raw(f"come back in {pause}", http(b"{}", "503 Busy", {"Retry-After": pause}))
    for pause in ("-1", "²", "x" * 50_000):
        yield _raw(f"come back in {pause[:20]}", http(b"{}", "503 Busy", {"Retry-After": pause}), lasting=True)


def _wires() -> Iterator[Attack]:
    """What may be wrong below HTTP."""
    yield _raw("a status line of noise", b"\x00\x01\x02 what\r\n\r\n", lasting=True)
    yield _raw("no answer at all", b"", lasting=True)
    yield _raw("a length that is too large", lambda p, _: _with_length(dumps(p).encode(), "99999"), lasting=True)
    yield _raw("a length that is too small", lambda p, _: _with_length(dumps(p).encode(), "10"), lasting=True)
    yield _raw("a length that is no number", lambda p, _: _with_length(dumps(p).encode(), "abc"), lasting=True)
    yield _raw("a negative length", lambda p, _: _with_length(dumps(p).encode(), "-1"), lasting=True)
    yield _raw(
        "chunks of noise",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        lasting=True,
    )
    yield _raw(
        "a chunk of 16 EB",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{",
        lasting=True,
    )
    yield _raw("a header of 5 MB", http(b"{}", headers={"X": "x" * 5_000_000}), lasting=True)
    yield _raw("100,000 headers", http(b"{}", headers={f"X-{n}": "x" for n in range(100_000)}), lasting=True)
    yield _raw("a body without end", lambda _, __: _endless_body())
    yield _raw("10,000 interim answers", lambda _, __: _interim())
    yield _raw("a slow answer", lambda p, _: _slowly(http(dumps(p).encode())))


def _linked(link: str) -> Callable[[Page], None]:
    return lambda page: page.update(next=link, count=10)


def _users_own() -> dict[str, Any]:
    """As if the server had the user's own book."""
    return spell("Tide Lance") | {"document": ref(ATLAS), "key": f"{ATLAS}_tide-lance", "desc": "Overwritten."}


def _users_own_shape() -> dict[str, Any]:
    return {
        "collection": "spells",
        "document": ATLAS,
        "slug": "tide-lance",
        "name": "Tide Lance",
        "kind": "spell",
        "description": "Overwritten.",
    }


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
    """So many that nobody would wait for them all; the client's limit for one answer would end it, after minutes."""
    for _ in range(100):
        yield b"HTTP/1.1 100 Continue\r\n\r\n" * 100


def _slowly(answer: bytes) -> Iterator[bytes]:
    """All of it, in `SLOW_SECONDS`."""
    size = len(answer) // 20 + 1
    for start in range(0, len(answer), size):
        yield answer[start : start + size]
        time.sleep(SLOW_SECONDS / 20)
