"""What several places ask of the system and the process: private files, a share of descriptors, a quick start."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator
from pathlib import Path

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700

_DESCRIPTORS = 1024
"""Assumed where the system does not say how many a process may have open."""


def private_folder(path: Path) -> Path:
    """The folder, made where there is none, with its parents; only this user can enter what is made here.

    Raises:
        OSError: it cannot be made, or something else is in its place.
    """
    if not path.is_dir():
        private_folder(path.parent)
        path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    return path


def private_file(path: Path) -> Path:
    """The file, made empty where there is none; from now on only this user can read and write it.

    Raises:
        OSError: it cannot be made.
    """
    if not path.exists():
        path.touch(mode=PRIVATE_FILE)
    return keep_private(path)


def keep_private(path: Path) -> Path:
    """Let nobody else read, write or enter a file or folder; one of another user, or none at all, is left alone."""
    with contextlib.suppress(OSError):
        mode = path.stat().st_mode & 0o777
        if mode & ~PRIVATE_FOLDER:
            path.chmod(mode & PRIVATE_FOLDER)
    return path


def descriptor_share(most: int) -> int:
    """How many connections one listener may hold: an eighth of the descriptors of this process, at most ``most``."""
    try:
        import resource
    except ImportError:  # Windows
        return min(most, _DESCRIPTORS // 8)
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return most if allowed == resource.RLIM_INFINITY else min(most, max(8, allowed // 8))


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """No looking for garbage while much is loaded that stays: that would cost a fifth of the start."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # what is there now stays: no need to look through it again and again
        if running:
            gc.enable()
