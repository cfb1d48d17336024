"""Texts to vectors: the service, the model on disk, and every provider."""

from __future__ import annotations

import asyncio
import itertools
import json
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.embedding.http import HttpProvider
from lorekeeper.embedding.model import MINILM, find_model
from lorekeeper.embedding.protocol import Vectors
from lorekeeper.errors import EmbeddingError
from lorekeeper.version import DISTRIBUTION
from tests.support.commands import ROOT
from tests.support.programs import command_of, find_model_offline
from tests.support.providers import check_contract
from tests.support.tables import each_row

# --- the service ---------------------------------------------------------------------------------------------------


class Recorder(HashingProvider):
    """Notes what it is asked, and in which thread."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.threads = {threading.current_thread()}

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        self.threads.add(threading.current_thread())
        return super().embed(texts)


class Loader:
    """Makes recorders, or fails the first few times."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.calls = 0
        self.made: list[Recorder] = []

    def __call__(self) -> Recorder:
        self.calls += 1
        if self.calls <= self.failures:
            raise EmbeddingError(f"no model, try {self.calls}")
        self.made.append(Recorder())
        return self.made[-1]


async def test_nothing_is_loaded_before_the_first_text() -> None:
    load = Loader()
    service = EmbeddingService(load)
    assert (load.calls, service.loaded, service.fingerprint) == (0, False, None)
    await service.embed(["a"])
    assert (load.calls, service.loaded, service.fingerprint) == (1, True, "hashing-64")


async def test_many_callers_at_once_load_the_model_once() -> None:
    load = Loader()
    service = EmbeddingService(load)
    await asyncio.gather(*(service.embed([f"text {i}"]) for i in range(20)), *(service.provider() for _ in range(20)))
    assert load.calls == 1


async def test_vectors_keep_the_order_of_the_texts_and_equal_texts_are_embedded_once() -> None:
    load = Loader()
    service = EmbeddingService(load)
    texts = [f"text {'long ' * (i % 5)}{i % 150}" for i in range(400)]
    vectors = await service.embed(texts)
    assert vectors.shape == (400, 64)
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors, HashingProvider().embed(texts))
    assert sorted(load.made[0].asked) == sorted(set(texts))
    assert service.computed == len(set(texts))


