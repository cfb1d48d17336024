"""What measured costs grow to: straight lines through measured points, and the range that every two of them span.

    python -m benchmarks.extrapolation [POINTS.json] [--entries 1000000 10000000] [--json]

POINTS.json is written by `python -m benchmarks.server_growth`: {"costs": {"memory": {"unit": "MB", "points": [[entries,
value], ...]}}}. The line has the median of the slopes between every two points (Theil 1950, Sen 1968), so that one odd
point does not tilt it. Nothing here measures: a library of another size must behave as those that were measured do.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

POINTS = Path(".bench/server-growth.json")
ENTRIES = (1_000_000, 10_000_000)

LARGER = {"ms": (1000, "s"), "s": (3600, "h"), "MB": (1000, "GB"), "GB": (1000, "TB")}
"""How many of a unit make a larger one, and which."""

Point = tuple[float, float]
"""A number of entries, and the cost that was measured there."""


class Estimate(NamedTuple):
    """A cost that was not measured: the least, the likely and the most that the points allow."""

    low: float
    likely: float
    high: float


@dataclass(frozen=True)
class Line:
    """A cost that grows in a straight line.

    Attributes:
        points: at least two, of different numbers of entries.
    """

    points: tuple[Point, ...]

    @property
    def slopes(self) -> list[float]:
        """Cost of one more entry between every two points, ascending; at least 0, since no cost falls with growth."""
        pairs = itertools.combinations(sorted(self.points), 2)
        return sorted(max((y2 - y1) / (x2 - x1), 0.0) for (x1, y1), (x2, y2) in pairs)

    @property
    def slope(self) -> float:
        """Cost of one more entry: the median of the slopes."""
        return statistics.median(self.slopes)

    @property
    def fixed(self) -> float:
        """Cost of an empty library, by the line."""
        return statistics.median(y - self.slope * x for x, y in self.points)

    def at(self, entries: float) -> Estimate:
        """The cost at a number of entries; its range is that of the steepest and the flattest slope from the largest point."""
        x, y = max(self.points)
        low, high = (y + slope * (entries - x) for slope in (self.slopes[0], self.slopes[-1]))
        return Estimate(*sorted((low, self.fixed + self.slope * entries, high)))

    def hindsight(self) -> float | None:
        """The largest point as a multiple of what the others predict there; None if there are no two others."""
        *others, (x, y) = sorted(self.points)
        if len(others) < 2:
            return None
        predicted = Line(tuple(others)).at(x).likely
        return y / predicted if predicted else None


def extrapolated(costs: dict[str, Line], entries: Sequence[int]) -> dict[str, dict[int, Estimate]]:
    """What each cost grows to."""
    return {name: {number: line.at(number) for number in entries} for name, line in costs.items()}


def table(costs: dict[str, Line], units: dict[str, str], entries: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table of the lines and of what they lead to; numbers that were not measured are marked with ~."""
    heads = ["cost", "of 1,000 entries more", "largest: measured / predicted", *(f"~ {number:,}" for number in entries)]
    rows = []
    for name, estimates in extrapolated(costs, entries).items():
        line, unit = costs[name], units[name]
        checked = line.hindsight()
        cells = [_cell(line, estimate, unit) for estimate in estimates.values()]
        rows.append([name, shown(1000 * line.slope, unit), f"{checked:.2f} x" if checked else "", *cells])
    return heads, rows


def _cell(line: Line, estimate: Estimate, unit: str) -> str:
    """An estimate with its range; of a cost that was not seen to grow, the most that the points allow."""
    low, likely, high = (shown(value, unit) for value in estimate)
    if len(line.slopes) == 1:
        return f"~ {likely} (two sizes give no range)"
    return f"~ {likely} ({low} to {high})" if line.slope else f"not seen to grow; at most ~ {high}"


def short(value: float) -> str:
    """Two significant digits, since no more are known: "0.034", "1.2", "340", "12,000"."""
    return f"{float(f'{value:.2g}'):,.12g}"


def shown(value: float, unit: str) -> str:
    """A value in the largest fitting unit: "1.2 s" for 1,234 ms."""
    step, larger = LARGER.get(unit, (0, ""))
    return shown(value / step, larger) if step and value >= step else f"{short(value)} {unit}"


def read(path: Path) -> tuple[dict[str, Line], dict[str, str]]:
    """The lines of a file of points, and their units; ValueError if there are fewer than two points of a cost."""
    costs = json.loads(path.read_text("utf-8"))["costs"]
    for name, cost in costs.items():
        if len({entries for entries, _ in cost["points"]}) < 2:
            raise ValueError(f"{name} was measured at one size only; measure another: --sizes 1000 10000")
    lines = {name: Line(tuple((x, y) for x, y in cost["points"])) for name, cost in costs.items()}
    return lines, {name: cost["unit"] for name, cost in costs.items()}


def main() -> int:
    """Print what the costs of a file grow to; exit status 2 if it cannot be used."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("points", nargs="?", type=Path, default=POINTS, help=f"default: {POINTS}")
    parser.add_argument("--entries", nargs="+", type=int, default=ENTRIES, metavar="N", help="sizes of libraries")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    chosen = parser.parse_args()
    try:
        costs, units = read(chosen.points)
    except (OSError, ValueError, KeyError) as error:
        print(f"{chosen.points} cannot be used: {error}. Make it: python -m benchmarks.server_growth", file=sys.stderr)
        return 2
    if chosen.json:
        estimates = extrapolated(costs, chosen.entries)
        print(json.dumps({name: {n: e._asdict() for n, e in found.items()} for name, found in estimates.items()}))
        return 0
    heads, rows = table(costs, units, chosen.entries)
    print("\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
