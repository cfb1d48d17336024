"""The certificate of a server and its key."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Callable
from pathlib import Path

from lorekeeper.errors import ConfigError
from lorekeeper.regular_files import open_regular

logger = logging.getLogger(__name__)

OTHERS = 0o077
"""The permissions of everybody but the owner of a file."""


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """The TLS of a server: 1.2 or later, with Python's choice of ciphers.

    Args:
        certificate: file in PEM, with what stands between it and its authority.
        key: file of its private key in PEM, which must not be encrypted.

    Raises:
        ConfigError: a file is missing or cannot be read, the key is encrypted, or they do not belong together.
    """
    for what, option, path in (("certificate", "--tls-cert", certificate), ("private key", "--tls-key", key)):
        try:
            with open_regular(path) as file:
                file.read(1)
        except OSError as error:
            raise ConfigError(f"the {what} {path} of {option} cannot be read: {error.strerror or error}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    _load(context, certificate, key)
    if key.stat().st_mode & OTHERS:
        logger.warning("the private key %s can be read by others: run chmod 600 on it", key)
    return context


class _EncryptedError(Exception):
    """The key is encrypted."""


def _load(context: ssl.SSLContext, certificate: Path, key: Path) -> None:
    def password() -> str:
        raise _EncryptedError  # nobody may be there to type it

    try:
        context.load_cert_chain(certificate, key, password)
    except _EncryptedError as error:
        raise ConfigError(
            f"the private key {key} is encrypted, and a server cannot ask for its password. Decrypt it with "
            f"'openssl pkey -in {key.name} -out plain.key' and keep that file private"
        ) from error
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise ConfigError(f"the private key {key} does not belong to the certificate {certificate}") from error
        raise ConfigError(
            f"{certificate} and {key} are not a certificate and its private key in PEM: {error.reason or error}"
        ) from error


class Handshakes:
    """Connections until TLS is agreed on. They are limited in time and number, as connections of the server itself are.

    Args:
        context: the server's.
        seconds: longest handshake.
        most: most handshakes at a time; the oldest one makes room.
    """

    def __init__(self, context: ssl.SSLContext, seconds: float, most: int) -> None:
        self.context, self.seconds, self.most = context, seconds, most
        self.pending: dict[_Handshake, asyncio.Transport] = {}

    def before(self, make: Callable[[], asyncio.Protocol]) -> asyncio.Protocol:
        """What a new connection begins with; what is made takes over when TLS is agreed on."""
        return _Handshake(self, make)


class _Handshake(asyncio.Protocol):
    """One connection until TLS is agreed on; what its client sends right after that waits for the protocol to come."""

    def __init__(self, handshakes: Handshakes, make: Callable[[], asyncio.Protocol]) -> None:
        self._handshakes, self._make = handshakes, make
        self._early = bytearray()
        self._lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()  # start_tls resumes it
        pending = self._handshakes.pending
        pending[self] = transport
        if len(pending) > self._handshakes.most:
            pending.pop(next(iter(pending))).abort()
        self._task = asyncio.create_task(self._agree(transport))

    def data_received(self, data: bytes) -> None:
        self._early += data

    def connection_lost(self, _: Exception | None) -> None:
        self._lost = True

    async def _agree(self, transport: asyncio.Transport) -> None:
        loop, own = asyncio.get_running_loop(), self._handshakes
        try:
            secured = await loop.start_tls(
                transport, self, own.context, server_side=True, ssl_handshake_timeout=own.seconds
            )
        except OSError:  # no TLS, none that both know, or not in time
            transport.abort()
            return
        finally:
            own.pending.pop(self, None)
        if secured is None or self._lost:
            return
        protocol = self._make()
        protocol.connection_made(secured)
        secured.set_protocol(protocol)
        if self._early:
            protocol.data_received(bytes(self._early))
