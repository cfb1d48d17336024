"""Two files for each data file that are mapped into memory: its rows as they are used, and its vectors.

To read one row of a Parquet file, its columns have to be decoded. Arrow's IPC format, and vectors one after the other, need no
decoding: only the pages with the wanted values are read, and the system takes them back. Both files repeat what the data file
has. They are written when it is first loaded, and again if they are damaged or were written for another one.
"""

from __future__ import annotations

import mmap
import sys
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow
import pyarrow.compute
import pyarrow.ipc

from lorekeeper.embedding.protocol import Vectors
from lorekeeper.system import private_file

ROWS, VECTORS = SUFFIXES = (".rows", ".vectors")
"""Suffixes of the files, behind the name of their data file."""

REMOVABLE = sys.platform != "win32"
"""Whether a file that is open or mapped can be removed, as a compaction does; otherwise files are held in memory."""

KEPT_BYTES = 16 << 20
"""Largest file whose pages are always kept once they were read: to map them again takes up to a millisecond."""

KEPT_IN_ALL = 256 << 20
"""Bytes of all mapped files, up to which pages of larger ones are kept as well, until the system needs the memory."""

_ORDER = "_order"
"""Column of the file: the numbers of the rows in the order of their keys."""

_SOURCE = b"source"


@dataclass(frozen=True)
class DataFile:
    """A data file, and how to read it; the functions raise OSError if it is damaged.

    Attributes:
        path: of the file.
        key: name of the column with the keys of its rows.
        dimension: of its vectors.
        rows: reads all columns but the vectors as a table.
        vectors: reads the vectors in parts, each of shape (part, dimension) float32.
    """

    path: Path
    key: str
    dimension: int
    rows: Callable[[], Any]
    vectors: Callable[[], Iterable[Vectors]]


class _Mapped:
    """How many bytes this process has mapped. Safe in several threads."""

    def __init__(self) -> None:
        self.bytes, self._lock = 0, threading.Lock()

    def add(self, rows: Rows, number: int) -> None:
        """Count the files of some rows for as long as these are in use."""
        self._change(number)
        weakref.finalize(rows, self._change, -number)

    def _change(self, number: int) -> None:
        with self._lock:
            self.bytes += number


_mapped = _Mapped()


