"""The rows of a data file without their vectors, in a file of their own that is mapped into memory.

To read one row of a Parquet file, its columns have to be decoded. A file in Arrow's IPC format has them as they are used: only
the pages with the wanted values are read, and the system can take them back. The file repeats what the data file has; it is
written when the data file is first loaded, and again if it is damaged or was written for another one.
"""

from __future__ import annotations

import mmap
import sys
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.compute
import pyarrow.ipc

from lorekeeper.system import private_file

SUFFIX = ".rows"
"""Suffix of such a file, behind the name of its data file."""

REMOVABLE = sys.platform != "win32"
"""Whether a file that is open or mapped can be removed, as a compaction does; otherwise files are held in memory."""

FORGET_READS = 16
"""Reads after which the pages that they have touched are returned: the system maps sixteen for each page that is read."""

_ORDER = "_order"
"""Column of the file: the numbers of the rows in the order of their keys."""

_SOURCE = b"source"


@dataclass
class Rows:
    """Rows of a data file. Safe in several threads.

    Attributes:
        table: their columns, each in one chunk.
        key: name of the column that has their keys.
        order: numbers of the rows in the order of their keys, shape (rows,).
        memory: the mapped file, None if the table is in memory.
    """

    table: Any
    key: str
    order: Any
    memory: mmap.mmap | None = None
    _reads: int = 0

    @classmethod
    def of(cls, table: Any, key: str) -> Rows:
        """The rows of a table in memory."""
        return cls(table, key, pyarrow.compute.sort_indices(table.column(key)).to_numpy())

    def find(self, key: str) -> int | None:
        """Number of the last row with a key, None if there is none."""
        keys = self.table.column(self.key)
        place = bisect_right(self.order, key, key=lambda row: keys[int(row)].as_py()) - 1
        row = int(self.order[place]) if place >= 0 else None
        return row if row is not None and keys[row].as_py() == key else None

    def used(self) -> Any:
        """The table, for one more read."""
        self._reads += 1
        if self._reads % FORGET_READS == 0:
            self.forget_pages()
        return self.table

    def forget_pages(self) -> None:
        """Return the pages of the mapped file; they are read again when they are needed."""
        if self.memory is not None and hasattr(mmap, "MADV_DONTNEED"):
            self.memory.madvise(mmap.MADV_DONTNEED)


def mapped(source: Path, folder: Path, key: str, read: Callable[[], Any]) -> Rows:
    """The rows of a data file, mapped from the file in ``folder`` that repeats them, which is written if need be.

    They are kept in memory where files cannot be mapped, or where that file cannot be written.

    Args:
        source: the data file.
        folder: where the file with its rows is.
        key: name of the column that has their keys.
        read: reads the rows of the data file; its errors are raised.
    """
    path, stamp = folder / f"{source.stem}{SUFFIX}", _stamp(source)
    if not REMOVABLE or stamp is None:
        return Rows.of(read(), key)
    try:
        return _opened(path, stamp, key)
    except (OSError, ValueError, KeyError):
        rows = Rows.of(read(), key)
    try:
        _write(path, rows, stamp)
        _remove_others(folder, source.parent)
        return _opened(path, stamp, key)
    except OSError:
        return rows


def _stamp(source: Path) -> bytes | None:
    """What tells a data file from others of its name, None if it was removed: no data file is ever changed."""
    try:
        status = source.stat()
    except OSError:
        return None
    return f"{status.st_size} {status.st_mtime_ns}".encode()


def _opened(path: Path, stamp: bytes, key: str) -> Rows:
    """Map a file, and check all of it; OSError or ValueError if it cannot be used."""
    with path.open("rb") as file:
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with pyarrow.ipc.open_file(pyarrow.py_buffer(memory)) as reader:
        table = reader.read_all()
    if (table.schema.metadata or {}).get(_SOURCE) != stamp:
        raise ValueError(f"{path} was not written for its data file")
    table.validate(full=True)
    rows = Rows(table.drop_columns([_ORDER]), key, table.column(_ORDER).to_numpy(), memory)
    if rows.order.max(initial=0) >= max(table.num_rows, 1):
        raise ValueError(f"{path} is damaged")
    rows.forget_pages()
    return rows


def _write(path: Path, rows: Rows, stamp: bytes) -> None:
    """Write a file under another name and rename it: it is complete, or not there."""
    table = rows.table.append_column(_ORDER, pyarrow.array(rows.order)).replace_schema_metadata({_SOURCE: stamp})
    path.parent.mkdir(parents=True, exist_ok=True)
    new = private_file(path.with_suffix(f"{SUFFIX}.new"))
    with pyarrow.OSFile(str(new), "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    new.replace(path)


def _remove_others(folder: Path, sources: Path) -> None:
    """Remove the files of data files that are no longer there, as compactions leave them."""
    for other in folder.glob(f"*{SUFFIX}"):
        if not (sources / f"{other.stem}.parquet").exists():
            other.unlink(missing_ok=True)
