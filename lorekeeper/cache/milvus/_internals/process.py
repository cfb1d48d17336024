"""Settings of the process: how PyArrow and FAISS are loaded, when memory is returned, what is logged.

What cannot be undone is done in processes that run LoreKeeper alone, and in no others: see `system.claim_process`.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import sys
import threading
import types
import warnings
from collections.abc import Iterator
from importlib.machinery import ModuleSpec

from lorekeeper.system import is_own_process

LARGE_BLOCK_BYTES = 128 << 10
"""Blocks of at least this size are mapped separately; glibc's initial default."""

M_MMAP_THRESHOLD = -3
"""From glibc's malloc.h."""

LOGGERS = ("milvus_lite", "faiss")


@contextlib.contextmanager
def quiet_loggers() -> Iterator[None]:
    """Silence the engine's own logs: what goes wrong reaches the caller as an exception."""
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    for name in levels:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def _return_freed_memory() -> None:
    """Let glibc return large blocks to the system as soon as they are freed.

    It starts so, but with every such block that is freed it raises the size, up to 32 MB; what compactions and index builds
    took then stays in the heap of each of their threads, where malloc_trim does not reach it: 160 MB more after an import of
    9,000 entities. Setting the size keeps it; glibc has no call that lets it grow again. Other C libraries have no such call.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES)


def _load_arrow() -> None:
    """Load PyArrow so that it allocates with malloc, and without pandas.

    Its own memory pools keep what reading files took; it chooses a pool once. It loads pandas, if there is one, with the
    first value it converts: 0.25 s and 49 MB that nothing here uses. What it takes for pandas then, it keeps.
    """
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    import pyarrow.pandas_compat

    if "pandas" not in sys.modules:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sys.modules["pandas"] = _no_pandas()
            try:
                pyarrow.scalar(0)
            finally:
                del sys.modules["pandas"]


def _no_pandas() -> types.ModuleType:
    """A module that PyArrow takes for a pandas that is too old to be used."""
    module = types.ModuleType("pandas")
    module.__spec__ = ModuleSpec("pandas", None)
    module.__dict__["__version__"] = "0"
    return module


with quiet_loggers():  # FAISS logs which of its variants it loads
    if is_own_process():
        _return_freed_memory()
        _load_arrow()
    import faiss  # noqa: F401
    import pyarrow.dataset

_lock = threading.Lock()
_silence = contextlib.ExitStack()
_open_stores = 0


@contextlib.contextmanager
def store_open() -> Iterator[None]:
    """Keep the engine silent while a store is open; the last one to close restores the loggers."""
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


def release_memory() -> None:
    """Return to the system what Arrow has allocated and freed."""
    pyarrow.default_memory_pool().release_unused()
