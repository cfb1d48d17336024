"""Archives, caches, packs and files of an attacker: each ends in a report or a clear error, soon and with little
memory, and the library afterwards is what it was and what was reported as stored. `tests.support.hostile` makes them.

``--hostile`` says how many, ``--seed`` which; `make fuzz` runs the long form.
"""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_process import CommandProcess, Done
from tests.support.commands import environment
from tests.support.embedding_server import EmbeddingServer
from tests.support.hostile import Good, Input, inputs
from tests.support.samples import SAMPLES, write_lines

SECONDS = 30.0
"""Most processor time for one input, after Python has started: three times what the slowest is allowed on a machine at ease."""

HANG_SECONDS = 90.0
"""When a command is ended that waits for ever."""

MEGABYTES = 300
"""Largest resident size of the process that reads one input."""

CHECK_SECONDS = 30.0

MAX_LINE = 2_000
"""Longest line of a message, in characters."""

MAX_SAID = 200_000
"""Most that is said of one input, in characters."""

_UNPRINTABLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

MILVUS_EACH = 8
"""One input in so many is tried on the embedded Milvus, the others on SQLite."""

pytestmark = pytest.mark.slow


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "one" in metafunc.fixturenames:
        seed, number = metafunc.config.getoption("seed"), metafunc.config.getoption("hostile")
        chosen = inputs(random.Random(f"{seed} inputs"), number)
        cases = [(one, "milvus" if n % MILVUS_EACH == MILVUS_EACH - 1 else "sqlite") for n, one in enumerate(chosen)]
        metafunc.parametrize(("one", "name"), cases, ids=[f"{one.name}, {name}" for one, name in cases])


@dataclass
class Farm:
    """Good libraries and inputs, and the process that meets the bad ones.

    Attributes:
        process: runs commands.
        embeddings: address of the embedding server.
        folders: of a good library, by backend.
        states: what is in it, as `tests.support.hostile.check` says.
        good: inputs, to be spoilt.
    """

    process: CommandProcess
    embeddings: str
    folders: dict[str, Path]
    states: dict[str, dict[str, Any]]
    good: Good

    def environ(self, folder: Path, name: str, **settings: str) -> dict[str, str]:
        own = {"CACHE_BACKEND": name, "EMBEDDING_PROVIDER": "http", "EMBEDDING_URL": self.embeddings}
        return environment(folder, **own, **settings)

    def check(self, folder: Path, name: str, base: list[str]) -> dict[str, Any]:
        done = self.process.check({"base": base}, self.environ(folder, name), folder, CHECK_SECONDS)
        assert done.status == 0, f"the library cannot be read any more: {done.stderr[-2_000:]}"
        state: dict[str, Any] = json.loads(done.stdout)
        return state


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Farm]:
    server, root = EmbeddingServer(), tmp_path_factory.mktemp("hostile")
    folders = {name: root / name for name in ("sqlite", "milvus", "source")}
    more = [
        {"collection": "spells", "name": f"Salt Step {n}", "document": "salt-book", "level": n, "classes": ["wizard"],
         "school": "evocation", "description": f"Step {n} over salt."}
        for n in range(6)
    ]  # fmt: skip
    with server.running(), CommandProcess(environment(root)) as process:
        farm = Farm(process, server.url, folders, {}, Good(b"", root, []))
        for name, folder in folders.items():
            folder.mkdir()
            objects = [*SAMPLES, *more] if name == "source" else SAMPLES
            path = write_lines(root / f"{name}.jsonl", objects)
            environ = farm.environ(folder, name if name != "source" else "sqlite")
            done = process.run(["import", str(path), "--json"], environ, folder, 60)
            assert json.loads(done.stdout)["stored"] == len(objects), done.stderr
        environ = farm.environ(folders["source"], "sqlite")
        done = process.run(["backup", str(root / "good.zip"), "--json"], environ, folders["source"], 60)
        assert done.status == 0, done.stderr
        for name in ("sqlite", "milvus"):
            texts = farm.check(folders[name], name, [])["texts"]
            farm.states[name] = farm.check(folders[name], name, texts)
        farm.good = Good((root / "good.zip").read_bytes(), folders["source"] / "cache.db", more)
        yield farm


