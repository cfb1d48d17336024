"""Sample entries in LoreKeeper's own JSON: two invented books, every type, values missing here and there."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ATLAS, ALMANAC = "tidewatch-atlas", "ember-almanac"

TITLES = {ATLAS: "The Tidewatch Atlas", ALMANAC: "Ember Almanac"}


FILE = Path(__file__).parent.parent / "data" / "samples.jsonl"

SAMPLES: list[dict[str, Any]] = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


def write_lines(path: Path, objects: Iterable[Mapping[str, Any]] = SAMPLES) -> Path:
    """A JSON lines file."""
    path.write_text("".join(json.dumps(o) + "\n" for o in objects), encoding="utf-8")
    return path
