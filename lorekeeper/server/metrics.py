"""Metrics in the text format of Prometheus, for the game master: totals tell a player that there are secrets.

No label holds a name, a query or a uri. Its values are those that are declared here and elsewhere, so their number is bounded.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lorekeeper.audience import Viewer
from lorekeeper.measures import EVENTS, PHASES, Event, Phase
from lorekeeper.server.exchange import REFUSALS, Exchange
from lorekeeper.server.limits import VIEWER

if TYPE_CHECKING:
    from lorekeeper.library import Library

PATH = "/metrics"

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the histograms."""

METHODS = frozenset(
    {"initialize", "tools/list", "prompts/list", "prompts/get", "resources/list", "resources/templates/list"}
    | {"resources/read", "resources/subscribe", "resources/unsubscribe", "completion/complete"}
    | {"subscriptions/listen", "server/discover"}
)
"""Methods of MCP that have a label of their own."""

MODES = frozenset({"structured", "semantic", "hybrid", "keyword"})

OTHER = "other"
"""Label of what is not declared."""

COUNTS_SECONDS = 10.0
"""How long the numbers of entries are repeated before they are counted again."""

Counts = Mapping[str, Mapping[str, int]]
"""Numbers of entries and passages, each by type."""


COUNTED: Mapping[Event, tuple[str, str]] = {
    "query_cached": (
        "embedding_cache_hits",
        "vectors of queries that were cached, once for each type that is searched",
    ),
    "query_embedded": ("embedding_cache_misses", "vectors of queries that were computed"),
    "vault_note_stored": ("vault_notes_stored", "notes that syncs of vaults stored"),
    "vault_note_removed": ("vault_notes_removed", "notes that syncs of vaults removed"),
    "vault_sync": ("vault_syncs", "syncs of the vaults"),
    "source_sync": ("source_syncs", "times that stale lists of Open5e were read again in the background"),
}
"""Name and help of the counter of each event."""


class Metrics:
    """Counts requests, and what `lorekeeper.measures` measures.

    Args:
        tools: names of the tools, which are labels.
    """

    def __init__(self, tools: Collection[str]) -> None:
        self.registry = CollectorRegistry()
        self._names = {*tools, *METHODS}
        labels = ("how", "name", "mode", "outcome")
        self._requests = self._counter("requests", "requests by interface, tool or route, mode and outcome", *labels)
        self._refusals = self._counter("refusals", "requests that were refused, by reason", "reason")
        self._events = {event: self._counter(*COUNTED[event]) for event in EVENTS}
        self._seconds = self._histogram("request_seconds", "time until a request is answered", "how")
        self._phases = self._histogram("phase_seconds", "time of the phases of a search", "phase")
        for phase in PHASES:
            self._phases.labels(phase)
        for reason in REFUSALS.values():
            self._refusals.labels(reason)

    def declare(self, names: Iterable[str]) -> None:
        """Routes as "GET /path", which are labels too."""
        self._names.update(names)

    async def record(self, exchange: Exchange) -> None:
        """Count a request."""
        name = exchange.name if exchange.name in self._names else OTHER
        mode = exchange.mode if exchange.mode in MODES else ""
        self._requests.labels(exchange.how, name, mode, exchange.outcome).inc()
        if exchange.refusal:
            self._refusals.labels(exchange.refusal).inc()
        elif not exchange.lasting:
            self._seconds.labels(exchange.how).observe(exchange.seconds)

    def took(self, phase: Phase, seconds: float) -> None:
        """A phase took so long."""
        self._phases.labels(phase).observe(seconds)

    def happened(self, event: Event, number: int) -> None:
        """Something happened so often."""
        self._events[event].inc(number)

    def _counter(self, name: str, help: str, *labels: str) -> Counter:  # noqa: A002
        return Counter(f"lorekeeper_{name}", help, labels, registry=self.registry)

    def _histogram(self, name: str, help: str, *labels: str) -> Histogram:  # noqa: A002
        return Histogram(f"lorekeeper_{name}", help, labels, registry=self.registry, buckets=SECONDS)


class MetricsPage:
    """The page of the metrics, an ASGI application. For anybody but the game master it does not exist.

    Args:
        metrics: what is shown.
        library: whose entries are counted.
    """

    def __init__(self, metrics: Metrics, library: Library) -> None:
        self._metrics, self._library = metrics, library
        self._counted: tuple[float, Counts] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the page; 404 if it is a player who asks."""
        viewer = scope.get(VIEWER)
        if not isinstance(viewer, Viewer) or not viewer.sees_all:
            raise HTTPException(404)
        if Request(scope).method not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        now = CollectorRegistry()
        now.register(_Now(self._library, await self._counts()))
        page = generate_latest(self._metrics.registry) + generate_latest(now)
        await Response(page, media_type=CONTENT_TYPE_PLAIN_0_0_4)(scope, receive, send)

    async def _counts(self) -> Counts:
        now = time.monotonic()
        if self._counted is None or now - self._counted[0] > COUNTS_SECONDS:
            statistics = await self._library.cache.statistics()
            self._counted = now, {"entries": statistics.counts, "passages": statistics.passages}
        return self._counted[1]


class _Now(Collector):
    """What a library holds and does now."""

    def __init__(self, library: Library, counts: Counts) -> None:
        self._library, self._counts = library, counts

    def collect(self) -> Iterator[Metric]:
        for name, numbers in self._counts.items():
            family = GaugeMetricFamily(f"lorekeeper_{name}", f"{name} by type", labels=["type"])
            for entity_type, number in numbers.items():
                family.add_metric([entity_type], number)
            yield family
        embedding = self._library.embedding
        yield GaugeMetricFamily(
            "lorekeeper_embedding_queue", "calls of the embedding model that wait or run", embedding.waiting
        )
        yield GaugeMetricFamily(
            "lorekeeper_model_loaded", "whether the embedding model is in memory", int(embedding.loaded)
        )
