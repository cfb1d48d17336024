"""What earlier imports made of objects spares normalising them again, and changes nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lorekeeper.entities import Entity
from lorekeeper.intake.formats import json as json_format
from lorekeeper.intake.import_cache import Remembered
from lorekeeper.intake.reports import ImportReport
from lorekeeper.normalize import normalize
from tests.support.libraries import open_library
from tests.support.samples import SAMPLES, write_lines

OWN = [
    {"collection": "spells", "name": "Kelp Snare", "description": "Kelp grips a target.", "level": 2},
    {"collection": "creatures", "name": "Tide Ape", "description": "An ape of the shallows.", "challenge_rating": 1},
]
Outcome = tuple[int, int, list[str], dict[str, int]]


@pytest.fixture
def normalized(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Names of the objects that were normalised."""
    names: list[object] = []

    def counted(obj: Mapping[str, Any], **options: Any) -> list[Entity]:
        names.append(obj.get("name"))
        return normalize(obj, **options)

    monkeypatch.setattr(json_format, "normalize", counted)
    return names


def outcome(report: ImportReport) -> Outcome:
    return report.stored, report.unchanged, [str(w) for w in report.warnings], report.skipped


async def imported(folder: Path, *paths: Path, memory: bool = True, **options: Any) -> Outcome:
    async with open_library(folder, backend="sqlite", imports=folder / "imports" if memory else None) as library:
        report = await library.import_paths(list(paths), **options)
    assert report.failed == []
    return outcome(report)


async def test_unchanged_objects_are_not_normalised_again(tmp_path, normalized):
    file = write_lines(tmp_path / "publishers.jsonl", [*SAMPLES, {"name": "Kelp Press", "key": "kelp-press"}])
    first = await imported(tmp_path / "library", file)
    number = len(normalized)
    assert first[:2] == (len(SAMPLES), 0)
    assert number >= len(SAMPLES)
    assert await imported(tmp_path / "library", file) == (0, len(SAMPLES), *first[2:])
    assert len(normalized) == number


async def test_what_the_library_has_no_longer_is_stored_again(tmp_path):
    file = write_lines(tmp_path / "a.jsonl", OWN)
    folder = tmp_path / "library"
    await imported(folder, file)
    async with open_library(folder, backend="sqlite") as library:
        (spell,) = await library.cache.get_entities("spells")
        await library.cache.delete_entities("spells", [spell.identity])
    assert (await imported(folder, file))[:2] == (1, 1)


@pytest.mark.parametrize("times", [2, 3])
async def test_conflicts_within_an_import_end_as_without_a_memory(tmp_path, times):
    other = {**OWN[0], "level": 5}
    files = [
        write_lines(tmp_path / "a.jsonl", [OWN[0], other, OWN[1]]),
        write_lines(tmp_path / "b.jsonl", [OWN[0], OWN[0]]),
        write_lines(tmp_path / "c.jsonl", [other]),
    ]
    for _ in range(times):
        with_memory = await imported(tmp_path / "with", *files)
        assert with_memory == await imported(tmp_path / "without", *files, memory=False)
    async with open_library(tmp_path / "with", backend="sqlite") as library:
        (spell,) = await library.cache.get_entities("spells")
    assert spell.fields["level"] == 5


def _emptied(content: dict[str, Any]) -> object:
    return {**content, "objects": []}


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: None,
        lambda content: [content],
        lambda content: {**content, "format": 99},
        _emptied,
        lambda content: {**content, "objects": {key: [["spells"]] for key in content["objects"]}},
        lambda content: {**content, "objects": {key: [["x", "a", "b", "c", False]] for key in content["objects"]}},
    ],
)
async def test_a_damaged_file_is_ignored_and_written_again(
    tmp_path: Path, damage: Callable[[dict[str, Any]], object], normalized: list[object]
) -> None:
    file, folder = write_lines(tmp_path / "a.jsonl", OWN), tmp_path / "library"
    await imported(folder, file)
    memory = folder / "imports"
    memory.write_text(json.dumps(damage(json.loads(memory.read_text()))))
    assert (await imported(folder, file))[:2] == (0, 2)
    normalized.clear()
    assert (await imported(folder, file))[:2] == (0, 2)
    assert normalized == []


async def test_a_memory_that_cannot_be_written_does_no_harm(tmp_path):
    file, folder = write_lines(tmp_path / "a.jsonl", OWN), tmp_path / "library"
    (folder / "imports.new").mkdir(parents=True)
    assert (await imported(folder, file))[:2] == (2, 0)
    assert Remembered.load(folder / "imports").types == set()
