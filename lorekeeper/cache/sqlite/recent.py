"""What was read last stays in memory, up to a size."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


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
