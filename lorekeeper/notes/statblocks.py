"""Stat blocks: code blocks of YAML, as the plugin Fantasy Statblocks reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import yaml

from lorekeeper.folding import fold
from lorekeeper.notes.properties import LARGEST

LANGUAGE = "statblock"

BASE_KEYS = ("creature", "monster", "extends", "base")
"""Keys that name a creature of the books, which the others change."""

MOST_VALUES, DEEPEST = 5000, 12

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]


class StatBlockError(ValueError):
    """What is in a stat block is no YAML of keys and values."""


def read_stat_block(text: str) -> tuple[dict[str, Value], str]:
    """Keys and values of a stat block as JSON has them, and the name of the creature it changes ("" for none).

    Raises:
        StatBlockError: it does not parse, holds no keys, or more than 5,000 values.
    """
    if len(text) > LARGEST:
        raise StatBlockError(f"longer than {LARGEST:,} characters")
    try:
        parsed = yaml.safe_load(text.expandtabs(2))
        values = _json(parsed, iter(range(MOST_VALUES)), 0)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1} of it)" if mark else ""
        raise StatBlockError(f"{getattr(error, 'problem', None) or error}{line}") from error
    if not isinstance(values, dict) or not values:
        raise StatBlockError("no keys and values")
    base = next((value for key, value in values.items() if fold(key) in BASE_KEYS and _is_name(value)), "")
    return values, base.strip() if isinstance(base, str) else ""


def _is_name(value: Value) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _json(value: object, budget: Iterator[int], depth: int) -> Value:
    """A value as JSON has it; dates and whatever else YAML knows become text."""
    if next(budget, None) is None or depth > DEEPEST:
        raise StatBlockError("too many values")
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json(part, budget, depth + 1) for key, part in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_json(part, budget, depth + 1) for part in value]
    return str(value)
