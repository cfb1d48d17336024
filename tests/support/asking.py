"""Tools over MCP, asked as programs do."""

from __future__ import annotations

import json
from typing import Any

from mcp import Client


async def asked(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """A tool's answer as JSON; AssertionError with its text where it is an error."""
    result = await client.call_tool(tool, {**arguments, "detail": "json"})
    text = result.content[0].text
    assert not result.is_error, text
    content: dict[str, Any] = json.loads(text)
    assert content == result.structured_content
    return content
