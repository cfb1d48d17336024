"""The REST gateway and the pages over a library of the same process, over real HTTP on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.types import Receive, Scope, Send

from lorekeeper.audience import Viewer
from lorekeeper.library import Library
from lorekeeper.server.identity import VIEWER
from lorekeeper.server.page.impersonation import Players
from lorekeeper.server.page.routes import routes as pages
from lorekeeper.server.rest.routes import routes
from tests.support.waiting import eventually


@asynccontextmanager
async def gateway(
    library: Library, viewer: Viewer | None = None, players: Players = tuple
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the gateway over a library, whose requests are those of a viewer, by default the one its settings name."""
    gateway = Starlette(routes=[*routes(library), *pages(library, players)])

    async def known(scope: Scope, receive: Receive, send: Send) -> None:
        await gateway({**scope, VIEWER: viewer or library.asks}, receive, send)

    config = uvicorn.Config(known, port=0, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    await eventually(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=200) as client:
            yield client
    finally:
        server.should_exit = True
        await serving
