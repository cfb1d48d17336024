"""What stands around the HTTP application: metrics, audit log, limits and TLS, as the settings say."""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.routing import Route
from starlette.types import ASGIApp

from lorekeeper.measures import listening
from lorekeeper.server.audit import AuditLog
from lorekeeper.server.exchange import Recorder
from lorekeeper.server.limits import BodyLimit, RateLimit
from lorekeeper.server.metrics import PATH, Metrics, MetricsPage
from lorekeeper.server.recording import Recording
from lorekeeper.server.tls import server_context
from lorekeeper.server.tools import all_tools

if TYPE_CHECKING:
    from lorekeeper.library import Library

UNLIMITED = "0"

ANY_METHOD = ("GET", "POST", "DELETE")
"""What is asked of routes that take any method."""


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

    Raises:
        ConfigError: the audit log cannot be written, or certificate and key cannot be used.
    """

    def __init__(self, library: Library, limits: Limits) -> None:
        self._limits = limits
        self.metrics = Metrics([tool.name for tool in all_tools()])
        self.audit = AuditLog(limits.audit_log) if limits.audit_log else None
        self._page = MetricsPage(self.metrics, library)
        self.tls: ssl.SSLContext | None = None
        if limits.certificate and limits.key:
            self.tls = server_context(limits.certificate, limits.key)

    @property
    def recorders(self) -> Sequence[Recorder]:
        """What gets every request."""
        return [self.metrics, self.audit] if self.audit else [self.metrics]

    @property
    def routes(self) -> list[Route]:
        """Routes of its own."""
        return [Route(PATH, self._page)]

    def around(self, app: ASGIApp) -> ASGIApp:
        """An application with all that comes before its clients are known."""
        return Recording(app, self.recorders)

    def within(self, app: ASGIApp) -> ASGIApp:
        """An application with all that comes once the viewer is in the scope."""
        return RateLimit(BodyLimit(app), self._limits.rate, self._limits.burst)

    def declare(self, routes: Sequence[object]) -> None:
        """Count requests by these routes of the application."""
        self.metrics.declare(
            f"{method} {route.path}"
            for route in routes
            if isinstance(route, Route)
            for method in route.methods or ANY_METHOD
        )

    @contextmanager
    def on(self) -> Iterator[None]:
        """Measure and record during the block."""
        with ExitStack() as stack:
            if self.audit:
                stack.callback(self.audit.close)
            stack.enter_context(listening(self.metrics))
            yield
