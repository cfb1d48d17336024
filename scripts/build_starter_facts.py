"""Write the game facts of the starter compendium, its filter values, as the System Reference Document 5.1 has them.

    python scripts/build_starter_facts.py CORPUS

CORPUS is a folder whose ``entities`` hold one Open5e object a line, in a file for each endpoint: ``spells.jsonl`` or
``spells.jsonl.gz``. A value is written where normalising an entry of the starter gives another one than the source's.
Texts, names and all other keys but `REPLACED` stay as they are, and so does an entry that the source does not have. Run it
after a change of what `lorekeeper.normalize` reads from the source; `tests/test_starter.py` tells when it is due.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lorekeeper.entities import COLLECTIONS, Entity, Value
from lorekeeper.normalize import normalize
from lorekeeper.normalize.equipment import is_table_row
from lorekeeper.text.names import base_name
from lorekeeper.text.passages import passages
from lorekeeper.text.phrases import STARTER, hint_text

ENDPOINTS = {
    "spells": ("spells",),
    "creatures": ("creatures",),
    "equipment": ("items", "magicitems", "weapons", "armor"),
    "character_options": ("classes", "species", "backgrounds", "feats"),
}
"""For each collection, the endpoints of the source that hold it."""

DOCUMENT = "srd-2014"

TEXTS = ("description", "asked_as")
"""The keys of an entry that come after its facts."""

REPLACED = ("saving_throw",)
"""Keys of earlier releases that are no fields, and whose values a field has."""

UNKNOWN_IF_ZERO = ("cost", "weight")
"""Fields for which the source writes 0 where it knows no value."""

Fields = dict[str, Value]
Object = dict[str, Any]


def main(corpus: str) -> None:
    """Write the files of all collections, and say how many entries changed."""
    for collection in ENDPOINTS:
        file = STARTER / f"{collection}.jsonl"
        found = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        source = _by_name(Path(corpus) / "entities", collection)
        written = [with_facts(entry, source.get(base_name(entry["name"]), [])) for entry in found]
        file.write_text("".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in written), encoding="utf-8")
        changed = sum(old != new for old, new in zip(found, written, strict=True))
        print(f"{collection}: {changed} of {len(found)} entries changed")


def with_facts(entry: Object, namesakes: list[Entity]) -> Object:
    """The entry with the values that its namesakes in the source share, unless they change what is embedded of it."""
    entry = {name: value for name, value in entry.items() if name not in REPLACED}
    (ours,) = normalize(entry)
    facts = shared_facts(_counterparts(ours, namesakes))
    embedded = _embedded(entry)
    other = {
        name: value
        for name, value in facts.items()
        if _comparable(value) != _comparable(ours.fields.get(name))
        and _embedded(_merged(entry, {name: value})) == embedded
    }
    return _merged(entry, other)


def _counterparts(ours: Entity, namesakes: list[Entity]) -> list[Entity]:
    """The namesake of the same slug, else those of the same kind, else all."""
    alike = [e for e in namesakes if e.kind == ours.kind] or namesakes
    return [e for e in alike if e.slug == ours.slug] or alike


def shared_facts(entities: list[Entity]) -> Fields:
    """The known values that all variants of a thing have, of lists what they have in common.

    Armour of resistance is "armor", but "light armor" only in some of its variants.
    """
    if not entities:
        return {}
    first, *others = (entity.fields for entity in entities)
    shared = {name: _shared(value, [fields.get(name) for fields in others]) for name, value in first.items()}
    return {name: value for name, value in shared.items() if value is not None and _is_known(name, value)}


def _shared(value: Value, others: list[Value | None]) -> Value | None:
    if not isinstance(value, tuple):
        return value if all(other == value for other in others) else None
    return tuple(text for text in value if all(isinstance(other, tuple) and text in other for other in others)) or None


def _is_known(name: str, value: Value) -> bool:
    return bool(value) or name not in UNKNOWN_IF_ZERO


def _comparable(value: Value | None) -> Value | None:
    return tuple(sorted(value)) if isinstance(value, tuple) else value


def _merged(entry: Mapping[str, Any], facts: Fields) -> Object:
    """The entry with those values: in place of its own, new ones before its texts in the order of their declaration."""
    values = {name: plain(facts[name]) for name in COLLECTIONS[entry["collection"]].filters if name in facts}
    head = {name: value for name, value in entry.items() if name not in TEXTS}
    return head | values | {name: entry[name] for name in TEXTS}


def plain(value: Value) -> Any:
    """The value as JSON, whole numbers without a point."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return list(value) if isinstance(value, tuple) else value


def _embedded(entry: Object) -> list[str]:
    (entity,) = normalize(entry)
    return [passage.embedded for passage in passages(entity, hint=hint_text(entity))]


def _by_name(folder: Path, collection: str) -> dict[str, list[Entity]]:
    """The source's entries of a collection by base name, without the rows of tables that lists of items repeat."""
    result: dict[str, list[Entity]] = {}
    for endpoint in ENDPOINTS[collection]:
        for entity in (e for obj in objects(folder, endpoint) for e in normalize(obj, hint=endpoint)):
            if (entity.type, entity.document) == (collection, DOCUMENT) and not is_table_row(entity):
                result.setdefault(base_name(entity.name), []).append(entity)
    return result


def objects(folder: Path, endpoint: str) -> Iterator[Object]:
    """The objects of an endpoint."""
    packed = folder / f"{endpoint}.jsonl.gz"
    content = gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / f"{endpoint}.jsonl").read_bytes()
    yield from map(json.loads, content.decode("utf-8").strip().split("\n"))


if __name__ == "__main__":
    main(*sys.argv[1:])
