"""The audit log: a JSON line for each request, on disk before its answer is sent.

Several processes may write to one file: each line is one write at the end of the file, and whoever writes holds a lock, so that
nobody writes to a file that another process is rotating. A line is not synced to the device: it survives the end of the
process, however that comes, but not of the machine; waiting for the device would cost each request milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from lorekeeper.dates import EXAMPLE, ago, span
from lorekeeper.errors import ConfigError, FilterError
from lorekeeper.folding import fold
from lorekeeper.printable import json_text, shown
from lorekeeper.regular_files import open_regular
from lorekeeper.server.exchange import Exchange, RecordingError
from lorekeeper.system import PRIVATE_FILE, private_file, private_folder

MAX_BYTES = 10 * 2**20
"""Size at which a file is rotated."""

KEPT = 9
"""Rotated files that are kept beside the current one: PATH.1 is the latest."""

LOCK_SECONDS = 5.0
"""How long to wait for another process that writes."""

MAX_TEXT, MAX_ITEMS, MAX_DEPTH = 1000, 60, 6
"""How much of what was asked is recorded: characters of a text, items of a list, and depth."""

SECRET = re.compile("token|authorization|password|secret|api_key|^key$", re.IGNORECASE)
"""Names of parameters whose values are not recorded; the last one is that of the key in a link that signs in."""


class AuditLog:
    """Writes the log.

    Args:
        path: its file; created if missing, with its folder, for this user only.
        max_bytes: size at which it is rotated.
        kept: rotated files to keep.

    Raises:
        ConfigError: the file cannot be written.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_BYTES, kept: int = KEPT) -> None:
        self._path, self._max_bytes, self._kept = path, max_bytes, kept
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lorekeeper-audit")
        try:
            private_folder(path.parent)
            self._lock = _lock(path)
            with self._lock:
                os.close(self._opened())
        except (OSError, Timeout) as error:
            raise ConfigError(f"the audit log {path} cannot be written: {error}; set LOREKEEPER_AUDIT_LOG") from error

    async def record(self, exchange: Exchange) -> None:
        """Write the line of a request; RecordingError if it cannot be written."""
        line = json_text(entry_of(exchange)).encode("utf-8", "backslashreplace") + b"\n"
        await asyncio.get_running_loop().run_in_executor(self._thread, self.write, line)

    def write(self, line: bytes) -> None:
        """Write a line, which ends with a newline; RecordingError if it cannot be written. Blocking."""
        try:
            with self._lock:
                size = self._path.stat().st_size if self._path.exists() else 0
                if size and size + len(line) > self._max_bytes:
                    self._rotate()
                descriptor = self._opened()
                try:
                    _append(descriptor, line)
                finally:
                    os.close(descriptor)
        except (OSError, Timeout) as error:
            raise RecordingError(f"the audit log {self._path} cannot be written: {error}") from error

    def close(self) -> None:
        """Write what is left."""
        self._thread.shutdown()

    def _opened(self) -> int:
        """The current file, opened anew for each line: another process may have rotated it."""
        private_file(self._path)
        if not self._path.is_file():
            raise OSError("it is not a regular file")
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
        if os.fstat(descriptor).st_size:
            os.lseek(descriptor, -1, os.SEEK_END)
            if os.read(descriptor, 1) != b"\n":
                _append(descriptor, b"\n")  # the machine ended within a line
        return descriptor

    def _rotate(self) -> None:
        names = [self._path, *rotated(self._path, self._kept)]
        for older, newer in reversed(list(zip(names[1:], names[:-1], strict=True))):
            if newer.exists():
                newer.replace(older)


def _append(descriptor: int, line: bytes) -> None:
    before = os.fstat(descriptor).st_size
    if os.write(descriptor, line) < len(line):
        os.ftruncate(descriptor, before)
        raise OSError("the device is full")