class Rows:
    """Rows of a data file. Safe in several threads.

    Args:
        table: all columns but the vectors.
        key: name of the column that has the keys.
        order: numbers of the rows in the order of their keys, shape (rows,).
        vectors: shape (rows, dimension) float32; None if they are not mapped.
        memory: the mapped files.
        file: the one that has the vectors.
    """

    def __init__(
        self,
        table: Any,
        key: str,
        order: Any,
        vectors: Vectors | None = None,
        memory: Iterable[mmap.mmap] = (),
        file: pyarrow.OSFile | None = None,
    ) -> None:
        self.table, self.vectors, self.order = table, vectors, order
        self._key, self._memory, self._file = key, tuple(memory), file
        _mapped.add(self, sum(map(len, self._memory)))

    @classmethod
    def of(cls, table: Any, key: str) -> Rows:
        """The rows of a table in memory."""
        return cls(table, key, pyarrow.compute.sort_indices(table.column(key)).to_numpy())

    def find(self, key: str) -> int | None:
        """Number of the last row with a key, None if there is none."""
        keys = self.table.column(self._key)
        place = bisect_right(self.order, key, key=lambda row: keys[int(row)].as_py()) - 1
        row = int(self.order[place]) if place >= 0 else None
        return row if row is not None and keys[row].as_py() == key else None

    def vectors_of(self, numbers: Any) -> Vectors | None:
        """The vectors of some rows, shape (numbers, dimension); None if they are not mapped.

        Of a file whose pages are not kept they are read one by one: to map pages for a moment takes three times as long.
        """
        if self.vectors is None or self._file is None or _is_kept(self.vectors.nbytes):
            return None if self.vectors is None else self.vectors[numbers]
        size, read = self.vectors.shape[1] * self.vectors.itemsize, self._file.read_at
        data = b"".join([read(size, size * number) for number in numbers.tolist()])
        return np.frombuffer(data, np.float32).reshape(len(numbers), -1)

    def forget_pages(self) -> None:
        """Return the pages that were read, unless they are kept; they are mapped again when they are needed.

        For each page that is read the system maps up to two hundred that are in its cache, which count as this process's.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            for memory in self._memory:
                if not _is_kept(len(memory)):
                    memory.madvise(mmap.MADV_DONTNEED)


def _is_kept(size: int) -> bool:
    """Whether pages of a file of so many bytes are kept once they were read."""
    return size <= KEPT_BYTES or _mapped.bytes <= KEPT_IN_ALL


def mapped(data: DataFile, folder: Path) -> Rows:
    """The rows of a data file, mapped from the files in a folder that repeat them, which are written if need be.

    They are kept in memory where files cannot be mapped, or where these cannot be written.
    """
    stamp = _stamp(data.path)
    if not REMOVABLE or stamp is None:
        return Rows.of(data.rows(), data.key)
    try:
        return _opened(data, folder, stamp)
    except (OSError, ValueError, KeyError):
        rows = Rows.of(data.rows(), data.key)
    try:
        _write(_file(data, folder, VECTORS), lambda file: _write_vectors(file, data.vectors()))
        _write(_file(data, folder, ROWS), lambda file: _write_rows(file, rows, stamp))
        _remove_others(folder, data.path.parent)
        return _opened(data, folder, stamp)
    except OSError:
        return rows


def _file(data: DataFile, folder: Path, suffix: str) -> Path:
    return folder / f"{data.path.stem}{suffix}"


def _stamp(source: Path) -> bytes | None:
    """What tells a data file from others of its name, None if it was removed: no data file is ever changed."""
    try:
        status = source.stat()
    except OSError:
        return None
    return f"{status.st_size} {status.st_mtime_ns}".encode()


def _opened(data: DataFile, folder: Path, stamp: bytes) -> Rows:
    """Map the files of a data file, and check them; OSError or ValueError if they cannot be used."""
    paths = [_file(data, folder, suffix) for suffix in SUFFIXES]
    memory = [_map(path) for path in paths]
    with pyarrow.ipc.open_file(pyarrow.py_buffer(memory[0])) as reader:
        table = reader.read_all()
    if (table.schema.metadata or {}).get(_SOURCE) != stamp:
        raise ValueError(f"{paths[0]} was not written for its data file")
    _check(table)
    order = table.column(_ORDER).to_numpy()
    if order.max(initial=0) >= table.num_rows:
        raise ValueError(f"{paths[0]} is damaged")
    vectors = np.frombuffer(memory[1], np.float32).reshape(table.num_rows, data.dimension)
    rows = Rows(table.drop_columns([_ORDER]), data.key, order, vectors, memory, pyarrow.OSFile(str(paths[1])))
    rows.forget_pages()
    return rows


def _check(table: Any) -> None:
    """ValueError if a value lies outside the file, which would end the process. That texts are UTF-8 is seen when they are read."""
    fields = [f.with_type(pyarrow.binary()) if pyarrow.types.is_string(f.type) else f for f in table.schema]
    table.cast(pyarrow.schema(fields)).validate(full=True)


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _write(path: Path, write: Callable[[BinaryIO], None]) -> None:
    """Write a file under another name and rename it: it is complete, or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = private_file(Path(f"{path}.new"))
    try:
        with new.open("wb") as file:
            write(file)
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _write_rows(file: BinaryIO, rows: Rows, stamp: bytes) -> None:
    table = rows.table.append_column(_ORDER, pyarrow.array(rows.order)).replace_schema_metadata({_SOURCE: stamp})
    with pyarrow.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


def _write_vectors(file: BinaryIO, parts: Iterable[Vectors]) -> None:
    file.writelines(part.tobytes() for part in parts)


def _remove_others(folder: Path, sources: Path) -> None:
    """Remove the files of data files that are no longer there, as compactions leave them."""
    for suffix in SUFFIXES:
        for other in folder.glob(f"*{suffix}"):
            if not (sources / f"{other.stem}.parquet").exists():
                other.unlink(missing_ok=True)
