"""Reranking: a server that reads a query together with each of the best hits puts these in another order.

Such servers answer ``POST .../rerank`` in one of two shapes, which are told apart by trying:

- text-embeddings-inference (TEI): ``{"query", "texts"}`` to ``[{"index", "score"}, ...]``,
  https://huggingface.github.io/text-embeddings-inference
- Infinity, Jina, Cohere, vLLM: ``{"model", "query", "documents"}`` to ``{"results": [{"index", "relevance_score"}, ...]}``,
  https://docs.cohere.com/reference/rerank

Nothing depends on the server: without a usable answer in time the order stays, and a note says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeGuard

import httpx

from lorekeeper.addresses import is_local, shown_address
from lorekeeper.cache.protocol import Ranked
from lorekeeper.cache.snapshot import apart, outside
from lorekeeper.entities import Entity, parse_json
from lorekeeper.search.fusion import FusedHit
from lorekeeper.search.results import Key
from lorekeeper.text.passages import passages

logger = logging.getLogger(__name__)

RERANKED = 32
"""How many of the best hits are sent: as many as TEI takes at once by default. The head is the same for all pages."""

TIMEOUT_SECONDS = 2.0
"""For the whole answer, both shapes tried."""

MAX_BYTES = 1 << 18
"""Largest answer; some servers send the texts back."""

MAX_SCORE = 1e9
"""No model's score is as large."""

ANSWERS_KEPT = 64
"""Answers that are cached, so that the pages of a search have one order."""

_SHAPES = ("texts", "documents")
"""What the two shapes call the texts."""

_FINAL = (401, 403, 408, 429)
"""Refusals that have nothing to do with the shape."""

_SETTINGS = "LOREKEEPER_RERANK_URL, LOREKEEPER_RERANK_MODEL and LOREKEEPER_RERANK_API_KEY"

Hits = list[FusedHit[Key]]
LoadEntities = Callable[[Sequence[FusedHit[Key]]], Awaitable[Mapping[Key, Entity]]]


class RerankError(Exception):
    """There is no usable answer; the message ends the note about it."""


class UnreachableError(RerankError):
    """There is no answer at all."""


