"""Draws the entries that are labelled by hand: at random, so many of each file and document.

``python -m tests.support.label_draw CORPUS`` prints them, one JSON object a line.
"""

from __future__ import annotations

import gzip
import json
import random
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SEED = 15

Object = Mapping[str, Any]
Stratum = tuple[str, str]
"""A file of the corpus, with the part of it in brackets, and a document."""

QUOTAS: dict[str, dict[str, dict[str, int]]] = {
    "creatures": {
        "creatures": {
            "srd-2014": 30, "srd-2024": 30, "a5e-mm": 25, "bfrd": 15, "tob": 13, "tob-2023": 12, "tob2": 12, "tob3": 12,
            "ccdx": 10, "tdcs": 1,
        },
        "creatures:lair": {"srd-2014": 2, "srd-2024": 3, "a5e-mm": 2, "tob": 3, "tob2": 2, "ccdx": 1},
        "creatures:hover": {"srd-2014": 2, "srd-2024": 1, "bfrd": 2, "tob": 2, "tob2": 2, "ccdx": 1},
        "creatures:more": {
            "srd-2014": 4, "srd-2024": 4, "a5e-mm": 4, "bfrd": 3, "tob": 2, "tob-2023": 2, "tob2": 2, "tob3": 2, "ccdx": 1,
        },
    },
    "spells": {
        "spells": {
            "srd-2014": 34, "srd-2024": 34, "a5e-ag": 28, "deepm": 18, "spells-that-dont-suck": 10, "toh": 8, "deepmx": 7,
            "wz": 5, "kp": 4, "open5e": 2,
        },
        "spells:consumes": {"srd-2014": 4, "srd-2024": 2, "deepm": 2},
        "spells:regain": {"srd-2014": 3, "srd-2024": 3, "a5e-ag": 2, "deepm": 2},
        "spells:more": {
            "srd-2014": 5, "srd-2024": 5, "a5e-ag": 6, "deepm": 6, "toh": 2, "spells-that-dont-suck": 3, "wz": 2, "kp": 1,
        },
    },
    "equipment": {
        "magicitems": {"srd-2014": 24, "srd-2024": 26, "vom": 28},
        "items:weapon": {"srd-2014": 5, "srd-2024": 5},
        "items:armor": {"srd-2014": 4, "srd-2024": 4},
        "items:gear": {"srd-2014": 6, "srd-2024": 6},
        "services": {"srd-2024": 2},
        "magicitems:curse": {"srd-2014": 4, "srd-2024": 4, "vom": 8},
        "magicitems:cursed": {"srd-2024": 4},
        "magicitems:more": {"srd-2014": 3, "srd-2024": 3, "vom": 10},
    },
    "character_options": {
        "classes": {"srd-2014": 4, "srd-2024": 5, "toh": 4, "open5e": 3, "a5e-ag": 2, "bfrd": 2, "tdcs": 1},
        "species": {"srd-2014": 3, "srd-2024": 2, "toh": 4, "open5e": 1},
        "feats": {"a5e-ag": 4, "srd-2024": 3, "toh": 1, "srd-2014": 1},
        "backgrounds": {"a5e-ag": 3, "toh": 2, "srd-2024": 1, "srd-2014": 1, "tdcs": 1, "a5e-ddg": 1, "open5e": 1},
    },
    "rules": {
        "rules": {"srd-2014": 14, "srd-2024": 8},
        "rulesets": {"srd-2014": 3, "srd-2024": 2},
        "conditions": {"core": 4, "a5e-ag": 2},
        "sections_v1": {"wotc-srd": 3},
        "weaponproperties": {"srd-2014": 2, "srd-2024": 2},
        "environments": {"core": 1, "srd-2014": 1},
        "skills": {"core": 1, "a5e-ag": 1},
        "abilities": {"core": 1},
        "languages": {"core": 1, "tob": 1},
        "damagetypes": {"core": 1},
        "spellschools": {"core": 1},
        "itemsets": {"srd-2014": 1},
    },
}  # fmt: skip
"""How many are drawn, by collection, file and document."""


def objects(corpus: Path, name: str) -> Iterator[Object]:
    """The objects of one of the corpus's files of entities."""
    plain = corpus / "entities" / f"{name}.jsonl"
    with plain.open(encoding="utf-8") if plain.exists() else gzip.open(f"{plain}.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


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


if __name__ == "__main__":
    for collection in QUOTAS:
        for file, obj in draw(Path(sys.argv[1]), collection):
            print(json.dumps({"collection": collection, "file": file, "document": document_of(obj), "key": _key(obj)}))
