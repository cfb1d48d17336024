"""Values of filter fields: checked, folded, scaled for the stores, and back."""

from __future__ import annotations

import math
import re
from datetime import date
from fractions import Fraction
from typing import Any

from lorekeeper import dates
from lorekeeper.errors import FilterError
from lorekeeper.fields import MAX_TEXT_LENGTH, Field, FieldType, Value
from lorekeeper.folding import fold
from lorekeeper.printable import shown

SCALE = 1000
"""Decimals are stored and compared as whole thousandths: equality of floats is unreliable in the engines."""

_NUMBER = re.compile(r"[+-]?\d{1,15}(\.\d{1,9})?|\d{1,6}/\d{1,6}")

_SURROGATE = re.compile("[\ud800-\udfff]")

Stored = str | int | bool | tuple[str, ...]


def stored(field: Field, value: Any) -> Stored:
    """The stored form of a field value, folded or scaled; FilterError if it is of the wrong type."""
    match field.type:
        case FieldType.TEXT:
            return _folded(field, value)
        case FieldType.TEXTS:
            values = value if isinstance(value, (list, tuple, set)) else (value,)
            if len(values) > field.most:
                raise FilterError(f"{field.name} holds at most {field.most} values, not {len(values)}")
            return tuple(dict.fromkeys(_folded(field, v) for v in values))
        case FieldType.FLAG:
            return _flag(field, value)
        case FieldType.INTEGER:
            number = _number(field, value)
            if number.denominator != 1:
                raise FilterError(f"{field.name} must be a whole number, not {shown(value)}")
            return _in_range(field, int(number))
        case FieldType.DECIMAL:
            return _in_range(field, round(_number(field, value) * SCALE))
        case FieldType.DATE:
            return seconds_of(field, value)[0]


def loaded(field: Field, value: Any) -> Value:
    """The canonical value of a stored one: the inverse of `stored` on canonical values."""
    match field.type:
        case FieldType.DECIMAL:
            return int(value) / SCALE
        case FieldType.TEXTS:
            return tuple(value)
        case _:
            result: Value = value
            return result


def read_text(field: Field, value: Any, longest: int = MAX_TEXT_LENGTH) -> str:
    if not isinstance(value, str) or not value.strip():
        raise FilterError(f"{field.name} must be a non-empty text, not {shown(value)}")
    if len(value) > longest or "\0" in value:
        raise FilterError(f"{field.name} must have no NUL and at most {longest} characters")
    return require_unicode(field.name, value)


def require_unicode(what: str, text: str) -> str:
    """The text; FilterError if it has a lone surrogate, which stands for an undecodable byte or half a character."""
    if _SURROGATE.search(text):
        raise FilterError(f"{what} is not valid Unicode: {text[:200]!r}; check the encoding of your terminal or client")
    return text


def _folded(field: Field, value: Any) -> str:
    return read_text(field, field.fold(read_text(field, value, field.longest)))


def _flag(field: Field, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and fold(value) in ("true", "yes", "false", "no"):
        return fold(value) in ("true", "yes")
    raise FilterError(f"{field.name} must be true or false, not {shown(value)}")


def _number(field: Field, value: Any) -> Fraction:
    """The exact value of a finite number, or of a text like "1/4" or "2.5"."""
    try:
        if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError
        if isinstance(value, str) and not _NUMBER.fullmatch(value.strip()):
            raise ValueError
        return Fraction(value.strip() if isinstance(value, str) else value)
    except (ValueError, TypeError, ArithmeticError):
        raise FilterError(f"{field.name} must be a number, not {shown(value)}") from None


def seconds_of(field: Field, value: Any) -> tuple[int, int]:
    """The first and the last second of a date, since 1970 in UTC; a number is seconds already."""
    if isinstance(value, date):
        value = value.isoformat()
    try:
        if isinstance(value, str):
            return dates.span(value)
        second = _in_range(field, math.floor(_number(field, value)))
    except (ValueError, FilterError):
        raise FilterError(f"{field.name} must be a date, such as {dates.EXAMPLE}, not {shown(value)}") from None
    return second, second


def _in_range(field: Field, number: int) -> int:
    if not -(2**63) < number < 2**63:
        raise FilterError(f"{field.name} is out of range")
    return number
