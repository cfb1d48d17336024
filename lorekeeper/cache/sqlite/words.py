"""The words of entities in SQLite: a full-text table per type."""

from __future__ import annotations

import sqlite3

from lorekeeper.cache.protocol import ALIASES_BETWEEN
from lorekeeper.entities import Entity
from lorekeeper.text.facts import indexed_facts
from lorekeeper.text.notes import aliases
from lorekeeper.text.phrases import Hint, hint_of
from lorekeeper.text.sections import full_text

TOKENIZER = "porter unicode61 remove_diacritics 2"

COLUMNS = ("name", "body", "phrases", "description")
"""What keywords are looked up in, as `words_of` gives it."""


def fts_statement(entity_type: str) -> str:
    """The statement that creates the full-text table of a type."""
    return f"CREATE VIRTUAL TABLE {entity_type}_fts USING fts5({', '.join(COLUMNS)}, tokenize = '{TOKENIZER}')"


def vocabulary(c: sqlite3.Connection, entity_type: str) -> str:
    """The name of a view of the words of a type, a row each: FTS5's vocabulary table.

    It is made for this connection only; a connection that may only read may not even do that.
    """
    table = f"{entity_type}_vocabulary"
    if not c.execute("SELECT 1 FROM temp.sqlite_schema WHERE name = ?", (table,)).fetchone():
        (read_only,) = c.execute("PRAGMA query_only").fetchone()
        c.execute("PRAGMA query_only = 0")
        try:
            c.execute(f"CREATE VIRTUAL TABLE temp.{table} USING fts5vocab(main, {entity_type}_fts, row)")
        finally:
            c.execute(f"PRAGMA query_only = {read_only}")
    return f"temp.{table}"


def insert_words(c: sqlite3.Connection, entity: Entity, row: int) -> None:
    """Store the words of an entity under its row id."""
    sql = f"INSERT INTO {entity.type}_fts (rowid, name, body, phrases, description) VALUES (?, ?, ?, ?, ?)"
    c.execute(sql, (row, *words_of(entity)))


def words_of(entity: Entity) -> tuple[str, str, str, str]:
    """What keywords are looked up in: name, text, phrases and description of the hint."""
    hint = hint_of(entity) or Hint("", ())
    names = ALIASES_BETWEEN.join([entity.name, *aliases(entity)])
    return names, f"{indexed_facts(entity)}\n{full_text(entity)}", "\n".join(hint.asked_as), hint.description
