"""The entry as a small application in the chat, for clients that show such applications (the extension MCP Apps).

The tool `get_entity` names a resource, one HTML document that is the same for all entries; a client shows it in a frame of its
own, and gives it the result of the call. With the result comes the article of the page, in the result's ``_meta``, which models
do not read. Clients that have not declared the extension get none of this.

https://github.com/modelcontextprotocol/ext-apps, specification of 2026-01-26.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import mcp_types as types

from lorekeeper.server.models import JsonObject
from lorekeeper.server.tools import GET_ENTITY
from lorekeeper.views.view import View

logger = logging.getLogger(__name__)

EXTENSION = "io.modelcontextprotocol/ui"

APP_URI = "ui://lorekeeper/entry"

APP_TYPE = "text/html;profile=mcp-app"

ARTICLE = "lorekeeper/article"
"""The article of an entry in the ``_meta`` of the result, as HTML."""

TOOL_META = {"ui": {"resourceUri": APP_URI}, "ui/resourceUri": APP_URI}
"""What says that the results of a tool are shown by the application; some clients read the second, earlier key only."""

APP_META = {"ui": {"prefersBorder": True}}
"""What a client should know of the frame: no address is declared, since it needs none."""


def shows_apps(context: Any) -> bool:
    """Whether the client that sends a request shows applications of our type.

    The SDK's own function for this would load its high-level server at the start.
    """
    capabilities = context.session.client_capabilities
    extension = (capabilities.extensions or {}).get(EXTENSION) if capabilities else None
    known = extension.get("mimeTypes") if isinstance(extension, dict) else None
    return isinstance(known, list) and APP_TYPE in known


def tool_meta(name: str) -> JsonObject | None:
    """What is said of a tool in the list of tools beside what every client reads, None for nothing."""
    return TOOL_META if name == GET_ENTITY.name else None


async def result_meta(view: View, name: str, content: JsonObject) -> JsonObject | None:
    """What goes with the result of a tool for the application, None for nothing.

    Args:
        view: has the entry; the article is made of what its viewer sees.
        name: of the tool.
        content: structured content of the result.
    """
    if name != GET_ENTITY.name:
        return None
    from lorekeeper.server.page.app import article_html

    try:
        return {ARTICLE: await article_html(view, content["uri"])}
    except Exception:  # the text of the answer is there all the same
        logger.exception("the article of %s cannot be shown", content["uri"])
        return None


async def read() -> types.ReadResourceResult:
    """The application as a resource."""
    from lorekeeper.server.page.app import document

    text = await asyncio.to_thread(document)
    content = types.TextResourceContents(uri=APP_URI, mime_type=APP_TYPE, text=text, meta=APP_META)
    return types.ReadResourceResult(contents=[content])
