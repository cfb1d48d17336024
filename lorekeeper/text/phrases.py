"""Phrases that people search for entries by, shipped with the package: plain descriptions and players' words.

The starter compendium and the rules of 2024 have those of the SRDs, a folder of phrases those of other books that Open5e
publishes. They are searched with the entries of the same name and type in every book, and never shown as their text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.text.names import base_name

STARTER = Path(__file__).parent.parent / "data" / "starter"
"""The starter compendium: one file per collection, one entry per line."""

PHRASES = STARTER.with_name("phrases")
"""Phrases for entries that the starter does not have: one file per collection, one name per line."""

SHIPPED_VECTORS = STARTER.with_name("starter.npz")
"""Vectors of the starter's passages with the default model, made by `scripts/build_starter_vectors.py`."""

STARTER_2024 = STARTER.with_name("starter-2024")
"""Creatures and spells of the rules of 2024, which stand in for the SRD 5.2 as the starter does for the SRD 5.1."""

RULES_2024 = STARTER.with_name("rules-2024")
"""The rules glossary and the gameplay toolbox of the SRD 5.2, which Open5e lacks, in our own words."""

SHIPPED_BOOKS = (STARTER, STARTER_2024, RULES_2024)
"""The folders of entries that a new library begins with."""

STARTER_DOCUMENT, STARTER_2024_DOCUMENT, RULES_2024_DOCUMENT = (
    "lorekeeper-starter",
    "lorekeeper-starter-2024",
    "lorekeeper-rules-2024",
)
"""Keys of their documents."""

SHIPPED_DOCUMENTS = frozenset({STARTER_DOCUMENT, STARTER_2024_DOCUMENT, RULES_2024_DOCUMENT})


@dataclass(frozen=True)
class Hint:
    """Words by which an entry is found.

    Attributes:
        description: what it is, in plain words; "" if there are only phrases.
        asked_as: what people say who do not know its name.
    """

    description: str
    asked_as: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it in one string."""
        return " ".join([self.description, "; ".join(self.asked_as)]).strip()


def hint_of(entity: Entity) -> Hint | None:
    """The hint for an entry: its own phrases, else those shipped for its name and type."""
    phrases = entity.data.get("asked_as")
    if isinstance(phrases, list):
        return Hint("", tuple(p for p in phrases if isinstance(p, str) and p.strip())) if phrases else None
    return _shipped().get((entity.type, base_name(entity.name)))


def hint_text(entity: Entity) -> str:
    """Text of an entry's hint, "" if it has none."""
    hint = hint_of(entity)
    return hint.text if hint else ""


def shipped_phrases() -> dict[tuple[str, str], tuple[str, ...]]:
    """All phrases that ship, by type and base name: of every file that has the name."""
    phrases: dict[tuple[str, str], dict[str, None]] = {}
    for key, hint in _hints():
        phrases.setdefault(key, {}).update(dict.fromkeys(hint.asked_as))
    return {key: tuple(own) for key, own in phrases.items() if own}


@lru_cache(maxsize=1)
def _shipped() -> Mapping[tuple[str, str], Hint]:
    """The last hint of each name."""
    return dict(_hints())


def _hints() -> Iterator[tuple[tuple[str, str], Hint]]:
    for file in (file for folder in (RULES_2024, PHRASES, STARTER) for file in sorted(folder.glob("*.jsonl"))):
        for line in file.read_text("utf-8").splitlines():
            entry = json.loads(line)
            if "asked_as" in entry:
                key = entry["collection"], base_name(entry["name"])
                yield key, Hint(entry.get("description", ""), tuple(entry["asked_as"]))
