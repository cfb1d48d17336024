"""What is made once for all workers of a run, and read by each."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder of that name that ``make`` fills: whoever is first makes it, the others wait. Nobody may change it."""
    run = factory.getbasetemp()
    original = (run.parent if "PYTEST_XDIST_WORKER" in os.environ else run) / name
    with original.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not original.exists():
            made = factory.mktemp("made")
            make(made)
            made.rename(original)
    return original
