"""Which of several entity types a search goes over: those that have the fields of all its filters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lorekeeper.entities import COLLECTIONS
from lorekeeper.errors import FilterError
from lorekeeper.filters import WHERE, known_filters, named_field, unknown_name, where_text
from lorekeeper.where import parse_where


def types_with(types: Sequence[str], filters: Mapping[str, object]) -> list[str]:
    """The types, of several, that have the fields of all filters; all of them if there is only one.

    Raises:
        FilterError: no type has all fields; the message says which type has which.
    """
    if len(types) < 2:
        return list(types)
    keys = [key for key, value in filters.items() if key != WHERE and value is not None]
    tests = parse_where(where_text(filters[WHERE])) if filters.get(WHERE) is not None else []
    having = {key: [t for t in COLLECTIONS if key in known_filters(COLLECTIONS[t])] for key in keys}
    having |= {test.field: [t for t in COLLECTIONS if named_field(COLLECTIONS[t], test.field)] for test in tests}
    knowing = [t for t in types if all(t in having[name] for name in having)]
    if not knowing:
        raise FilterError(_nobody_knows(types, having))
    return knowing


def _nobody_knows(types: Sequence[str], having: Mapping[str, Sequence[str]]) -> str:
    """Why no type of those searched has all fields."""
    for name, owners in having.items():
        if not owners:
            known = {field: None for t in types for field in COLLECTIONS[t].filters}
            return unknown_name(name, list(known), "filter")
        if not set(owners) & set(types):
            return f"{name} is a filter of {' and '.join(owners)}: search these types alone, with types={list(owners)}"
    owned = "; ".join(f"{name} is a filter of {' and '.join(owners)}" for name, owners in having.items())
    return f"no type has all of these filters: {owned}. Search them one by one"
