"""A reranker: its order of the best hits is used, and without a usable answer the search goes on as it was."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.composition import reranker_of
from lorekeeper.errors import ConfigError
from lorekeeper.library import Library
from lorekeeper.search import rerank
from lorekeeper.search.query import Query
from lorekeeper.search.rerank import MAX_BYTES, RERANKED, Reranker, RerankError
from lorekeeper.search.results import ResultPage
from lorekeeper.settings import load_settings
from tests.support.embedding_server import EmbeddingServer
from tests.support.libraries import open_library, settings_in
from tests.support.rerank_server import RerankServer, by_length
from tests.support.samples import write_lines

TEXTS = ["short", "a longer text", "the longest text of all three"]

CREATURES = [
    {
        "collection": "creatures",
        "name": f"Hound {n}",
        "description": f"A dog of the tide line. {'It barks. ' * (n * 7 % 60)}",
    }
    for n in range(60)
]

DOGS = Query(["creatures"], text="dog of the tide line", limit=50)


@pytest.fixture(autouse=True)
def slow_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow machine changes no answer."""
    monkeypatch.setattr(rerank, "TIMEOUT_SECONDS", 60.0)


@pytest.fixture(params=["texts", "documents"])
def server(request: pytest.FixtureRequest) -> Iterator[RerankServer]:
    with RerankServer(request.param).running() as running:
        yield running


@pytest.fixture
def tei() -> Iterator[RerankServer]:
    with RerankServer("texts").running() as running:
        yield running


@asynccontextmanager
async def asking(url: str, *options: str | None) -> AsyncIterator[Reranker]:
    reranker = Reranker(url, *options)
    yield reranker
    await reranker.close()


# --- the client ----------------------------------------------------------------------------------------------------


async def test_both_shapes_give_a_score_for_each_text_in_its_place(server: RerankServer) -> None:
    async with asking(server.url) as reranker:
        assert await reranker.scores("which?", TEXTS) == by_length("which?", TEXTS)
        assert await reranker.scores("what?", TEXTS[::-1]) == by_length("what?", TEXTS[::-1])
    assert [server.shape in body for _, _, body in server.requests][-2:] == [True, True], "the shape is remembered"
    assert len(server.requests) <= 3


async def test_model_and_key_are_sent_as_such_servers_expect_them() -> None:
    with RerankServer("documents").running() as server:
        async with asking(server.url, "some-model", "secret") as reranker:
            await reranker.scores("which?", TEXTS)
    ((path, headers, body),) = server.requests
    assert path == "/rerank"
    assert headers["Authorization"] == "Bearer secret"
    assert body == {"model": "some-model", "query": "which?", "documents": TEXTS}


async def test_an_answer_is_cached_and_a_failure_is_not(tei: RerankServer) -> None:
    tei.answers = [(500, {})]
    async with asking(tei.url) as reranker:
        with pytest.raises(RerankError, match="500"):
            await reranker.scores("which?", TEXTS)
        for _ in range(3):
            await reranker.scores("which?", TEXTS)
    assert len(tei.requests) == 2


def tei_answer(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"index": index, "score": score} for index, score in pairs]


