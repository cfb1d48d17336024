"""Network addresses: whether they stay on this machine, and how to show them without the secrets in them."""

from __future__ import annotations

import re

from lorekeeper.printable import one_line

_HOST = re.compile(
    r"[a-z][a-z0-9+.-]*://([^\s\\/?#@\[\]]*@)?(?P<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d*)?([/?#]|\Z)", re.IGNORECASE
)
"""Strict enough that all clients parse the same host: anything ambiguous does not match."""

_CREDENTIALS = re.compile(r"(?<=://)(?:(?!://)[^\s\"'<>])*@")
_SECRET_PARAMETER = re.compile(
    r"([?&][^\s=&?]{0,40}(?:key|token|secret|passw|auth|sig)[^\s=&?]{0,40}=)[^\s&#\"'<>]+", re.IGNORECASE
)
"""Both take linear time, whatever text a server sends."""


def is_local(address: str) -> bool:
    """Whether nothing sent to an address leaves this machine: a loopback URL, a Unix socket, a ``.db`` file.

    The host has to be ``localhost`` or a full loopback address such as ``127.0.0.1`` or ``[::1]``: short forms such as
    ``127.1``, and other names, depend on a resolver, which may answer anything.
    """
    import ipaddress

    if address.startswith("unix:") or _is_file(address):
        return True
    match = _HOST.match(address)
    host = match["host"].strip("[]").lower() if match else ""
    if host == "localhost":
        return True
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = number.ipv4_mapped if isinstance(number, ipaddress.IPv6Address) else None
    return (mapped or number).is_loopback


def shown_address(address: str) -> str:
    """An address for people and logs: ``***`` replaces user and password, and the query or fragment.

    If it is not clear where a password ends, everything up to the last ``@`` counts as part of it.
    """
    if _is_file(address):
        return one_line(address)
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme, rest = "", address
    if "@" in rest:
        rest = "***@" + rest.rpartition("@")[2]
    return one_line(scheme + separator + re.sub(r"(?s)([?#]).*", r"\1***", rest))


def without_secrets(text: str, address: str = "") -> str:
    """A driver's message, or a log line, without the passwords in its URLs.

    In queries, only the values of parameters that are named like secrets are removed.

    Args:
        text: the message.
        address: an address in it, URL or not, to be replaced by its `shown_address`.
    """
    text = text.replace(address, shown_address(address)) if address else text
    return _SECRET_PARAMETER.sub(r"\1***", _CREDENTIALS.sub("***@", text))


def _is_file(address: str) -> bool:
    """Whether the Milvus driver would treat it as the path of an embedded library."""
    return "://" not in address and address.endswith(".db")
