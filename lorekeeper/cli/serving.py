"""Commands that run an MCP server: serve, demo."""

from __future__ import annotations

import argparse
import sys

from lorekeeper.cli.command import DONE, Call, Commands, argument
from lorekeeper.printable import shown
from lorekeeper.system import collector_paused

commands = Commands()


NO_CLIENT = """LoreKeeper is waiting for an MCP client on its standard input: clients start this command themselves.
To try it here, run 'lorekeeper search QUERY' in another terminal. Press Ctrl-C to stop."""


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:6]) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {shown(text)}")
    return int(text)


@commands.add(
    "serve",
    "serve the library to MCP clients",
    argument("--transport", choices=["stdio", "http"], default="stdio", help="how clients connect (default: stdio)"),
    argument("--host", default="127.0.0.1", help="address to listen on with http (default: 127.0.0.1)"),
    argument("--port", type=_port, default=8765, help="port to listen on with http (default: 8765)"),
    examples=("lorekeeper serve", "lorekeeper serve --transport http --port 9000"),
)
async def serve(call: Call) -> int:
    """Serve until the client disconnects, or, over HTTP, until the process is terminated."""
    with collector_paused():
        from lorekeeper.composition import people_of
        from lorekeeper.server.mcp import serve_http, serve_stdio

        library = call.library()
    if call.arguments.transport == "stdio" and sys.stdin.isatty():
        print(NO_CLIENT, file=sys.stderr)
    async with library:
        if call.arguments.transport == "stdio":
            await serve_stdio(library)
        else:
            people = people_of(call.settings)
            await serve_http(library, call.settings, people, call.arguments.host, call.arguments.port)
    return DONE


@commands.add("demo", "ask the starter compendium and a small campaign some questions", examples=("lorekeeper demo",))
async def demo(call: Call) -> int:
    """See `lorekeeper.cli.demo`."""
    from lorekeeper.cli.demo import run_demo

    await run_demo(call.settings)
    return DONE
