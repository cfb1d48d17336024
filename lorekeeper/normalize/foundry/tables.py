"""Tables that are rolled on."""

from __future__ import annotations

from collections.abc import Callable

from lorekeeper.normalize.foundry.documents import Index
from lorekeeper.normalize.foundry.values import Object, items, objects, text, whole
from lorekeeper.rolling.tables import TableData

MAX_ROWS = 2_000

Line = Callable[[object], str]
"""Writes a text in HTML in one line."""


def table_of(raw: Object, index: Index, line: Line) -> TableData:
    """The table of a document; rows without a range, or without a text, are left out."""
    results = sorted(objects(raw, "results"), key=lambda result: (_range(result) or [0, 0])[0])[:MAX_ROWS]
    told = [(found, _result(result, index, line)) for result in results if (found := _range(result))]
    rows = [(found, body) for found, body in told if body]
    dice = text(raw, "formula")
    table: TableData = {
        "columns": ["Result"],
        "rows": [[body] for _, body in rows],
        "ranges": [found for found, _ in rows],
    }
    if dice:
        table["dice"] = f"1{dice}" if dice.startswith("d") else dice
    return table


def _range(result: Object) -> list[int] | None:
    ends = [whole(end) for end in items(result, "range")[:2]]
    first, last = ends if len(ends) == 2 else (None, None)
    return [first, last] if first is not None and last is not None and first <= last else None


def _result(result: Object, index: Index, line: Line) -> str:
    """What a row says: its text, the name in front of it, or the document that it means."""
    body = line(result.get("description") or result.get("text"))
    name = text(result, "name")
    if name and body and name.lower() not in body.lower():
        return f"**{name}.** {body}"
    if body or name:
        return body or name
    uuid = text(result, "documentUuid", "documentId", "resultId")
    document = index.document(uuid, text(result, "documentCollection").rpartition(".")[2]) if uuid else None
    return document.name if document else ""
