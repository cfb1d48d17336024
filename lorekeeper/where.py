"""The grammar of ``where``: tests on fields, separated by spaces, all of which hold.

::

    immune:poison speed.fly>=60 -language:common cr:5..8 damage_types:fire,cold type:"magic item" legendary

A test is a field, an operator and a value. ``:`` and ``=`` mean equal, or of a list, that it contains the value; ``>=``,
``<=``, ``>`` and ``<`` are bounds; ``5..8``, ``5..`` and ``..8`` are ranges with both ends; values with commas between
them mean any of them; values with spaces or commas stand in double quotes. A field alone is true: ``legendary`` is
``legendary:true``. ``-`` before a test negates it: of a single value it then matches what is known and different, of a list
every entry whose list has none of the values, or that has no list, and of a speed or the range of a sense also what
has none: ``-speed_fly>0`` and ``speed_fly:0`` match what does not fly.

Which fields there are, and of which type, is not known here: `filters` makes conditions of the tests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lorekeeper.errors import FilterError
from lorekeeper.printable import shown

MAX_LENGTH = 1000
"""Longest text, in characters."""

EXAMPLE = 'immune:poison speed.fly>=60 -language:"deep speech" cr:5..8'

_ITEM = r'(?:"[^"]*+"|[^\s",]++)'

FIELD_NAME = r"[^\W\d][\w.]*+(?:-[\w.]++(?=\s*+[:=<>]))*+"
"""The name of a field; of a name with hyphens only if a sign follows, since words have hyphens too."""

TEST = re.compile(
    rf"(?P<negated>-?)(?P<field>{FIELD_NAME})"
    rf"(?:\s*+(?P<sign>>=|<=|[:=<>])\s*+(?P<values>{_ITEM}(?:\s*+,\s*+{_ITEM})*+)|(?=\s|$))(?=\s|$)"
)
"""One test; a field that stands alone is one too, as may be any word."""

_VALUE = re.compile(_ITEM)
_SPACE = re.compile(r"\s*+")


@dataclass(frozen=True)
class FieldTest:
    """One test as it was written.

    Attributes:
        text: the whole test, for messages.
        field: name of the field.
        sign: ":", ">=", "<=", ">" or "<"; "" if the field stands alone.
        values: what it is compared with; any of them for ":", exactly one for a bound, none if the field stands alone.
        ends: both ends of a range instead, "" for an end that is open; None if it is not a range.
        negated: whether it is to fail.
    """

    text: str
    field: str
    sign: str
    values: tuple[str, ...]
    ends: tuple[str, str] | None
    negated: bool


def parse_where(text: str) -> list[FieldTest]:
    """The tests of a text, in order.

    Raises:
        FilterError: what is not a test; the message names it, with an example.
    """
    if len(text) > MAX_LENGTH:
        raise FilterError(f"where has {len(text):,} characters, at most {MAX_LENGTH:,} are allowed")
    tests: list[FieldTest] = []
    position = _end_of_space(text, 0)
    while position < len(text):
        match = TEST.match(text, position)
        if match is None:
            raise not_a_test(text[position:], "it is not a condition")
        tests.append(field_test(match))
        position = _end_of_space(text, match.end())
    if not tests:
        raise FilterError(f"where is empty; write conditions such as {EXAMPLE}")
    return tests


def not_a_test(text: str, reason: str) -> FilterError:
    """The error for a test that is wrong."""
    return FilterError(f"where: {shown(text)}: {reason}; write conditions such as {EXAMPLE}, separated by spaces")


def _end_of_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def field_test(match: re.Match[str]) -> FieldTest:
    """What a match of `TEST` says; FilterError if its values do not go with its sign."""
    sign = ":" if match["sign"] == "=" else match["sign"] or ""
    items = _VALUE.findall(match["values"] or "")
    ends = _ends(match[0], sign, items)
    values = () if ends else tuple(item.strip('"') for item in items)
    if sign not in (":", "") and len(values) != 1:
        raise not_a_test(match[0], f"{sign} takes one value")
    return FieldTest(match[0], match["field"], sign, values, ends, bool(match["negated"]))


def _ends(text: str, sign: str, items: list[str]) -> tuple[str, str] | None:
    """Both ends of a range; None if the values are not one. What stands in quotes is a text, whatever is in it."""
    ranges = [item for item in items if ".." in item and not item.startswith('"')]
    if not ranges:
        return None
    low, _, high = items[0].partition("..")
    if sign != ":" or len(items) != 1 or not (low or high):
        raise not_a_test(text, "a range is one value, for example cr:5..8, cr:5.. or cr:..8")
    return low, high
