"""Killed programs, full disks, crowds of threads and processes: on every backend nothing acknowledged is lost."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import variables
from tests.support.killing import SUITES, Outcome, hashing, look
from tests.support.library_process import Program
from tests.support.programs import command_of, fill_disk, read_unwritable


def on_a_small_disk(folder: Path, program: Callable[..., None], *arguments: object) -> subprocess.CompletedProcess[str]:
    """What a function of `programs` prints in a folder that is a disk of its own."""
    shell, mount = ["unshare", "-rm", "sh", "-c"], f'mount -t tmpfs -o size=160M tmpfs "{folder}"'
    if not shutil.which("unshare") or subprocess.run([*shell, mount]).returncode:
        pytest.skip("needs user namespaces to make a small disk")
    command = [*shell, f'{mount} && exec "$0" "$@"', *command_of(program, folder, *arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("suite", list(SUITES))
@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_a_killed_program_loses_nothing_that_it_had_acknowledged(
    tmp_path: Path, backend: str, suite: str, kills: int, seed: int
) -> None:
    outcome = Outcome()
    await SUITES[suite](tmp_path, backend, kills, outcome, random.Random(f"{seed} {suite} {backend}"))
    assert outcome.rounds == kills
    assert (outcome.lost, outcome.doubled, outcome.apart) == (0, 0, 0)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
async def test_all_that_six_processes_store_that_open_a_new_library_at_once_is_there(
    tmp_path: Path, backend: str
) -> None:
    environ = variables(tmp_path, backend)
    programs = [Program(environ) for _ in range(6)]
    for number, program in enumerate(programs):
        program.tell("store", f"p{number}-", 0, 20)
    for program in programs:
        assert await asyncio.to_thread(program.hear) == 20
    for program in programs:
        assert await asyncio.to_thread(program.end) == ("", "")
    outcome = Outcome()
    async with hashing(environ) as cache:
        held = await look(cache, outcome)
    assert held.keys() == {f"p{number}-{n}" for number in range(6) for n in range(20)}
    assert (outcome.doubled, outcome.apart) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
def test_a_full_disk_is_an_error_and_loses_nothing(tmp_path: Path, backend: str) -> None:
    ran = on_a_small_disk(tmp_path, fill_disk, backend)
    assert ran.stderr == ""
    refused, kept, stored, after = ran.stdout.splitlines()
    assert "free" in refused
    assert (kept, stored, after) == ("True", "300", "320 0 0")


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["milvus", "sqlite"])
@pytest.mark.parametrize("state", ["full", "read-only"])
def test_a_library_beside_which_nothing_can_be_written_is_read_and_writing_is_an_error(
    tmp_path: Path, backend: str, state: str
) -> None:
    ran = on_a_small_disk(tmp_path, read_unwritable, backend, state)
    assert ran.stderr == ""
    held, refused, stored, after = ran.stdout.splitlines()
    assert (held, stored, after) == ("20", "20", "40 0 0")
    assert str(tmp_path) in refused
