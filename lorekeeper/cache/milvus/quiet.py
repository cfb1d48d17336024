"""What Milvus Lite and FAISS log: errors reach the caller as exceptions, and stderr is the user's."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator

LOGGERS = ("milvus_lite", "faiss")

_lock = threading.Lock()
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