class Waiting(HashingProvider):
    """A provider whose first call goes on when it is told to."""

    at_once = 4

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.told = threading.Event(), threading.Event()
        self.calls: list[int | str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(len(texts))
        self.begun.set()
        self.told.wait(30)
        return super().embed(texts)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        self.calls.append("query")
        return super().embed(texts)


async def test_a_question_goes_before_the_texts_of_an_import_that_are_not_being_embedded_yet() -> None:
    provider = Waiting()
    service = EmbeddingService(provider)
    texts = asyncio.create_task(service.embed([f"text {number}" for number in range(10)]))
    await asyncio.to_thread(provider.begun.wait, 30)
    question = asyncio.create_task(service.embed_query("a question"))
    await asyncio.sleep(0)
    provider.told.set()
    await asyncio.gather(texts, question)
    assert provider.calls == [4, "query", 4, 2]


async def test_texts_are_embedded_in_the_end_though_questions_never_cease() -> None:
    service = EmbeddingService(HashingProvider())
    questions = map(str, itertools.count())
    await service.embed_query(next(questions))
    texts = asyncio.create_task(service.embed(["text"]))
    while not texts.done():
        await service.embed_query(next(questions))
        await asyncio.wait([texts], timeout=0.02)
    assert int(next(questions)) > 2


async def test_a_model_is_loaded_and_asked_off_the_event_loop() -> None:
    load = Loader()
    service = EmbeddingService(load)
    await service.embed(["a"])
    await service.embed_query("b")
    assert threading.current_thread() not in load.made[0].threads


async def test_a_failure_is_remembered_and_every_caller_hears_it() -> None:
    load = Loader(failures=1)
    service = EmbeddingService(load)
    for call in (service.embed(["a"]), service.embed_query("a"), service.provider(), service.embed(["b"])):
        with pytest.raises(EmbeddingError, match="no model, try 1"):
            await call
    assert load.calls == 1
    assert not service.loaded


async def test_a_failure_is_tried_again_later() -> None:
    load = Loader(failures=2)
    service = EmbeddingService(load, retry_seconds=0.0)
    for number in (1, 2):
        with pytest.raises(EmbeddingError, match=f"no model, try {number}"):
            await service.embed(["a"])
    assert (await service.embed(["a"])).shape == (1, 64)
    assert load.calls == 3


@each_row("change", [lambda v: v[:, 1:], lambda v: v[1:], lambda v: v * 2, lambda v: v * 0, lambda v: v[0]])
async def test_b2_vectors_of_another_shape_or_length_are_an_error(change: Callable[[Vectors], Vectors]) -> None:
    class WrongProvider(HashingProvider):
        def embed(self, texts: Sequence[str]) -> Vectors:
            return change(super().embed(texts))

    with pytest.raises(EmbeddingError, match="of length 1"):
        await EmbeddingService(WrongProvider).embed(["a", "b"])


# --- every provider ------------------------------------------------------------------------------------------------


@given(st.lists(st.text(), max_size=5))
def test_hashed_vectors_are_of_length_one_and_the_same_every_time(texts: list[str]) -> None:
    vectors = HashingProvider().embed(texts)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(vectors, HashingProvider().embed(texts))


# --- where the model is --------------------------------------------------------------------------------------------


@pytest.fixture
def packaged() -> Path:
    """Folder of the installed model."""
    return find_model(MINILM, offline=True).path


@pytest.fixture
def model_folder(packaged: Path, tmp_path: Path) -> Path:
    """A copy of the model that may be spoilt."""
    return Path(shutil.copytree(packaged, tmp_path / "my-model"))


@pytest.mark.parametrize("name", [MINILM, f"sentence-transformers/{MINILM}"])
def test_a_name_finds_the_installed_package(name: str) -> None:
    found = find_model(name, offline=True)
    assert (found.name, found.origin) == (MINILM, "package")
    assert (found.path / "model.safetensors").is_file()
    assert found.sha256.startswith("53aa5117")


def test_a_folder_is_named_by_a_path_and_the_same_weights_are_the_same_space(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed = model_folder.rename(model_folder.with_name(MINILM))
    monkeypatch.chdir(renamed.parent)
    found = find_model(f"./{MINILM}", offline=True)
    assert (found.origin, found.path.resolve()) == ("folder", renamed.resolve())
    by_name = find_model(MINILM, offline=True)
    assert (by_name.origin, by_name.fingerprint) == ("package", found.fingerprint)


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_missing_file_is_named(model_folder: Path, missing: str) -> None:
    (model_folder / missing).unlink()
    with pytest.raises(EmbeddingError, match=missing) as caught:
        find_model(str(model_folder), offline=True)
    assert str(model_folder) in str(caught.value)


def offline(name: str, home: Path, *paths: Path) -> str:
    """What a new process with an empty hub cache, and these folders to import from, answers to a model's name."""
    ran = subprocess.run(
        command_of(find_model_offline, name),
        env={"HF_HOME": str(home), "PYTHONPATH": ":".join(map(str, [*paths, ROOT]))},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.stderr == ""
    return ran.stdout


@pytest.mark.parametrize("name", ["no-such-model", "nobody/no-such-model"])
def test_a_model_that_is_nowhere_is_not_fetched_offline(name: str, tmp_path: Path) -> None:
    said = offline(name, tmp_path)
    assert name in said
    assert "LOREKEEPER_OFFLINE" in said
    assert DISTRIBUTION in said


def test_a_package_with_damaged_weights_is_refused(packaged: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(packaged.parent, tmp_path / packaged.parent.name))
    with (copy / "model" / "model.safetensors").open("r+b") as file:
        file.seek(1_000_000)
        file.write(b"damage")
    said = offline(MINILM, tmp_path, tmp_path)
    assert "damaged" in said
    assert str(copy) in said
    assert DISTRIBUTION in said


# --- a server ------------------------------------------------------------------------------------------------------

Answer = tuple[int, Any]


class EmbeddingServer(ThreadingHTTPServer):
    """A small OpenAI-compatible server. Answers from a queue first, then rightly, vectors in reverse order."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.queue: list[Answer] = []
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def answer(self, body: dict[str, Any]) -> Answer:
        if self.queue:
            return self.queue.pop(0)
        vectors = (HashingProvider().embed(body["input"]) * 3).tolist()
        data = [{"object": "embedding", "index": i, "embedding": v} for i, v in enumerate(vectors)]
        return 200, {"object": "list", "model": body["model"], "data": data[::-1]}


class _Handler(BaseHTTPRequestHandler):
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        status, answer = self.server.answer(body)
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nothing: requests are kept."""


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_servers_vectors_keep_the_contract_whatever_their_order(server: EmbeddingServer) -> None:
    provider = HttpProvider(server.url, "some-model")
    assert provider.dimension == 64
    check_contract(provider)
    texts = [f"text {i}" for i in range(12)]
    assert np.allclose(provider.embed(texts), HashingProvider().embed(texts), atol=1e-6)


def test_a_server_is_asked_as_openai_is(server: EmbeddingServer) -> None:
    HttpProvider(server.url, "some-model", "secret").embed(["a", "b"])
    path, headers, body = server.requests[-1]
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == "Bearer secret"
    assert body == {"model": "some-model", "input": ["a", "b"]}


def test_a_wrong_key_is_an_error_at_once_that_does_not_tell_it(server: EmbeddingServer) -> None:
    server.queue = [(401, {"error": "no"})]
    with pytest.raises(EmbeddingError, match=r"401.*LOREKEEPER_EMBEDDING_API_KEY") as caught:
        HttpProvider(server.url, "some-model", "secret")
    assert len(server.requests) == 1
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(server: EmbeddingServer, status: int) -> None:
    provider = HttpProvider(server.url, "some-model")
    server.queue = [(status, {"error": "busy"})]
    assert provider.embed(["a"]).shape == (1, 64)
    assert len(server.requests) == 3


def _data(*vectors: Any) -> dict[str, Any]:
    return {"data": [{"index": i, "embedding": v} for i, v in enumerate(vectors)]}


ONE = [1.0] + [0.0] * 63


@pytest.mark.parametrize(
    "answer",
    [
        _data(ONE),
        _data(ONE, ONE, ONE),
        {"data": [{"index": 0, "embedding": ONE}, {"index": 0, "embedding": ONE}]},
        _data(ONE, ONE[:-1]),
        _data(ONE[:-1], ONE[:-1]),
        _data(ONE, [float("nan")] * 64),
        _data(ONE, [float("inf")] + [0.0] * 63),
        _data(ONE, [float("inf"), float("-inf")] + [0.0] * 62),
        _data(ONE, ["x"] * 64),
        _data(ONE, [None] * 64),
        _data(ONE, None),
        _data(1.0, 2.0),
        _data([], []),
        {"data": "nonsense"},
        {"data": None},
        {"data": [1, 2]},
        {"error": "nonsense"},
        ["nonsense"],
        None,
        b"<html>nonsense</html>",
        b"",
        b"\xff\xfe",
    ],
    ids=lambda a: str(a)[:40],
)
def test_a_nonsensical_answer_is_an_error_that_names_the_server(server: EmbeddingServer, answer: Any) -> None:
    provider = HttpProvider(server.url, "some-model")
    server.queue = [(200, answer)]
    with pytest.raises(EmbeddingError, match=server.url):
        provider.embed(["a", "b"])
    assert provider.embed(["a", "b"]).shape == (2, 64)
