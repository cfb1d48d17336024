"""Libraries of commit c387532, the first that is upgraded: its code, where the git history has it, and programs that run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from tests.support.commands import ROOT

COMMIT = "c387532"

PROGRAM = """
import asyncio, json, sys
from pathlib import Path
from lorekeeper.cache.milvus import takeover
from lorekeeper.composition import open_cache
from lorekeeper.embedding import EmbeddingService, HashingProvider
from lorekeeper.entities import Entity
from lorekeeper.errors import LoreKeeperError
from lorekeeper.settings import load_settings

takeover.OPEN_SECONDS = 0.2


def spell(number):
    fields = {"level": number % 10, "school": "evocation", "range": number / 8}
    data = {"collection": "spells", "name": f"S{number}", "description": f"Text {number}. " * (1 + number % 3 * 20), **fields}
    return Entity("spells", f"s{number}", f"S{number}", "spell", "own", "lorekeeper", {**data, "mood": "grim"}, fields)


async def main(environ):
    settings, _ = load_settings(environ, Path("no.env"))
    async with open_cache(settings, EmbeddingService(lambda: HashingProvider(64))) as cache:
        while line := await asyncio.to_thread(sys.stdin.readline):
            try:
                number = json.loads(line)
                if number:
                    answer = await cache.store_entities([spell(n) for n in range(number)], "spells")
                else:
                    answer = await cache.count_entities("spells")
            except LoreKeeperError as error:
                answer = str(error)
            print(json.dumps(answer), flush=True)


asyncio.run(main(json.loads(sys.argv[1])))
"""


class EarlierProgram:
    """A program of that commit that has a library open; use it as a context manager."""

    def __init__(self, code: Path, environ: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, json.dumps(environ)],
            env={**os.environ, "PYTHONPATH": str(code)},
            cwd=code,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def store(self, number: int) -> Any:
        """Store so many spells; how many were stored, or why none could be."""
        return self._ask(number)

    def count(self) -> Any:
        """The number of spells, or why it is not known."""
        return self._ask(0)

    def _ask(self, number: int) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{number}\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)


def extract(folder: Path) -> Path:
    """Put the code of that commit into a folder; skips the test where it cannot be had."""
    archive = subprocess.run(["git", "archive", COMMIT, "lorekeeper"], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"needs the git history: commit {COMMIT} cannot be read")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder
