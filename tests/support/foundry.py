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

ABILITIES = {"str": 16, "dex": 14, "con": 12, "int": 8, "wis": 13, "cha": 10}


def document(name: str, kind: str, system: Raw, key: str, **more: Any) -> Raw:
    """A document of a compendium, as the official tool unpacks it; ``key`` is ``items!id``, for example."""
    identifier = key.rpartition("!")[2]
    return {"_id": identifier, "name": name, "type": kind, "system": system, "_stats": STATS, "_key": f"!{key}", **more}


def described(text: str, **system: Any) -> Raw:
    """What a system says of a document with that text."""
    return {"description": {"value": text}, "source": {"rules": "2014", "license": "CC0-1.0"}, **system}


def attack(ability: str = "", **more: Any) -> Raw:
    """The activities of a weapon."""
    value = {"type": {"value": "melee", "classification": "weapon"}, "ability": ability}
    return {
        "act1": {
            "type": "attack",
            "activation": {"type": "action"},
            "attack": value,
            "damage": {"includeBase": True},
            **more,
        }
    }


def part(name: str, kind: str, system: Raw, identifier: str, sort: int = 0) -> Raw:
    """An item of an actor."""
    return {"_id": identifier, "name": name, "type": kind, "system": system, "sort": sort}


FANG = part(
    "Fang",
    "weapon",
    {
        "description": {"value": "<p>[[/attack extended]]. [[/damage extended]].</p>"},
        "damage": {"base": {"number": 2, "denomination": 6, "types": ["piercing"]}},
        "type": {"value": "natural"},
        "range": {"reach": 10, "units": "ft"},
        "activities": attack(),
    },
    "fang000000000001",
    2,
)

GLARE = part(
    "Glare",
    "feat",
    {
        "description": {
            "value": "<p>Each creature within 20 feet makes a [[/save]] saving throw against the "
            "[[lookup @name lowercase]]'s glare, taking [[/damage average]] damage and being &amp;Reference[prone].</p>"
            '<section class="secret"><p>GLARESECRET</p></section>'
        },
        "activities": {
            "act1": {
                "type": "save",
                "activation": {"type": "bonus"},
                "save": {"ability": ["wis"], "dc": {"calculation": "cha"}},
                "damage": {"parts": [{"number": 3, "denomination": 4, "types": ["psychic"]}]},
            }
        },
        "uses": {"max": "1", "recovery": [{"period": "recharge", "formula": "5"}]},
    },
    "glare00000000001",
    3,
)


def marsh_owl(**system: Any) -> Raw:
    """A creature of the rules of 2014."""
    own: Raw = {
        "abilities": {key: {"value": value, "proficient": int(key == "wis")} for key, value in ABILITIES.items()},
        "attributes": {
            "ac": {"calc": "natural", "flat": 15},
            "hp": {"max": 33, "formula": "6d8 + 6"},
            "movement": {"walk": 20, "fly": "60", "hover": True, "units": "ft"},
            "senses": {"darkvision": 120, "units": "ft"},
        },
        "details": {
            "cr": 3,
            "alignment": "Neutral Evil",
            "type": {"value": "monstrosity", "subtype": "", "swarm": ""},
            "environment": "Swamp, Forest",
            "biography": {"value": "<p>BIOSECRET</p>", "public": "<p>An owl as tall as a door.</p>"},
        },
        "traits": {
            "size": "lg",
            "languages": {"value": ["common"], "custom": "Owl Speech"},
            "di": {"value": ["poison"]},
            "dr": {"value": ["cold", "bludgeoning"], "bypasses": ["mgc"]},
            "ci": {"value": ["charmed"]},
        },
        "skills": {"prc": {"value": 1, "ability": "wis"}},
        "source": {"rules": "2014", "license": "CC0-1.0"},
    }
    quiet = part("Silent Wings", "feat", {"description": {"value": "<p>It makes no sound.</p>"}}, "wings00000000001", 1)
    return document("Marsh Owl", "npc", own | system, "actors!owl0000000000001", items=[GLARE, FANG, quiet])


def spark(text: str = "<p>A spark.</p>", **system: Any) -> Raw:
    """A spell of the rules of 2024."""
    own: Raw = {
        "description": {"value": text},
        "source": {"rules": "2024", "license": "CC0-1.0"},
        "level": 2,
        "school": "evo",
        "activation": {"type": "action"},
        "range": {"value": "60", "units": "ft"},
        "duration": {"value": "1", "units": "minute"},
        "properties": ["vocal", "material", "concentration"],
        "materials": {"value": "a wick worth 25gp", "cost": 10, "consumed": False},
        "target": {"template": {"type": "sphere", "size": "20", "units": "ft"}},
    }
    return document("Wick Spark", "spell", own | system, "items!spark00000000001")


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
    return to_markdown(text, Scope(Index.of([owl]), owl, Doer(item or FANG, sheet, rules)))
