"""A small reranking server on loopback, in the shape of TEI or of Cohere."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.loopback import QuietServer, running

Answer = tuple[int, Any]


def by_length(query: str, texts: list[str]) -> list[float]:
    """Scores that prefer the longest text."""
    return [float(len(text)) for text in texts]


class RerankServer:
    """Answers ``POST /rerank``.

    Attributes:
        shape: "texts" for TEI, "documents" for Cohere; a request of the other shape is refused.
        score: gives the scores.
        refusal: the status of that refusal.
        answers: what to answer instead, first of all; bytes are sent as they are.
        delay: seconds before an answer.
        headers: further headers of its answers.
        requests: path, headers and body of every request.
    """

    def __init__(self, shape: str = "texts", score: Callable[[str, list[str]], list[float]] = by_length) -> None:
        self.shape = shape
        self.score = score
        self.refusal = 422
        self.answers: list[Answer] = []
        self.delay = 0.0
        self.headers: dict[str, str] = {}
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self._server = QuietServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/rerank"

    def answer(self, body: dict[str, Any]) -> Answer:
        """The answer to a request."""
        if self.answers:
            return self.answers.pop(0)
        if self.shape not in body:
            return self.refusal, {"error": f"missing field {self.shape}"}
        scores = self.score(body["query"], body[self.shape])
        best_first = sorted(enumerate(scores), key=lambda pair: -pair[1])
        if self.shape == "texts":
            return 200, [{"index": i, "score": score} for i, score in best_first]
        return 200, {"id": "1", "results": [{"index": i, "relevance_score": score} for i, score in best_first]}

    @contextmanager
    def running(self) -> Iterator[RerankServer]:
        """Serve in a thread."""
        with running(self._server):
            yield self

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.requests.append((self.path, dict(self.headers), body))
                time.sleep(owner.delay)
                status, answer = owner.answer(body)
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(content))} | owner.headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
