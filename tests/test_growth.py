"""What strangers write costs time in proportion to its length: four times as much takes less than nine times as long."""

from __future__ import annotations

import gc
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from lorekeeper.vaults.links import Links
from tests.support.vaults import vault_library, write

FACTOR, MARGIN = 4, 9
"""How many times as much there is, and how many times as long it may take: quadratic work takes 16 times as long."""

pytestmark = pytest.mark.slow

BODIES: dict[str, Callable[[int], str]] = {
    "links in one line": lambda n: " ".join(f"[[N{i % 40}|Far {i}]]" for i in range(n)),
    "names without links": lambda n: " ".join(f"then N{i % 40} Gob" for i in range(n)),
    "a table": lambda n: "| a | b |\n|---|---|\n" + "\n".join(f"| [[N{i % 40}]] | Gob {i} |" for i in range(n)),
}


async def cpu_seconds(call: Callable[[], Awaitable[object]]) -> float:
    """CPU time of a call, without passes of the garbage collector over what other tests keep."""
    gc.collect()
    gc.freeze()
    before = time.process_time()
    try:
        await call()
    finally:
        gc.unfreeze()
    return time.process_time() - before


async def seconds_of_topic(folder: Path, body: str) -> float:
    """CPU time of a dossier on a note with that body, which a session has too."""
    notes = {f"N{i}.md": f"# N{i}\nThe guard of the north speaks with [[Gob]] at night.\n" for i in range(40)}
    notes |= {"Gob.md": f"# Gob\n{body}\n", "Session 1.md": f"---\ntype: session\n---\n# Session 1\n{body}\n"}
    async with vault_library(folder) as library:
        await library.vaults.add(write(folder / "vault", notes))
        await library.vaults.sync()
        await library.topic("lake")  # so that both measurements find the same things loaded
        return await cpu_seconds(lambda: library.topic("Gob"))


@pytest.mark.parametrize("kind", BODIES)
async def test_a_dossier_on_a_note_of_thousands_of_links_takes_time_in_proportion(tmp_path, kind):
    few, many = (BODIES[kind](number) for number in (1_000, FACTOR * 1_000))
    first = await seconds_of_topic(tmp_path / "few", few)
    assert await seconds_of_topic(tmp_path / "many", many) < MARGIN * max(first, 0.1)


RUNS: dict[str, Callable[[int], str]] = {
    "blanks within a line": lambda n: f"a{' ' * n}b",
    "tabs within a line": lambda n: f"a{chr(9) * n}b",
    "no-break spaces within a line": lambda n: f"a{chr(0xA0) * n}b",
    "a line of tildes": lambda n: "~" * n,
    "a line of ticks": lambda n: f"x {'`' * n} y",
    "initials": lambda n: f"{'a.' * (n // 2)}b",
    "separators": lambda n: f"a{' &' * (n // 2)} b",
    "keys of front matter": lambda n: "---\n" + "".join(f"key{i}: v{i}\n" for i in range(n // 14)) + "---\nText.",
}
"""Texts by their length."""
RUN = 30_000


async def seconds_of_reading(folder: Path, text: str) -> float:
    """The least CPU time of several in which a vault takes in a note."""
    least = float("inf")
    async with vault_library(folder, backend="sqlite") as library:
        vault = write(folder / "vault", {"N0.md": "# N0\nThe guard of the north speaks at night.\n"})
        await library.vaults.add(vault)
        await library.vaults.sync()
        for number in range(1, 4):
            write(vault, {f"N{number}.md": f"{text}\n\nNote {number}.\n"})
            least = min(least, await cpu_seconds(library.vaults.sync))
    return least


@pytest.mark.parametrize("kind", RUNS)
async def test_a_note_with_a_long_run_is_read_in_proportion_to_its_length(tmp_path, kind):
    few, many = (RUNS[kind](number) for number in (RUN, 2 * RUN))
    first = await seconds_of_reading(tmp_path / "few", few)
    assert await seconds_of_reading(tmp_path / "many", many) < 3 * max(first, 0.1)  # quadratic time would be 4


@pytest.mark.parametrize("target", ["Nowhere", "index", "elsewhere{}/index", "{}/index", "alias"])
async def test_links_of_a_vault_with_a_note_of_one_name_in_each_folder_take_time_in_proportion(target):
    async def resolve(number: int) -> None:
        paths = [f"f{each}/index.md" for each in range(number)]
        links = Links(dict.fromkeys(paths, ("alias",)))
        for each, path in enumerate(paths):
            links.resolve(target.format(each), path)

    few, many = [min([await cpu_seconds(partial(resolve, n)) for _ in range(3)]) for n in (1_000, FACTOR * 1_000)]
    assert many < MARGIN * max(few, 0.02)
