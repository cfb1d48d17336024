"""The tokens that FTS5 makes of words, by which its vocabulary tables know them."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

from lorekeeper.cache.sqlite.words import TOKENIZER

KEPT = 20_000
"""Most expressions whose tokens are kept."""

_kept: dict[str, str | None] = {}

_lock = threading.Lock()


def only_token(expression: str) -> str | None:
    """The token of an FTS5 expression for one word; None for other expressions."""
    if expression not in _kept:
        read_tokens([expression])
    return _kept.get(expression)


def read_tokens(expressions: Iterable[str]) -> None:
    """Read the tokens of several expressions: one by one that takes ten times as long."""
    with _lock:
        unknown = [each for each in dict.fromkeys(expressions) if each not in _kept]
        if unknown and len(_kept) + len(unknown) > KEPT:
            _kept.clear()
        _kept.update(_tokens_of(unknown) if unknown else {})


def _tokens_of(expressions: list[str]) -> dict[str, str | None]:
    c = _empty_table()
    c.execute("BEGIN")
    c.executemany("INSERT INTO words (rowid, word) VALUES (?, ?)", enumerate(expressions))
    tokens = c.execute("SELECT doc, term FROM vocabulary").fetchall()
    c.execute("ROLLBACK")
    number = Counter(row for row, _ in tokens)
    only = {expressions[row]: token for row, token in tokens if number[row] == 1}
    return {expression: only.get(expression) for expression in expressions}


@lru_cache(maxsize=1)
def _empty_table() -> sqlite3.Connection:
    c = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    c.execute(f"CREATE VIRTUAL TABLE words USING fts5(word, content = '', columnsize = 0, tokenize = '{TOKENIZER}')")
    c.execute("CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, instance)")
    return c
