"""Commands that run an MCP server: serve, demo."""

from __future__ import annotations

import argparse

from lorekeeper.cli.command import DONE, Call, Commands, argument
from lorekeeper.system import collector_paused

commands = Commands()


def _port(text: str) -> int:
    port = int(text)
    if not 1 <= port <= 65535:
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return port


@commands.add(
    "serve",
    "serve the library to MCP clients",
    argument("--transport", choices=["stdio", "http"], default="stdio", help="how clients connect (default: stdio)"),
    argument("--host", default="127.0.0.1", help="address to listen on with http (default: 127.0.0.1)"),
    argument("--port", type=_port, default=8765, help="port to listen on with http (default: 8765)"),
)
async def serve(call: Call) -> int:
    """Serve until the client disconnects, or, over HTTP, until the process is terminated."""
    with collector_paused():
        from lorekeeper.server.mcp import serve_http, serve_stdio

        library = call.library()
    async with library:
        if call.arguments.transport == "stdio":
            await serve_stdio(library)
        else:
            await serve_http(library, call.arguments.host, call.arguments.port, call.settings.http_token)
    return DONE


@commands.add("demo", "load the starter compendium and ask it some questions")
async def demo(call: Call) -> int:
    """See `lorekeeper.cli.demo`."""
    from lorekeeper.cli.demo import run_demo

    await run_demo(call.settings)
    return DONE
