"""The tokens that FTS5 makes of words, by which its vocabulary tables know them."""

from __future__ import annotations

import sqlite3
import threading
from functools import lru_cache

from lorekeeper.cache.sqlite.words import TOKENIZER

_lock = threading.Lock()


@lru_cache(maxsize=20_000)
def only_token(expression: str) -> str | None:
    """The token of an FTS5 expression for one word; None for other expressions."""
    with _lock:
        c = _empty_table()
        c.execute("INSERT INTO words (rowid, word) VALUES (1, ?)", (expression,))
        tokens = c.execute("SELECT term, cnt FROM vocabulary").fetchall()
        c.execute("INSERT INTO words (words) VALUES ('delete-all')")
    return tokens[0][0] if [number for _, number in tokens] == [1] else None


@lru_cache(maxsize=1)
def _empty_table() -> sqlite3.Connection:
    c = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    c.execute(f"CREATE VIRTUAL TABLE words USING fts5(word, content = '', columnsize = 0, tokenize = '{TOKENIZER}')")
    c.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)")
    return c
