"""Phrases that people search for entries by, shipped with the package: plain descriptions and players' words.

A folder of phrases has those of the SRDs and of other books that Open5e publishes, the rules of 2024 have their own. They are
searched with the entries of the same name and type in every book, and never shown as their text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lorekeeper.entities import Entity
from lorekeeper.text.names import base_name

DATA = Path(__file__).parent.parent / "data"
"""What ships with the package and is no code."""

PHRASES = DATA / "phrases"
"""Phrases for the entries of the open books: one file per collection, one name per line."""

RULES_2024 = DATA / "rules-2024"
"""The rules glossary and the gameplay toolbox of the SRD 5.2 in our own words, which are shorter than the book's."""

RULES_2024_DOCUMENT = "lorekeeper-rules-2024"
"""Key of their document."""

PACKED = DATA / "books.jsonl.gz"
"""The entries of the SRDs, a line of type and record each, as `scripts/pack_books.py` writes them; not committed."""

SHIPPED_VECTORS = DATA / "books.vectors"
"""Vectors of the passages of the first books with the default model, made by `scripts/build_shipped_vectors.py`."""

SHIPPED_DOCUMENTS = frozenset({"srd-2014", "srd-2024", RULES_2024_DOCUMENT})
"""The documents that a new library begins with."""


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
    for file in (file for folder in (RULES_2024, PHRASES) for file in sorted(folder.glob("*.jsonl"))):
        for line in file.read_text("utf-8").splitlines():
            entry = json.loads(line)
            if "asked_as" in entry:
                key = entry["collection"], base_name(entry["name"])
                yield key, Hint(entry.get("description", ""), tuple(entry["asked_as"]))
