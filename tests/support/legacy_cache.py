"""Builds the cache of an earlier LoreKeeper: one table per kind of entry, the whole entry as JSON in `data`."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

COLUMNS = (
    "slug TEXT PRIMARY KEY, name TEXT NOT NULL, data TEXT NOT NULL, source_api TEXT, created_at REAL, updated_at REAL, "
    "document TEXT, level INTEGER, challenge_rating REAL"
)


def write_cache(path: Path, tables: Mapping[str, Iterable[Mapping[str, Any]]]) -> Path:
    """A cache with these objects, by table, as its owner left it: in WAL mode, closed."""
    with closing(sqlite3.connect(path)) as c, c:
        c.execute("PRAGMA journal_mode = WAL")
        c.execute("CREATE TABLE api_cache (url TEXT PRIMARY KEY, response TEXT)")
        c.execute("INSERT INTO api_cache VALUES ('https://example.org/spells', '{}')")
        for table, objects in tables.items():
            c.execute(f"CREATE TABLE {table} ({COLUMNS})")
            for i, obj in enumerate(objects):
                add(c, table, obj, updated=1_700_000_000.0 + i)
    return path


def add(c: sqlite3.Connection, table: str, obj: Mapping[str, Any], *, updated: float = 0.0) -> None:
    """One row for an object."""
    slug = obj.get("key") or obj.get("slug") or obj["name"].lower().replace(" ", "-")
    book = obj.get("document") or {}
    document = obj.get("document__slug") or (book["key"] if isinstance(book, dict) and book else book or None)
    row = (slug, obj.get("name") or obj["title"], json.dumps(obj), "unknown", updated, updated, document)
    marks = ", ".join("?" * len(row))
    c.execute(
        f"INSERT INTO {table} (slug, name, data, source_api, created_at, updated_at, document) VALUES ({marks})", row
    )


V1 = {"document__slug": "wotc-srd", "document__title": "5e Core Rules"}
V2 = {"document": {"key": "srd-2024", "name": "SRD 5.2"}}

SPELLS: list[dict[str, Any]] = [
    {"slug": "drift-bolt", "name": "Drift Bolt", "desc": "A bolt of driftwood.", "level": "2nd-level", "level_int": 2,
     "school": "Evocation", "casting_time": "1 action", "concentration": "no", "dnd_class": "Wizard, Druid", **V1},
    {"key": "srd-2024_salt-ward", "name": "Salt Ward", "desc": "Salt keeps the dead out.", "level": 1,
     "school": {"name": "Abjuration", "key": "abjuration"}, "casting_time": "action", "classes": [], **V2},
    {"name": "Ash Veil", "option-pack": "My Pack", "level": 3, "school": "illusion",
     "casting-time": "1 action", "spell-lists": {"wizard": True, "bard": False}, "description": "Ash hides you."},
]  # fmt: skip
HOUND: dict[str, Any] = {
    "slug": "brine-hound", "name": "Brine Hound", "desc": "A lean dog.", "challenge_rating": "1/4", "cr": 0.25,
    "hit_points": 11, "armor_class": 12, "type": "beast", "size": "Medium", **V1,
}  # fmt: skip
TABLES: dict[str, list[dict[str, Any]]] = {
    "spells": SPELLS,
    "monsters": [HOUND],
    "creatures": [HOUND],
    "classes": [
        {"slug": "tidecaller", "name": "Tidecaller", "desc": "Asks the sea.", "hit_dice": "1d8", "hp_at_1st_level": "8",
         "archetypes": [{"slug": "storm", "name": "Storm", "desc": "Lightning."}], **V1},
    ],
    "rule_sections": [{"slug": "tides", "name": "Tides", "desc": "They come and go.", "parent": "sea", **V1}],
    "equipment": [{"name": "Tar Lamp", "cost": "5 sp", "weight": "1 lb."}],
    "sizes": [{"key": "tiny", "name": "Tiny", "rank": 1, "space_diameter": 2.5}],
    "feats": [],
}  # fmt: skip
