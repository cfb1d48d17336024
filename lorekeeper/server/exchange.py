"""One request and its outcome, as the audit log and the metrics get it, however it came."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, is_dataclass
from types import NoneType
from typing import Any, Literal, Protocol

from lorekeeper.audience import Viewer
from lorekeeper.entities import Entity
from lorekeeper.errors import LoreKeeperError

How = Literal["mcp", "rest", "page"]

Outcome = Literal["answered", "failed", "refused"]
"""Answered; failed, as there is no such entry, or the library cannot be read; refused before anything was looked up."""

SCHEME = "lore://"

MAX_DEPTH = 12
"""How deep an answer is searched for entries."""

LISTS = ("results", "documents", "resources", "tools", "prompts", "resourceTemplates")
"""Fields of an answer that list what was asked for."""

REFUSALS: Mapping[int, str] = {
    401: "not authenticated",
    403: "forbidden",
    413: "too large",
    421: "unknown host",
    429: "rate limit",
    503: "no capacity",
}
"""Why a request is refused, by status."""


@dataclass
class Exchange:
    """A request and its outcome.

    Attributes:
        how: by which interface it came.
        address: of the client, "" over stdio.
        viewer: who asks; None as long as that is not known.
        name: the tool, method or route as it is declared; "" for none that is.
        asked: what was asked, as JSON.
        status: of the HTTP response, None where the protocol has none.
        outcome: what became of it.
        results: how many were returned.
        uris: of the entries that were returned, each once.
        mode: of a search, "" of anything else.
        lasting: whether it is a stream that ends when its client or the server does.
        content: what it is answered with, as JSON; None if that is the response itself.
        recorded: whether the recorders have it.
        scope: of the HTTP request, as the routes see it.
        began: on the clock of `time.perf_counter`.
    """

    how: How
    address: str = ""
    viewer: Viewer | None = None
    name: str = ""
    asked: dict[str, Any] = field(default_factory=dict)
    status: int | None = None
    outcome: Outcome = "answered"
    results: int = 0
    uris: Sequence[str] = ()
    mode: str = ""
    lasting: bool = False
    content: object = None
    recorded: bool = False
    scope: Mapping[str, Any] = field(default_factory=dict)
    began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return time.perf_counter() - self.began

    @property
    def refusal(self) -> str:
        """Why it was refused, "" if it was not."""
        return REFUSALS.get(self.status or 0, "") if self.outcome == "refused" else ""

    def responded(self, status: int) -> None:
        """Its HTTP response has that status."""
        self.status = status
        if status in REFUSALS:
            self.outcome = "refused"
        elif status >= 400:
            self.outcome = "failed"

    def returned(self, content: object) -> None:
        """Its answer is that, as JSON."""
        self.uris = list(dict.fromkeys(uris_in(content)))
        listed = [content[name] for name in LISTS if name in content] if isinstance(content, dict) else []
        self.results = len(listed[0]) if listed and isinstance(listed[0], list) else len(self.uris)
        mode = content.get("mode") if isinstance(content, dict) else None
        self.mode = mode if isinstance(mode, str) else ""


CURRENT: ContextVar[Exchange | None] = ContextVar("exchange", default=None)
"""The request that is being answered, where requests are recorded."""


def answered(content: Callable[[], object]) -> None:
    """What the current request is answered with, as JSON, if it is recorded: a text for a model does not say it all."""
    if exchange := CURRENT.get():
        exchange.content = content()


def uris_in(value: object, depth: int = MAX_DEPTH) -> Iterator[str]:
    """The uris of entries in an answer, or in what a template gets, in its order: of entries themselves, and what is called so."""
    if isinstance(value, Entity):
        yield value.uri
    elif not depth or isinstance(value, (str, int, float, NoneType)):
        return
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from uris_in(each, depth - 1)
    elif isinstance(value, Mapping) or is_dataclass(value):
        for name, each in (value if isinstance(value, Mapping) else vars(value)).items():
            if name == "uri" and isinstance(each, str) and each.startswith(SCHEME):
                yield each
            else:
                yield from uris_in(each, depth - 1)


class RecordingError(LoreKeeperError):
    """A request cannot be recorded, so that it must not be answered."""


class Recorder(Protocol):
    """Gets every request when its outcome is known, before the answer is sent."""

    async def record(self, exchange: Exchange) -> None:
        """Record a request; RecordingError if that is not possible."""
        ...


async def record(recorders: Sequence[Recorder], exchange: Exchange) -> None:
    """Give a request to all recorders, once; RecordingError if one of them fails."""
    if not exchange.recorded:
        exchange.recorded = True
        for recorder in recorders:
            await recorder.record(exchange)