class Reranker:
    """A client of a server that reranks.

    Args:
        url: its address, with or without ``/rerank``.
        model: the model to name in requests; None where the server has one only.
        api_key: sent as a bearer token.
    """

    def __init__(self, url: str, model: str | None = None, api_key: str | None = None) -> None:
        self._url = url.rstrip("/").removesuffix("/rerank") + "/rerank"
        self._model = model
        self._api_key = api_key
        self._shapes: Sequence[str] = _SHAPES[::-1] if model else _SHAPES
        self._client: httpx.AsyncClient | None = None
        self._answers: OrderedDict[tuple[str, ...], list[float]] = OrderedDict()

    async def reordered(
        self, query: str, hits: Hits, ranked: Mapping[Key, Ranked], load: LoadEntities
    ) -> tuple[Hits, str | None]:
        """Hits with the first `RERANKED` in the server's order, and None; or as they are, and a note that says why.

        Scores stay with the places: they fall with the rank, as before.

        Args:
            query: what is searched for.
            hits: best first.
            ranked: the places of all hits in any ranking, some with the passage nearest to the query.
            load: gives the entities of hits, for those without a passage.
        """
        head = hits[:RERANKED]
        if len(head) < 2:
            return hits, None
        try:
            texts = await _texts(head, ranked, load)
            scores = await outside(lambda: self.scores(query, texts))
        except RerankError as error:
            logger.info("the reranker is not used: %s", error)
            what = "could not be reached" if isinstance(error, UnreachableError) else "gave no usable answer"
            return hits, f"The reranker at {shown_address(self._url)} {what}, so its order was not used: {error}."
        order = sorted(range(len(head)), key=lambda i: -scores[i])
        moved = [head[i]._replace(score=place.score, sure=place.sure) for i, place in zip(order, head, strict=True)]
        return moved + hits[RERANKED:], None

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """How well each text answers a query: higher is better, on the server's own scale.

        Raises:
            RerankError: there is no usable answer in time.
        """
        asked = (query, *texts)
        if asked not in self._answers:
            self._answers[asked] = _scores(await self._answer(query, texts), len(texts))
            if len(self._answers) > ANSWERS_KEPT:
                self._answers.popitem(last=False)
        return self._answers[asked]

    async def close(self) -> None:
        """Close its connections; it can be used again."""
        client, self._client = self._client, None
        if client:
            await client.aclose()

    async def _answer(self, query: str, texts: Sequence[str]) -> object:
        """The answer in the shape that the server takes, the last successful one first."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                content = await self._content(query, texts)
        except TimeoutError:
            raise UnreachableError(f"no answer within {TIMEOUT_SECONDS:g} seconds") from None
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:  # ValueError: a key that is not ASCII
            raise UnreachableError(f"{type(error).__name__}; check {_SETTINGS}") from error
        try:
            return parse_json(content)
        except ValueError as error:
            raise RerankError("the answer is not JSON") from error

    async def _content(self, query: str, texts: Sequence[str]) -> bytes:
        refusals: list[str] = []
        for shape in self._shapes:
            status, content = await self._post(self._body(shape, query, texts))
            if status == httpx.codes.OK:
                self._shapes = (shape, *(other for other in _SHAPES if other != shape))
                return content
            refusals.append(str(status))
            if not 400 <= status < 500 or status in _FINAL:
                break
        raise RerankError(f"it answered {' and '.join(refusals)}; check {_SETTINGS}")

    def _body(self, shape: str, query: str, texts: Sequence[str]) -> dict[str, object]:
        body: dict[str, object] = {"query": query, shape: list(texts)}
        if shape == "texts":
            return body | {"truncate": True}
        return body | ({"model": self._model} if self._model else {})

    async def _post(self, body: Mapping[str, object]) -> tuple[int, bytes]:
        """Status and content of an answer; the content of another status than 200 is not read."""
        if self._client is None:
            self._client = await asyncio.to_thread(self._connected)  # it reads certificates
        content = bytearray()
        async with self._client.stream("POST", self._url, json=body) as response:
            if response.status_code != httpx.codes.OK:
                return response.status_code, b""
            if response.headers.get("Content-Encoding", "identity") != "identity":
                raise RerankError("the answer is compressed, which was not requested")
            async for part in response.aiter_raw():
                content += part
                if len(content) > MAX_BYTES:
                    raise RerankError(f"the answer is longer than {MAX_BYTES >> 10} KB")
        return response.status_code, bytes(content)

    def _connected(self) -> httpx.AsyncClient:
        headers = {"Accept-Encoding": "identity"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        direct = {"http://": None, "https://": None} if is_local(self._url) else None  # no proxy on another machine
        return httpx.AsyncClient(headers=headers, timeout=TIMEOUT_SECONDS, mounts=direct)


async def _texts(hits: Sequence[FusedHit[Key]], ranked: Mapping[Key, Ranked], load: LoadEntities) -> list[str]:
    """The name of each hit, and its passage nearest to the query, or its first one if that is not known."""
    known = {hit.key: place.passage for hit in hits if (place := ranked.get(hit.key)) and place.passage}
    entities = await load([hit for hit in hits if hit.key not in known])
    first = await apart(lambda: {key: passages(entity)[0].text for key, entity in entities.items()})
    return [f"{ranked[hit.key].name}: {known.get(hit.key) or first.get(hit.key, '')}" for hit in hits]


def _scores(answer: object, number: int) -> list[float]:
    """The scores of an answer in the order of the texts; RerankError unless it has one for each of them."""
    listed = answer.get("results") if isinstance(answer, dict) else answer
    if not isinstance(listed, list) or len(listed) != number:
        raise RerankError(f"the answer is not a list of {number} scores")
    scores = dict(_indexed_score(item) for item in listed)
    if scores.keys() != set(range(number)):
        raise RerankError(f"the answer does not have a score for each of {number} texts")
    return [scores[index] for index in range(number)]


def _indexed_score(item: object) -> tuple[int, float]:
    fields: dict[str, object] = item if isinstance(item, dict) else {}
    index, score = fields.get("index"), fields.get("relevance_score", fields.get("score"))
    if not _is_number(index) or not _is_number(score) or not isinstance(index, int):
        raise RerankError("the answer has an index or a score that is not a number")
    return index, float(score)


def _is_number(value: object) -> TypeGuard[int | float]:
    """Whether a JSON value is a number that a score may be: NaN and infinities are not."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_SCORE
