"""A small OpenAI-compatible embedding server on loopback, whose vectors come from `HashingProvider`."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from lorekeeper.embedding import HashingProvider
from tests.support.loopback import QuietServer, running


class EmbeddingServer:
    """Answers ``POST /v1/embeddings``; can be told to hold its answer once it has seen enough texts.

    Attributes:
        texts: number of texts embedded so far.
        hold_after: the number of texts from which on no answer is given before `proceed` is set; None for never.
        holding: set while an answer is held.
        proceed: lets answers go on.
    """

    def __init__(self) -> None:
        self.texts = 0
        self.hold_after: int | None = None
        self.holding = threading.Event()
        self.proceed = threading.Event()
        self._provider = HashingProvider(128)
        self._server = QuietServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = json.dumps(owner.answer(body["input"])).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def answer(self, texts: list[str]) -> dict[str, object]:
        """The answer to one request, when its time has come."""
        self.texts += len(texts)
        if self.hold_after is not None and self.texts >= self.hold_after:
            self.holding.set()
            self.proceed.wait()
        vectors = self._provider.embed(texts).tolist()
        return {"data": [{"index": i, "embedding": vector} for i, vector in enumerate(vectors)]}

    def hold(self) -> None:
        """Hold the next answer, until `go_on`."""
        self.holding.clear()
        self.proceed.clear()
        self.hold_after = 0

    def go_on(self) -> None:
        """Answer what is held, and whatever comes."""
        self.hold_after = None
        self.proceed.set()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Serve in a thread."""
        with running(self._server):
            try:
                yield
            finally:
                self.proceed.set()
