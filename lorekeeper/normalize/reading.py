"""Objects of sources, in which every value may be missing or of another type than expected: read by paths, put
into words, and joined."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lorekeeper.records import values

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Reading(Protocol[T_co]):
    """Reads values as of one type; what cannot be read so gives nothing: None, "", an empty list or object."""

    def __call__(self, value: object, *paths: str) -> T_co:
        """The value itself, or the first at these paths within it that gives anything; the keys of a path have dots between."""


def by_path(read: Callable[[object], T]) -> Reading[T]:
    """A way of reading a value, for values at paths too."""
    nothing = read(None)

    def reading(value: object, *paths: str) -> T:
        found = (read(at(value, path)) for path in paths) if paths else (read(value),)
        return next((each for each in found if each != nothing), nothing)

    return reading


def at(value: object, path: str) -> object:
    """The value at a path with dots, None if there is none."""
    for key in path.split("."):
        value = values.mapping(value).get(key)
    return value


mapping = by_path(values.mapping)
"""Objects."""


def paragraphs(*texts: str) -> str:
    """Texts as paragraphs."""
    return "\n\n".join(filter(None, texts))


def commas(*words: str) -> str:
    """Words with commas."""
    return ", ".join(filter(None, words))


def spaced(*words: str) -> str:
    """Words behind each other."""
    return " ".join(filter(None, words))


def strings(value: object) -> Iterator[str]:
    """All texts in a value, which is not nested deeply."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from strings(each)


class Words:
    """The tables of the file ``words.toml`` beside a module: what codes of a format stand for, and what its keys are called."""

    def __init__(self, module: str) -> None:
        self._path = Path(module).with_name("words.toml")

    @cached_property
    def _tables(self) -> dict[str, dict[str, Any]]:
        return tomllib.loads(self._path.read_text("utf-8"))

    def __getitem__(self, table: str) -> dict[str, Any]:
        return self._tables[table]

    def __call__(self, table: str, code: str, other: str | None = None) -> str:
        """What a code stands for in a table; where it is not there, itself or something else."""
        return str(self[table].get(code, code if other is None else other))
