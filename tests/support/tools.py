"""Tools as the server runs them, without the wire."""

from __future__ import annotations

import json
from typing import Any

from lorekeeper.audience import Viewer
from lorekeeper.errors import LoreKeeperError
from lorekeeper.library import Library
from lorekeeper.server.answers import Answer
from lorekeeper.server.tools import all_tools

TOOLS = {tool.name: tool for tool in all_tools()}


async def call(view: Any, tool: str, **arguments: Any) -> Answer:
    """What a tool answers in a view, or for the game master in a library."""
    return await TOOLS[tool].run(view, TOOLS[tool].check(arguments))


async def text_of(view: Any, tool: str, **arguments: Any) -> str:
    """All that a tool answers, as text."""
    answer = await call(view, tool, **arguments)
    return f"{answer.text} {json.dumps(answer.structured)}"


async def answer(library: Library, viewer: Viewer, tool: str, **arguments: Any) -> str:
    """The same for a viewer; an error says what it says."""
    try:
        return await text_of(library.view(viewer), tool, **arguments)
    except LoreKeeperError as error:
        return str(error)
