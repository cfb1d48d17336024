"""The structured copy of an answer over MCP, without what its uris or nobody needs: some clients give a model that copy alone.

Over the calls of a game it is some 1.4 times as long as the text. REST and the commands have every field.
"""

from __future__ import annotations

from typing import Any

from lorekeeper.server.answers import JsonObject, source_of

SAID_ELSEWHERE = frozenset({"type", "score", "match", "entries"})
"""Of a result: what its uri says, and what no model reads."""


def lean_copy(content: JsonObject) -> JsonObject:
    """Structured content without empty values below its own fields, and of results without what is `SAID_ELSEWHERE`."""
    lean = {name: _lean(value, name) for name, value in content.items()}
    if lean.get("attribution"):
        lean.pop("licenses", None)  # the attribution names them
    return lean


def _lean(value: Any, name: str) -> Any:
    if isinstance(value, list):
        return [_lean(each, name) for each in value]
    if not isinstance(value, dict) or name == "entity":
        return value
    left_out = {"results": SAID_ELSEWHERE, "lines": SAID_ELSEWHERE, "rolls": {"cells"}}.get(name, ())
    left = {key: _lean(each, key) for key, each in value.items() if key not in left_out and each not in (None, "", [])}
    if name == "results" and source_of(value) == value.get("document_name"):
        left.pop("edition", None)  # the title says it
    return left
