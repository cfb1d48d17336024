"""What is kept in memory of each type, as long as the type does not change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """One thing of each type, in the state in which the type was when it was read; not safe in several threads."""

    def __init__(self) -> None:
        self._by_type: dict[str, tuple[object, T]] = {}

    def of(self, entity_type: str, version: object, read: Callable[[], T]) -> T:
        """That of a type in one state: what is kept, or what ``read`` returns if it is of another state."""
        known = self._by_type.get(entity_type)
        if known is None or known[0] != version:
            self._by_type[entity_type] = known = version, read()
        return known[1]
