"""Opens files whose names others chose: in a vault, in a home folder, beside a library.

Such a name may stand for a pipe without a writer, a device without an end, or a link to either. Only regular files are opened,
and no more of them is read than a limit allows.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

STATE_BYTES = 1 << 28
"""Largest file of LoreKeeper's own that is read at once: what it has imported, its people, its vaults."""

_PIECE_BYTES = 1 << 20
"""So much is read at a time: a read takes memory for all that it may give."""

_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""Flags with which opening waits for nobody, if a pipe has taken the place of the file meanwhile."""

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0) | _NO_LINK


def require_regular(mode: int) -> None:
    """OSError if a file of this ``st_mode`` is not a regular one."""
    if not stat.S_ISREG(mode):
        tests = {"pipe": stat.S_ISFIFO, "socket": stat.S_ISSOCK, "folder": stat.S_ISDIR, "symbolic link": stat.S_ISLNK}
        kind = next((name for name, test in tests.items() if test(mode)), "device")
        raise OSError(f"it is a {kind}, not a regular file")


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading, through links. Never waits.

    Raises:
        OSError: it cannot be opened, or is something else; a device is not even opened, which can have an effect.
    """
    require_regular(path.stat().st_mode)
    return _checked(os.open(path, os.O_RDONLY | _AT_ONCE))


def open_within(folder: Path, name: str) -> BinaryIO:
    """Open a regular file of a foreign folder by its path in it, with "/". No link in that path is followed.

    Raises:
        OSError: as for `open_regular`; also for a link.
    """
    require_regular((folder / name).lstat().st_mode)
    if os.open not in os.supports_dir_fd:  # Windows
        return _checked(os.open(folder / name, os.O_RDONLY | _AT_ONCE))
    *parents, last = name.split("/")
    inner = os.open(folder, os.O_RDONLY)
    try:
        for parent in parents:
            outer, inner = inner, os.open(parent, os.O_RDONLY | _FOLDER, dir_fd=inner)
            os.close(outer)
        return _checked(os.open(last, os.O_RDONLY | _AT_ONCE | _NO_LINK, dir_fd=inner))
    finally:
        os.close(inner)


def read_regular(path: Path, largest: int = STATE_BYTES) -> bytes:
    """The content of a regular file, through links; OSError, with the reason, also if it has more than ``largest`` bytes."""
    with open_regular(path) as file:
        return read_at_most(file, largest)


def read_at_most(file: BinaryIO, largest: int) -> bytes:
    """The content of an open file; OSError if it has more than ``largest`` bytes."""
    content = bytearray()
    while len(content) <= largest and (part := file.read(_PIECE_BYTES)):
        content += part
    if len(content) > largest:
        raise OSError(f"it has more than {largest:,} bytes")
    return bytes(content)


def files_below(
    folder: Path, failed: Callable[[Path, OSError], None], passed: Callable[[Path], bool] = lambda _: False
) -> Iterator[Path]:
    """All files and folders below a folder, each folder before what is in it, by name. Links to folders are not followed.

    Args:
        folder: where to begin; folders in it may be nested to any depth.
        failed: is called with each file or folder that cannot be looked at.
        passed: whether a folder is not looked into; it is given all the same.
    """
    levels = [_listed(folder, failed)]
    while levels:
        if (path := next(levels[-1], None)) is None:
            levels.pop()
            continue
        try:
            is_folder = stat.S_ISDIR(path.lstat().st_mode)
        except OSError as error:
            failed(path, error)
            continue
        yield path
        if is_folder and not passed(path):
            levels.append(_listed(path, failed))


def _listed(folder: Path, failed: Callable[[Path, OSError], None]) -> Iterator[Path]:
    try:
        return iter(sorted(folder.iterdir()))
    except OSError as error:
        failed(folder, error)
        return iter(())


def _checked(descriptor: int) -> BinaryIO:
    try:
        require_regular(os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
