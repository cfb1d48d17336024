"""One hostile input: what it is called, how it is made, what command is to read it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Good:
    """What is good, before it is spoilt.

    Attributes:
        archive: bytes of an archive of ``lorekeeper backup``.
        library: a SQLite file of ours with the same entries.
        objects: entries in LoreKeeper's own JSON.
    """

    archive: bytes
    library: Path
    objects: list[dict[str, Any]]


Build = Callable[[Good, Path, random.Random], list[str]]
"""Writes an input into a folder, and gives the arguments of the command that is to read it."""


@dataclass(frozen=True)
class Input:
    """One input.

    Attributes:
        name: what is wrong with it.
        build: writes it.
        good: whether it is not spoilt at all, and must be taken whole.
        swapped: whether one value stands in the place of another, of which there are very many.
    """

    name: str
    build: Build
    good: bool = False
    swapped: bool = False
