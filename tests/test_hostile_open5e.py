"""A server that lies, floods, drips or sends no sense: each answer ends in a clear error, and costs its own list only."""

from __future__ import annotations

import gzip
import json
import random
import sys
import tracemalloc
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stamina

from lorekeeper.entities import Entity
from lorekeeper.errors import SourceError, SourceUnavailableError
from lorekeeper.intake import http_body as bodies
from lorekeeper.intake.open5e import Limits, Open5eClient
from lorekeeper.library import Library
from tests.support.entities import everything
from tests.support.libraries import server_library
from tests.support.open5e_server import SPELLS, Object, Open5eServer, Reply, creature, json_reply, lists, serving, spell

PATH = "v2/spells"

SEED = 13


@pytest.fixture
def server() -> Open5eServer:
    return Open5eServer(lists())


@pytest.fixture
def address(server: Open5eServer) -> Iterator[str]:
    with serving(server) as address, stamina.set_testing(True, attempts=2, cap=True):
        yield address


def always(server: Open5eServer, reply: Reply, path: str = PATH) -> None:
    server.fault = lambda asked, _: reply if asked == path else None


async def objects(address: str, **limits: Any) -> list[Object]:
    async with Open5eClient(address, limits=Limits(**limits)) as client:
        return [o async for page in client.pages(PATH, "limit=2") for o in page.objects]


# --- sizes -----------------------------------------------------------------------------------------------------------

MEGABYTE = 1 << 20


def page_of(size: int) -> bytes:
    return json.dumps({"count": 1, "next": None, "results": [{"name": "a" * size}]}).encode()


def packed(*encodings: str, size: int = 64 * MEGABYTE) -> bytes:
    body = page_of(size)
    for encoding in encodings:
        body = gzip.compress(body, 1) if encoding == "gzip" else zlib.compress(body, 1)
    return body


async def peak(address: str, **limits: Any) -> tuple[int, SourceError]:
    """Most memory that was taken while an answer was refused, in bytes, and the refusal."""
    tracemalloc.start()
    try:
        with pytest.raises(SourceError) as raised:
            await objects(address, **limits)
        return tracemalloc.get_traced_memory()[1], raised.value
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encodings", [("gzip", "gzip"), ("gzip", "deflate"), ("gzip", "gzip", "gzip")], ids=str)
async def test_b5_stacked_encodings_are_refused_before_they_are_unpacked(encodings, server, address):
    always(server, json_reply(packed(*encodings), headers={"Content-Encoding": ", ".join(encodings)}))
    taken, error = await peak(address)
    assert taken < 8 * MEGABYTE
    assert "encoding" in str(error)
    assert len(server.asked) == 1


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_b5_a_bomb_is_refused_at_the_limit(encoding, server, address):
    always(server, json_reply(packed(encoding), headers={"Content-Encoding": encoding}))
    taken, error = await peak(address, body_bytes=4 * MEGABYTE)
    assert taken < 16 * MEGABYTE
    assert "more than 4 MB" in str(error)


@pytest.mark.parametrize("status", [301, 404, 503])
async def test_b5_a_body_that_is_not_needed_is_not_read(status, server, address):
    always(server, Reply(status, {"Location": "/v2/feats/?limit=2"}, body=bytes(8 * MEGABYTE)))
    tracemalloc.start()
    async with Open5eClient(address, attempts=1) as client:
        if status == 301:
            await client.page(PATH, "limit=2")
        else:
            with pytest.raises(SourceError, match=str(status)):
                await client.page(PATH, "limit=2")
        assert client.received < MEGABYTE
    tracemalloc.stop()


async def test_b13_many_small_values_are_refused_before_they_are_parsed(server, address, monkeypatch):
    monkeypatch.setattr(bodies, "MAX_VALUES", 1000)
    always(server, json_reply(b'{"count": 1, "next": null, "results": [' + b"[]," * 1000 + b"[]]}"))
    with pytest.raises(SourceError, match="values in one response"):
        await objects(address)


async def test_b13_all_answers_together_are_limited(server, address):
    with pytest.raises(SourceError, match="in all"):
        await objects(address, total_bytes=100)
    assert len(server.asked) == 1


# --- time ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [{"answer_seconds": 0.2}, {"page_seconds": 0.2}, {"list_seconds": 0.2}],
    ids=lambda limits: next(iter(limits)),
)
async def test_b13_a_server_that_drips_is_given_up(limits, server, address):
    always(server, json_reply(page_of(10_000), drip=0.02))
    with pytest.raises(SourceUnavailableError, match="took too long"):
        await objects(address, **limits)
    assert len(server.asked) <= 2


# --- answers that make no sense --------------------------------------------------------------------------------------


def http(head: str, body: bytes = b"", status: str = "HTTP/1.1 200 OK") -> bytes:
    return f"{status}\r\n{head}\r\n\r\n".encode("latin-1") + body


