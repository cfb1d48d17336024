"""The certificate of a server and its key."""

from __future__ import annotations

import logging
import ssl
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
