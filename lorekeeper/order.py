"""Orders of entities: what may be asked for, and one sort for every backend."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeVar

from lorekeeper.entities import COLLECTIONS, Collection, Entity, Field
from lorekeeper.errors import FilterError
from lorekeeper.filters import named_field, unknown_name

T = TypeVar("T")

RELEVANCE, NEWEST, RANDOM, TYPE, BOOK, EDITION = "relevance", "newest", "random", "type", "book", "edition"
"""The orders that are neither by name nor by a number."""

BY_DOCUMENT = (NEWEST, BOOK, EDITION)
"""Those of them that the documents decide: the date of publication, the title, and the edition with the title."""

TYPED = {"creatures": "type", "spells": "school"}
"""Of each type the field that says more than the kind, which all its entries share."""

KIND = "kind_name"
"""The column of stores that has the kind."""

NO_DOCUMENTS: Mapping[str, Sequence[str]] = MappingProxyType({})

SHORT = ("level", "cr", "ac", "hp", "cost")
"""The orders by a number that are listed in help; every other number field is one too, by any of its names."""

ASCENDING = frozenset({"level", "cost", "weight"})
"""Fields that are sorted from the smallest number up unless the order says ``desc``; the others from the largest down."""

STATED = ("session_date", "dated")
"""The fields that have a date which the entry itself states."""

MOMENTS = (*STATED, "modified")
"""The fields that say when something happened or changed, the first that has a value: that of the file is last."""

NUMBER = "session"
"""The field that says it among those of one document that have no date of their session."""

WORLD = "world_date"
"""The field that says it among those of one document that state no date of our calendar, and have no number."""

_DIRECTIONS = {"asc": False, "desc": True}


@dataclass(frozen=True)
class Order:
    """An order of the entities of one type; those that are equal in it are in the order of their names.

    Attributes:
        field: the number to sort by, entities without it last; None for another order.
        descending: whether the largest number, or the last name, comes first.
        seed: of a random order: the same order for the same seed, in every process and on every page.
        documents: keys of documents whose entities come first, in this order; those of others are last.
        newest: whether what happened or changed last comes first, by `MOMENTS`.
        texts: names of the texts to sort by, the kind first; entities without one last.
    """

    field: Field | None = None
    descending: bool = False
    seed: int | None = None
    documents: tuple[str, ...] = ()
    newest: bool = False
    texts: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields whose values decide."""
        if self.newest:
            return (*MOMENTS, NUMBER, WORLD)
        if self.texts:
            return self.texts
        return (self.field.name,) if self.field else ()


BY_NAME = Order()


def order_names(collection: Collection) -> list[str]:
    """The names of orders that help lists for a collection."""
    numbers = [name for name in SHORT if _number(collection, name)]
    return ["name", *numbers, NEWEST, RANDOM]


def parse_orders(
    types: Sequence[str],
    text: str | None,
    *,
    seed: int | None = None,
    documents: Mapping[str, Sequence[str]] = NO_DOCUMENTS,
) -> dict[str, Order] | None:
    """The order that a text names, for each type; None for `RELEVANCE`, and if there is no text.

    A text is "name", "type" (the kind, of creatures also their type, of spells their school), "book", "edition", "newest",
    "random" or a number field by any of its names, as "cr" or "speed.fly", with "asc" or "desc" after it to say in which
    direction; a minus sign before it is "desc". Types that do not have the field are ordered by name.

    Args:
        types: the entity types.
        text: "cr", "cost desc", ...
        seed: for "random"; 0 if it is None.
        documents: keys of documents in the order that each of `BY_DOCUMENT` puts them in.

    Raises:
        FilterError: no type has an order of this name; the message lists those there are, or the types that have it.
    """
    name, *direction = (text or "").casefold().split() or [RELEVANCE]
    if name.startswith("-"):
        name, direction = name[1:], ["desc", *direction]
    if name == RELEVANCE and not direction:
        return None
    if len(direction) > 1 or not set(direction) <= _DIRECTIONS.keys():
        raise FilterError("order is one name, with asc or desc after it if need be, for example 'cost desc'")
    if name == RANDOM:
        return dict.fromkeys(types, Order(seed=seed or 0))
    keys = tuple(documents.get(name, ()))
    if name == NEWEST:
        return {t: _newest(COLLECTIONS[t], keys) for t in types}
    reverse = _DIRECTIONS[direction[0]] if direction else None
    if name in BY_DOCUMENT:
        return dict.fromkeys(types, Order(documents=keys[::-1] if reverse else keys))
    if name == TYPE:
        return {t: Order(descending=bool(reverse), texts=texts_of_type(t)) for t in types}
    if name == "name":
        return dict.fromkeys(types, Order(descending=bool(reverse)))
    fields = {t: field for t in types if (field := _number(COLLECTIONS[t], name))}
    if not fields:
        raise FilterError(_unknown(types, name))
    orders = {t: Order(f, f.name not in ASCENDING if reverse is None else reverse) for t, f in fields.items()}
    return {t: orders.get(t, BY_NAME) for t in types}


