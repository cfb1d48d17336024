"""What tests run in a process of its own: each function is a program, started by the command line that `command_of` gives.

subprocess.run(command_of(refused_call, uri), ...)
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.support import forking
from tests.support.commands import ROOT


def forked(program: Callable[..., None], *arguments: object) -> list[str]:
    """The command line that runs a function of this module in a fork, where the environment has `forking.variables`."""
    return forking.command("tests.support.programs", program.__name__, *arguments)


def command_of(program: Callable[..., None], *arguments: object) -> list[str]:
    """The command line that runs a function of this module; its arguments arrive as strings."""
    return [
        sys.executable,
        "-P",
        str(ROOT / "tests" / "support" / "programs.py"),
        program.__name__,
        *map(str, arguments),
    ]


def print_modules() -> None:
    """Print the names of all that is imported."""
    print(*sorted(sys.modules))


# --- libraries -------------------------------------------------------------------------------------------------------


def use_embedded_library(folder: str) -> None:
    """Store and search in an embedded Milvus library, and print what was imported for that."""
    from lorekeeper.composition import open_cache
    from lorekeeper.embedding import EmbeddingService, HashingProvider
    from lorekeeper.settings import load_settings
    from lorekeeper.system import claim_process
    from tests.support.entities import batch

    claim_process()

    async def main() -> None:
        settings, _ = load_settings({"LOREKEEPER_MILVUS_DB_PATH": str(Path(folder) / "milvus.db")}, Path("no.env"))
        async with open_cache(settings, EmbeddingService(lambda: HashingProvider(64))) as cache:
            await cache.store_entities(batch("a", 0, 3), "spells")
            assert len(await cache.semantic_search("spells", "text")) == 3

    asyncio.run(main())
    print_modules()


def ask_new_library(folder: str, archive: str) -> None:
    """Ask a library that begins as a copy of a ready one, and has an Open5e server; print what was imported for the answer."""
    from lorekeeper.composition import open_cache, vector_cache
    from lorekeeper.embedding import EmbeddingService
    from lorekeeper.embedding.model import default_space
    from lorekeeper.intake.bundled_library import ReadyLibrary
    from lorekeeper.intake.sync_state import Source
    from lorekeeper.library import Library
    from lorekeeper.search.query import Query
    from lorekeeper.settings import load_settings

    async def main() -> None:
        settings, _ = load_settings({"LOREKEEPER_MILVUS_DB_PATH": str(Path(folder) / "milvus.db")}, Path("no.env"))
        embedding = EmbeddingService(default_space, vector_cache(settings))
        source, ready = Source("http://127.0.0.1:9", Path(folder) / "sync", 30.0), ReadyLibrary(Path(archive), None)
        async with Library(open_cache(settings, embedding), embedding, source=source, ready=ready) as library:
            await library.open(["spells"])
            assert (await library.search(Query(types=["spells"], text="falling off a cliff", mode="keyword"))).total
            print_modules()

    asyncio.run(main())


def fill_disk(folder: str, backend: str) -> None:
    """Store on a disk that becomes full, and again once there is room; print what was refused and what is stored."""
    from lorekeeper.errors import CacheError
    from tests.support.commands import variables
    from tests.support.entities import batch
    from tests.support.killing import Outcome, hashing, look

    async def main() -> None:
        environ, ballast, outcome = variables(Path(folder), backend), Path(folder) / "ballast", Outcome()
        async with hashing(environ) as cache:
            await cache.store_entities(batch("a", 0, 20), "spells")
            space = os.statvfs(folder)
            ballast.write_bytes(bytes(space.f_bavail * space.f_frsize - 300_000))
            try:
                await cache.store_entities(batch("b", 0, 300), "spells")
            except CacheError as error:
                print(error)
            print(len(await look(cache, outcome)) % 128 == 20)
            ballast.unlink()
            print(await cache.store_entities(batch("b", 0, 300), "spells"))
        async with hashing(environ) as cache:
            print(len(await look(cache, outcome)), outcome.doubled, outcome.apart)

    asyncio.run(main())


@contextlib.contextmanager
def _unwritable(folder: Path, state: str) -> Iterator[None]:
    """A disk is full or read-only."""
    ballast = folder / "ballast"

    def remount(option: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)

    if state == "full":
        for size in (2**20, 4096):
            with contextlib.suppress(OSError), ballast.open("ab", buffering=0) as file:
                while file.write(bytes(size)) == size:
                    pass
    else:
        remount("ro")
    yield
    ballast.unlink() if state == "full" else remount("rw")


def read_unwritable(folder: str, backend: str, state: str) -> None:
    """Read a library on a disk that is full or read-only, write to it, and write again once that is possible."""
    from lorekeeper.errors import CacheError
    from tests.support.commands import variables
    from tests.support.entities import batch
    from tests.support.killing import Outcome, hashing, look

    async def main() -> None:
        environ, outcome = variables(Path(folder), backend), Outcome()
        async with hashing(environ) as cache:
            await cache.store_entities(batch("a", 0, 20), "spells")
        unwritable = _unwritable(Path(folder), state)
        unwritable.__enter__()
        async with hashing(environ) as cache:
            print(len(await look(cache, outcome)))
            try:
                await cache.store_entities(batch("b", 0, 20), "spells")
            except CacheError as error:
                print(error)
            unwritable.__exit__(None, None, None)
            print(await cache.store_entities(batch("b", 0, 20), "spells"))
            print(len(await look(cache, outcome)), outcome.doubled, outcome.apart)

    asyncio.run(main())


def hold_library(folder: str, when: str) -> None:
    """Open a library for ever, and say so: when it is served, or while it is being opened."""
    from lorekeeper.cache.milvus import failover

    def hold(*_: Any) -> None:
        print("open", flush=True)
        signal.pause()

    if when == "opening":
        vars(failover)["Server"] = hold
    failover.EmbeddedBackend(Path(folder)).open()
    print("open", flush=True)
    signal.pause()


# --- drivers and models ----------------------------------------------------------------------------------------------


def connect_to_nonsense() -> None:
    """Let the Milvus driver refuse an address; print the error, and which variables of a .env file it has set."""
    from lorekeeper.cache.milvus.server import MilvusServer

    try:
        MilvusServer("ftp://x", None).open()
    except Exception as error:
        print(error)
    print([name for name in os.environ if name in ("HTTPS_PROXY", "LOREKEEPER_PLANTED")])


def find_model_offline(name: str) -> None:
    """Look for a model without a network; print the error."""
    from lorekeeper.embedding.model import find_model
    from lorekeeper.errors import EmbeddingError

    try:
        find_model(name, offline=True)
    except EmbeddingError as error:
        print(error)


def embed_with_default_model() -> None:
    """Embed a text with the default settings; print the provider, the vectors' shape and what was imported."""
    from lorekeeper.composition import load_provider
    from lorekeeper.settings import load_settings

    provider = load_provider(load_settings({}, Path("no.env"))[0])
    print(provider.name, provider.embed(["a dragon"]).shape)
    print_modules()


