"""Commands that run an MCP server: serve, demo."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from lorekeeper.cli.command import DONE, Call, Commands, argument
from lorekeeper.cli.terminal import say
from lorekeeper.errors import ConfigError
from lorekeeper.printable import shown
from lorekeeper.system import collector_paused

commands = Commands()


NO_CLIENT = """LoreKeeper is waiting for an MCP client on its standard input: clients start this command themselves.
To try it here, run 'lorekeeper search QUERY' in another terminal. Press Ctrl-C to stop."""
"""Printed first: reading the program and opening the library take seconds on a slow machine."""


PORT = 8765


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:6]) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {shown(text)}")
    return int(text)


HTTP = (
    argument("--host", default="127.0.0.1", help="address to listen on with http (default: 127.0.0.1)"),
    argument("--port", type=_port, default=PORT, help=f"port to listen on with http (default: {PORT})"),
)
"""Where a server over HTTP is."""


@commands.add(
    "serve",
    "serve the library to chat apps and other MCP clients",
    argument("--transport", choices=["stdio", "http"], default="stdio", help="how clients connect (default: stdio)"),
    *HTTP,
    argument(
        "--tls-cert", type=Path, metavar="FILE", help="certificate with its chain, to serve https; with --tls-key"
    ),
    argument("--tls-key", type=Path, metavar="FILE", help="its private key, not encrypted"),
    examples=(
        "lorekeeper serve",
        "lorekeeper serve --transport http --port 9000",
        "lorekeeper serve --transport http --tls-cert cert.pem --tls-key key.pem",
    ),
)
async def serve(call: Call) -> int:
    """Serve until the client disconnects, or, over HTTP, until the process is terminated."""
    tls = call.arguments.tls_cert, call.arguments.tls_key
    if any(tls) and not all(tls):
        raise ConfigError("--tls-cert and --tls-key belong together: give the files of both")
    if call.arguments.transport == "http":
        return await over_http(call, *tls)
    if any(tls):
        raise ConfigError("--tls-cert and --tls-key need --transport http")
    if sys.stdin.isatty():
        say(NO_CLIENT)
    with collector_paused():
        from lorekeeper.cli.asking import answering
        from lorekeeper.server.mcp import serve_stdio

        library = call.library(serves=True)
    async with library, answering(library, call.settings):
        await serve_stdio(library, call.settings.audit_log)
    return DONE


async def over_http(call: Call, *tls: Path | None) -> int:
    """Serve over HTTP until the process is terminated; ``tls`` are the files of a certificate and its key."""
    with collector_paused():
        from lorekeeper.cli.asking import answering
        from lorekeeper.composition import people_of
        from lorekeeper.server.guard import Limits
        from lorekeeper.server.mcp import serve_http

        library = call.library(serves=True)
    settings, arguments = call.settings, call.arguments
    limits = Limits(settings.rate_limit, settings.rate_burst, settings.audit_log, *tls)
    async with library, answering(library, settings):
        await serve_http(library, settings, people_of(settings), arguments.host, arguments.port, limits)
    return DONE


@commands.add("demo", "ask both SRDs and a small campaign some questions", examples=("lorekeeper demo",))
async def demo(call: Call) -> int:
    """See `lorekeeper.cli.demo`."""
    from lorekeeper.cli.demo import run_demo

    await run_demo(call.settings)
    return DONE
