"""Objects that several documents share: Open5e keeps one per condition, skill, ability ..., with the words of each document.

They are taken apart, so that the words of each edition are an entry of the document that they are from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lorekeeper.records.values import ref_key

Object = Mapping[str, Any]


def split_shared(obj: Object) -> list[Object]:
    """One object for each document that an object's descriptions are from; the object itself if that is its own only.

    A description that names no document belongs to the object's own.
    """
    descriptions = obj.get("descriptions")
    own = ref_key(obj.get("document"))
    by_document: dict[str | None, list[object]] = {}
    for description in descriptions if isinstance(descriptions, list) else []:
        named = ref_key(description.get("document")) if isinstance(description, Mapping) else None
        by_document.setdefault(named or own, []).append(description)
    if by_document.keys() <= {own}:
        return [obj]
    return [  # its own is described more fully, so it is kept
        {**obj, "document": obj.get("document") if document == own else document, "descriptions": part}
        for document, part in by_document.items()
    ]
