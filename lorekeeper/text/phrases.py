"""How people ask for entries: plain descriptions and phrases in players' words, as they ship with the package.

The starter compendium brings those of the SRD, a folder of phrases those of the other books that Open5e publishes. They are
searched together with an entry of the same name and type in any book, and never shown as its text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from lorekeeper.entities import Entity, fold

STARTER = Path(__file__).parent.parent / "data" / "starter"
"""The starter compendium: one file per collection, one entry a line."""

PHRASES = STARTER.with_name("phrases")
"""Phrases for entries that the starter does not hold: one file per collection, one name a line."""

SHIPPED_VECTORS = STARTER.with_name("starter.npz")
"""Vectors of the starter's passages with the default model; `scripts/build_starter_vectors.py` makes them."""

STARTER_DOCUMENT = "lorekeeper-starter"
"""Key of the starter compendium's document."""

_VARIANT = re.compile(r"\s*\([^()]*\)\s*$")


@dataclass(frozen=True)
class Hint:
    """Words to find one entry by.

    Attributes:
        description: what it is, in plain words; "" where there are only phrases.
        asked_as: phrases of people who do not know its name.
    """

    description: str
    asked_as: tuple[str, ...]

    @property
    def text(self) -> str:
        """All of it in one string."""
        return " ".join([self.description, "; ".join(self.asked_as)]).strip()


def hint_of(entity: Entity) -> Hint | None:
    """The hint for an entry: its own phrases, else those that ship for its name and type."""
    own = entity.data.get("asked_as")
    if isinstance(own, list):
        return Hint("", tuple(p for p in own if isinstance(p, str) and p.strip())) if own else None
    return _shipped().get((entity.type, base_name(entity.name)))


def hint_text(entity: Entity) -> str:
    """Text of an entry's hint, "" where it has none."""
    hint = hint_of(entity)
    return hint.text if hint else ""


@lru_cache(maxsize=50_000)
def base_name(name: str) -> str:
    """A name, folded, without the variant in brackets: "Adamantine Armor (Plate)" is "adamantine armor"."""
    return fold(_VARIANT.sub("", name) or name)


@lru_cache(maxsize=1)
def _shipped() -> Mapping[tuple[str, str], Hint]:
    found: dict[tuple[str, str], Hint] = {}
    for file in [*sorted(PHRASES.glob("*.jsonl")), *sorted(STARTER.glob("*.jsonl"))]:
        for line in file.read_text("utf-8").splitlines():
            entry = json.loads(line)
            if "asked_as" in entry:
                key = entry["collection"], base_name(entry["name"])
                found[key] = Hint(entry.get("description", ""), tuple(entry["asked_as"]))
    return found