def arranged(
    items: Iterable[T],
    order: Order,
    *,
    identity: Callable[[T], tuple[str, str]],
    number: Callable[[T, str], float | None],
    text: Callable[[T, str], str],
) -> list[T]:
    """Items in an order.

    Args:
        items: by name.
        order: of them.
        identity: (document, slug) of an item.
        number: its value of a field of the order (`Order.fields`).
        text: its text of such a field; "" if it has none.
    """
    if order.seed is not None:
        return sorted(items, key=lambda item: _drawn(order.seed, identity(item)))
    if order.documents:
        places = {key: place for place, key in enumerate(order.documents)}
        return sorted(items, key=lambda item: places.get(identity(item)[0], len(places)))
    if order.newest:
        return _newest_first(list(items), identity, number)
    if order.texts:
        return _by_text(items, order, text)
    if order.field is None:
        return list(items)[:: -1 if order.descending else 1]
    return _by_number(items, order.field.name, number, descending=order.descending)


def _newest(collection: Collection, documents: Sequence[str]) -> Order:
    """The order of the newest entries: of their documents, unless they say themselves when they are from."""
    if set(MOMENTS) <= collection.filters.keys():
        return Order(newest=True)
    return Order(documents=tuple(documents))


def _newest_first(
    items: Sequence[T], identity: Callable[[T], tuple[str, str]], number: Callable[[T, str], float | None]
) -> list[T]:
    """Items by their moments, the last one first.

    Of a document's items, those that have a number and no date of a session are as old as the one with a date that has the next
    number; where none has a date they take their places by number, and those that have only a date in their world by that.
    """
    dated: dict[str, list[tuple[float, float]]] = {}
    for item in items:
        if (count := number(item, NUMBER)) is not None and (day := number(item, STATED[0])) is not None:
            dated.setdefault(identity(item)[0], []).append((count, day))

    def moment(item: T) -> tuple[float, float]:
        count, days = number(item, NUMBER), sorted(dated.get(identity(item)[0], ()))
        if count is not None and days and number(item, STATED[0]) is None:
            return next((day for each, day in days if each >= count), days[-1][1]), count
        known = next((known for name in MOMENTS if (known := number(item, name)) is not None), float("-inf"))
        return known, float("-inf") if count is None else count

    ordered = sorted(items, key=moment, reverse=True)
    places: dict[tuple[str, str], list[int]] = {}
    for place, item in enumerate(ordered):
        if (field := _without_date(item, number)) and not (field == NUMBER and identity(item)[0] in dated):
            places.setdefault((field, identity(item)[0]), []).append(place)
    for (field, _), own in places.items():
        among = [ordered[place] for place in own]
        for place, item in zip(own, _by_number(among, field, number, descending=True), strict=True):
            ordered[place] = item
    return ordered


def _without_date(item: T, number: Callable[[T, str], float | None]) -> str:
    """The field that orders an item among its document's, where no date of ours does; "" for none."""
    if number(item, NUMBER) is not None:
        return NUMBER if number(item, STATED[0]) is None else ""
    return WORLD if number(item, WORLD) is not None and all(number(item, name) is None for name in STATED) else ""


def _by_number(items: Iterable[T], name: str, number: Callable[[T, str], float | None], *, descending: bool) -> list[T]:
    """Items by a field, those without a value last."""
    numbers = [(number(item, name), item) for item in items]
    known = [(value, item) for value, item in numbers if value is not None]
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return [item for _, item in known] + [item for value, item in numbers if value is None]


def _by_text(items: Iterable[T], order: Order, text: Callable[[T, str], str]) -> list[T]:
    """Items by their texts; each of a later text only among those that have the same before it."""
    found = list(items)
    for name in reversed(order.texts):
        texts = [(text(item, name), item) for item in found]
        known = sorted((pair for pair in texts if pair[0]), key=lambda pair: pair[0], reverse=order.descending)
        found = [item for _, item in known] + [item for value, item in texts if not value]
    return found


def texts_of_type(entity_type: str) -> tuple[str, ...]:
    """What says of which type an entry is: its kind, and for some types a field."""
    return (KIND, TYPED[entity_type]) if entity_type in TYPED else (KIND,)


def text_of(entity: Entity, name: str) -> str:
    """The text that an entity has in a field, several in one line; "" if it has none."""
    value = entity.kind if name == KIND else entity.fields.get(name)
    return as_text(value)


def as_text(value: object) -> str:
    """A stored text or several, in one line; "" for none."""
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    return value if isinstance(value, str) else ""


def number_of(entity: Entity, name: str) -> float | None:
    """The number or date that an entity has in a field; None if it has none."""
    value = entity.fields.get(name)
    return value if isinstance(value, (int, float)) else None


def _number(collection: Collection, name: str) -> Field | None:
    """The number field that people call so."""
    field = named_field(collection, name)
    return field if field and field.type.ordered else None


def _drawn(seed: int | None, identity: tuple[str, str]) -> bytes:
    """What an entity draws in a random order: the same everywhere, unlike the numbers of `random`."""
    return hashlib.blake2b("\0".join((str(seed), *identity)).encode(), digest_size=8).digest()


def _unknown(types: Sequence[str], name: str) -> str:
    owners = [t for t, collection in COLLECTIONS.items() if _number(collection, name)]
    if owners and len(types) == 1:
        return f"{name} is an order of {' and '.join(owners)}, not of {types[0]}"
    if owners:
        return f"{name} is an order of {' and '.join(owners)}: search these types alone, with types={owners}"
    known = dict.fromkeys(known for t in types for known in order_names(COLLECTIONS[t]))
    return unknown_name(name, [RELEVANCE, *known, TYPE, BOOK, EDITION], "order")
