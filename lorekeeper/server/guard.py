"""What stands around the HTTP application: metrics, audit log, limits and TLS, as the settings say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.routing import Route

from lorekeeper.measures import listening
from lorekeeper.server.audit import AuditLog
from lorekeeper.server.exchange import Recorder
from lorekeeper.server.metrics import PATH, Metrics, MetricsPage
from lorekeeper.server.tls import server_context
from lorekeeper.server.tools import all_tools

if TYPE_CHECKING:
    from lorekeeper.library import Library

UNLIMITED = "0"


@dataclass(frozen=True)
class Limits:
    """How a server is protected.

    Attributes:
        rate: requests of a person in a period, such as "100/minute"; "0" for any number.
        burst: of these in a second.
        audit_log: file of the audit log, None for none.
        certificate: file of the server's certificate, None for HTTP without TLS.
        key: file of its private key.
    """

    rate: str = UNLIMITED
    burst: int = 0
    audit_log: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class Guard:
    """What stands around the HTTP application of a library.

    Attributes:
        limits: how the server is protected.
        recorders: get every request: the metrics, and the audit log if there is one.
        routes: routes of its own.
        tls: of the server, None for HTTP without TLS.

    Raises:
        ConfigError: the audit log cannot be written, or certificate and key cannot be used.
    """

    def __init__(self, library: Library, limits: Limits) -> None:
        self.limits = limits
        self.metrics = Metrics([tool.name for tool in all_tools()])
        self.audit = AuditLog(limits.audit_log) if limits.audit_log else None
        self.recorders: list[Recorder] = [self.metrics, self.audit] if self.audit else [self.metrics]
        self.routes = [Route(PATH, MetricsPage(self.metrics, library))]
        self.tls = server_context(limits.certificate, limits.key) if limits.certificate and limits.key else None

    @contextmanager
    def on(self) -> Iterator[None]:
        """Measure and record during the block."""
        with listening(self.metrics), closing(self.audit) if self.audit else nullcontext():
            yield
