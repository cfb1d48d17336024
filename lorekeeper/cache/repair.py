"""Damage: found by looking at everything, and undone by building the library anew from all that can still be read."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from lorekeeper.cache.store import Store
from lorekeeper.entities import COLLECTIONS, Entity

REPAIRED = ".repaired"
"""Suffix of a library that is being built to take the place of a damaged one."""

Salvage = dict[str, list[Entity]]
"""What can still be read, by type."""


class Workshop(Protocol):
    """What a backend does about damage to its library. All methods block and may raise CacheError."""

    def problems(self, entity_type: str) -> list[str]:
        """What is wrong with a type, in sentences; reads all of it and changes nothing."""
        ...

    def held(self) -> AbstractContextManager[None]:
        """Keep everybody else from writing; CacheError where another process has to end first."""
        ...

    def salvage(self) -> Salvage:
        """All that can still be read, each entity once, as it was stored last."""
        ...

    def fresh(self) -> Store:
        """An empty library beside the damaged one."""
        ...

    def exchange(self, suffix: str) -> Path:
        """Put the damaged library aside under its name with a suffix, and `fresh`'s in its place; where it is now."""
        ...

    def close(self) -> None:
        """Let go of the library."""
        ...


def damaged_suffix() -> str:
    """What is appended to the name of a library that was put aside today."""
    return time.strftime(".damaged-%Y-%m-%d-%H%M%S")


def merged(entity_type: str, *sides: Sequence[Entity]) -> list[Entity]:
    """Entities of several sides, each once, in the order of their identities; the first side that has one is believed."""
    found = {e.identity: e for side in reversed(sides) for e in side if e.type == entity_type}
    return [found[identity] for identity in sorted(found)]


def differences(hashes: Mapping[tuple[str, str], str], entities: Sequence[Entity]) -> list[str]:
    """In which way entities are not those whose hashes were noted; nothing where they are."""
    found = {e.identity: e.content_hash for e in entities}
    lost, extra = len(hashes.keys() - found.keys()), len(found.keys() - hashes.keys())
    other = sum(found[identity] != noted for identity, noted in hashes.items() if identity in found)
    said = [(lost, "are missing"), (extra, "should not be there"), (other, "are not as they were stored")]
    return [f"{number:,} entries {what}" for number, what in said if number]


def examine(workshop: Workshop) -> dict[str, list[str]]:
    """The problems of every type that has some."""
    found = {entity_type: workshop.problems(entity_type) for entity_type in COLLECTIONS}
    return {entity_type: problems for entity_type, problems in found.items() if problems}
