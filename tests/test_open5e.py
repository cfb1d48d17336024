"""The client of the Open5e API against a server of our own: what it reads, what it tries again, what it refuses."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import stamina

from lorekeeper.errors import SourceError, SourceUnavailableError
from lorekeeper.intake.open5e import CONCURRENCY, Open5eClient, list_query
from tests.support.open5e_server import SPELLS, Open5eServer, Reply, lists, serving

SPELL_PATH = "v2/spells"


@pytest.fixture
def server() -> Open5eServer:
    return Open5eServer(lists())


@pytest.fixture
def address(server: Open5eServer) -> Iterator[str]:
    with serving(server) as address:
        yield address


@pytest.fixture
def at_once() -> Iterator[None]:
    """Tries again without waiting."""
    with stamina.set_testing(True, attempts=6, cap=True):
        yield


def once(reply: Reply, path: str = SPELL_PATH) -> Callable[[str, int], Reply | None]:
    """The fault of a server that fails for the first request of a list."""
    left = [reply]
    return lambda asked, _: left.pop() if left and asked == path else None


async def names(address: str, path: str = SPELL_PATH, query: str = "limit=2", **options: Any) -> list[str]:
    async with Open5eClient(address, **options) as client:
        return [o["name"] async for page in client.pages(path, query) for o in page.objects]


ALL = [o["name"] for o in SPELLS]


# --- reading ---------------------------------------------------------------------------------------------------------


async def test_a_list_is_read_page_by_page_to_its_end(server, address):
    async with Open5eClient(address) as client:
        pages = [page async for page in client.pages(SPELL_PATH, list_query(None, 2))]
    assert [o["name"] for page in pages for o in page.objects] == ALL
    assert {page.count for page in pages} == {len(ALL)}
    assert server.asked == [
        "v2/spells/?limit=100",
        "v2/spells/?limit=100&page=2",
        "v2/spells/?limit=100&page=3",
    ]
    assert client.requests == 3


async def test_links_to_another_host_are_followed_by_their_query_only(server, address):
    server.link_host = "elsewhere.example"
    assert await names(address) == ALL
    assert len(server.asked) == 3


ANSWER_SECONDS = 0.03
"""What each answer of a slow server takes."""


async def test_no_more_than_a_few_requests_are_made_at_a_time(server, address):
    lock, under_way, most = threading.Lock(), [0], [0]

    def slow(_path: str, _number: int) -> None:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        time.sleep(ANSWER_SECONDS)
        with lock:
            under_way[0] -= 1

    server.fault = slow
    async with Open5eClient(address) as client:
        await asyncio.gather(*(client.page(SPELL_PATH, f"limit={n}") for n in range(1, 20)))
    assert 1 < most[0] <= CONCURRENCY


# --- trying again ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 501, 502, 503, 504, 524])
async def test_a_busy_server_is_asked_again(status, server, address, at_once):
    server.fault = once(Reply(status))
    assert await names(address) == ALL
    assert len(server.asked) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 406, 410])
async def test_a_refusal_is_final(status, server, address, at_once):
    server.fault = once(Reply(status))
    with pytest.raises(SourceError, match=str(status)) as raised:
        await names(address)
    assert not isinstance(raised.value, SourceUnavailableError)
    assert len(server.asked) == 1


@pytest.mark.parametrize("body", [b'{"count": 5, "results": [{"na', b"", b"[" * 100_000])
async def test_json_that_is_not_whole_is_asked_for_again(body, server, address, at_once):
    server.fault = once(Reply(body=body, content_type="application/json"))
    assert await names(address) == ALL


async def test_the_pause_that_a_server_asks_for_is_made(server, address):
    server.fault = once(Reply(429, {"Retry-After": "1"}))
    began = time.monotonic()
    assert await names(address) == ALL
    assert time.monotonic() - began >= 1


async def test_nobody_there_is_an_error_that_says_what_to_check(at_once):
    with serving(Open5eServer({})) as address:
        pass
    client = Open5eClient(address)
    with pytest.raises(SourceUnavailableError, match="LOREKEEPER_OPEN5E_BASE_URL"):
        await client.page(SPELL_PATH, "limit=1")
    assert not client.reached
    await client.close()


# --- refusing --------------------------------------------------------------------------------------------------------


async def test_redirects_to_another_server_are_refused(server, address):
    with serving(Open5eServer(lists())) as other:
        server.fault = once(Reply(302, {"Location": f"{other}/v2/spells/"}))
        with pytest.raises(SourceError, match="another server"):
            await names(address)


@pytest.mark.parametrize(
    "body",
    [
        [],
        {},
        {"count": 1, "next": None},
        {"count": "many", "next": None, "results": []},
        {"count": 1, "next": None, "results": {}},
        {"count": 1, "next": 2, "results": []},
    ],
    ids=str,
)
async def test_what_is_no_page_of_a_list_is_refused(body, server, address):
    server.fault = once(Reply(body=json.dumps(body).encode(), content_type="application/json"))
    with pytest.raises(SourceError, match="not a page of a list"):
        await names(address)


@pytest.mark.parametrize(
    ("results", "following"),
    [(SPELLS[:2], "?limit=2&page={n}"), (SPELLS[:2], "?limit=2"), ([], "?limit=2&page={n}")],
    ids=["always the first page", "a link to itself", "empty pages"],
)
async def test_a_list_without_an_end_is_refused(results, following, server, address):
    def endless(_path: str, number: int) -> Reply:
        body = {"count": 5, "next": f"{address}/v2/spells/{following.format(n=number + 1)}", "results": results}
        return Reply(body=json.dumps(body).encode(), content_type="application/json")

    server.fault = endless
    with pytest.raises(SourceError, match="do not end"):
        await names(address)
    assert len(server.asked) <= 4


async def test_a_reader_that_stops_early_leaves_nothing_running(server, address):
    client = Open5eClient(address)
    pages = client.pages(SPELL_PATH, "limit=2")
    assert (await anext(pages)).objects
    await pages.aclose()
    await client.close()
    assert len(server.asked) <= 2
    assert asyncio.all_tasks() == {asyncio.current_task()}
