"""Filters as Milvus expressions, for the columns of format 3; `plain` says what is different in its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from lorekeeper.entities import FieldType
from lorekeeper.filters import COMPARISONS, Condition, Selection

Names = Mapping[str, Sequence[str]]
"""The folded names that contain a text, by that text."""

RECORDS = "part == 0"
"""Expression for the rows that are entity records, one of every entity."""

NOTHING = "part < 0"
"""Expression for no row."""

ANYTHING = "part >= 0"
"""Expression for all rows."""

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def joined_expression(
    selection: Selection, render: Callable[[Condition], str], *, records: bool, names: Names | None
) -> str:
    """The expression of a selection whose conditions are rendered one by one."""
    parts = [RECORDS] if records else []
    for condition in selection.conditions:
        if condition.op == "name" and names is not None:
            parts.append(_among(names[str(condition.values[0])], condition.negate))
        else:
            parts.append(render(condition))
    if selection.documents is not None:
        parts.append(f"document in {quoted(list(selection.documents))}")
    return " and ".join(parts)


def _among(names: Sequence[str], negate: bool) -> str:
    """The expression for folded names that are among some, or are not."""
    if not names:
        return ANYTHING if negate else NOTHING
    return f"name_folded {'not in' if negate else 'in'} {quoted(list(names))}"


def quoted(value: object) -> str:
    """A value, or a list of them, as a Milvus literal. Milvus Lite reads only the JSON escapes that are used here."""
    if isinstance(value, list):
        return f"[{', '.join(map(quoted, value))}]"
    return f'"{value.translate(_ESCAPES)}"' if isinstance(value, str) else json.dumps(value)


def condition_expression(condition: Condition) -> str:
    """One condition as an expression."""
    name, values = condition.field.name, list(condition.values)
    if condition.negate and condition.field.type is FieldType.TEXTS:
        return f"({name} is null or {negated_expression(condition)})"
    if condition.negate and condition.op == "any":
        return f"({name} is not null and {negated_expression(condition)})"
    if condition.op in COMPARISONS:
        return f"{name} {COMPARISONS[condition.op]} {quoted(values[0])}"
    if condition.op == "outside":
        return f"({name} < {quoted(values[0])} or {name} > {quoted(values[1])})"
    if condition.op == "name":
        like = f"name_folded like {quoted(f'%{_like(str(values[0]))}%')}"
        return f"not ({like})" if condition.negate else like
    if not values:
        return NOTHING
    if condition.field.type is FieldType.TEXTS:
        return f"array_contains_any({name}, {quoted(values)})"
    if condition.field.type is FieldType.FLAG:
        return "(" + " or ".join(f"{name} == {quoted(v)}" for v in dict.fromkeys(values)) + ")"
    return f"{name} in {quoted(values)}"


def negated_expression(condition: Condition) -> str:
    """The expression of a negated condition for values that are known."""
    name, values = condition.field.name, quoted(list(condition.values))
    if condition.field.type is FieldType.TEXTS:
        return f"not array_contains_any({name}, {values})"
    return f"{name} not in {values}"


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
