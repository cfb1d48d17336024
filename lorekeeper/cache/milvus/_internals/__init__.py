"""All that knows the private names of Milvus Lite, and the settings of FAISS, PyArrow and malloc: the accelerators.

For every search Milvus Lite looks through all keys of a collection, in Python, for rows that were written again; it decodes
every column of every row it returns; and it holds all vectors in memory although its index has them already. The
subclasses here answer the same public calls with the same results, faster and in less memory.

They need names that Milvus Lite does not promise to keep: `names.RELIED_ON`. An accelerator whose names are missing or have
changed is left out, and Milvus Lite's own code serves in its place. Nothing that other users of these libraries can see is
replaced: where code of Milvus Lite has to use another class or function, `names.rebound` copies that code.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Any

from lorekeeper.cache.milvus._internals import (  # process has to load PyArrow
    names,
    process,
    reads,
    row_files,
    segments,
    writes,
)

__all__ = ["has_log", "open_database", "release_memory", "remove_indexes", "status", "store_open"]

logger = logging.getLogger(__name__)

store_open, release_memory = process.store_open, process.release_memory


def open_database(path: Path) -> Any:
    """Milvus Lite's database in a folder, with the accelerators whose names are there."""
    report(status())
    return _database_class(set(names.problems()))(str(path))


def _database_class(left_out: set[str]) -> Any:
    """Milvus Lite's database class, with collections that have all accelerators but some."""
    base = names.lookup_class(names.COLLECTION) if names.READS in left_out else reads.FastReads
    methods: dict[str, Any] = {}
    if names.SEGMENTS not in left_out:
        methods |= segments.collection_methods()
    if names.WRITES not in left_out:
        methods |= writes.collection_methods()
    database = names.lookup_class(names.DATABASE)
    if base is names.lookup_class(names.COLLECTION) and not methods:
        return database
    collection = type("AcceleratedCollection", (base,), methods)
    openers = {name: names.rebound(getattr(database, name), Collection=collection) for name in names.OPENERS}
    return type("AcceleratedDatabase", (database,), openers)


def status() -> str:
    """Version of Milvus Lite, and whether the accelerators are in use: a phrase for people."""
    version, problems = names.lookup("milvus_lite", "__version__"), names.problems()
    if not problems:
        return f"{version}, accelerated"
    reasons = dict.fromkeys(reason for causes in problems.values() for reason in causes)
    return f"{version}, slower without {' and '.join(problems)}: {', '.join(reasons)}"


@cache
def report(state: str) -> None:
    """Log a state once for each process."""
    logger.info("Milvus Lite %s", state)


def has_log(path: Path, name: str) -> bool:
    """Whether a collection of a library has a write-ahead log, as a process that was killed leaves it."""
    return any((path / "collections" / name / "wal").glob("*"))


def remove_indexes(path: Path, name: str) -> None:
    """Remove the index files of a collection, and those that are mapped; they are made from its data files when it is loaded."""
    for pattern in ("*.idx", *(f"*{suffix}" for suffix in row_files.SUFFIXES)):
        for file in (path / "collections" / name).rglob(pattern):
            file.unlink()
