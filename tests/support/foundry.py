"""Invented documents of Foundry VTT, files of them, and what an import of these gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize.foundry.documents import Document, Index
from lorekeeper.normalize.foundry.enrich import to_markdown
from lorekeeper.normalize.foundry.marks import Scope
from lorekeeper.normalize.foundry.rolls import Doer
from lorekeeper.normalize.foundry.sheets import Sheet

Raw = dict[str, Any]

STATS = {"systemId": "dnd5e", "coreVersion": "13.351"}

FOLDER = Path(__file__).parent.parent / "data" / "foundry"


def document(name: str, kind: str, system: Raw, key: str, **more: Any) -> Raw:
    """A document of a compendium, as the official tool unpacks it; ``key`` is ``items!id``, for example."""
    identifier = key.rpartition("!")[2]
    return {"_id": identifier, "name": name, "type": kind, "system": system, "_stats": STATS, "_key": f"!{key}", **more}


def described(text: str, **system: Any) -> Raw:
    """What a system says of a document with that text."""
    return {"description": {"value": text}, "source": {"rules": "2014", "license": "CC0-1.0"}, **system}


def marsh_owl() -> Raw:
    """A creature of the rules of 2014."""
    return _kept("owl")


def spark() -> Raw:
    """A spell of the rules of 2024."""
    return _kept("spark")


def _kept(name: str) -> Raw:
    found: Raw = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def journal(*pages: Raw, name: str = "The Marsh", **more: Any) -> Raw:
    """A journal of a world."""
    return {"_id": "journal000000001", "name": name, "pages": list(pages), "_stats": STATS, **more}


def page(name: str, text: str, identifier: str, **more: Any) -> Raw:
    """A page of a journal."""
    return {"_id": identifier, "name": name, "type": "text", "text": {"format": 1, "content": text}, **more}


def write(folder: Path, **files: object) -> Path:
    """Files of documents in a folder, by their names with ``_`` for the dot before the suffix; lists are ``.db`` lines."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        path = folder / ".".join(name.rsplit("_", 1))
        if path.suffix == ".db" and isinstance(content, list):
            path.write_text("".join(f"{json.dumps(line)}\n" for line in content), "utf-8")
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return folder


def imported(*paths: Path, document: str | None = None) -> tuple[list[Entity], ImportReport]:
    """The entities of files and folders, without those of documents themselves, and what the import reports."""
    report = ImportReport()
    found = [entry.entity for entry in Reader(list(paths), document, report).read()]
    return [entity for entity in found if entity.type != "documents"], report


def named(entities: list[Entity], name: str) -> Entity:
    """The only entity of that name."""
    (entity,) = (entity for entity in entities if entity.name == name)
    return entity


def in_words(text: str, item: Mapping[str, Any] | None = None, rules: str = "2014") -> str:
    """A text of an item of the marsh owl, its marks in words."""
    (owl,) = (Document("actors", "owl0000000000001", marsh_owl(), "owl.json"),)
    sheet = Sheet.of("Marsh Owl", owl.system, rules)
    fang = marsh_owl()["items"][1]
    return to_markdown(text, Scope(Index.of([owl]), owl, Doer(item or fang, sheet, rules)))