# --- servers and their clients ----------------------------------------------------------------------------------------


def serve_http(port: str, descriptors: str, *limits: str) -> None:
    """`lorekeeper serve` over HTTP with so many descriptors, and limits of `lorekeeper.server.http` as ``MAX_SESSIONS=5``."""
    import resource

    from lorekeeper.cli.main import main
    from lorekeeper.server import http

    resource.setrlimit(resource.RLIMIT_NOFILE, (int(descriptors), int(descriptors)))
    for limit in limits:
        name, _, value = limit.partition("=")
        assert hasattr(http, name)
        setattr(http, name, json.loads(value))
    sys.argv[1:] = ["serve", "--transport", "http", "--port", port]
    sys.exit(main())


def serve_without_pauses(*arguments: str) -> None:
    """`lorekeeper serve`, with refusals that are answered at once."""
    from lorekeeper.cli.main import main
    from lorekeeper.server import failures

    failures.FIRST_SECONDS = failures.MOST_SECONDS = 0.0
    sys.exit(main(["serve", *arguments]))


def serve_with_books(*books: str) -> None:
    """`lorekeeper serve` over stdio, that begins with other books."""
    import pytest

    from lorekeeper.cli.main import main
    from tests.support.libraries import ship

    with pytest.MonkeyPatch.context() as patch:
        ship([Path(book) for book in books], patch)
        sys.exit(main(["serve"]))


def serve_viewers(*arguments: str) -> None:
    """`lorekeeper serve` with tools that answer who asks, and refusals that are answered at once and all logged."""
    import mcp_types as types

    from lorekeeper.cli.main import main
    from lorekeeper.server import failures, http
    from lorekeeper.server.handlers import Handlers
    from lorekeeper.server.identity import viewer_of_context

    async def call_tool(_: Handlers, context: object, params: types.CallToolRequestParams) -> types.CallToolResult:
        viewer = viewer_of_context(context)
        text = json.dumps({"role": viewer.role, "person": viewer.person, "names": sorted(viewer.names)})
        content = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, is_error=True)  # no client checks that against a schema

    Handlers.call_tool = call_tool  # type: ignore[method-assign, assignment]
    failures.FIRST_SECONDS = failures.MOST_SECONDS = 0.0
    http.MESSAGES = 10_000  # the test reads the log
    sys.exit(main(["serve", *arguments]))


def add_people(file: str, prefix: str, number: str) -> None:
    """Once a line or the end of stdin comes, add so many people to a registry; print each name with its token when it is there."""
    from lorekeeper.people.registry import People

    people = People(Path(file))
    print(flush=True)
    sys.stdin.readline()
    for i in range(int(number)):
        person, token = people.add(f"{prefix} {i}", "player")
        print(person.name, token, sep="\t", flush=True)


CROWD_SECONDS = 0.5
"""How often half requests are sent on, and connections opened again."""


def crowd_server(port: str, idle: str, half: str) -> None:
    """Keep idle connections and half requests open at a server, and open again what it closes; print how many were opened."""
    import resource

    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))
    begun = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "
    connections, due, opened = selectors.DefaultSelector(), [b""] * int(idle) + [begun] * int(half), 0
    while True:
        for content in due:
            client = socket.create_connection(("127.0.0.1", int(port)))
            client.setblocking(False)
            if content:
                client.send(content)
            connections.register(client, selectors.EVENT_READ, content)
            opened += 1
        print(opened, flush=True)
        time.sleep(CROWD_SECONDS)
        due = _closed(connections)
        _send_on(connections)


def _closed(connections: selectors.BaseSelector) -> list[bytes]:
    """What the connections had sent that the server has closed; these are forgotten."""
    contents = []
    for key, _ in connections.select(0):
        connections.unregister(key.fileobj)
        key.fileobj.close()  # type: ignore[union-attr]
        contents.append(key.data)
    return contents


def _send_on(connections: selectors.BaseSelector) -> None:
    """One more byte of every half request."""
    for key in connections.get_map().values():
        if key.data:
            with contextlib.suppress(OSError):
                key.fileobj.send(b"x")  # type: ignore[union-attr]


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
