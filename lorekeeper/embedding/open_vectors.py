"""Vectors of passages of open books: those of the SRDs, which ship, and those of the data package `lorekeeper-rpg-vectors`.

They are without texts, in 8 bits a value.

The file is mapped into memory and searched where it lies. It begins with a line of JSON, padded with spaces to `HEAD` bytes;
then come, each for all vectors in the order of their keys, the keys, checksums, and the values. A value is an integer: the
number divided by the largest one of its vector, times 127. No scale is needed, since every vector has length 1.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lorekeeper.embedding.protocol import Vectors, normalized
from lorekeeper.regular_files import open_regular
from lorekeeper.system import private_folder
from lorekeeper.text.phrases import SHIPPED_VECTORS

logger = logging.getLogger(__name__)

PACKAGE, FILE = "lorekeeper_rpg_vectors", "open_books.vectors"
"""The module of the data package, and the file in it."""

FORMAT = 1
HEAD = 512
LARGEST = 127

KEY_BYTES = 8
"""Bytes of `vectors.vector_key` that are kept: two of 100,000 texts have the same ones with a chance of 1 in 3,000 million."""

_KEY, _CHECK, _VALUE = np.dtype("<u8"), np.dtype("<u4"), np.dtype("i1")


@dataclass(frozen=True)
class Head:
    """What a file says of itself.

    Attributes:
        model: fingerprint of the vector space.
        count: number of vectors.
        dimension: of each.
        format: `FORMAT`.
    """

    model: str
    count: int
    dimension: int
    format: int = FORMAT

    @property
    def size(self) -> int:
        """Bytes of the whole file."""
        return HEAD + self.count * (_KEY.itemsize + _CHECK.itemsize + self.dimension * _VALUE.itemsize)


@dataclass(frozen=True)
class _Tables:
    head: Head
    keys: NDArray[np.uint64]
    checks: NDArray[np.uint32]
    values: NDArray[np.int8]


class OpenVectors:
    """A file of `write_open_vectors`, mapped at first use. Blocking; safe to use from several threads.

    Args:
        find: gives the path of the file, None if there is none.
    """

    def __init__(self, find: Callable[[], Path | None]) -> None:
        self._find = find
        self._tables: _Tables | None = None
        self._sought = False

    def get(self, model: str | None, keys: Collection[bytes], dimension: int | None = None) -> dict[bytes, Vectors]:
        """The vectors that the file has, float32, of length 1, by `vectors.vector_key`.

        Args:
            model: fingerprint of the vector space; a file of another model has none.
            keys: of the embedded texts.
            dimension: of the vectors; None if it is not known.
        """
        tables = self._mapped() if keys else None
        if tables is None or tables.head.model != model or dimension not in (None, tables.head.dimension):
            return {}
        wanted = list(keys)
        numbers = np.array([_number(key) for key in wanted], dtype=_KEY)
        rows = np.minimum(np.searchsorted(tables.keys, numbers), tables.head.count - 1)
        found = [(wanted[i], rows[i]) for i in np.flatnonzero(tables.keys[rows] == numbers)]
        sound = [(key, row) for key, row in found if tables.checks[row] == _check(key, tables.values[row])]
        vectors = normalized(tables.values[[row for _, row in sound]].astype(np.float32))
        return {key: vector for (key, _), vector in zip(sound, vectors, strict=True)}

    def _mapped(self) -> _Tables | None:
        """The tables of the file; None if there is none, or it cannot be used, which is logged once."""
        if not self._sought:
            path = self._find()
            try:
                self._tables = _map(path) if path else None
            except (OSError, ValueError, TypeError) as error:
                logger.warning("the vectors in %s cannot be used, texts are embedded instead: %s", path, error)
            self._sought = True
        return self._tables


def packaged_file() -> Path | None:
    """The file of the installed data package, found without importing it; None if it is not installed."""
    spec = importlib.util.find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    path = Path(next(iter(folders))) / FILE if folders else None
    return path if path and path.is_file() else None


def shipped_file() -> Path | None:
    """The file that comes with LoreKeeper, of the books that a new library begins with; None if it is not there."""
    return SHIPPED_VECTORS if SHIPPED_VECTORS.is_file() else None


def write_open_vectors(path: Path, model: str, vectors: Mapping[bytes, Vectors]) -> None:
    """Write vectors of length 1 by `vectors.vector_key`, at least one and all of one dimension.

    Raises:
        ValueError: two keys begin with the same `KEY_BYTES` bytes.
        OSError: the file cannot be written.
    """
    keys = sorted(vectors, key=_number)
    numbers = np.array([_number(key) for key in keys], dtype=_KEY)
    if len(np.unique(numbers)) < len(keys):
        raise ValueError(f"two keys begin with the same {KEY_BYTES} bytes")
    values = quantized(np.stack([vectors[key] for key in keys]))
    checks = np.array([_check(key, row) for key, row in zip(keys, values, strict=True)], dtype=_CHECK)
    head = json.dumps(asdict(Head(model, *values.shape))).encode()
    private_folder(path.parent)
    path.write_bytes(head.ljust(HEAD - 1) + b"\n" + numbers.tobytes() + checks.tobytes() + values.tobytes())


def quantized(vectors: Vectors) -> NDArray[np.int8]:
    """Vectors, shape (n, dimension), as integers from -127 to 127; `normalized` gives them back to about 0.00005 in cosine."""
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    values: NDArray[np.int8] = np.rint(vectors / largest * LARGEST).astype(_VALUE)
    return values


def _map(path: Path) -> _Tables:
    """Map a file; ValueError if it is not whole."""
    with open_regular(path) as file:
        content: Any = json.loads(file.read(HEAD))
    head = Head(**content)
    if head.format != FORMAT or head.count < 1:
        raise ValueError(f"it has format {head.format} and {head.count} vectors")
    if path.stat().st_size != head.size:
        raise ValueError(f"it has {path.stat().st_size:,} bytes instead of {head.size:,}")
    mapped = np.memmap(path, dtype=np.uint8, mode="r", offset=HEAD)
    keys, checks, values = np.split(mapped, np.cumsum([head.count * _KEY.itemsize, head.count * _CHECK.itemsize]))
    return _Tables(head, keys.view(_KEY), checks.view(_CHECK), values.view(_VALUE).reshape(head.count, head.dimension))


def _number(key: bytes) -> int:
    """The part of a key that is kept, as a number: these are sorted and searched."""
    return int.from_bytes(key[:KEY_BYTES], "little")


def _check(key: bytes, values: NDArray[np.int8]) -> int:
    return zlib.crc32(values.tobytes(), zlib.crc32(key[:KEY_BYTES]))
