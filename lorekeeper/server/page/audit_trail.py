"""Which entries a page shows, for whoever records the request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass

from starlette.requests import Request

from lorekeeper.entities import Entity
from lorekeeper.search.results import Result, ResultPage
from lorekeeper.server.exchange import SCHEME, Exchange
from lorekeeper.server.recording import EXCHANGE

MAX_DEPTH = 8
"""How deep what a template gets is searched."""


def note(request: Request, values: Mapping[str, object]) -> None:
    """Tell who records a request which entries are in the values of its template; ``page`` has the results of a search."""
    exchange, page = request.scope.get(EXCHANGE), values.get("page")
    if not isinstance(exchange, Exchange):
        return
    exchange.uris = list(dict.fromkeys(_uris(values, MAX_DEPTH)))
    exchange.results = len(page.results) if isinstance(page, ResultPage) else len(exchange.uris)
    exchange.mode = page.mode if isinstance(page, ResultPage) else ""


def _uris(value: object, depth: int) -> Iterator[str]:
    """The uris of entries in a value: of entries themselves, and what is called so in other objects."""
    if isinstance(value, Entity):
        yield value.uri
    elif isinstance(value, Result):
        yield value.entity.uri
    elif isinstance(value, ResultPage):  # it also has the keys of all results of other pages
        yield from (result.entity.uri for result in value.results)
    elif depth and isinstance(value, Mapping):
        for name, each in value.items():
            yield from _named(name, each, depth)
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from _uris(each, depth - 1)
    elif depth and is_dataclass(value):
        for field in fields(value):
            yield from _named(field.name, getattr(value, field.name), depth)


def _named(name: object, value: object, depth: int) -> Iterator[str]:
    if name == "uri" and isinstance(value, str) and value.startswith(SCHEME):
        yield value
    else:
        yield from _uris(value, depth - 1)