def entry_of(exchange: Exchange) -> dict[str, Any]:
    """The entry of a request."""
    viewer = exchange.viewer
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "person": viewer.person if viewer else None,
        "view": viewer.role if viewer else None,
        "how": exchange.how,
        "address": exchange.address,
        "asked": _recorded(exchange.asked),
        "results": exchange.results,
        "uris": list(exchange.uris),
        "ms": round(1000 * exchange.seconds, 1),
        "outcome": exchange.outcome,
        "status": exchange.status,
        "refused": exchange.refusal or None,
    }


def _recorded(value: object, depth: int = 0) -> object:
    """What was asked, without secrets, and no longer than is of use."""
    if isinstance(value, str):
        return value if len(value) <= MAX_TEXT else f"{value[: MAX_TEXT - 1]}…"
    if isinstance(value, (dict, list)) and depth == MAX_DEPTH:
        return "…"
    if isinstance(value, dict):
        items = [(str(name)[:MAX_TEXT], each) for name, each in list(value.items())[:MAX_ITEMS]]
        return {name: "***" if SECRET.search(name) else _recorded(each, depth + 1) for name, each in items}
    if isinstance(value, list):
        return [_recorded(each, depth + 1) for each in value[:MAX_ITEMS]]
    return value if isinstance(value, (int, float)) or value is None else shown(value)


def rotated(path: Path, kept: int = KEPT) -> list[Path]:
    """The names of rotated files, the latest first."""
    return [path.with_name(f"{path.name}.{number}") for number in range(1, kept + 1)]


def _lock(path: Path) -> FileLock:
    return FileLock(f"{path}.lock", timeout=LOCK_SECONDS, mode=PRIVATE_FILE, thread_local=False)


# --- reading ---------------------------------------------------------------------------------------------------------


@dataclass
class Audit:
    """What a log says.

    Attributes:
        entries: the oldest first.
        damaged: ``file:line`` of what is no entry.
    """

    entries: list[Mapping[str, Any]] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def content(self) -> dict[str, object]:
        """``{"entries", "damaged"}`` as JSON."""
        return {"entries": self.entries, "damaged": self.damaged}


def read_audit(path: Path, person: str | None = None, since: str | None = None) -> Audit:
    """The entries of a log, of its rotated files too. Blocking.

    Args:
        path: its current file.
        person: only requests of that person.
        since: only requests from that date on, or for so long, as "7d".

    Raises:
        FilterError: the date cannot be read.
        ConfigError: there is no such log, or it cannot be read.
    """
    first, audit = None if since is None else _second(since), Audit()
    wanted = None if person is None else fold(person)
    for where, line in _lines(path):
        entry, moment = _parsed(line)
        if entry is None:
            audit.damaged.append(where)
        elif (first is None or moment >= first) and wanted in (None, fold(entry.get("person") or "")):
            audit.entries.append(entry)
    return audit


def _lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Each line with its place, the oldest first. All files are opened before any is rotated."""
    with ExitStack() as stack:
        try:
            with _lock(path) if path.exists() else ExitStack():
                names = [name for name in [*reversed(rotated(path)), path] if name.exists()]
                files = [stack.enter_context(open_regular(name)) for name in names]
        except (OSError, Timeout) as error:
            raise ConfigError(f"the audit log {path} cannot be read: {error}") from error
        if not files:
            raise ConfigError(f"there is no audit log at {path} yet: it begins with the first request to a server")
        for name, file in zip(names, files, strict=True):
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield f"{name.name}:{number}", line


def _parsed(line: bytes) -> tuple[Mapping[str, Any] | None, float]:
    """An entry and its second since 1970; None if the line is damaged."""
    try:
        entry = json.loads(line)
        return entry, datetime.fromisoformat(entry["time"]).timestamp()
    except (ValueError, TypeError, KeyError, RecursionError):
        return None, 0.0


def _second(since: str) -> int:
    try:
        return back if (back := ago(since)) is not None else span(since)[0]
    except ValueError as error:
        raise FilterError(f"since is a date, such as {EXAMPLE}, not {shown(since)}") from error
