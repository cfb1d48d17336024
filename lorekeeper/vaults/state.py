"""What was read of the vaults of a library: a SQLite file beside it, which can be deleted at any time without harm.

Without it every note is read again, and the library's own content hashes say which of them are unchanged.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from lorekeeper.cache.sqlite.file import SQLITE_ERRORS, remove_database
from lorekeeper.errors import CacheError
from lorekeeper.system import Closing, private_file, private_folder

R = TypeVar("R")

FORMAT = 11
"""SQLite's user_version; a file of another one is made anew."""

SHEET = "a character's sheet"
"""What a file is that gives characters, and is no note."""

BUSY_SECONDS = 10.0

_TABLES = """
CREATE TABLE notes (vault TEXT NOT NULL, path TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (vault, path)) WITHOUT ROWID;
CREATE TABLE vaults (vault TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
"""


@dataclass
class Row:
    """What is known of a file.

    Attributes:
        size: in bytes.
        changed: as in `scan.File`.
        touched: as in `scan.File`.
        read: when it was read, in nanoseconds since 1970.
        digest: of its content.
        modified: when its content changed last, in seconds since 1970.
        entities: content hashes of the entities it gave, by "type slug".
        aliases: other names of the note.
        links: what each target resolved to: a path, null for nothing, "" for a file that is no note.
        counts: numbers of sections, links and the like.
        tags: of the note.
        bases: names of creatures of the library that its stat blocks change.
        passed: why it is not a note of the library, "" if it is one; `SHEET` if it gives characters instead.
        sections: the heading path of the first link to each target, where it stands below a heading.
        problems: what could not be read of it, and was left out, each with its kind (`lint.KINDS`).
        failed: why entities of it are not in the library.
        shared: what was decided on sharing it when it was read (`Shares.recorded`).
        people: folded names of the characters that it states, with whether it is a sheet of theirs, with ability scores.
        open_to: whom it is open to, for people; "" if it is the game master's.
        waits: what of it is shared and was not looked at: paths of headings, "" for the note itself.
        clue: what it shows of the conventions of the vault, the values of `Clue`; [] if it is no note.
        usage: what these said of it when it was read, the values of `Usage`.
        kind: of the note.
        session: number of the session that it tells of.
        played: when that was, year-month-day; "" if nothing says so.
        is_marked: whether its author marked it, or a part of it, for players, and nobody has looked at it.
    """

    size: int
    changed: int
    touched: int
    read: int
    digest: str
    modified: float
    entities: dict[str, str] = field(default_factory=dict)
    aliases: list[str] = field(default_factory=list)
    links: dict[str, str | None] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)
    passed: str = ""
    problems: list[list[str]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    shared: str = ""
    open_to: str = ""
    waits: list[str] = field(default_factory=list)
    is_marked: bool = False
    people: dict[str, bool] = field(default_factory=dict)
    clue: list[Any] = field(default_factory=list)
    usage: list[Any] = field(default_factory=list)
    kind: str = ""
    session: float | None = None
    played: str = ""

    @property
    def is_sheet(self) -> bool:
        """Whether the file is a character's sheet."""
        return self.passed == SHEET

    @property
    def is_left_out(self) -> bool:
        """Whether the library has nothing of the file."""
        return bool(self.passed) and not self.is_sheet


@dataclass
class Summary:
    """What is known of a vault.

    Attributes:
        root: device and number of its folder when it was read last.
        synced: when that was, in seconds since 1970; None if it never was completely.
        notes: how many it had then.
        problems: what was wrong with it then.
        marks: the rules (`OwnMarks.rules`) by which all of it was read; None if it never was.
        shares: what was decided on sharing it then (`Shares.digest`).
    """

    root: list[int] | None = None
    synced: float | None = None
    notes: int = 0
    problems: list[str] = field(default_factory=list)
    marks: str | None = None
    shares: str = ""


_COLUMNS = [column.name for column in fields(Row)]


class State(Closing):
    """The file. Blocking, and safe to use from several threads and processes.

    The rows of a vault stay in memory until another process changes the file: reading thousands takes longer than to look
    through their folder.

    All methods raise CacheError if it cannot be read or written; a damaged one is replaced by an empty one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._known: dict[str, dict[str, Row]] = {}
        self._version: int | None = None
        """SQLite's data_version when `_known` was read: it changes with what other connections write."""

    def rows(self, vault: str) -> dict[str, Row]:
        """What is known of the files of a vault, by path."""

        def read(c: sqlite3.Connection) -> dict[str, Row]:
            self._forget_if_changed(c)
            if vault not in self._known:
                self._known[vault] = _rows(c, vault)
            return dict(self._known[vault])

        return self._guarded(read)

    def save(self, vault: str, rows: Mapping[str, Row], gone: Collection[str] = ()) -> None:
        """Replace rows, and remove those of paths that are gone."""
        values = [(vault, path, _packed(row)) for path, row in rows.items()]

        def write(c: sqlite3.Connection) -> None:
            self._forget_if_changed(c)
            c.executemany("REPLACE INTO notes VALUES (?, ?, ?)", values)
            c.executemany("DELETE FROM notes WHERE vault = ? AND path = ?", [(vault, path) for path in gone])
            if vault in self._known:
                kept = {path: row for path, row in self._known[vault].items() if path not in gone}
                self._known[vault] = kept | dict(rows)

        if values or gone:
            self._guarded(write)

    def summary(self, vault: str) -> Summary:
        """What is known of a vault."""
        query = "SELECT content FROM vaults WHERE vault = ?"
        found = self._guarded(lambda c: c.execute(query, (vault,)).fetchone())
        return Summary(**json.loads(found[0])) if found else Summary()

    def save_summary(self, vault: str, summary: Summary) -> None:
        """Replace what is known of a vault."""
        content = json.dumps(asdict(summary))
        self._guarded(lambda c: c.execute("REPLACE INTO vaults VALUES (?, ?)", (vault, content)))

    def forget(self, vault: str) -> None:
        """Remove all of a vault."""

        def remove(c: sqlite3.Connection) -> None:
            c.execute("DELETE FROM notes WHERE vault = ?", (vault,))
            c.execute("DELETE FROM vaults WHERE vault = ?", (vault,))
            self._known.pop(vault, None)

        self._guarded(remove)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._disconnect()

    def _guarded(self, function: Callable[[sqlite3.Connection], R]) -> R:
        """Call a function within one transaction; on a new file if this one is damaged."""
        with self._lock:
            try:
                return self._run(function)
            except sqlite3.OperationalError as error:
                raise self._failure(error) from error
            except (*SQLITE_ERRORS, ValueError, TypeError):
                self._disconnect()
            try:
                remove_database(self.path)
                return self._run(function)
            except (OSError, *SQLITE_ERRORS) as error:
                raise self._failure(error) from error

    def _run(self, function: Callable[[sqlite3.Connection], R]) -> R:
        if self._connection is None or not self.path.exists():
            self._disconnect()
            self._connection = self._connected()
        try:
            with self._connection:
                return function(self._connection)
        except BaseException:
            self._known.clear()  # what was not committed is not known
            raise

    def _forget_if_changed(self, c: sqlite3.Connection) -> None:
        """Keep nothing in memory that another process may have replaced."""
        (version,) = c.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._known.clear()
            self._version = version

    def _connected(self) -> sqlite3.Connection:
        try:
            private_file(private_folder(self.path.parent) / self.path.name)
        except OSError as error:
            raise self._failure(error) from error
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, check_same_thread=False)
        try:
            with connection:
                _make_tables(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._known.clear()
        self._version = None

    def _failure(self, error: Exception) -> CacheError:
        return CacheError(f"{self.path} cannot be used: {error}; free space, or delete that file")


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")
    if connection.execute("PRAGMA user_version").fetchone() == (FORMAT,):
        return
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone() == (FORMAT,):
        return
    for table in ("notes", "vaults"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in filter(str.strip, _TABLES.split(";")):
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _rows(c: sqlite3.Connection, vault: str) -> dict[str, Row]:
    """The rows of a vault; as one text, they are read in a third of the time."""
    found = c.execute("SELECT path, content FROM notes WHERE vault = ?", (vault,)).fetchall()
    contents = json.loads(f"[{','.join(content for _, content in found)}]")
    return {path: Row(*content) for (path, _), content in zip(found, contents, strict=True)}


def _packed(row: Row) -> str:
    return json.dumps([getattr(row, column) for column in _COLUMNS])


def all_entities(rows: Iterable[Row]) -> dict[str, str]:
    """Content hashes of all entities of some rows, by "type slug"."""
    return {key: content for row in rows for key, content in row.entities.items()}
