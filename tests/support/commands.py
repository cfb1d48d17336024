"""LoreKeeper's command line on a library in a folder: in a process of its own, and within this one."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from lorekeeper.cli.main import main
from lorekeeper.intake.starter_record import DECLINED
from lorekeeper.system import private_file
from tests.support import forking

ROOT = Path(__file__).parents[2]
"""Where `tests` and `lorekeeper` can be imported from."""


HANG_SECONDS = 200
"""After which a command is taken to hang: more than a machine with ten times too much to do needs, less than a test may take."""

STARTER_RECORDS = ("milvus.db.starter", "cache.db.starter")
"""The files that record whether the first books were loaded into a library."""


def variables(folder: Path, backend: str = "milvus") -> dict[str, str]:
    """The variables that put a library into that folder: one that declines the first books, so that tests count what they store."""
    for file in [folder / name for name in STARTER_RECORDS] if folder.is_dir() else ():
        if not file.exists() or file.read_text() != DECLINED:
            private_file(file).write_text(DECLINED)
    return {
        "LOREKEEPER_CACHE_BACKEND": backend,
        "LOREKEEPER_MILVUS_DB_PATH": str(folder / "milvus.db"),
        "LOREKEEPER_SQLITE_DB_PATH": str(folder / "cache.db"),
    }


def environment(folder: Path, **settings: str) -> dict[str, str]:
    """The environment of a process whose library is in that folder, without the caller's settings."""
    return {**forking.variables(), **_environment(folder, **settings)}


def _environment(folder: Path, **settings: str) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("LOREKEEPER_")}
    chosen = {"OFFLINE": "1", "ENV_FILE": os.devnull, **settings}
    return {**inherited, **variables(folder), **{f"LOREKEEPER_{name}": value for name, value in chosen.items()}}


def run_lorekeeper(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line in that folder, on the library there unless ``env`` says otherwise.

    In a fork of a process that has imported the package, where there are forks: the start of Python is not what is tested.
    """
    imported_elsewhere = env is not None and env.get("PYTHONPATH") != os.environ.get("PYTHONPATH")
    if hasattr(os, "fork") and not imported_elsewhere:
        return forking.run(arguments, environment(folder) if env is None else env, folder, HANG_SECONDS)
    return subprocess.run(
        [sys.executable, "-m", "lorekeeper", *arguments],
        cwd=folder,
        env=dict(env) if env is not None else environment(folder),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


def run_inside(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The same within this process, which is quicker: for what a process of its own would show nothing more of."""
    chosen = dict(env) if env is not None else _environment(folder)
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.chdir(folder)
        for name in set(os.environ) - set(chosen):
            patch.delenv(name)
        for name, value in chosen.items():
            patch.setenv(name, value)
        status = main(arguments)
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), err.getvalue())
