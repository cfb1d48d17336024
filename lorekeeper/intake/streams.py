"""Files and pipes as streams; another program may still be writing to a pipe that is imported."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO, cast

from lorekeeper.regular_files import require_regular

WRITER_SECONDS = 10.0
"""Longest wait for a program to write to a pipe."""

PAUSE_SECONDS = 0.01
"""Pause between two attempts to read an empty pipe."""

_GZIP = b"\x1f\x8b"


UTF_8 = "utf-8-sig"

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Encodings other than UTF-8 by the mark that texts in them begin with; a longer mark before one that it begins with."""


def encoding_of(beginning: bytes) -> str:
    """The encoding of a text: by its byte order mark UTF-32 or UTF-16, as Windows writes it, else UTF-8, with a mark or without."""
    return next((name for mark, name in _MARKS.items() if beginning.startswith(mark)), UTF_8)


def not_utf8(byte: int) -> str:
    """What to do with a text that has a byte which UTF-8 does not allow in its place."""
    character = bytes([byte]).decode("cp1252", "replace")
    as_windows = "" if character == "\ufffd" else f", which is {character!r} in Windows-1252"
    return (
        f"not UTF-8: byte 0x{byte:02x}{as_windows}; open it in an editor and save it with the encoding UTF-8 "
        "(Notepad: Save as, Encoding)"
    )


class StoppedError(Exception):
    """The reading of a stream was stopped."""


class Source:
    """A file or pipe, opened once. Blocking; use it as a context manager.

    Args:
        path: of a regular file, or of a pipe.
        stopped: when it is set, by another thread, the reading of a pipe ends with `StoppedError`.

    Raises:
        OSError: it cannot be opened, or is something else, such as a device.
    """

    def __init__(self, path: Path, stopped: threading.Event) -> None:
        if not stat.S_ISFIFO(mode := path.stat().st_mode) and not stat.S_ISCHR(mode):
            require_regular(mode)
        self._raw = io.FileIO(path, "rb", opener=_open_at_once)
        self.regular = stat.S_ISREG(mode)
        if stat.S_ISCHR(mode) and not self._raw.isatty():
            self._raw.close()
            require_regular(mode)
        self._buffered = io.BufferedReader(self._raw if self.regular else _Pipe(self._raw, stopped))

    def text(self) -> io.TextIOWrapper:
        """Its text, unpacked if it is gzip; bytes that are not UTF-8 are decoded with "surrogateescape"."""
        packed = self._buffered.peek(len(_GZIP)).startswith(_GZIP)
        content = gzip.GzipFile(fileobj=self._buffered) if packed else self._buffered
        encoding = encoding_of(content.peek(4))
        errors = "surrogateescape" if encoding == UTF_8 else "replace"
        return io.TextIOWrapper(cast(BinaryIO, content), encoding, errors, newline="\n")

    def tell(self) -> int:
        """Bytes read so far of a regular file, packed; 0 for a pipe."""
        return self._raw.tell() if self.regular else 0

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self._raw.close()


def _open_at_once(path: str, flags: int) -> int:
    """Open a pipe without waiting for its writer: a thread that waits cannot be stopped."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class _Pipe(io.RawIOBase):
    """A pipe or a terminal, read with short waits."""

    def __init__(self, raw: io.FileIO, stopped: threading.Event) -> None:
        self._raw, self._stopped = raw, stopped
        self._written = not stat.S_ISFIFO(os.fstat(raw.fileno()).st_mode)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        deadline = time.monotonic() + WRITER_SECONDS
        while True:
            number = self._raw.readinto(buffer)
            self._written = self._written or number != 0  # None: there is a writer that has not written yet
            if number or (number == 0 and self._written):
                return number
            if not self._written and time.monotonic() > deadline:
                raise OSError(f"timed out after {WRITER_SECONDS:.0f} s: no program is writing to this pipe")
            if self._stopped.wait(PAUSE_SECONDS):
                raise StoppedError
