"""The http provider: any server with an OpenAI-compatible ``/embeddings`` (OpenAI, TEI, Infinity, Ollama)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import httpx
import numpy as np
import stamina

from lorekeeper.addresses import is_local, shown_address
from lorekeeper.embedding.protocol import Vectors, check_finite, normalized
from lorekeeper.errors import EmbeddingError
from lorekeeper.printable import shown

TIMEOUT_SECONDS = 30.0
ATTEMPTS = 4

_RETRIED = (408, 429, 500, 502, 503, 504)


class HttpProvider:
    """Vectors from ``POST {url}/embeddings`` with ``{"model", "input"}``, tried again while the server is busy.

    Shape of the answer: https://platform.openai.com/docs/api-reference/embeddings/object
    """

    name = "http"

    def __init__(
        self, url: str, model: str, api_key: str | None = None, *, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._url = url.rstrip("/").removesuffix("/embeddings") + "/embeddings"
        self._shown = shown_address(self._url)
        self._model = model
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        direct = {"http://": None, "https://": None} if is_local(url) else None  # a proxy would be another machine
        self._client = httpx.Client(headers=headers, timeout=TIMEOUT_SECONDS, transport=transport, mounts=direct)
        self.fingerprint = f"http {model}"
        self.dimension = 0
        self.dimension = self.embed(["dimension"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        rows = self._rows(self._post({"model": self._model, "input": list(texts)}), len(texts))
        try:
            vectors = np.asarray(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self._wrong("vectors of unequal length, or not of numbers") from error
        if (
            vectors.ndim != 2
            or not vectors.shape[1]
            or (self.dimension and vectors.shape[1] != self.dimension)
            or not check_finite(vectors)
        ):
            raise self._wrong(
                f"vectors of shape {vectors.shape}, with NaN or of another dimension than {self.dimension}"
            )
        return normalized(vectors)

    def _post(self, body: dict[str, Any]) -> Any:
        try:
            for attempt in stamina.retry_context(on=_is_passing, attempts=ATTEMPTS, timeout=None):
                with attempt:
                    response = self._client.post(self._url, json=body)
                    response.raise_for_status()
            return response.json()
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            raise EmbeddingError(
                f"the embedding server {self._shown} answered {status} for model {shown(self._model)}; check "
                "LOREKEEPER_EMBEDDING_URL, LOREKEEPER_EMBEDDING_MODEL and LOREKEEPER_EMBEDDING_API_KEY"
            ) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EmbeddingError(
                f"the embedding server {self._shown} cannot be reached ({type(error).__name__}); is it running, and is "
                "LOREKEEPER_EMBEDDING_URL right?"
            ) from error
        except ValueError as error:
            raise self._wrong("something that is not JSON") from error

    def _rows(self, answer: Any, expected: int) -> list[Any]:
        try:
            found = {int(item["index"]): item["embedding"] for item in answer["data"]}
            rows = [found[i] for i in sorted(found)]
        except (KeyError, TypeError, ValueError) as error:
            raise self._wrong("no list of embeddings") from error
        if len(rows) != expected:
            raise self._wrong(f"{len(rows)} vectors for {expected} texts")
        return rows

    def _wrong(self, what: str) -> EmbeddingError:
        return EmbeddingError(f"the embedding server {self._shown} answered with {what}; is it OpenAI-compatible?")


def _is_passing(error: Exception) -> bool:
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in _RETRIED
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)
