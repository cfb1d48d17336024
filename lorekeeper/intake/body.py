"""The body of an answer, unpacked piece by piece: its size is looked at before memory is taken for it."""

from __future__ import annotations

import json
import zlib
from typing import Any

from lorekeeper.printable import shown

PIECE_BYTES = 1 << 20
"""Most that is unpacked at a time: a byte of an answer may stand for a thousand."""

MAX_VALUES = 1_000_000
"""Most JSON values in an answer. Parsed, a value takes up to 200 bytes, however few it takes in the answer."""


class RefusedBodyError(ValueError):
    """A body that is not read: it is too large, or encoded in a way that was not asked for."""


class DamagedBodyError(ValueError):
    """A body that is not whole, or not what it says it is."""


class Body:
    """A body that is being received.

    Args:
        encoding: the ``Content-Encoding`` header; at most one encoding, ``gzip`` or ``deflate``.
        max_bytes: largest size, both as received and unpacked.

    Attributes:
        content: what has been received so far, unpacked.
        received: bytes received so far, as they came.

    Raises:
        RefusedBodyError: the encoding is another one, or there are several.
    """

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self.content = bytearray()
        self.received = 0
        self._max_bytes = max_bytes
        name = encoding.strip().lower() or "identity"
        if name not in ("identity", "gzip", "x-gzip", "deflate"):
            raise RefusedBodyError(f"the content encoding {shown(encoding)}, which was not asked for")
        self._unpacker = None if name == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 32)

    def add(self, received: bytes) -> None:
        """Take in a further part, as it came.

        Raises:
            RefusedBodyError: the body is too large.
            DamagedBodyError: it cannot be unpacked.
        """
        self.received += len(received)
        self._check(self.received)
        if self._unpacker is None:
            self.content += received
            return
        try:
            while received and not self._unpacker.eof:
                self.content += self._unpacker.decompress(received, PIECE_BYTES)
                self._check(len(self.content))
                received = self._unpacker.unconsumed_tail
        except zlib.error as error:
            raise DamagedBodyError("its answer cannot be unpacked") from error
        if received or self._unpacker.unused_data:
            raise DamagedBodyError("its packed answer is followed by something else")

    def value(self) -> Any:
        """The JSON value of the whole body. Blocking.

        Raises:
            RefusedBodyError: it holds too many values.
            DamagedBodyError: it is not whole, or no JSON.
        """
        if self._unpacker is not None and not self._unpacker.eof:
            raise DamagedBodyError("its answer is not whole")
        if sum(map(self.content.count, (b",", b"[", b"{"))) > MAX_VALUES:
            raise RefusedBodyError(f"more than {MAX_VALUES:,} values at once")
        try:
            return json.loads(self.content, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            raise DamagedBodyError("its answer is no whole JSON") from error

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            raise RefusedBodyError(f"more than {self._max_bytes / 2**20:g} MB at once")


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON number")
