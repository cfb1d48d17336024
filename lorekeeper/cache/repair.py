"""Damage to a library: found by reading everything, repaired by rebuilding the library from all that can still be read."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from lorekeeper.cache.formats import Normalized, OlderLibraryError, declared, upgraded
from lorekeeper.cache.protocol import Identity
from lorekeeper.cache.store import Store
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError

REPAIRED = ".repaired"
"""Suffix of a library that is being built to take the place of a damaged one."""

ADVICE = "Run 'lorekeeper repair': it moves the library aside and keeps everything that can still be read"
"""What to do about a damaged library."""

Salvage = dict[str, list[Entity]]
"""Entities that can still be read, by type."""


class RepairBackend:
    """How a backend examines and rebuilds one of its libraries. All methods block and may raise CacheError.

    Of a library that is elsewhere, which `exclusive` refuses, nothing is rebuilt.
    """

    _path: Path

    def _named(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)

    def problems(self, entity_type: str) -> list[str]:
        """What is wrong with a type, in sentences; reads all of it and changes nothing. OlderLibraryError for an earlier format."""
        raise NotImplementedError

    def fix(self) -> list[str]:
        """Put right what can be put right from what is sound, without building the library again; what was done, in sentences."""
        raise NotImplementedError

    def exclusive(self) -> AbstractContextManager[None]:
        """Keep other writers out; CacheError if another process has to end first."""
        raise NotImplementedError

    def salvage(self) -> Salvage:
        """All that can still be read, each entity once, as it was stored last."""
        raise NotImplementedError

    def fields(self) -> Mapping[str, str]:
        """The filter fields with which that was stored, as `declared` writes them, by type, as far as they are known."""
        raise NotImplementedError

    def new_store(self) -> Store:
        """An empty library beside the damaged one."""
        raise NotImplementedError

    def promote(self, suffix: str) -> Path:
        """Put the library of `new_store` in place of the damaged one, which is renamed with a suffix; its new path."""
        raise NotImplementedError


def nothing_readable(path: Path, companion: Path | None = None) -> CacheError:
    """The error for a library nothing of which can be read any more."""
    together = f"{path} and {companion}" if companion else str(path)
    return CacheError(
        f"nothing in {path} can be read any more; it was not changed. Move {together} away and run 'lorekeeper restore' with "
        "a backup, or import again"
    )


def merged(entity_type: str, *copies: Sequence[Entity]) -> list[Entity]:
    """Entities of several copies, each once, in the order of their identities; the first copy that has one wins."""
    entities = {e.identity: e for copy in reversed(copies) for e in copy if e.type == entity_type}
    return [entities[identity] for identity in sorted(entities)]


def differences(hashes: Mapping[Identity, str], entities: Sequence[Entity]) -> list[str]:
    """How entities differ from those whose content hashes were noted, in sentences."""
    actual = {e.identity: e.content_hash for e in entities}
    missing, extra = len(hashes.keys() - actual.keys()), len(actual.keys() - hashes.keys())
    changed = sum(actual[identity] != digest for identity, digest in hashes.items() if identity in actual)
    counts = [(missing, "are missing"), (extra, "should not be there"), (changed, "are not as they were stored")]
    return [f"{number:,} entries {what}" for number, what in counts if number]


class Problems(dict[str, list[str]]):
    """What is wrong with a library, in sentences, by type; types without problems are missing.

    Attributes:
        damaged: whether anything is damaged, and not only of an earlier format.
    """

    damaged = False

    def suffix(self, path: Path) -> str:
        """Suffix of the library at a path that is replaced now, under which nothing is yet, whatever the clock says."""
        now = time.strftime(f".{'damaged' if self.damaged else 'earlier'}-%Y-%m-%d-%H%M%S")
        taken = {file.name for file in path.parent.iterdir()}
        suffixes = itertools.chain([now], (f"{now}-{number}" for number in itertools.count(2)))
        return next(suffix for suffix in suffixes if not any(name.startswith(path.name + suffix) for name in taken))

    def by_sentence(self) -> dict[str, list[str]]:
        """The types by what is wrong with them: a format is that of all."""
        types: dict[str, list[str]] = {}
        for entity_type, sentences in self.items():
            for sentence in sentences:
                types.setdefault(sentence, []).append(entity_type)
        return types


def examine(backend: RepairBackend) -> Problems:
    """The problems of every type that has some."""
    found = Problems()
    for entity_type in COLLECTIONS:
        try:
            sentences = backend.problems(entity_type)
            found.damaged |= bool(sentences)
        except OlderLibraryError as error:
            sentences = [str(error)]
        if sentences:
            found[entity_type] = sentences
    return found


def renewed(backend: RepairBackend, normalized: Normalized) -> Salvage:
    """What can still be read, with the filter values that the current declarations require."""
    salvage, earlier = backend.salvage(), backend.fields()
    for entity_type, entities in salvage.items():
        columns = earlier.get(entity_type, declared(COLLECTIONS[entity_type]))
        salvage[entity_type] = [upgraded(entity, columns, normalized) for entity in entities]
    return salvage