WRONG = [
    tei_answer((0, 1.0), (1, 2.0)),
    tei_answer((0, 1.0), (1, 2.0), (2, 3.0), (3, 4.0)),
    tei_answer((0, 1.0), (1, 2.0), (1, 3.0)),
    tei_answer((0, 1.0), (1, 2.0), (3, 3.0)),
    tei_answer((0, 1.0), (1, 2.0), (-1, 3.0)),
    tei_answer((0, 1.0), (1, 2.0), ("2", 3.0)),
    tei_answer((0, 1.0), (1, 2.0), (2.0, 3.0)),
    tei_answer((0, 1.0), (True, 2.0), (2, 3.0)),
    tei_answer((0, 1.0), (1, 2.0), (None, 3.0)),
    tei_answer((0, 1.0), (1, 2.0), (2, None)),
    tei_answer((0, 1.0), (1, 2.0), (2, "3.0")),
    tei_answer((0, 1.0), (1, 2.0), (2, True)),
    tei_answer((0, 1.0), (1, 2.0), (2, float("nan"))),
    tei_answer((0, 1.0), (1, 2.0), (2, float("-inf"))),
    tei_answer((0, 1.0), (1, 2.0), (2, 10**400)),
    b'[{"index":0,"score":1},{"index":1,"score":2},{"index":2,"score":1e999}]',
    tei_answer((0, 1.0), (1, 2.0), ([2], 3.0)),
    [0, 1, 2],
    [[0, 1.0], [1, 2.0], [2, 3.0]],
    [None, None, None],
    {"results": None},
    {"results": {"0": 1.0, "1": 2.0, "2": 3.0}},
    {"scores": [1.0, 2.0, 3.0]},
    {},
    None,
    "nonsense",
    b"",
    b"<html>",
    b"\xff\xfe",
    b"[" * 100_000,
    b"[" + b" " * MAX_BYTES + b"]",
]


@pytest.mark.alike(12)
@pytest.mark.parametrize("answer", WRONG, ids=lambda answer: str(answer)[:50])
async def test_a_wrong_answer_is_refused(tei: RerankServer, answer: object) -> None:
    tei.answers = [(200, answer)]
    async with asking(tei.url) as reranker:
        with pytest.raises(RerankError):
            await reranker.scores("which?", TEXTS)
        assert await reranker.scores("which?", TEXTS) == by_length("which?", TEXTS)


async def test_nobody_is_followed_elsewhere(tei: RerankServer) -> None:
    with RerankServer("texts").running() as other:
        tei.answers, tei.headers = [(307, {})], {"Location": other.url}
        async with asking(tei.url) as reranker:
            with pytest.raises(RerankError, match="307"):
                await reranker.scores("which?", TEXTS)
        assert other.requests == []


# --- in a search ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def dogs(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Library]:
    folder = tmp_path_factory.mktemp("dogs")
    async with open_library(folder, backend="sqlite") as library:
        await library.import_paths([write_lines(folder / "dogs.jsonl", CREATURES)])
        yield library


@asynccontextmanager
async def reranked_by(library: Library, url: str) -> AsyncIterator[Library]:
    """The same library with a reranker."""
    async with asking(url) as reranker:
        yield Library(library.cache, library.embedding, offline=True, reranker=reranker)


def names(page: ResultPage) -> list[str]:
    return [result.entity.name for result in page.results]


def barks(name: str) -> int:
    return int(name.split()[1]) * 7 % 60


in_one_loop = pytest.mark.asyncio(loop_scope="module")


@in_one_loop
async def test_the_best_hits_come_in_the_servers_order_and_the_others_after_them(
    dogs: Library, server: RerankServer
) -> None:
    before = await dogs.search(DOGS)
    server.score = lambda query, texts: [float(text.count("barks")) for text in texts]
    async with reranked_by(dogs, server.url) as library:
        after = await library.search(DOGS)
    _, _, body = server.requests[-1]
    assert body["query"] == DOGS.text
    assert len(body[server.shape]) == RERANKED < len(before.results)
    assert [text.partition(":")[0] for text in body[server.shape]] == names(before)[:RERANKED]
    assert all("dog of the tide line" in text or "barks" in text for text in body[server.shape])
    assert sorted(names(after)[:RERANKED]) == sorted(names(before)[:RERANKED])
    assert names(after)[:RERANKED] != names(before)[:RERANKED]
    assert names(after)[RERANKED:] == names(before)[RERANKED:]
    assert [r.score for r in after.results] == [r.score for r in before.results]
    assert (after.total, after.mode, after.note) == (before.total, before.mode, before.note)


