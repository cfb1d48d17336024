"""Network addresses: which of them stay on this machine, and how they are shown without the secrets they hold."""

from __future__ import annotations

import re

from lorekeeper.printable import one_line

_HOST = re.compile(
    r"[a-z][a-z0-9+.-]*://([^\s\\/?#@\[\]]*@)?(?P<host>\[[0-9a-f:.]+\]|[a-z0-9.-]+)(:\d*)?([/?#]|\Z)", re.IGNORECASE
)
"""So strict that all clients read the same host: what one of them might read otherwise is no match."""

_CREDENTIALS = re.compile(r"(?<=://)(?:(?!://)[^\s\"'<>])*@")
_SECRET_PARAMETER = re.compile(
    r"([?&][^\s=&?]{0,40}(?:key|token|secret|passw|auth|sig)[^\s=&?]{0,40}=)[^\s&#\"'<>]+", re.IGNORECASE
)
"""Both take linear time, whatever a server makes a message of."""


def is_local(address: str) -> bool:
    """Whether nothing that is sent to an address leaves this machine: a loopback URL, a Unix socket, a ``.db`` file.

    The host has to be ``localhost`` or written in full, as in ``127.0.0.1`` or ``[::1]``: other spellings, as ``127.1``, and
    other names are left to a resolver, which may answer anything.
    """
    import ipaddress

    if address.startswith("unix:") or _is_file(address):
        return True
    found = _HOST.match(address)
    host = found["host"].strip("[]").lower() if found else ""
    if host == "localhost":
        return True
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = number.ipv4_mapped if isinstance(number, ipaddress.IPv6Address) else None
    return (mapped or number).is_loopback


def shown_address(address: str) -> str:
    """An address for people and logs: ``***`` for user and password, and for the query and what follows it.

    Where it is not clear where a password ends, everything up to the last ``@`` counts as one.
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
    """A message of a driver, or a line of a log, without the passwords of URLs in it.

    Of queries only the values of parameters that are named like secrets are left out.

    Args:
        text: the message.
        address: is shown as `shown_address` has it, URL or not.
    """
    text = text.replace(address, shown_address(address)) if address else text
    return _SECRET_PARAMETER.sub(r"\1***", _CREDENTIALS.sub("***@", text))


def _is_file(address: str) -> bool:
    """Whether the Milvus driver would take it as the path of a library."""
    return "://" not in address and address.endswith(".db")