def page(**changed: Any) -> bytes:
    return json.dumps({"count": 2, "next": None, "results": SPELLS[:2], **changed}).encode()


JSON = "Content-Type: application/json\r\n"
NUMBERS = [b"1e999", b"-1e999", b"-1", b"true", b'"5"', b"null", b"2.5", b"2.0", b"1" + b"0" * 18, b"1" * 400]
NUMBERS += [b"1" * 5000, b"NaN", b"Infinity", b"-Infinity", b"[]", b"{}", b"[2]", b'{"value": 2}']
LINKS = [5, True, [], {}, ["?page=2"], "http://[bad", "?", "nothing", "", "?limit=2", "?q=" + "a" * 9000, "?a=\ud800"]
RESULTS = [None, {}, "two", 5, True, {"0": SPELLS[0]}, SPELLS[:1], SPELLS[:3]]
OBJECTS: list[Any] = [
    None,
    1,
    True,
    1.5,
    "a" * 100_000,
    "\ud800",
    "\x1b]0;title\x07",
    [],
    [[]],
    [SPELLS[0]],
    {},
    {"key": "\ud800"},
]
OBJECTS += [{"collection": "spells", "name": "Tide Lance", "document": "tide-atlas"}]
OBJECTS += [
    {"key": "a\x00b", "name": "Nul", "desc": "x"},
    {"key": "k", "name": "x" * 501, "desc": "x"},
    creature("Whale"),
]
BODIES = [b"", b" ", b"\xff\xfe\xfa", b"\x80abc", b"{", page()[:-1], page() + b"]", b"[" * 100_000, b'{"a":' * 100_000]
BODIES += [b"null", b"[]", b"5", b'"text"', b"<h1>hello</h1>", b"\0" * 100, b'{"count": 2}', gzip.compress(page())]
KINDS = ["", "text/html", "text/html; a=json", "application/json, text/html", "image/json", "x" * 300, "\x80\x9bjson"]
ENCODINGS = ["br", "zstd", "compress", "gzip, gzip", "gzip,identity", "identity, gzip", "x" * 300, "aes128gcm", ","]
PACKED = [page(), gzip.compress(page())[:-9], gzip.compress(page()) + b"more", gzip.compress(b"") * 2, b"", b"\x1f\x8b"]
STATUSES = [201, 204, 206, 226, 300, 304, 400, 401, 418, 451, 505, 599, 999]
LOCATIONS = ["http://[bad", "//[", "", "http:", "ftp://x/", "file:///etc/passwd", "http://other.example/", "//other/"]
LOCATIONS += ["http://user@127.0.0.1/", "http://127.0.0.1:99999999/", "\x80\x9b2J", "http://" + "a" * 3000, "?limit=2"]
WIRE = [
    http(JSON + "Content-Length: 5\r\nContent-Length: 7", page()),
    http(JSON + "Content-Length: -5", page()),
    http(JSON + "Content-Length: many", page()),
    http(JSON + "Content-Length: 99999999", page()),
    http(JSON + "Content-Length: 5\r\nTransfer-Encoding: nonsense", page()),
    http(JSON + "Transfer-Encoding: chunked", b"zzz\r\n" + page()),
    http(JSON + "Transfer-Encoding: chunked", b"5\r\n" + page()),
    http(JSON + "Transfer-Encoding: chunked", b"-1\r\n" + page()),
    http(JSON + "Transfer-Encoding: chunked", b"f" * 30 + b"\r\n" + page()),
    http(JSON + "Content-Encoding: gzip\r\nContent-Encoding: gzip", gzip.compress(page())),
    http("Content-Type: application/json\r\nContent-Type: text/html", page()),
    http("no colon here", page()),
    http("X: " + "a" * 300_000, page()),
    http("A: b\r\n" * 30_000, page()),
    http(JSON, page(), status="HTTP/1.1 abc"),
    http(JSON, page(), status="SSH-2.0-OpenSSH"),
    http(JSON, page(), status="HTTP/1.1 100 Continue"),
    b"",
    b"\0" * 1000,
    page(),
]


def named(what: str, values: Iterable[Any], reply: Callable[[Any], Reply]) -> Iterator[tuple[str, Reply]]:
    return ((f"{what} {str(value)[:20]!r}", reply(value)) for value in values)


