"""All words of a table in memory, learned while questions go on: which rows have each, and how often.

To read one word from FTS5's vocabulary takes a fraction of a millisecond, and a question has a dozen; to read all words of a table
one after the other takes a tenth of a second for some thousand entries.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from lorekeeper.cache.sqlite.file import SQLITE_ERRORS, DamagedFileError, connect
from lorekeeper.cache.sqlite.words import COLUMNS, vocabulary
from lorekeeper.system import trim_memory

logger = logging.getLogger(__name__)

COLUMN_WEIGHTS = {"name": 4.0, "body": 1.0, "phrases": 1.0, "description": 0.5}
"""How much a word counts in the name, the text, the phrases and the description of the hint."""

MOST = 2_000_000
"""Rows of all words of a table, 6 bytes each, up to which these are learned: one of 10,000 entries of books has 500,000."""

STEP, LARGEST = 0.5, 2**16 - 1
"""What all weights of columns are multiples of, and how many of them a frequency has at most: beyond 30,000 no score changes."""

TOKENS = 50
"""Tokens that are read together, in some milliseconds."""

RESTS = 4
"""How many times as long as it reads a thread rests that learns: questions that come meanwhile take a tenth longer."""

ASKED = 2
"""Searches of a table in one state after which its words are learned: a command that searches once does without."""

Places = npt.NDArray[np.integer[Any]]
"""Of rows, among all rows of their table."""

Frequencies = npt.NDArray[np.floating[Any]]
"""How often some rows have a word, weighed by column, above 0."""

_COLUMN = " ".join(["CASE col", *(f"WHEN '{name}' THEN {place}" for place, name in enumerate(COLUMNS)), "END"])

_OCCURRENCES = f"group_concat({len(COLUMNS)} * doc + {_COLUMN})"
"""Row id and column of each occurrence in one number, in SQL."""

_WEIGHTS = np.array([COLUMN_WEIGHTS[name] for name in COLUMNS])


def occurrences(
    c: sqlite3.Connection, entity_type: str, ids: npt.NDArray[np.int64], token: str
) -> tuple[Places, Frequencies]:
    """Places of the rows of a type that have a token, ascending, and how often each has it.

    Args:
        c: reads them.
        entity_type: the type.
        ids: row ids of all rows, ascending.
        token: as FTS5's vocabulary has it.
    """
    view = vocabulary(c, entity_type, "instance")
    (listed,) = c.execute(f"SELECT {_OCCURRENCES} FROM {view} WHERE term = ?", (token,)).fetchone()
    _, places, often = _rows([listed or ""], ids)
    return places, often


@dataclass(frozen=True)
class Postings:
    """The rows of all words of one table in one state.

    Attributes:
        numbers: of the tokens.
        starts: where the rows of each token begin, and the end of all, shape (tokens + 1,).
        places: of the rows, shape (rows of all tokens,) int32.
        often: how often each has the token, in steps of `STEP`, of the same shape, uint16.
    """

    numbers: Mapping[str, int]
    starts: npt.NDArray[np.int64]
    places: Places
    often: npt.NDArray[np.uint16]

    @classmethod
    def read(
        cls, c: sqlite3.Connection, entity_type: str, ids: npt.NDArray[np.int64], rest: Callable[[float], None]
    ) -> Self | None:
        """Those of a type, as `occurrences` has them; None if they are more than `MOST`.

        ``rest`` is called after each part with the seconds of processor time that it took.
        """
        (number,) = c.execute(f"SELECT sum(doc) FROM {vocabulary(c, entity_type, 'row')}").fetchone()
        if number is None or number > MOST:
            return None
        view = vocabulary(c, entity_type, "instance")
        rows = c.execute(f"SELECT term, {_OCCURRENCES} FROM {view} GROUP BY term")
        tokens, lengths, places, often = (
            list[str](),
            [np.zeros(1, np.int64)],
            list[Places](),
            list[npt.NDArray[np.uint16]](),
        )
        began = time.thread_time()
        while part := rows.fetchmany(TOKENS):
            numbers, own, frequencies = _rows([listed for _, listed in part], ids)
            tokens += [token for token, _ in part]
            lengths.append(np.bincount(numbers, minlength=len(part)))
            places.append(own)
            often.append(np.minimum(frequencies / STEP, LARGEST).astype(np.uint16))
            rest(time.thread_time() - began)
            began = time.thread_time()
        numbered = {token: number for number, token in enumerate(tokens)}
        return cls(numbered, np.cumsum(np.concatenate(lengths)), np.concatenate(places), np.concatenate(often))

    def of(self, token: str) -> tuple[Places, Frequencies]:
        """Places of the rows that have a token, and how often each has it."""
        number = self.numbers.get(token)
        part = slice(0, 0) if number is None else slice(self.starts[number], self.starts[number + 1])
        return self.places[part], self.often[part] * STEP

    def count(self, token: str) -> int:
        """How many rows have a token."""
        number = self.numbers.get(token)
        return 0 if number is None else int(self.starts[number + 1] - self.starts[number])


class _NotNeededError(Exception):
    """The words of a table that has changed since, or of a file that is closed."""


class Learning:
    """Learns the words of tables of one file, in a thread and over a connection of its own. Safe in several threads.

    Args:
        path: of the file.
        version: the state of a type that a connection sees.
    """

    def __init__(self, path: Path, version: Callable[[sqlite3.Connection, str], object]) -> None:
        self._path, self._version = path, version
        self._learned: dict[str, tuple[object, Postings | None]] = {}
        self._asked: dict[str, tuple[object, int]] = {}
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._stopping = threading.Event()

    def of(self, entity_type: str, version: object) -> Postings | None:
        """What is known of a type in one state; None if nothing is."""
        learned, postings = self._learned.get(entity_type, (None, None))
        return postings if learned == version else None

    def ask(self, entity_type: str, version: object, ids: npt.NDArray[np.int64]) -> None:
        """Note a search of a type, the words of which are learned if it was searched before in that state."""
        with self._lock:
            asked, times = self._asked.get(entity_type, (version, 0))
            self._asked[entity_type] = version, times + 1 if asked == version else 1
            if self._asked[entity_type][1] == ASKED:
                self._thread = self._thread or ThreadPoolExecutor(1, "words")
                self._stopping.clear()
                self._thread.submit(self._learn, entity_type, version, ids)

    def stop(self) -> None:
        """End what is being learned, and forget what was asked."""
        with self._lock:
            thread, self._thread, self._asked = self._thread, None, {}
            self._stopping.set()
        if thread:
            thread.shutdown(cancel_futures=True)

    def _learn(self, entity_type: str, version: object, ids: npt.NDArray[np.int64]) -> None:
        postings = None
        try:
            with contextlib.closing(connect(self._path)) as c:
                c.execute("PRAGMA query_only = 1")
                c.execute("BEGIN")
                if self._version(c, entity_type) == version:
                    postings = Postings.read(c, entity_type, ids, partial(self._rest, entity_type, version))
        except _NotNeededError:
            return
        except (*SQLITE_ERRORS, OSError, DamagedFileError) as error:  # a search that meets it says what to do
            logger.info("the words of %s are not learned: %s", entity_type, error)
        self._learned[entity_type] = version, postings
        trim_memory()

    def _rest(self, entity_type: str, version: object, seconds: float) -> None:
        """Rest after so many seconds of work; _NotNeededError if what is learned would be of no use any more."""
        if self._stopping.wait(RESTS * seconds) or self._asked.get(entity_type, (None, 0))[0] != version:
            raise _NotNeededError


def _rows(listed: Sequence[str], ids: npt.NDArray[np.int64]) -> tuple[Places, Places, Frequencies]:
    """Number of the token, place and frequency of each row with one of some tokens, whose occurrences are listed by token.

    The vocabulary lists the occurrences of a token in the order of the row ids.
    """
    codes = [np.fromstring(own, np.int64, sep=",") for own in listed]
    numbers = np.repeat(np.arange(len(codes)), [len(own) for own in codes])
    rows, columns = np.divmod(np.concatenate(codes), len(COLUMNS))
    starts = np.flatnonzero(np.diff(numbers, prepend=-1) | np.diff(rows, prepend=-1))
    places = np.searchsorted(ids, rows[starts])
    if places.max(initial=-1) >= len(ids):
        raise DamagedFileError("words are of entries that are not there")
    often = np.add.reduceat(_WEIGHTS[columns], starts) if len(starts) else np.empty(0)
    return numbers[starts], places.astype(np.int32), often
