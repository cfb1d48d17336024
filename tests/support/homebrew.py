"""Homebrew files of 5etools: our own small ones, and what an import makes of any."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.intake.files import Reader
from lorekeeper.intake.reports import ImportReport

FOLDER = Path(__file__).parent.parent / "data" / "fivetools"


def read(*paths: Path, document: str | None = None) -> tuple[list[Entity], ImportReport]:
    """The entities of files and folders, and what was said of them."""
    report = ImportReport()
    return [entry.entity for entry in Reader(list(paths), document, report).read()], report


def brew(folder: Path, name: str = "tide", edition: str = "classic", **lists: Any) -> Path:
    """A homebrew file with these lists, under one source."""
    meta = {"sources": [{"json": "Tide", "full": "Tide Tables", "authors": ["A. Gull"]}], "edition": edition}
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"_meta": meta, **lists}), "utf-8")
    return path


def one(folder: Path, kind: str, **values: Any) -> Entity:
    """The entity of one object, of which nothing was said."""
    entities, report = read(brew(folder, "tide", "classic", **{kind: [{"name": "Thing", "source": "Tide", **values}]}))
    assert (report.failed, report.warnings) == ([], [])
    (entity,) = (e for e in entities if e.type != "documents")
    return entity


def problems(report: ImportReport) -> str:
    """What was said of an import, in one text."""
    return "\n".join(f"{problem.where}: {problem.reason}" for problem in (*report.failed, *report.warnings))


ODD_VALUES: tuple[object, ...] = (
    None,
    True,
    0,
    -1,
    1e300,
    "",
    "{@b {@",
    "x" * 300,
    [],
    {},
    [[]],
    [None],
    {"type": "list"},
    ["a", {"entries": 3}],
    {"entries": {}},
)


def mutated(value: Any, dice: random.Random, rate: float) -> Any:
    """A JSON value in which some parts are replaced, lost or doubled."""
    if dice.random() < rate:
        return dice.choice(ODD_VALUES)
    if isinstance(value, dict):
        return {key: mutated(each, dice, rate) for key, each in value.items() if dice.random() > rate / 2}
    if isinstance(value, list):
        kept = [mutated(each, dice, rate) for each in value for _ in range(1 + (dice.random() < rate / 2))]
        return kept if dice.random() > rate else (kept or [None])[0]
    return value
