"""One SQLite file that threads and processes share: opening, transactions, SQLite's errors as ours, and whole entities in it."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import threading
import zlib
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from glob import escape
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from filelock import FileLock

from lorekeeper.cache.formats import Format, declarations, parse_declarations
from lorekeeper.cache.snapshot import Snapshot, current, once, renew
from lorekeeper.entities import COLLECTIONS, Entity, canonical_json, restored
from lorekeeper.errors import CacheError, ConfigError
from lorekeeper.system import PRIVATE_FILE, keep_private, private_file, private_folder
from lorekeeper.version import VERSION

R = TypeVar("R")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

BUSY_SECONDS = 10.0

SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What reading a damaged file raises: Python cannot decode an error of SQLite that quotes bytes which are not UTF-8."""

FURTHER = ("_vocabulary", "_rebuilt")
"""Suffixes of the tables of a type that are made when they are needed."""

VECTORS = ".vectors"
"""Suffix of the files of `vectors_file`."""

_META = "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"

_WORD = re.compile(r"\w+")

_CREATED = re.compile(r"CREATE (?:VIRTUAL )?TABLE (\w+)")

_TRANSIENT = {
    sqlite3.SQLITE_BUSY: "another program has it locked; close that program",
    sqlite3.SQLITE_LOCKED: "another program has it locked; close that program",
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_READONLY: "",
    sqlite3.SQLITE_CANTOPEN: "",
    sqlite3.SQLITE_PERM: "",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written; check it and its free space",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
    sqlite3.SQLITE_TOOBIG: "an entry is larger than SQLite can store",
}
"""Primary result codes that do not mean damage, and what to do about each; "" for `SqliteFile.advice`."""


_UNWRITABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
"""Primary result codes of reading a file beside which nothing can be written."""


class DamagedFileError(CacheError):
    """The file is not a valid SQLite database, or not one of ours."""


