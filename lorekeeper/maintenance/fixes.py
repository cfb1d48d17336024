"""``lorekeeper doctor --fix``: what can be put right without losing anything; the rest needs ``repair``, or a decision.

Each fix says what it did. Files that may be worth something to their owner are named, and never deleted.
"""

from __future__ import annotations

import asyncio
import stat
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lorekeeper.cache.repair import REPAIRED
from lorekeeper.composition import VECTORS, repair_backend, vector_cache
from lorekeeper.errors import LoreKeeperError
from lorekeeper.library import Library
from lorekeeper.settings import Settings, own_file
from lorekeeper.system import in_thread, keep_private

OLD_DAYS = 30
"""Age from which on a library that was moved aside is named."""

LEFTOVERS = ((".damaged", OLD_DAYS), (REPAIRED, 1))
"""What is in the names of what earlier damage and killed processes leave behind, and the days after which it is named."""

_OTHERS = 0o077


@dataclass
class Fixes:
    """What was done, and what is left to the reader, in sentences."""

    fixed: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, list[str]]:
        """``{"fixed", "left"}``."""
        return asdict(self)


async def fix(settings: Settings) -> Fixes:
    """Put right what can be put right. What is damaged beyond that is left as it is, for the checks to name."""
    fixes = Fixes()
    fixes.fixed += await asyncio.to_thread(lambda: list(_made_private(settings)))
    try:
        fixes.fixed += await _library_fixed(settings)
    except LoreKeeperError as error:
        fixes.left.append(str(error))
    fixes.left += await asyncio.to_thread(lambda: list(_leftovers(settings)))
    return fixes


async def _library_fixed(settings: Settings) -> list[str]:
    """Fix the embedding cache and the library, if there is one."""
    if not settings.milvus_uri and not settings.library_path.exists():
        return []
    async with Library.from_settings(settings) as library, in_thread(closing(vector_cache(settings))) as vectors:
        dropped = await asyncio.to_thread(vectors.drop_damaged)
        done = [f"{dropped:,} damaged vectors were removed from the embedding cache"] if dropped else []
        return done + await asyncio.to_thread(
            repair_backend(library.store, vectors, library.embedding.dimension_of).fix
        )


def _made_private(settings: Settings) -> Iterator[str]:
    """Revoke what others may do with the library's files and the user's settings, which may hold tokens.

    A settings file at a place of the user's own choice is theirs to share.
    """
    own_settings = [own_file(None)] if settings.env_file is None else []
    for path in [*_own_files(settings), *own_settings]:
        if _mode(path) & _OTHERS:
            keep_private(path)
            if not _mode(path) & _OTHERS:  # the file of another user, and any on Windows, stays as it is
                yield f"{path} could be read by other users; now it is private"


def _leftovers(settings: Settings) -> Iterator[str]:
    """What is left of repairs, with its age and size."""
    for path in _own_files(settings):
        if not _mode(path) or path.suffix == ".lock":
            continue
        age = (time.time() - path.stat().st_mtime) / 86_400
        if any(mark in path.name and age >= days for mark, days in LEFTOVERS):
            yield f"{path} is {age:.0f} days old and takes {_size(path) / 1e6:,.1f} MB; delete it if nothing is missing"


def _own_files(settings: Settings) -> list[Path]:
    """The library, what stands beside it under its name, and the embedding cache."""
    folder, name = settings.library_path.parent, settings.library_path.name
    beginnings = (f"{name}.", f"{name}-wal", f"{name}-shm", VECTORS)
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in files if path.name == name or path.name.startswith(beginnings)]


def _mode(path: Path) -> int:
    """What a file or folder is and who may use it; 0 for what is neither, such as a link, a device, or what has just gone."""
    try:
        mode = path.lstat().st_mode
    except OSError:
        return 0
    return mode if stat.S_ISREG(mode) or stat.S_ISDIR(mode) else 0


def _size(path: Path) -> int:
    """Bytes of a file, or of all files of a folder."""
    return sum(file.stat().st_size for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file())
