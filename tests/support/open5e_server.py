"""A small Open5e server on loopback: real HTTP, invented books, and every fault that a real server shows."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.support.loopback import QuietServer, running

Object = dict[str, Any]

DOCUMENTS = {"tide-atlas": "The Tide Atlas", "ember-book": "The Ember Book"}


@dataclass(frozen=True)
class Reply:
    """What the server says instead of an answer: once, and then the real thing.

    Attributes:
        cut: the real answer, whose connection ends half-way through the body.
        raw: all that is sent, from the status line on; the connection ends then.
        drip: seconds between two bytes of the body.
    """

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"<h1>error</h1>"
    content_type: str = "text/html"
    cut: bool = False
    raw: bytes | None = None
    drip: float = 0.0


class Open5eServer:
    """Lists by path, as in ``v2/spells``, and what it was asked for."""

    def __init__(self, lists: dict[str, list[Object]], page_size: int = 2) -> None:
        self.lists = lists
        self.page_size = page_size
        self.asked: list[str] = []
        """Paths with their queries, in order."""
        self.headers: list[dict[str, str]] = []
        self.link_host = ""
        """Host in the links to further pages, where it is not the server's own."""
        self.fault: Callable[[str, int], Reply | None] = lambda path, number: None
        """Told the path and the number of the request, from 1; None for the real answer."""
        self._lock = threading.Lock()

    def pages_asked(self, path: str) -> list[str]:
        """Queries of one list, in order."""
        return [query for p, _, query in (a.partition("/?") for a in self.asked) if p == path]

    def answer(self, target: str, headers: dict[str, str]) -> Reply:
        with self._lock:
            self.asked.append(target.lstrip("/"))
            self.headers.append(headers)
            number = len(self.asked)
        url = urlsplit(target)
        path = url.path.strip("/")
        fault = self.fault(path, number)
        if fault is not None and not fault.cut:
            return fault
        body = self._page(path, url.query, headers.get("Host", ""))
        if body is None:
            return Reply(404)
        return Reply(body=json.dumps(body).encode(), content_type="application/json", cut=fault is not None)

    def _page(self, path: str, query: str, host: str) -> Object | None:
        if path not in self.lists:
            return None
        given = {k: v[0] for k, v in parse_qs(query).items()}
        wanted = given.get("document__key__in") or given.get("document__slug__in")
        found = self.lists[path]
        if wanted and path != "v2/documents":
            found = [o for o in found if _document(o) in wanted.split(",")]
        if "name__icontains" in given:
            found = [o for o in found if given["name__icontains"].lower() in o["name"].lower()]
        number, size = int(given.get("page", 1)), min(self.page_size, int(given.get("limit", 50)))
        last = number * size >= len(found)
        link = f"http://{self.link_host or host}/{path}/?{urlencode({**given, 'page': number + 1})}"
        return {
            "count": len(found),
            "next": None if last else link,
            "previous": None,
            "results": found[(number - 1) * size : number * size],
        }


def json_reply(value: object, **reply: Any) -> Reply:
    """An answer with a JSON value, or with the bytes of one."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Reply(body=body, content_type="application/json", **reply)


@contextmanager
def serving(server: Open5eServer) -> Iterator[str]:
    """The server's address while it serves."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            reply = server.answer(self.path, dict(self.headers))
            if reply.raw is not None:
                self.wfile.write(reply.raw)
                self.close_connection = True
                return
            self.send_response(reply.status)
            for name, value in {"Content-Type": reply.content_type, **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if reply.drip:
                self._drip(reply)
            else:
                self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)
            self.close_connection = reply.cut

        def _drip(self, reply: Reply) -> None:
            for byte in reply.body:
                self.wfile.write(bytes([byte]))
                time.sleep(reply.drip)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with running(QuietServer(("127.0.0.1", 0), Handler)) as address:
        yield address


def _document(obj: Object) -> str:
    ref = obj.get("document") or obj.get("document__slug") or obj.get("key")
    return str(ref["key"] if isinstance(ref, dict) else ref)


# --- invented books --------------------------------------------------------------------------------------------------


def ref(key: str, name: str | None = None) -> Object:
    return {"key": key, "name": name or key.title()}


def book(key: str) -> Object:
    return {
        "key": key,
        "name": DOCUMENTS.get(key, key.title()),
        "display_name": DOCUMENTS.get(key, key.title()),
        "licenses": [ref("cc-by-40", "CC BY 4.0")],
        "publisher": ref("gull", "Gull and Anchor"),
        "publication_date": "2024-01-01",
    }


def spell(name: str, document: str = "tide-atlas", level: int = 1, desc: str = "") -> Object:
    slug = name.lower().replace(" ", "-")
    return {
        "key": f"{document}_{slug}",
        "name": name,
        "document": ref(document, DOCUMENTS.get(document)),
        "level": level,
        "school": ref("evocation"),
        "casting_time": "action",
        "classes": [ref(f"{document}_wizard", "Wizard")],
        "desc": desc or f"{name} does what its name says.",
    }


def creature(name: str, document: str = "tide-atlas", rating: float = 1.0) -> Object:
    slug = name.lower().replace(" ", "-")
    return {
        "key": f"{document}_{slug}",
        "name": name,
        "document": ref(document, DOCUMENTS.get(document)),
        "challenge_rating": rating,
        "hit_points": 10,
        "type": ref("beast"),
        "actions": [{"name": "Bite", "desc": f"The {name.lower()} bites."}],
    }


def section(name: str) -> Object:
    """As only the first API has them."""
    return {
        "slug": name.lower().replace(" ", "-"),
        "name": name,
        "desc": f"How {name.lower()} works.",
        "parent": "Rules",
        "document__slug": "old-rules",
        "document__title": "The Old Rules",
        "document__license_url": "http://example.org/licence",
    }


SPELLS = [
    spell("Tide Lance", level=2),
    spell("Soft Landing"),
    spell("Lantern of Hush"),
    spell("Ember Whisper", "ember-book", 0),
    spell("Ash Storm", "ember-book", 3),
]


def lists() -> dict[str, list[Object]]:
    """A small server's lists: two books, one section of the first API, and every other list empty."""
    from lorekeeper.normalize.open5e import ENDPOINTS

    empty: dict[str, list[Object]] = {f"v{e.version}/{e.name}": [] for e in ENDPOINTS.values() if e.version}
    return empty | {
        "v2/documents": [book("tide-atlas"), book("ember-book")],
        "v2/spells": list(SPELLS),
        "v2/creatures": [creature("Brine Hound"), creature("Ash Drake", "ember-book", 8.0)],
        "v1/sections": [section("Travel")],
    }
