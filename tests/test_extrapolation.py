"""What measured costs grow to, as `benchmarks/extrapolation.py` prints it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

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


def test_a_straight_line_goes_on(tmp_path):
    line = [(float(n), 300 + 0.01 * n) for n in SIZES]
    found = estimates(tmp_path, line, 10_000_000)
    assert found == pytest.approx({"low": 100_300, "likely": 100_300, "high": 100_300})


def test_the_range_holds_what_noisy_points_leave_open(tmp_path, seed):
    random = Random(seed)
    noisy = [(float(n), (300 + 0.01 * n) * random.uniform(0.9, 1.1)) for n in SIZES]
    found = estimates(tmp_path, noisy, 10_000_000)
    assert found["low"] <= found["likely"] <= found["high"]
    assert found["low"] < found["high"]
    slopes = [(y2 - y1) / (x2 - x1) for x1, y1 in noisy for x2, y2 in noisy if x1 < x2]
    x, y = noisy[-1]
    assert found["high"] >= y + max(slopes) * (10_000_000 - x)


def test_one_odd_point_does_not_tilt_the_line(tmp_path):
    points = [(float(n), 5.0) for n in (1_000, 2_000, 4_000, 8_000, 16_000)]
    odd = [*points[:2], (4_000.0, 50.0), *points[3:]]
    assert estimates(tmp_path, odd, 1_000_000)["likely"] == 5.0


def test_a_cost_that_fell_by_chance_does_not_fall_on(tmp_path):
    found = estimates(tmp_path, [(1_000.0, 9.0), (10_000.0, 8.0)], 10_000_000)
    assert found["low"] == 8.0


def test_the_table_checks_the_largest_point_against_the_others_and_marks_what_was_not_measured(tmp_path):
    points = [(1_000.0, 10.0), (2_000.0, 20.0), (4_000.0, 80.0)]
    table = extrapolate(tmp_path, {"memory": points}, "--entries", "8000")
    (row,) = [line for line in table.splitlines() if line.startswith("| memory")]
    assert "2.00 x" in row
    assert "~ 170 MB (120 MB to 200 MB)" in row


def test_the_table_claims_no_range_from_two_sizes_and_no_growth_that_was_not_seen(tmp_path):
    costs = {"two": [(1_000.0, 1.0), (2_000.0, 2.0)], "flat": [(1_000.0, 5.0), (2_000.0, 3.0), (3_000.0, 4.0)]}
    table = extrapolate(tmp_path, costs, "--entries", "5000")
    assert "~ 5 MB (two sizes give no range)" in table
    assert "not seen to grow; at most ~ 6 MB" in table


def test_one_size_is_not_enough(tmp_path):
    with pytest.raises(subprocess.CalledProcessError) as error:
        estimates(tmp_path, [(1_000.0, 9.0)], 10_000)
    assert error.value.returncode == 2
    assert "--sizes" in error.value.stderr
