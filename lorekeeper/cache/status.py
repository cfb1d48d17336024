"""The status of a library, without opening it: what its SQLite file counts, and which process has it open.

It takes milliseconds, changes nothing, and works while other processes write.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from lorekeeper.cache.sqlite.file import SQLITE_ERRORS, columns, connect_read_only
from lorekeeper.entities import COLLECTIONS
from lorekeeper.text.phrases import SHIPPED_DOCUMENTS

BUSY_SECONDS = 1.0


@dataclass(frozen=True)
class LibraryStatus:
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


def status_at(file: Path, location: str, process: int | None = None) -> LibraryStatus:
    """A library as its SQLite file shows it. Blocking."""
    if not file.exists():
        return LibraryStatus(location, found=False, process=process)
    try:
        return LibraryStatus(location, found=True, documents=_documents(file), process=process)
    except (*SQLITE_ERRORS, OSError) as error:
        return LibraryStatus(location, found=True, problem=f"{file} cannot be read: {error}", process=process)


def _documents(file: Path) -> dict[str, int]:
    """Entries by document."""
    counts = Counter[str]()
    with closing(connect_read_only(file, BUSY_SECONDS)) as c:
        for entity_type in COLLECTIONS.keys() - {"documents"}:
            if columns(c, entity_type):  # a file of an earlier version may lack a type
                counts.update(dict(c.execute(f"SELECT document, count(*) FROM {entity_type} GROUP BY document")))
    return dict(counts)
