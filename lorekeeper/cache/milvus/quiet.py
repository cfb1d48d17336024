"""What Milvus Lite and FAISS log and print: errors reach the caller as exceptions, and stderr is the user's."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import threading
from collections.abc import Iterator

from lorekeeper.system import is_own_process

LOGGERS = ("milvus_lite", "faiss")

STDERR = 2

NOTICE = b"WARNING clustering"
"""How the lines begin that FAISS prints, from C, for every index that has fewer than 39 rows for each of its lists."""

_lock = threading.Lock()
_redirected = threading.Lock()
_silence = contextlib.ExitStack()
_open_stores = 0


@contextlib.contextmanager
def quiet_loggers() -> Iterator[None]:
    """Silence the loggers of the engine."""
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def store_open() -> Iterator[None]:
    """Silence them while a store is open; the last one to close restores them."""
    global _open_stores
    with _lock:
        if not _open_stores:
            _silence.enter_context(quiet_loggers())
        _open_stores += 1
    try:
        yield
    finally:
        with _lock:
            _open_stores -= 1
            if not _open_stores:
                _silence.close()


@contextlib.contextmanager
def without_notices() -> Iterator[None]:
    """Leave the notices of FAISS out of what is printed to stderr meanwhile, in processes that run LoreKeeper alone.

    All else is printed at the end.
    """
    if not is_own_process():
        yield
        return
    with _redirected, tempfile.TemporaryFile() as printed:
        stderr = os.dup(STDERR)
        os.dup2(printed.fileno(), STDERR)
        try:
            yield
        finally:
            os.dup2(stderr, STDERR)
            printed.seek(0)
            for line in printed:
                if not line.startswith(NOTICE):
                    os.write(stderr, line)
            os.close(stderr)
