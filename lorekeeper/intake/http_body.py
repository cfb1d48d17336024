"""The body of an HTTP response, unpacked piece by piece: its size is checked before memory is allocated for it."""

from __future__ import annotations

import zlib
from typing import Any

from lorekeeper.entities import parse_json
from lorekeeper.printable import shown

PIECE_BYTES = 1 << 20
"""Most bytes unpacked at a time: one compressed byte may expand to a thousand."""

MAX_VALUES = 1_000_000
"""Most JSON values in a response: a parsed value takes up to 200 bytes, even if it is short in the text."""


class RefusedBodyError(ValueError):
    """A body that is not read: too large, or in an encoding that was not requested."""


class DamagedBodyError(ValueError):
    """A body that is incomplete or corrupt."""


class Body:
    """A body that is being received.

    Args:
        encoding: the ``Content-Encoding`` header: none, ``gzip`` or ``deflate``.
        max_bytes: largest size, both as received and unpacked.

    Attributes:
        content: what has been received so far, unpacked.
        received: bytes received so far, packed.

    Raises:
        RefusedBodyError: the encoding is another one, or there are several.
    """

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self.content = bytearray()
        self.received = 0
        self._max_bytes = max_bytes
        name = encoding.strip().lower() or "identity"
        if name not in ("identity", "gzip", "x-gzip", "deflate"):
            raise RefusedBodyError(f"the content encoding {shown(encoding)}, which was not requested")
        self._unpacker = None if name == "identity" else zlib.decompressobj(zlib.MAX_WBITS | 32)

    def add(self, received: bytes) -> None:
        """Add a part as it was received.

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
            raise DamagedBodyError("its compressed answer is corrupt") from error
        if received or self._unpacker.unused_data:
            raise DamagedBodyError("its compressed answer has trailing data")

    def value(self) -> Any:
        """The JSON value of the whole body. Blocking.

        Raises:
            RefusedBodyError: it has too many values.
            DamagedBodyError: it is incomplete, or not JSON.
        """
        if self._unpacker is not None and not self._unpacker.eof:
            raise DamagedBodyError("its answer is incomplete")
        if sum(map(self.content.count, (b",", b"[", b"{"))) > MAX_VALUES:
            raise RefusedBodyError(f"more than {MAX_VALUES:,} values in one response")
        try:
            return parse_json(self.content)
        except ValueError as error:
            raise DamagedBodyError("its answer is not complete JSON") from error

    def _check(self, size: int) -> None:
        if size > self._max_bytes:
            raise RefusedBodyError(f"more than {self._max_bytes / 2**20:g} MB in one response")
