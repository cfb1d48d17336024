"""Draws the entries that are labelled by hand: at random, so many of each file and document."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.support.corpus import objects

SEED = 15

Object = Mapping[str, Any]
QUOTAS: dict[str, dict[str, dict[str, int]]] = json.loads(
    (Path(__file__).parents[1] / "labels" / "quotas.json").read_text("utf-8")
)
"""How many are drawn, by collection, file and document."""


def document_of(obj: Object) -> str:
    """Key of an object's document."""
    document = obj.get("document", obj.get("document__slug"))
    return str(document["key"] if isinstance(document, Mapping) else document)


def slug_of(obj: Object) -> str:
    """An object's key without its prefix: "fireball" of "srd_fireball"; API v1 has none."""
    return str(obj["key"].split("_", 1)[-1] if "key" in obj else obj["slug"])


def _in_part(obj: Object, part: str) -> bool:
    """Whether it is a weapon, armour or gear where the part is one of these, else whether the word stands in it."""
    if part in ("weapon", "armor", "gear"):
        return part == next((kind for kind in ("weapon", "armor") if obj.get(kind)), "gear")
    if part in ("", "more"):
        return True
    if part == "hover":
        return bool(obj["speed"].get("hover"))
    return part in json.dumps({name: value for name, value in obj.items() if name != "key"}).lower()


def draw(corpus: Path, collection: str) -> Iterator[tuple[str, Object]]:
    """(file, object) of each entry drawn, in the order of `QUOTAS`; none is drawn twice."""
    drawn: set[tuple[str, str]] = set()
    for file, quotas in QUOTAS[collection].items():
        name, _, part = file.partition(":")
        for document, number in quotas.items():
            choice = [o for o in objects(corpus, name) if document_of(o) == document and _in_part(o, part)]
            choice = sorted((o for o in choice if (name, _key(o)) not in drawn), key=_key)
            for obj in random.Random(f"{SEED} {file} {document}").sample(choice, number):
                drawn.add((name, _key(obj)))
                yield name, obj


def _key(obj: Object) -> str:
    return str(obj.get("key", obj.get("slug")))
