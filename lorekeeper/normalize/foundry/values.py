"""Reading objects of Foundry VTT, in which every value may be missing or of another type than expected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lorekeeper.records import values
from lorekeeper.records.values import mapping as mapping

Object = Mapping[str, object]

MAX_ITEMS = 2_000
"""Most items of a list, or keys of an object, that are read."""

LARGEST = 10**9
"""Largest number that is believed."""


def items(value: object) -> list[object]:
    """The items of a list, or the values of an object."""
    if isinstance(value, Mapping):
        value = list(value.values())
    return value[:MAX_ITEMS] if isinstance(value, list) else []


def objects(value: object) -> list[Object]:
    """The objects in a list, or among the values of an object."""
    return [item for item in items(value) if isinstance(item, Mapping)]


def at(value: object, path: str) -> object:
    """The value at a path with dots, None if there is none."""
    for key in path.split("."):
        value = mapping(value).get(key)
    return value


def text(value: object) -> str:
    """A text, or a number as one; "" for anything else."""
    if isinstance(value, str):
        return " ".join(value.replace("\u00ad", "").split())
    found = number(value)
    return "" if found is None else f"{found:g}"


def texts(value: object) -> list[str]:
    """The texts of a list; the parts of one text that semicolons divide."""
    found = value.split(";") if isinstance(value, str) else items(value)
    return [told for item in found if (told := text(item))]


def first_text(value: object, *paths: str) -> str:
    """The first text at one of these paths, "" for none."""
    return next((told for path in paths if (told := text(at(value, path)))), "")


def number(value: object) -> float | None:
    """A number, also as a text; None for anything else, and for what is no number or too large."""
    found = values.number(value)
    return found if found is not None and abs(found) <= LARGEST else None


def whole(value: object) -> int | None:
    """A whole number, as `number`."""
    found = number(value)
    return None if found is None or found != int(found) else int(found)


plain = values.whole


def first_number(value: object, *paths: str) -> float | None:
    """The first number at one of these paths."""
    return next((found for path in paths if (found := number(at(value, path))) is not None), None)


def pairs(value: object) -> Iterator[tuple[str, Object]]:
    """The objects in an object, by key."""
    for key, item in list(mapping(value).items())[:MAX_ITEMS]:
        if isinstance(item, Mapping):
            yield str(key), item