WAITS = ["1e999", "-5", "9" * 400, "Wed, 99 Foo 99999 99:99:99", "\x80", "Mon, 01 Jan 0001 00:00:00 -0000"]
WHOLE: Object = json.loads(page())
MALFORMED = [
    *named("count", NUMBERS, lambda n: json_reply(page().replace(b'"count": 2', b'"count": ' + n))),
    *named("next", LINKS, lambda link: json_reply(page(count=9, next=link))),
    *named("results", RESULTS, lambda results: json_reply(page(results=results))),
    *named("no", WHOLE, lambda key: json_reply({k: v for k, v in WHOLE.items() if k != key})),
    *named("object", OBJECTS, lambda obj: json_reply(page(count=1, results=[obj]))),
    *named("body", BODIES, json_reply),
    *named("type", KINDS, lambda kind: Reply(body=page(), content_type=kind)),
    *named("encoding", ENCODINGS, lambda name: json_reply(page(), headers={"Content-Encoding": name})),
    *named("packed", PACKED, lambda body: json_reply(body, headers={"Content-Encoding": "gzip"})),
    *named("status", STATUSES, lambda status: Reply(status, body=b"")),
    *named("location", LOCATIONS, lambda target: Reply(301, {"Location": target})),
    *named("retry after", WAITS, lambda wait: Reply(503, {"Retry-After": wait})),
    *named("wire", WIRE, lambda raw: Reply(raw=raw)),
]
"""Answers none of which is a page of spells, by name."""

AT_ONCE = 12


HOSTILE: list[Any] = [
    b"\xed\xa0\x80",
    float("inf"),
    float("nan"),
    10**30,
    -(10**20),
    1e308,
    True,
    None,
    "",
    " ",
    "\x00",
]
HOSTILE += [
    "\ud800",
    "\u202e",
    "x" * 600,
    "x" * 100_000,
    [],
    {},
    [[]],
    [None],
    {"key": None},
    {"key": {"key": 5}},
    [5],
    "a/b",
]


def nested(depth: int) -> Any:
    value: Any = "end"
    for _ in range(depth):
        value = {"key": value}
    return value


def mutated(number: int) -> Object:
    """A spell with some of its values replaced: some are still spells, most are none."""
    seeded = random.Random(SEED * 1000 + number)
    found = spell(f"Made {number}")
    for _ in range(seeded.randint(1, 3)):
        value = seeded.choice([*HOSTILE, nested(200), nested(900)])
        found[seeded.choice([*found, "range", "concentration", "damage_types", "\ud800"])] = value
    return found


async def contents(library: Library) -> dict[str, Entity]:
    return {e.uri: e for t in ("spells", "documents", "creatures") for e in await everything(library.cache, t)}


def told(report: Any) -> None:
    """What is reported can be printed as JSON and on a terminal, and is short."""
    json.dumps(report.as_dict(), ensure_ascii=False).encode()
    for failure in report.failed:
        assert str(failure).isprintable()
        assert len(str(failure)) < 1000


@pytest.fixture
async def library(tmp_path: Path, address: str) -> Any:
    async with server_library(tmp_path, address) as library:
        yield library


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, len(MALFORMED), AT_ONCE))
async def test_b13_a_malformed_answer_is_a_clear_error_and_costs_its_own_list_only(start, server, library):
    await library.sync(["spells", "creatures"])
    for number, (name, reply) in enumerate(MALFORMED[start : start + AT_ONCE], start):
        print(name)
        await library.sync(["documents"])  # the sync before this one is not to be continued
        before = await contents(library)
        always(server, reply)
        server.lists["v2/creatures"].append(creature(f"Hound {number}"))
        report = await library.sync(["spells", "creatures"])
        assert report.failed
        assert all(f.where.startswith(PATH) for f in report.failed)
        told(report)
        after = await contents(library)
        assert {uri: after.get(uri) for uri in before} == before
        assert f"lore://creatures/tide-atlas/hound-{number}" in after
        assert len(after) == len(before) + 1
        assert (report.by_type["creatures"]["stored"], report.stored) == (1, 1)


async def test_b13_malformed_objects_are_reported_and_all_others_stored(server, library):
    print(f"seed {SEED}")
    for start in range(0, 300, 60):
        await library.cache.delete_document("tide-atlas")
        before = await contents(library)
        made = [mutated(n) for n in range(start, start + 60)]
        always(server, json_reply(hostile_json({"count": 61, "next": None, "results": [*made, SPELLS[3]]})))
        report = await library.sync(["spells"], None)
        told(report)
        after = await contents(library)
        assert 0 < len(report.failed) < 60
        assert len(after.keys() - before.keys()) <= report.stored
        assert all(e.source_api == "open5e-v2" for e in after.values())
        assert "lore://spells/ember-book/ember-whisper" in after


def hostile_json(value: object) -> bytes:
    """JSON of values that JSON knows, lone surrogates among them; all others are left out."""

    def plain(found: object) -> object:
        if isinstance(found, dict):
            return {k: plain(v) for k, v in found.items() if not isinstance(v, bytes)}
        if isinstance(found, list):
            return [plain(v) for v in found]
        return 1e308 if isinstance(found, float) and found != found else found

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        return json.dumps(plain(value)).replace("Infinity", "1e999").encode()
    finally:
        sys.setrecursionlimit(limit)
