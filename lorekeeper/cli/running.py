"""Whether a server of this library runs at a port: one that can read its private files, and not what pretends to be one."""

from __future__ import annotations

import contextlib
import http.client
import json
import secrets
import socket
import ssl
from urllib.parse import urlsplit

from lorekeeper.errors import ConfigError
from lorekeeper.people.sessions import answer
from lorekeeper.people.tokens import digest, equal
from lorekeeper.printable import shown

SECONDS = 5.0
"""How long a server may take to answer."""

MAX_BYTES = 1 << 16
"""Largest answer that is read."""

WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
"""Addresses to listen on, and where this machine reaches what listens there."""

PROOF = "/sign-in/proof"


def server_at(host: str, port: int, key: str) -> str | None:
    """The address of a server of this library, such as ``http://127.0.0.1:8765``; None if nothing listens there. Blocking.

    Args:
        host: on which it would listen.
        port: on which it would listen.
        key: of a link of this library, which the server has to know of.

    Raises:
        ConfigError: something else listens there, or the host cannot be reached.
    """
    host = WILDCARDS.get(host, host)
    try:
        socket.create_connection((host, port), SECONDS).close()
    except ConnectionRefusedError:
        return None
    except OSError as error:
        raise ConfigError(f"{shown(host)} cannot be reached at port {port}: {error}") from error
    netloc = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    for address in (f"http://{netloc}", f"https://{netloc}"):
        if _knows(address, key):
            return address
    raise ConfigError(
        f"port {port} of {shown(host)} is in use by another program, or by another library's or an earlier version's server: "
        "choose another port with --port, or end that program"
    )


def is_open(address: str) -> bool:
    """Whether a server answers everybody, without any credentials. Blocking."""
    try:
        return _asked(address, "HEAD", "/")[0] == http.client.OK
    except (OSError, http.client.HTTPException):
        return False


def _knows(address: str, key: str) -> bool:
    """Whether a server knows of a link. It answers for where it listens: nothing else can pass the challenge on to it."""
    challenge = secrets.token_hex(16)
    with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
        status, body, place = _asked(address, "GET", f"{PROOF}?challenge={challenge}")
        answers = json.loads(body)["answers"] if status == http.client.OK else []
        expected = answer(digest(key.encode()), f"{challenge} {place}")
        return any(equal(str(each), expected) for each in answers)
    return False


def _asked(address: str, method: str, path: str) -> tuple[int, bytes, str]:
    """Status and body of an answer, and the address and port that gave it; OSError or HTTPException if there is none."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=SECONDS)
    if parts.scheme == "https":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # what it answers shows who it is
        connection = http.client.HTTPSConnection(parts.hostname or "", parts.port, timeout=SECONDS, context=context)
    with contextlib.closing(connection):
        connection.connect()
        host, port = connection.sock.getpeername()[:2]
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read(MAX_BYTES), f"{host} {port}"


def network_address() -> str:
    """The address of this machine in its network, by which a phone reaches it; nothing is sent to find it out."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
