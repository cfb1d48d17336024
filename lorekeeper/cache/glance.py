"""A look at a library from outside, without opening it: what its SQLite file counts, and who has it open.

It takes milliseconds, changes nothing, and works while other processes write.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from lorekeeper.cache.sqlite.file import SQLITE_ERRORS, columns, log_files
from lorekeeper.entities import COLLECTIONS
from lorekeeper.text.phrases import SHIPPED_DOCUMENTS

BUSY_SECONDS = 1.0


@dataclass(frozen=True)
class Glance:
    """What can be seen of a library.

    Attributes:
        location: its path, or the address of its server.
        found: whether there is one; with a server, whether it was used from this machine.
        documents: entries by key of their document, without the documents themselves.
        problem: what keeps it from being used, in words; None if nothing is seen.
        process: id of the process that has it open and serves it to the others; None if there is none.
    """

    location: str
    found: bool
    documents: dict[str, int] = field(default_factory=dict)
    problem: str | None = None
    process: int | None = None

    @property
    def books(self) -> int:
        """How many documents there are beside those that ship."""
        return len(self.documents.keys() - SHIPPED_DOCUMENTS)


def glance_at(file: Path, location: str, process: int | None = None) -> Glance:
    """A library as its SQLite file shows it. Blocking."""
    if not file.exists():
        return Glance(location, found=False, process=process)
    try:
        return Glance(location, found=True, documents=_documents(file), process=process)
    except (*SQLITE_ERRORS, OSError) as error:
        return Glance(location, found=True, problem=f"{file} cannot be read: {error}", process=process)


def _documents(file: Path) -> dict[str, int]:
    """Entries by document."""
    counts = Counter[str]()
    with closing(sqlite3.connect(_address(file), uri=True, timeout=BUSY_SECONDS)) as c:
        for entity_type in COLLECTIONS.keys() - {"documents"}:
            if columns(c, entity_type):  # a file of an earlier version may lack a type
                counts.update(dict(c.execute(f"SELECT document, count(*) FROM {entity_type} GROUP BY document")))
    return dict(counts)


def _address(file: Path) -> str:
    """The file, read-only; one that no process has open is read as it is, so that SQLite creates nothing beside it."""
    log, index = log_files(file)
    alone = not index.exists() and not (log.exists() and log.stat().st_size)
    return f"file:{quote(str(file.absolute()))}?mode=ro{'&immutable=1' if alone else ''}"