def test_the_good_library_is_as_it_should_be(farm):
    for name in ("sqlite", "milvus"):
        state = farm.states[name]
        assert (len(state["hashes"]), state["problems"]) == (len(SAMPLES), [])
        assert state["known"] == len(set(state["texts"]))


def test_every_input_ends_in_a_report_or_a_clear_error_and_leaves_the_library_whole(one, name, farm, tmp_path, seed):
    problems = attempt(one, name, farm, tmp_path, random.Random(f"{seed} {one.name}"))
    assert problems == [], f"seed {seed}, {one.name}: " + "\n".join(problems)


def attempt(one: Input, name: str, farm: Farm, folder: Path, chance: random.Random) -> list[str]:
    """Give one input to a copy of the good library; all that is wrong afterwards."""
    library = folder / "library"
    shutil.copytree(farm.folders[name], library)
    arguments = one.build(farm.good, library, chance)
    done = farm.process.run(arguments, farm.environ(library, name, OFFLINE="1"), library, HANG_SECONDS)
    print(
        f"{one.name}: {done.status}, {done.seconds:.2f} s, {done.peak_mb:.0f} MB\n{done.stderr[:500]}\n{done.stdout[:500]}"
    )
    before = farm.states[name]
    after = farm.check(library, name, before["texts"])
    return [*ended_badly(done), *differences(arguments[0], done, before, after), *spoilt(one, done)]


def ended_badly(done: Done) -> Iterator[str]:
    """What is wrong with how a command ended, and with what it said."""
    said = done.stdout + done.stderr
    if done.timed_out:
        yield f"not done after {HANG_SECONDS:.0f} s"
    elif done.seconds > SECONDS:
        yield f"computed for {done.seconds:.1f} s"
    elif done.status not in (0, 1, 2):
        yield f"exit status {done.status}"
    elif done.status and not said.strip():
        yield "failed, and said nothing"
    if done.peak_mb > MEGABYTES:
        yield f"took {done.peak_mb:.0f} MB"
    if "Traceback" in said or "Exception ignored" in said:
        yield f"a traceback: {said[-700:]}"
    if max(map(len, done.stderr.splitlines()), default=0) > MAX_LINE or len(done.stderr) > MAX_SAID:
        yield f"messages of {len(done.stderr):,} characters"
    if found := _UNPRINTABLE.search(done.stderr):
        yield f"{found[0]!a} on the terminal"


def report_of(done: Done) -> dict[str, Any] | None:
    """The one JSON document on stdout; None where there is none."""
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return None
    return report if isinstance(report, dict) else None


def differences(command: str, done: Done, before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    """Where the library is not what it was and what was reported."""
    report = report_of(done)
    if report is None and done.stdout.strip():
        yield f"no JSON on stdout: {done.stdout[:300]}"
    report = report or {}
    stored, removed = (0, 0) if command == "repair" else (report.get("stored", 0), report.get("removed", 0))
    old, new = before["hashes"], after["hashes"]
    changed = sorted(k for k in new if old.get(k) != new[k])
    gone = sorted(old.keys() - new.keys())
    if (len(changed), len(gone)) != (stored, removed):
        yield f"{len(changed)} changed ({changed[:3]!a}) and {len(gone)} gone, but reported {stored} and {removed}"
    if after["known"] < before["known"] and command != "repair":
        yield f"of {before['known']} known vectors {after['known']} are left"
    yield from after["problems"]


def spoilt(one: Input, done: Done) -> Iterator[str]:
    """What is wrong with the answer to a good input."""
    if one.good and (done.status or not (report_of(done) or {}).get("stored")):
        yield f"a good input was not taken: {done.stdout[:300]} {done.stderr[:300]}"


# --- the checks themselves -------------------------------------------------------------------------------------------
