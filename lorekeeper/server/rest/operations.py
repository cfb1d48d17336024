"""The operations of the gateway: each tool at a path of its name, and each entry at the path of its uri."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pydantic import Field

from lorekeeper.entities import COLLECTIONS, MAX_URI_LENGTH, parse_uri
from lorekeeper.errors import NotFoundError
from lorekeeper.filters import unknown_name
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.server.answers import Answer, entity_answer
from lorekeeper.server.tool import Arguments, Tool, model
from lorekeeper.server.tools import GET_ENTITY, all_tools
from lorekeeper.views.view import View

ROOT = "/api/v1"

IN_PATH = "uri"
"""The parameter that may be the rest of a path, with its slashes."""


async def _whole_entry(view: View, arguments: Arguments) -> Answer:
    uri = arguments[IN_PATH]
    entity_type, _, rest = uri.partition("/")
    if entity_type not in COLLECTIONS:
        raise NotFoundError(unknown_name(entity_type, list(COLLECTIONS), "type"))
    try:
        found = await view.entities_at(*parse_uri(f"lore://{uri}")) if rest else []
    except ValueError:
        found = []
    if not found:
        said = one_line(f"lore://{uri}", MAX_SHOWN)
        raise NotFoundError(f"there is no {said} in the library; take an address from an answer")
    return await entity_answer(view, *found)


ENTITY = replace(
    GET_ENTITY,
    name="entities",
    description="A whole entry, with source and licence: what follows lore:// in its uri is its path here.",
    arguments=model(
        "entities",
        {
            IN_PATH: (
                str,
                Field(
                    description="TYPE/DOCUMENT/SLUG; a slash in the path of a note may be encoded (%2F) or not",
                    min_length=1,
                    max_length=MAX_URI_LENGTH,
                ),
            )
        },
    ),
    function=_whole_entry,
)
"""An entry at the path of its uri, however long it is."""

OPERATIONS: Mapping[str, Tool] = {
    **{f"/{tool.name}": tool for tool in all_tools()},
    f"/entities/{{{IN_PATH}}}": ENTITY,
}
"""Each tool by its path below `ROOT`, in the order in which they are described."""
