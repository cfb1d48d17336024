"""Fixtures of the modules that sync: an Open5e server of our own, and a library whose source it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import stamina

from lorekeeper.library import Library
from tests.support.libraries import server_library
from tests.support.open5e_server import Open5eServer, lists, serving


@pytest.fixture
def server() -> Open5eServer:
    """A server with the usual lists; a module may have another of that name."""
    return Open5eServer(lists())


@pytest.fixture
def address(server: Open5eServer) -> Iterator[str]:
    """The server's address while it serves; what fails is tried three times, without pauses."""
    with serving(server) as address, stamina.set_testing(True, attempts=3, cap=True):
        yield address


@pytest.fixture
async def library(tmp_path: Path, address: str) -> AsyncIterator[Library]:
    """A library of the test that syncs with the server."""
    async with server_library(tmp_path, address) as library:
        yield library
