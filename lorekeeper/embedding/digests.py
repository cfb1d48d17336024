"""Hashes of the model's files."""

from __future__ import annotations

import hashlib
import mmap
import os
from pathlib import Path


def file_sha256(path: Path) -> str:
    """SHA-256 of a file in hexadecimal, in one call: in parts, the thread would wait for the interpreter lock after each,
    0.2 s at start-up. OSError if the file cannot be read."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            return hashlib.sha256().hexdigest()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return hashlib.sha256(mapped).hexdigest()
