"""The data of 5e-bits: SQLite files with a table for each list, and JSON files with a list each, which are read together."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

from lorekeeper.entities import parse_json
from lorekeeper.intake.formats.text_file import Entry, TextFile, each_of
from lorekeeper.normalize import fivebits, unsupported_formats

MAX_CHARS = 64 << 20
"""Longest file."""

DATABASE = "SQLite format 3\0"
"""How files of SQLite begin."""

SUFFIXES = (".sqlite3", ".sqlite", ".json")

_COLUMNS = {"index", "name", "data"}

_ADDRESS = re.compile(r'"url"\s{0,9}:\s{0,9}"/api/(?:20\d\d/)?[a-z-]{3,40}/')


LINES = (".jsonl", ".ndjson")


def recognises(name: str, head: str) -> bool:
    """Whether a file is a database, or a list of objects with addresses of 5e-bits, by the beginning of its text."""
    return head.startswith(DATABASE) or (not name.endswith(LINES) and _is_list(head))


def _is_list(head: str) -> bool:
    return head.lstrip("\ufeff \t\r\n")[:1] in ("[", "{") and '"index"' in head and _ADDRESS.search(head) is not None


def read(file: TextFile) -> Iterator[Entry]:
    """The entities of a file; its problems are reported by list.

    Raises:
        ValueError: it is another database, or no JSON.
    """
    text = file.window.rest(MAX_CHARS + 1)
    if len(text) > MAX_CHARS:
        file.fail(f"it is longer than {MAX_CHARS >> 20} MB; split it")
        return
    is_database = text.startswith(DATABASE)
    found = rows_of(text.encode("utf-8", "surrogateescape")) if is_database else _listed(text)
    others = [] if is_database else file.all_files.once(_together)
    content = fivebits.read(found, file.document, others)
    for _, reason in content.failed:
        file.fail(reason)
    content.failed.clear()
    yield from file.entries(content, ": ")


def rows_of(database: bytes) -> list[object]:
    """The objects in the tables of a database of 5e-bits.

    Raises:
        ValueError: it has none, or is damaged; the message says what it is and what to do.
    """
    found: list[object] = []
    with closing(sqlite3.connect(":memory:")) as connection, suppress(sqlite3.Error):
        connection.deserialize(database)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            quoted = '"' + str(table).replace('"', '""') + '"'
            if {column[1] for column in connection.execute(f"PRAGMA table_info({quoted})")} == _COLUMNS:
                found += (parse_json(data) for (data,) in connection.execute(f"SELECT data FROM {quoted}"))
    if not any(map(fivebits.list_of, found)):
        known = unsupported_formats.of_suffix(SUFFIXES[0])
        raise ValueError(f"this is {known.reason if known else 'another database'}")
    return found


def _listed(text: str) -> list[object]:
    """The objects in a JSON text: a list, one of them, or an answer of the API."""
    try:
        value = parse_json(text.lstrip("\ufeff"))
    except ValueError as error:
        raise ValueError(f"invalid JSON: {error}") from error
    if isinstance(value, dict):
        value = value.get("results", [value])
    return list(value) if isinstance(value, list) else []


def _together(paths: Sequence[Path]) -> list[object]:
    """The objects of all files of the import that are lists of 5e-bits; what cannot be read is reported with its own file."""
    found: list[object] = []
    each_of(paths, lambda _, head: _is_list(head), lambda _, window: found.extend(_listed(window.rest(MAX_CHARS))))
    return found
