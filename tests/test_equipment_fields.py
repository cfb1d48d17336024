"""Filter values of equipment: categories, armour class, damage, bonus, charges, curses, prices; rows of tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.normalize import equipment, normalize
from tests.support.libraries import open_library
from tests.support.tables import each_row

DOC = {"key": "tide-atlas", "name": "The Tide Atlas"}

ITEM: dict[str, Any] = {
    "key": "ta_thing",
    "name": "Thing",
    "document": DOC,
    "weapon": None,
    "armor": None,
    "category": {"key": "ring"},
}

MAGIC: dict[str, Any] = {**ITEM, "rarity": {"key": "rare"}, "requires_attunement": False, "desc": "It glows."}


@pytest.mark.parametrize("backend", ["sqlite", "milvus"])
async def test_what_is_not_magic_is_not_rare(tmp_path, backend):
    items = [
        ITEM | {"key": "ta_oar", "name": "Oar"},
        MAGIC,
        MAGIC | {"key": "ta_gem", "rarity": {"key": "common"}},
    ]
    async with open_library(tmp_path, backend=backend) as library:
        await library.cache.store_entities([entity for item in items for entity in normalize(item)], "equipment")
        found = [
            await library.cache.get_entities("equipment", where=where) for where in ("-rarity:rare", "rarity:rare")
        ]
    assert [sorted(each.slug for each in entities) for entities in found] == [["gem", "oar"], ["thing"]]


@each_row(
    ("dice", "average"),
    [("2d6", 7), ("1d4", 2.5), ("1", 1), ("1d6 + 2", 5.5), ("0", None), ("", None), ("special", None)],
)
def test_damage_is_the_average_of_the_dice(dice, average):
    assert equipment.damage(dice) == average


# --- rows of the tables of weapons and armour ------------------------------------------------------------------------

ROW = {"key": "ta_leather", "name": "Leather", "document": DOC, "category": "light", "ac_base": 11}

WHOLE = {
    **ITEM, "key": "ta_leather-armor", "name": "Leather Armor", "desc": "Boiled kelp.", "category": {"key": "armor"},
    "armor": {k: ROW[k] for k in ("name", "category", "ac_base")}, "cost": "10.00",
}  # fmt: skip


@pytest.mark.store
@pytest.mark.parametrize("order", [("row", "whole"), ("whole", "row"), ("whole", "row", "row")])
@pytest.mark.parametrize("together", [True, False])
async def test_a_row_never_stands_beside_the_whole_or_replaces_it(tmp_path, order, together):
    objects = {"row": ROW, "whole": WHOLE}
    files = [_file(tmp_path / f"{n}.jsonl", objects[name]) for n, name in enumerate(order)]
    async with open_library(tmp_path / "library") as library:
        for paths in [files] if together else [[file] for file in files]:
            report = await library.import_paths(paths)
            assert (report.failed, report.warnings) == ([], [])
        (entity,) = await library.cache.get_entities("equipment")
    assert (entity.slug, entity.name, entity.fields["cost"]) == ("leather-armor", "Leather Armor", 10.0)


def _file(path: Path, obj: object) -> Path:
    path.write_text(json.dumps(obj) + "\n", encoding="utf-8")
    return path
