"""Metrics: what is counted, by which labels, and who may read it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from lorekeeper.audience import GAME_MASTER, Viewer
from lorekeeper.measures import listening
from lorekeeper.search.query import Query
from lorekeeper.server.exchange import Exchange, How
from lorekeeper.server.guard import Guard, Limits
from lorekeeper.server.limits import VIEWER
from lorekeeper.server.metrics import METHODS, OTHER, Metrics
from lorekeeper.server.tools import all_tools
from tests.support.libraries import sample_library

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def samples(text: str) -> Samples:
    families = text_string_to_metric_families(text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def seen_by(guard: Guard, viewer: Viewer | None) -> httpx.AsyncClient:
    app = Starlette(routes=guard.routes)

    async def identified(scope: Any, receive: Any, send: Any) -> None:
        await app(scope | ({VIEWER: viewer} if viewer else {}), receive, send)

    return httpx.AsyncClient(transport=httpx.ASGITransport(identified), base_url="http://library")


async def test_the_game_master_reads_what_was_counted(tmp_path: Path) -> None:
    async with sample_library(tmp_path, "sqlite") as library:
        guard = Guard(library, Limits())
        with listening(guard.metrics):
            await library.search(Query(types=["spells"], text="a lance of water"))
        await guard.metrics.record(Exchange("mcp", name="search_lore", mode="hybrid"))
        refused = Exchange("rest")
        refused.responded(429)
        await guard.metrics.record(refused)
        async with seen_by(guard, GAME_MASTER) as asking:
            response = await asking.get("/metrics")
            assert (await asking.post("/metrics")).status_code == 405
        counts = (await library.cache.statistics()).counts
    found = samples(response.text)
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    answered = {("how", "mcp"), ("name", "search_lore"), ("mode", "hybrid"), ("outcome", "answered")}
    assert found["lorekeeper_requests_total", frozenset(answered)] == 1
    assert found["lorekeeper_refusals_total", frozenset({("reason", "rate limit")})] == 1
    assert found["lorekeeper_embedding_cache_misses_total", frozenset()] == 1
    for phase in ("embedding", "semantic", "keyword", "names", "load"):
        assert found["lorekeeper_phase_seconds_count", frozenset({("phase", phase)})] == 1
    assert counts["spells"] > 0
    assert {t: found["lorekeeper_entries", frozenset({("type", t)})] for t in counts} == counts
    assert found["lorekeeper_passages", frozenset({("type", "spells")})] >= counts["spells"]
    assert found["lorekeeper_embedding_queue", frozenset()] == 0


async def test_labels_are_declared_ones_only() -> None:
    metrics = Metrics([tool.name for tool in all_tools()])
    metrics.declare(["GET /api/v1/search"])
    hows: tuple[How, ...] = ("mcp", "rest", "page")
    for number in range(1000):
        asked = Exchange(hows[number % 3], name=f"strahd's secret {number}", mode=f"mode {number}")
        asked.viewer, asked.uris = Viewer.player(f"ana{number}"), [f"lore://notes/v/{number}"]
        await metrics.record(asked)
    families = list(metrics.registry.collect())
    labels = {value for family in families for s in family.samples for value in s.labels.values()}
    assert OTHER in labels
    assert not [value for value in labels if "secret" in value or "ana" in value or "lore" in value.partition("_")[0]]
    requests = [s for family in families for s in family.samples if s.name == "lorekeeper_requests_total"]
    assert len(requests) == 3
    assert len(METHODS) < 20
