"""Several elements of a file for one entry, which differ in lists alone: one entry with all that they list."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake.reports import ImportReport
from tests.support.libraries import open_library


def spell(classes: str, text: str = "Reeds hide all.") -> str:
    return (
        "<spell><name>Reed Veil</name><level>2</level><school>I</school><time>1 action</time><range>60 feet</range>"
        f"<duration>1 hour</duration><classes>{classes}</classes><text>{text}</text></spell>"
    )


def xml(path: Path, *spells: str) -> Path:
    path.write_text(f"<compendium>{''.join(spells)}</compendium>", "utf-8")
    return path


async def imported(
    folder: Path, paths: Sequence[Path], times: int = 1, kind: str = "spells"
) -> tuple[list[Entity], ImportReport]:
    async with open_library(folder, backend="sqlite") as library:
        for _ in range(times):
            report = await library.import_paths(paths, document="reeds")
        return await library.cache.get_entities(kind), report


async def test_a_spell_that_is_listed_once_for_each_class_has_all_of_them(tmp_path):
    path = xml(tmp_path / "reeds.xml", spell("Druid"), spell("Ranger, Druid"), spell("Wizard"))
    (found,), report = await imported(tmp_path, [path])
    assert found.fields["classes"] == ("druid", "ranger", "wizard")
    assert found.data["dnd_class"] == "Druid, Ranger, Wizard"
    assert (report.stored, report.repeated, report.warnings) == (1, 2, [])


async def test_files_of_one_document_complete_each_other_and_change_nothing_the_second_time(tmp_path):
    paths = [xml(tmp_path / f"{name}.xml", spell(name)) for name in ("Druid", "Wizard")]
    (found,), report = await imported(tmp_path, paths, times=2)
    assert found.fields["classes"] == ("druid", "wizard")
    assert (report.stored, report.unchanged, report.repeated) == (0, 1, 1)


async def test_other_formats_too(tmp_path):
    toads: list[dict[str, Any]] = [
        {
            "collection": "creatures",
            "name": "Toad",
            "hit_points": 7,
            "environments": [place],
            "actions": [{"name": "Bite", "desc": "x"}],
        }
        for place in ("swamp", "forest")
    ]
    path = tmp_path / "toads.jsonl"
    path.write_text("\n".join(map(json.dumps, toads)), "utf-8")
    (found,), report = await imported(tmp_path, [path], kind="creatures")
    assert set(found.fields["environments"]) >= {"swamp", "forest"}  # type: ignore[arg-type]
    assert report.warnings == []


@pytest.mark.parametrize(
    "other", [spell("Wizard", "Reeds hide nobody."), spell("Wizard").replace("60 feet", "90 feet")]
)
async def test_what_differs_in_more_is_replaced_and_said(tmp_path, other):
    path = xml(tmp_path / "reeds.xml", spell("Druid"), other)
    (found,), report = await imported(tmp_path, [path])
    assert found.fields["classes"] == ("wizard",)
    (warning,) = report.warnings
    assert "with other content" in warning.reason
