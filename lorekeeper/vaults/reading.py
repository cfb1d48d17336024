"""Reads the text of one file of a vault, as it is at one moment."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lorekeeper.entities import MAX_RECORD_BYTES
from lorekeeper.intake.streams import UTF_8, encoding_of, not_utf8
from lorekeeper.regular_files import open_within
from lorekeeper.vaults.scan import File, scan

MAX_BYTES = 2 * MAX_RECORD_BYTES
"""Largest file that is read: what its note leaves out of it may be as much as an entry can hold."""

ATTEMPTS, PAUSE_SECONDS = 5, 0.02
"""How often a file is read that changes meanwhile, and what is waited in between."""


class UnreadableError(Exception):
    """A file cannot be read now; the message says why."""


@dataclass(frozen=True)
class Content:
    """A file as it was read.

    Attributes:
        text: its text, without a byte order mark, with line feeds.
        digest: of its bytes.
        file: as it was when it was read.
        read: when that was, in nanoseconds since 1970.
    """

    text: str
    digest: str
    file: File
    read: int


def content(root: Path, file: File) -> Content:
    """Read a file of a vault; again if it changes meanwhile. Blocking.

    Raises:
        FileNotFoundError: it is gone.
        UnreadableError: it cannot be read, is too large, not UTF-8, or changes all the time.
    """
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE_SECONDS)
        try:
            if found := _read(root, file):
                return found
        except FileNotFoundError:
            raise
        except OSError as error:
            raise UnreadableError(f"cannot be read: {error.strerror or error}") from error
    raise UnreadableError("is still being written; it is read when it no longer changes")


def digests(root: Path, exclude: Sequence[str]) -> dict[str, str]:
    """Digests of the files of a folder that can be read, by path. Blocking."""
    found: dict[str, str] = {}
    for path, file in scan(root, exclude).files.items():
        with suppress(OSError, UnreadableError):
            found[path] = content(root, file).digest
    return found


def _read(root: Path, file: File) -> Content | None:
    """The content of a file, None if it changed while it was read."""
    began = time.time_ns()
    with open_within(root, file.name) as opened:
        before = os.fstat(opened.fileno())
        if before.st_size > MAX_BYTES:
            raise UnreadableError(f"has {before.st_size:,} bytes, more than the {MAX_BYTES:,} that are read; split it")
        data = opened.read(MAX_BYTES + 1)
        after = os.fstat(opened.fileno())
    if len(data) != after.st_size or (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        return None
    try:
        encoding = encoding_of(data[:4])
        text = data.decode(encoding, "strict" if encoding == UTF_8 else "replace")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UnreadableError(f"is {not_utf8(data[error.start])}, in line {line:,}") from error
    seen = File(file.path, file.name, after.st_size, after.st_mtime_ns, after.st_ctime_ns)
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return Content(lines, hashlib.blake2b(data, digest_size=16).hexdigest(), seen, began)
