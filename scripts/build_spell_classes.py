"""Writes `lorekeeper/data/spell_classes.txt`: which classes have a spell, for books whose own list in API v2 is missing or mixed.

    python scripts/build_spell_classes.py V1_SPELLS.jsonl V2_SPELLS.jsonl

Both files hold one Open5e object a line. Version 1 of the API has the class list of books that version 2 has no classes for
(``dnd_class``), and says which spells of the System Reference Document 5.1 a class has through a subclass only
(``archetype``, as in "Cleric: Knowledge"). Those are left out, unless the class has the spell in version 5.2 too: then it is
also on the class's own list.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent.parent / "lorekeeper" / "data" / "spell_classes.txt"

BOOKS = {
    "wotc-srd": "srd-2014",
    "a5e": "a5e-ag",
    "dmag": "deepm",
    "dmag-e": "deepmx",
    "kp": "kp",
    "toh": "toh",
    "warlock": "wz",
    "o5e": "open5e",
}
"""Documents of version 1 by their key, each with its key in version 2."""

NO_CLASSES = {"", "ritual caster"}

SPELT = {"sorceror": "sorcerer"}

BY_SUBCLASS = frozenset({"cone-of-cold druid", "divination druid", "hideous-laughter warlock"})
"""Spells of the System Reference Document 5.1 that a class has through a subclass there, and by itself in version 5.2."""

LEFT_OUT = {"plane-shift": {"druid"}}
"""Classes of its lists that the source leaves out."""

Object = Mapping[str, Any]


def main(v1_file: str, v2_file: str) -> None:
    """Write the table."""
    later = {o["name"]: _classes_v2(o) for o in _objects(v2_file) if o["document"]["key"] == "srd-2024"}
    rows = sorted(_row(o, later) for o in _objects(v1_file) if o["document__slug"] in BOOKS)
    TABLE.write_text("".join(f"{row}\n" for row in rows if row), encoding="utf-8")


def _objects(path: str) -> Iterable[Object]:
    content = Path(path).read_bytes()
    text = gzip.decompress(content) if path.endswith(".gz") else content
    return [json.loads(line) for line in text.splitlines()]


def _classes_v2(spell: Object) -> set[str]:
    return {ref["key"].rsplit("_", 1)[-1] for ref in spell["classes"]}


def _row(spell: Object, later: Mapping[str, set[str]]) -> str:
    names = {name.strip().lower() for name in spell["dnd_class"].split(",")} - NO_CLASSES
    subclasses = {entry.partition(":")[0].strip().lower() for entry in spell["archetype"].split(",") if ":" in entry}
    if spell["circles"]:
        subclasses.add("druid")
    names -= subclasses - later.get(spell["name"], set())
    slug = spell["slug"].removesuffix(f"-{spell['document__slug']}")
    if spell["document__slug"] == "wotc-srd":
        names = {name for name in names if f"{slug} {name}" not in BY_SUBCLASS} | LEFT_OUT.get(slug, set())
    classes = sorted({SPELT.get(name, name).replace(" ", "-") for name in names})
    return " ".join([BOOKS[spell["document__slug"]], slug, *classes]) if classes else ""


if __name__ == "__main__":
    main(*sys.argv[1:])
