"""Whole entities as our files store them: compressed JSON, which carries a checksum. And what was read last, in memory."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from lorekeeper.cache.sqlite.file import DamagedFileError
from lorekeeper.entities import Entity, canonical_json, parse_json

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_UNPACKED_BYTES = 256 << 20
"""Largest entry that is read from a library of ours: earlier versions stored larger ones than `MAX_RECORD_BYTES`."""


def pack(entity: Entity) -> bytes:
    """A whole entity as compressed JSON, which carries a checksum."""
    return zlib.compress(canonical_json(entity.as_record()).encode("utf-8"), 1)


def unpack(entity_type: str, record: bytes) -> Entity:
    """The entity of `pack`; DamagedFileError if the bytes are not what was packed."""
    try:
        return Entity.from_record(entity_type, parse_json(unpacked(record)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFileError(f"an entry of {entity_type} is damaged ({error})") from error


def unpacked(record: object, limit: int = MAX_UNPACKED_BYTES) -> bytes:
    """The JSON that `pack` has compressed; ValueError if it is invalid, or longer than ``limit`` bytes."""
    if not isinstance(record, bytes):
        raise ValueError("it is not compressed JSON")
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(record, limit + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(content) > limit:
        raise ValueError(f"it has more than {limit:,} bytes")
    if not stream.eof:
        raise ValueError("it is truncated")
    return content


class Recent(Generic[K, V]):
    """Values by key, of which those that were not asked for longest give way to others.

    Args:
        most: the size of all values together.
        size: that of one value.
    """

    def __init__(self, most: int, size: Callable[[V], int] = lambda _: 1) -> None:
        self._most, self._size = most, size
        self._held = 0
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of a key, None if it is not held."""
        if key not in self._values:
            return None
        self._values[key] = value = self._values.pop(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Hold the value of a key that is not held."""
        self._values[key] = value
        self._held += self._size(value)
        while self._held > self._most:
            self._held -= self._size(self._values.pop(next(iter(self._values))))
