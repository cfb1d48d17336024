"""How a client learns where to log in: OAuth 2.0 Protected Resource Metadata (RFC 9728), as MCP asks for it."""

from __future__ import annotations

import re

from mcp.server.auth.json_response import PydanticJSONResponse
from mcp.server.auth.routes import build_resource_metadata_url, cors_middleware
from mcp.shared.auth import ProtectedResourceMetadata
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Scope

METADATA_PATHS = ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp")

_HOST = re.compile(r"[A-Za-z0-9.-]{1,253}(:\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?")


class ProtectedResource:
    """What a client is told that has no valid token.

    Args:
        issuer: where people log in.
        audience: as what the issuer's tokens name this library; if it is an address, it is the public one.
    """

    def __init__(self, issuer: str, audience: str) -> None:
        self._issuer = issuer
        self._address = audience if re.match(r"https?://", audience) else None

    def routes(self) -> list[Route]:
        """The routes of the metadata, which everybody can read, pages of other sites included."""
        methods = ["GET", "OPTIONS"]
        return [
            Route(path, endpoint=cors_middleware(self._metadata, methods), methods=methods) for path in METADATA_PATHS
        ]

    def metadata_address(self, scope: Scope) -> str:
        """Where the client of a request finds the metadata."""
        return str(build_resource_metadata_url(self._address or f"{_origin(scope)}/mcp"))

    async def _metadata(self, request: Request) -> Response:
        path = request.url.path.removeprefix(METADATA_PATHS[0])
        content = ProtectedResourceMetadata(
            resource=self._address or f"{_origin(request.scope)}{path}",
            authorization_servers=[self._issuer],
            resource_name="LoreKeeper",
        )
        response: Response = PydanticJSONResponse(
            content=content, headers={"Cache-Control": "no-store", "Vary": "Host"}
        )
        return response


def _origin(scope: Scope) -> str:
    """The scheme and host by which a client has reached the server."""
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "")
    return f"{scope.get('scheme', 'http')}://{host if _HOST.fullmatch(host) else 'localhost'}"