@in_one_loop
@pytest.mark.parametrize(
    "changed",
    [
        {"text": None},
        {"mode": "semantic"},
        {"mode": "keyword"},
        {"order": "name"},
        {"text": None, "similar_to": "lore://creatures/homebrew/hound-1"},
        {"text": "Hound 7", "limit": 1, "filters": {"name": "Hound 7"}},
    ],
    ids=str,
)
async def test_nobody_is_asked_where_something_else_decides_the_order(
    dogs: Library, tei: RerankServer, changed: dict[str, Any]
) -> None:
    if "similar_to" in changed:
        changed = {**changed, "similar_to": (await dogs.search(DOGS)).results[0].entity.uri}
    query = replace(DOGS, **changed)
    async with reranked_by(dogs, tei.url) as library:
        assert names(await library.search(query)) == names(await dogs.search(query))
    assert tei.requests == []


@in_one_loop
@pytest.mark.parametrize("answer", [(500, {}), (200, {}), (200, WRONG[-1]), (403, {})], ids=lambda a: str(a)[:30])
async def test_a_server_that_fails_leaves_the_order_and_a_note(dogs: Library, tei: RerankServer, answer: Any) -> None:
    before = await dogs.search(DOGS)
    tei.answers = [answer]
    async with reranked_by(dogs, tei.url.replace("//", "//ann:hush@")) as library:
        after = await library.search(DOGS)
    assert names(after) == names(before)
    assert after.note is not None
    assert (
        f"The reranker at {tei.url.replace('//', '//***@')} gave no usable answer, so its order was not used:"
        in after.note
    )
    assert "hush" not in after.note
    assert after.note.count(". ") == 0


@in_one_loop
@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:{}/rerank", "http://ann:hush@127.0.0.1:{}", "127.0.0.1:8080", "http://[::1", "http://\udcff"],
)
async def test_without_a_server_the_order_stays_and_a_note_says_so(dogs: Library, url: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with reranked_by(dogs, url.format(taken.getsockname()[1])) as library:
            after = await library.search(DOGS)
    assert names(after) == names(await dogs.search(DOGS))
    assert after.note is not None
    assert after.note.startswith("The reranker at ")
    assert " could not be reached, so its order was not used: " in after.note
    assert "hush" not in after.note


async def test_a_key_that_cannot_be_sent_is_no_answer_and_is_not_told(tei: RerankServer) -> None:
    async with asking(tei.url, None, "schl\u00fcssel-\u9f8d") as reranker:
        with pytest.raises(RerankError) as caught:
            await reranker.scores("which?", TEXTS)
    assert "ssel" not in str(caught.value)
    assert tei.requests == []


# --- the settings --------------------------------------------------------------------------------------------------


def reranker(**values: str) -> Reranker | None:
    return reranker_of(load_settings({f"LOREKEEPER_{k.upper()}": v for k, v in values.items()}, Path("no.env"))[0])


@pytest.mark.parametrize("address", ["https://api.example.com/rerank", "http://ann:hush@127.0.0.1.evil.example/rerank"])
def test_offline_refuses_a_server_elsewhere(address: str) -> None:
    assert reranker(rerank_url=address) is not None
    with pytest.raises(ConfigError, match=r"LOREKEEPER_OFFLINE.*LOREKEEPER_RERANK_URL") as caught:
        reranker(rerank_url=address, offline="1")
    assert "hush" not in str(caught.value)


async def test_the_settings_give_a_library_its_reranker(
    tmp_path: Path, tei: RerankServer, embeddings: EmbeddingServer
) -> None:
    chosen = settings_in(tmp_path, "sqlite", embeddings).model_copy(update={"rerank_url": tei.url, "offline": True})
    async with Library.from_settings(chosen) as library:
        await library.import_paths([write_lines(tmp_path / "dogs.jsonl", CREATURES)])
        page = await library.search(DOGS)
    assert page.results
    assert page.note is None
    assert [body["query"] for _, _, body in tei.requests] == [DOGS.text]
