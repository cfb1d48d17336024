"""Arguments of a cache's methods, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lorekeeper.cache.protocol import Documents
from lorekeeper.errors import FilterError
from lorekeeper.filters import Selection, parse_filters, unknown_name


def require_type(entity_type: str, types: Sequence[str]) -> str:
    """A type that a cache holds; FilterError, with the known ones, for others."""
    if entity_type not in types:
        raise FilterError(unknown_name(str(entity_type), list(types), "type"))
    return entity_type


def selected(entity_type: str, types: Sequence[str], document: Documents, filters: Mapping[str, Any]) -> Selection:
    """What a method is about; FilterError for an unknown type, field or value."""
    conditions = parse_filters(require_type(entity_type, types), filters)
    documents = [document] if isinstance(document, str) else document
    return Selection(entity_type, conditions, None if documents is None else list(documents))