class SqliteFile:
    """A database in WAL mode with one connection to read and one to write, opened at first use. Blocking.

    Readers see what was committed and never wait for a writer; writers take turns, over all processes.

    Args:
        path: the file; made with all its tables, or not at all.
        kind: what it is, for people, as in "the keyword index".
        application: SQLite's application_id of files of this kind.
        layout: of its tables, kept as SQLite's user_version.
        statements: what makes the tables of an empty file.
        types: the types of entity that it has tables for.
        durable: whether every commit is synced to the disk; else the last ones can be lost when the power fails.

    Raises:
        ConfigError: a type that a program has declared has the name of another table.
    """

    advice = "check the permissions of the file and its folder"
    """What to do if it cannot be opened."""

    def __init__(
        self,
        path: Path,
        kind: str,
        application: int,
        layout: int,
        statements: Sequence[str],
        *,
        durable: bool,
        types: Sequence[str] | None = None,
    ) -> None:
        self.path, self.kind = path, kind
        self.types = tuple(COLLECTIONS) if types is None else types
        self._application, self.layout = application, layout
        self._statements = [*statements, _META]
        _require_free_names(self.types, self._statements)
        self._synchronous = "FULL" if durable else "NORMAL"
        self._reading, self._writing = _Side(read_only=True), _Side(read_only=False)
        self._free: list[_Side] = []
        """Connections that searches have read by, each in one transaction, for the next ones."""

    @property
    def opened(self) -> int:
        """Changes when another file has taken this one's place."""
        snapshot = current()
        inode = self._reading.inode if snapshot is None else once(self, lambda: self._lent(snapshot))[1]
        return inode or 0

    def is_same(self) -> bool:
        """Whether the file that was opened is still in its place."""
        return self._reading.inode is not None and self._reading.inode == _inode(self.path)

    def read(self, function: Callable[[sqlite3.Connection], R]) -> R:
        """Call a function with a connection that sees one state of the file throughout; in a search, one state for all of them."""
        return self._guarded(self._read, function)

    def _read(self, function: Callable[[sqlite3.Connection], R]) -> R:
        with self._reading.lock:
            if snapshot := current():
                return function(once(self, partial(self._lent, snapshot))[0])
            return _transaction(self._opened(self._reading), "BEGIN", function)

    def _guarded(
        self,
        use: Callable[[Callable[[sqlite3.Connection], R]], R],
        function: Callable[[sqlite3.Connection], R],
        *,
        again: bool = True,
    ) -> R:
        """Use the file, with SQLite's errors translated to ours; a file that is derived is put right if it is damaged."""
        failure: CacheError
        try:
            return use(function)
        except DamagedFileError as error:
            failure = error
        except (*SQLITE_ERRORS, OSError, OverflowError) as error:
            failure = self._translated(error)
            failure.__cause__ = error
        if not (again and isinstance(failure, DamagedFileError)):
            raise failure
        self.mend(failure)
        return self._guarded(use, function, again=False)

    def mend(self, damage: DamagedFileError) -> None:
        """Put the file right, or raise what is to be said of the damage."""
        raise damage

    def _lent(self, snapshot: Snapshot) -> tuple[sqlite3.Connection, int | None]:
        """A connection in a transaction that ends with a search, and the file it was opened on."""
        side, free = self._free.pop() if self._free else _Side(read_only=True), self._free
        connection = self._opened(side)
        connection.execute("BEGIN")

        def end() -> None:
            with self._reading.lock:
                try:
                    connection.execute("COMMIT")
                except sqlite3.Error:
                    side.close()
                if free is self._free:
                    free.append(side)
                else:  # the file was closed meanwhile
                    side.close()

        snapshot.ends.callback(end)
        return connection, side.inode

    def write(self, function: Callable[[sqlite3.Connection], R]) -> R:
        """Call a function within one transaction: all that it does is committed, or nothing."""
        result = self._guarded(self._write, function)
        renew()
        return result

    def _write(self, function: Callable[[sqlite3.Connection], R]) -> R:
        with self._writing.lock:
            return _transaction(self._opened(self._writing), "BEGIN IMMEDIATE", function)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        renew()
        with self._writing.lock, self._reading.lock:
            free, self._free = self._free, []
            for side in (self._writing, self._reading, *free):
                side.close()

    def move_aside(self, suffix: str) -> Path | None:
        """Rename the file and what SQLite keeps beside it; its new path, None if there is no file."""
        with self._writing.lock, self._reading.lock:
            self.close()
            target = self.path.with_name(self.path.name + suffix)
            rename_database(self.path, target)
            return target if target.exists() else None

    def _opened(self, side: _Side) -> sqlite3.Connection:
        if side.connection is None or side.inode != _inode(self.path):
            side.close()
            side.connection, inode = self._open(side), _inode(self.path)
            side.connection.execute(f"PRAGMA query_only = {int(side.read_only)}")
            side.inode = None if side.unwritable else inode
        return side.connection

    def _open(self, side: _Side) -> sqlite3.Connection:
        if not self.path.exists():
            self._create()
        elif self.path.is_dir():
            raise CacheError(f"{self.path} is a folder, not {self.kind}; {self.advice}")
        elif self.path.stat().st_size == 0:
            raise DamagedFileError(f"{self.kind} {self.path} is empty")
        for file in database_files(self.path):
            keep_private(file)  # earlier versions may have left it readable for other users
        connection = self._connected(side)
        try:
            self._check(connection)
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connected(self, side: _Side) -> sqlite3.Connection:
        """A connection; to read where nothing can be written, as on a full disk, one to the file as it is.

        SQLite keeps an index of its log beside the file, and makes it even to read. Without a log there is nothing in it. Such a
        connection does not see what others write, so that it is opened again for each transaction.
        """
        connection, side.unwritable = connect(self.path), False
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            log, _ = log_files(self.path)
            is_unwritable = error.sqlite_errorcode & 0xFF in _UNWRITABLE and not (log.exists() and log.stat().st_size)
            if not (side.read_only and is_unwritable):
                raise
            side.unwritable = True
            address = f"file:{quote(str(self.path.absolute()))}?mode=ro&immutable=1"
            return sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Refuse a file of another kind or format; one that lacks only tables, as those of new types, gets them."""
        if connection.execute("PRAGMA application_id").fetchone()[0] != self._application:
            self.refuse(connection)
        current = read_format(connection)
        if not current.layout or (current.layout == self.layout and not current.fields):
            raise DamagedFileError(f"{self.kind} {self.path} has the unknown layout {current.layout}")
        current.require_current(f"{self.kind} {self.path}", self.layout, self.types)
        if not declarations(self.types).keys() <= current.fields.keys():
            with contextlib.closing(connect(self.path)) as c:
                _transaction(c, "BEGIN IMMEDIATE", self._add_tables)

    def refuse(self, _connection: sqlite3.Connection) -> None:
        """Raise for a database that is not one of ours."""
        raise DamagedFileError(f"{self.path} is another program's database, not {self.kind}")

    def _create(self) -> None:
        """Create the file under another name and rename it: no process ever sees it incomplete."""
        private_folder(self.path.parent)
        target, creating = Path(f"{self.path}.new"), Path(f"{self.path}.creating")
        with FileLock(creating, mode=PRIVATE_FILE):
            if not self.path.exists():
                for leftover in (*database_files(target), *log_files(self.path)):
                    leftover.unlink(missing_ok=True)
                self.make(target)
                target.rename(self.path)
            with contextlib.suppress(OSError):
                creating.unlink()

    def make(self, path: Path) -> None:
        """Make an empty file of this kind at another path."""
        with contextlib.closing(connect(private_file(path))) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("BEGIN IMMEDIATE")
            self._add_tables(connection)
            connection.execute(f"PRAGMA application_id = {self._application}")
            connection.execute(f"PRAGMA user_version = {self.layout}")
            connection.execute("COMMIT")

    def _add_tables(self, connection: sqlite3.Connection) -> None:
        for statement in self._statements:
            if not any(columns(connection, table) for table in _CREATED.findall(statement)):
                connection.execute(statement)
        further = read_format(connection).fields if connection.execute("SELECT 1 FROM meta").fetchone() else {}
        stamp = {"fields": json.dumps({**further, **declarations(self.types)}), "version": VERSION}
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", stamp.items())

    def _translated(self, error: Exception) -> CacheError:
        code = getattr(error, "sqlite_errorcode", None)
        advice = _TRANSIENT.get(code & 0xFF) if code is not None else None
        if advice is not None or isinstance(error, OSError):
            return CacheError(
                f"{self.kind} {self.path} cannot be used: {error}; {advice or self.advice}, and try again"
            )
        return DamagedFileError(f"{self.kind} {self.path} is damaged ({error})")


def _require_free_names(types: Sequence[str], statements: Sequence[str]) -> None:
    """ConfigError if a type that a program has declared is called as SQLite or a file calls something else."""
    further = [name for name in types if name not in COLLECTIONS]
    with contextlib.closing(sqlite3.connect(":memory:")) as c:
        for name in further:
            with contextlib.suppress(sqlite3.OperationalError):  # there is no such table, as it should be
                c.execute(f"SELECT 1 FROM {name}")
                raise _taken(name)
        later = [f"CREATE TABLE {name}{suffix} (x)" for name in types for suffix in FURTHER]
        for statement in [*statements, "CREATE TABLE matrices (x)", *later] if further else ():
            try:
                c.execute(statement)
            except sqlite3.Error as error:
                raise _taken(next((t for t in further if _concerns(str(error), t)), further[0])) from error


def _concerns(message: str, name: str) -> bool:
    """Whether a message of SQLite is about a table, or one of those whose names begin with its name, or the other way round."""
    return any(
        f"{word}_".startswith(f"{name}_") or f"{name}_".startswith(f"{word}_") for word in _WORD.findall(message)
    )


def _taken(name: str) -> ConfigError:
    return ConfigError(
        f"{name} cannot be the name of a type: libraries have a table of that name; use another, as in my_{name}"
    )


class _Side:
    """One of the two connections, and the file it was opened on."""

    def __init__(self, *, read_only: bool) -> None:
        self.read_only = read_only
        self.lock = threading.RLock()
        self.connection: sqlite3.Connection | None = None
        self.inode: int | None = None
        self.unwritable = False

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def log_files(path: Path) -> list[Path]:
    """The files that SQLite keeps beside a database in WAL mode: the log, and the index of the log."""
    return [Path(f"{path}-wal"), Path(f"{path}-shm")]


def vectors_file(path: Path, entity_type: str) -> Path:
    """The file beside a database that has the vectors of a type as processes map them, which it can make again."""
    return Path(f"{path}.{entity_type}{VECTORS}")


def database_files(path: Path) -> list[Path]:
    """All files of a database in WAL mode; the database itself is the last."""
    return [*log_files(path), path]


def remove_database(path: Path) -> None:
    """Remove all files of a database, as far as they exist."""
    mapped = path.parent.glob(f"{escape(path.name)}.*{VECTORS}")
    for file in (*mapped, *database_files(path)):
        file.unlink(missing_ok=True)


def rename_database(path: Path, target: Path) -> None:
    """Rename all files of a database, as far as they exist."""
    for file, renamed in zip(database_files(path), database_files(target), strict=True):
        with contextlib.suppress(FileNotFoundError):
            file.replace(renamed)


def connect_read_only(path: Path, timeout: float) -> sqlite3.Connection:
    """A connection that changes nothing; a file that no process has open is read as it is, so that SQLite creates nothing else."""
    log, index = log_files(path)
    alone = not index.exists() and not (log.exists() and log.stat().st_size)
    address = f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if alone else ''}"
    return sqlite3.connect(address, uri=True, timeout=timeout)


def connect(path: Path) -> sqlite3.Connection:
    """A connection for any thread, in no transaction until one is begun explicitly."""
    return sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def read_format(c: sqlite3.Connection, database: str = "main") -> Format:
    """The format of one of the databases of a connection, {} for fields it does not state; DamagedFileError if it is damaged."""
    layout = c.execute(f"PRAGMA {database}.user_version").fetchone()[0]
    if not columns(c, "meta", database):
        return Format(layout, {})
    try:
        meta = dict(c.execute(f"SELECT key, value FROM {database}.meta"))
        return Format(layout, parse_declarations(json.loads(meta["fields"])), meta["version"])
    except (KeyError, ValueError) as error:
        raise DamagedFileError(f"the description of its format is damaged ({error})") from error


def columns(c: sqlite3.Connection, table: str, database: str = "main") -> list[str]:
    """The columns of a table, [] if there is no such table."""
    return [row[1] for row in c.execute(f"PRAGMA {database}.table_info({table})")]


def _transaction(c: sqlite3.Connection, begin: str, function: Callable[[sqlite3.Connection], R]) -> R:
    c.execute(begin)
    try:
        result = function(c)
        c.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            c.execute("ROLLBACK")
        raise
    return result


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


# --- entities as they are stored, and what was read last -------------------------------------------------------------

MAX_UNPACKED_BYTES = 256 << 20
"""Largest entry that is read from a library of ours: earlier versions stored larger ones than `MAX_RECORD_BYTES`."""


def pack(entity: Entity, record: Callable[[Entity], dict[str, Any]] = Entity.as_record) -> bytes:
    """A whole entity as compressed JSON, which carries a checksum; ``record`` is `evidence.with_made` where searches read it."""
    return zlib.compress(canonical_json(record(entity)).encode("utf-8"), 1)


def unpack(entity_type: str, record: bytes) -> Entity:
    """The entity of `pack`; DamagedFileError if the bytes are not what was packed."""
    try:
        return restored(entity_type, unpacked(record))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DamagedFileError(f"an entry of {entity_type} is damaged ({error})") from error


def unpacked(record: object, limit: int = MAX_UNPACKED_BYTES) -> bytes:
    """The JSON that `pack` has compressed; ValueError if it is invalid, or longer than ``limit`` bytes."""
    if not isinstance(record, bytes):
        raise ValueError("it is not compressed JSON")
    stream = zlib.decompressobj()
    try:
        content = stream.decompress(record, limit + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from error
    if len(content) > limit:
        raise ValueError(f"it has more than {limit:,} bytes")
    if not stream.eof:
        raise ValueError("it is truncated")
    return content


class Recent(Generic[K, V]):
    """Values by key, of which those that were not asked for longest give way to others.

    Args:
        most: the size of all values together.
        size: that of one value.
    """

    def __init__(self, most: int, size: Callable[[V], int] = lambda _: 1) -> None:
        self._most, self._size = most, size
        self._held = 0
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of a key, None if it is not held."""
        if key not in self._values:
            return None
        self._values[key] = value = self._values.pop(key)
        return value

    def put(self, key: K, value: V) -> None:
        """Hold the value of a key that is not held."""
        self._values[key] = value
        self._held += self._size(value)
        while self._held > self._most:
            self._held -= self._size(self._values.pop(next(iter(self._values))))
