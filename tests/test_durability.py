"""Killed programs, full disks, crowds of threads and processes: on every backend nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import ROOT, variables
from tests.support.killing import SUITES, Outcome, hashing, look
from tests.support.library_process import Program


@pytest.mark.parametrize("suite", list(SUITES))
@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_a_killed_program_loses_nothing_that_it_had_acknowledged(
    tmp_path: Path, backend: str, suite: str, kills: int, seed: int
) -> None:
    outcome = Outcome()
    await SUITES[suite](tmp_path, backend, kills, outcome, random.Random(f"{seed} {suite} {backend}"))
    assert outcome.rounds == kills
    assert (outcome.lost, outcome.doubled, outcome.apart) == (0, 0, 0)


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_three_processes_of_eight_threads_that_write_and_read_lose_nothing(tmp_path: Path, backend: str) -> None:
    environ = variables(tmp_path, backend)
    programs = [Program(environ) for _ in "abc"]
    for program, prefix in zip(programs, "abc", strict=True):
        program.tell("crowd", prefix, 8)
    for program in programs:
        assert await asyncio.to_thread(program.hear) is None
        assert await asyncio.to_thread(program.end) == ("", "")
    outcome = Outcome()
    async with hashing(environ) as cache:
        held = await look(cache, outcome)
    assert held.keys() == {f"{p}{t}-{n}" for p in "abc" for t in range(8) for n in range(20)}
    assert (outcome.doubled, outcome.apart) == (0, 0)


FULL_DISK = """
import asyncio, os, sys
from pathlib import Path
from lorekeeper.errors import CacheError
from tests.support.killing import Outcome, hashing, look
from tests.support.entities import batch
from tests.support.commands import variables

async def main(folder, backend):
    outcome = Outcome()
    async with hashing(variables(folder, backend)) as cache:
        await cache.store_entities(batch("a", 0, 20), "spells")
        space = os.statvfs(folder)
        (folder / "other").write_bytes(bytes(space.f_bavail * space.f_frsize - 300_000))
        try:
            await cache.store_entities(batch("b", 0, 300), "spells")
        except CacheError as error:
            print(error)
        print(len(await look(cache, outcome)) % 128 == 20)
        (folder / "other").unlink()
        print(await cache.store_entities(batch("b", 0, 300), "spells"))
    async with hashing(variables(folder, backend)) as cache:
        print(len(await look(cache, outcome)), outcome.doubled, outcome.apart)

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path, backend: str) -> None:
    mounted = f'mount -t tmpfs -o size=160M tmpfs "{tmp_path}" && exec "$0" -c "$1" "{tmp_path}" {backend}'
    command = ["unshare", "-rm", "sh", "-c"]
    if not shutil.which("unshare") or subprocess.run([*command, f'mount -t tmpfs tmpfs "{tmp_path}"']).returncode:
        pytest.skip("needs user namespaces to make a small disk")
    ran = subprocess.run([*command, mounted, sys.executable, FULL_DISK], cwd=ROOT, capture_output=True, text=True)
    assert ran.stderr == ""
    refused, kept, stored, after = ran.stdout.splitlines()
    assert "free" in refused
    assert (kept, stored, after) == ("True", "300", "320 0 0")
