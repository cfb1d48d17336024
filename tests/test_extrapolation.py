"""What measured costs grow to, as `benchmarks/extrapolation.py` prints it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

from tests.support.commands import ROOT

SIZES = (1_000, 10_000, 50_000)


def extrapolate(folder: Path, costs: dict[str, list[tuple[float, float]]], *options: str) -> str:
    """What the command prints about costs."""
    file = folder / "points.json"
    file.write_text(json.dumps({"costs": {name: {"unit": "MB", "points": points} for name, points in costs.items()}}))
    command = [sys.executable, "-m", "benchmarks.extrapolation", str(file), *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def estimates(folder: Path, points: list[tuple[float, float]], entries: int) -> dict[str, Any]:
    """What one cost grows to."""
    found = json.loads(extrapolate(folder, {"memory": points}, "--entries", str(entries), "--json"))
    estimate: dict[str, Any] = found["memory"][str(entries)]
    return estimate


def test_the_range_holds_what_noisy_points_leave_open(tmp_path, seed):
    random = Random(seed)
    noisy = [(float(n), (300 + 0.01 * n) * random.uniform(0.9, 1.1)) for n in SIZES]
    found = estimates(tmp_path, noisy, 10_000_000)
    assert found["low"] <= found["likely"] <= found["high"]
    assert found["low"] < found["high"]
    slopes = [(y2 - y1) / (x2 - x1) for x1, y1 in noisy for x2, y2 in noisy if x1 < x2]
    x, y = noisy[-1]
    assert found["high"] >= y + max(slopes) * (10_000_000 - x)


def test_the_table_checks_the_largest_point_against_the_others_and_marks_what_was_not_measured(tmp_path):
    points = [(1_000.0, 10.0), (2_000.0, 20.0), (4_000.0, 80.0)]
    table = extrapolate(tmp_path, {"memory": points}, "--entries", "8000")
    (row,) = [line for line in table.splitlines() if line.startswith("| memory")]
    assert "2.00 x" in row
    assert "~ 170 MB (120 MB to 200 MB)" in row
