"""The http provider: any OpenAI-compatible embedding server (OpenAI, TEI, Infinity, Ollama)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import stamina

from lorekeeper.addresses import is_local, shown_address
from lorekeeper.embedding.families import family_of
from lorekeeper.embedding.protocol import NO_PREFIXES, Prefixes, Vectors, check_finite, normalized
from lorekeeper.errors import EmbeddingError
from lorekeeper.printable import shown

if TYPE_CHECKING:
    from lorekeeper.settings import Settings

TIMEOUT_SECONDS = 30.0
ATTEMPTS = 4

_RETRIED = (408, 429, 500, 502, 503, 504)


class HttpProvider:
    """Vectors from ``POST {url}/embeddings`` with ``{"model", "input"}``; retried while the server is busy.

    Such a server does not know queries from passages: the prefixes that the model expects are put before them here.

    The response is described in https://platform.openai.com/docs/api-reference/embeddings/object
    """

    name = "http"

    def __init__(
        self,
        url: str,
        model: str,
        api_key: str | None = None,
        *,
        prefixes: Prefixes = NO_PREFIXES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._url = url.rstrip("/").removesuffix("/embeddings") + "/embeddings"
        self._shown = shown_address(self._url)
        self._model = model
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        direct = (
            {"http://": None, "https://": None} if is_local(url) else None
        )  # not through a proxy on another machine
        self._client = httpx.Client(headers=headers, timeout=TIMEOUT_SECONDS, transport=transport, mounts=direct)
        self.prefixes = prefixes
        self.fingerprint = f"http {model}{prefixes.mark}"
        self.dimension = 0
        self.dimension = self.embed(["dimension"]).shape[1]

    def embed(self, texts: Sequence[str]) -> Vectors:
        return self._vectors(self.prefixes.of_passages(texts))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self._vectors(self.prefixes.of_queries(texts))

    def _vectors(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        rows = self._rows(self._post({"model": self._model, "input": texts}), len(texts))
        try:
            vectors = np.asarray(rows, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise self._invalid("vectors of unequal length, or not of numbers") from error
        if vectors.ndim != 2 or not vectors.shape[1] or vectors.shape[1] != (self.dimension or vectors.shape[1]):
            raise self._invalid(f"vectors of shape {vectors.shape}, not of dimension {self.dimension}")
        if not check_finite(vectors):
            raise self._invalid("vectors with NaN or infinities")
        return normalized(vectors)

    def _post(self, body: dict[str, Any]) -> Any:
        try:
            for attempt in stamina.retry_context(on=_is_transient, attempts=ATTEMPTS, timeout=None):
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
            raise self._invalid("something that is not JSON") from error

    def _rows(self, response: Any, expected: int) -> list[Any]:
        """The embeddings of a response in the order of their texts."""
        try:
            by_index = {int(item["index"]): item["embedding"] for item in response["data"]}
        except (KeyError, TypeError, ValueError) as error:
            raise self._invalid("no list of embeddings") from error
        if len(by_index) != expected:
            raise self._invalid(f"{len(by_index)} vectors for {expected} texts")
        return [by_index[index] for index in sorted(by_index)]

    def _invalid(self, what: str) -> EmbeddingError:
        return EmbeddingError(f"the embedding server {self._shown} answered with {what}; is it OpenAI-compatible?")


def load(settings: Settings) -> HttpProvider:
    """The provider with the server of the settings. Blocking; EmbeddingError if it does not answer.

    Raises:
        ConfigError: the settings forbid to connect to it.
    """
    settings.require_local("embedding_url")
    family = family_of(settings.embedding_model)
    prefixes = (family.prefixes if family else NO_PREFIXES).replaced(settings.query_prefix, settings.passage_prefix)
    url, model = settings.embedding_url or "", settings.embedding_model
    return HttpProvider(url, model, settings.embedding_api_key, prefixes=prefixes)


def _is_transient(error: Exception) -> bool:
    """Whether the same request may succeed a little later."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in _RETRIED
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.UnsupportedProtocol)
