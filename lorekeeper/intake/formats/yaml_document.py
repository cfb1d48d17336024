"""One YAML document as plain values, within limits: built from the parser's events, so that nothing in it is ever executed.

Scalars are read by the core schema of YAML 1.2, as the programs read them that write these files: ``yes`` and ``12:30`` are
texts. Aliases and tags are refused: those programs write none, and a few lines of aliases can stand for billions of values.
"""

from __future__ import annotations

import re
from itertools import count
from typing import Any

MAX_CHARS = 8 << 20
"""Longest text: about twice the largest JSON entry, since YAML is indented."""

MAX_VALUES = 500_000
MAX_DEPTH = 100

_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,4})?")
_NOTHING = re.compile(r"|~|null|Null|NULL|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
"""Plain scalars that are no value; what is no number counts as nothing, since JSON has none either."""

_FLAG = re.compile(r"(true|True|TRUE)|false|False|FALSE")
_PLAIN_TAG = re.compile(r"!?|tag:yaml\.org,2002:(?:str|int|float|bool|null|map|seq)")


def parse(text: str) -> object:
    """The value of a text that is one YAML document.

    Raises:
        ValueError: it is not valid YAML, or not within the limits; the message says where and what to do.
    """
    import yaml  # takes 15 ms to load

    try:
        return _built(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = f" in line {mark.line + 1}" if mark else ""
        raise ValueError(f"invalid YAML{place}: {problem or 'it has characters that no text has'}") from error


def _built(events: Any) -> object:
    """The value that a parser's events describe."""
    root: list[Any] = []
    stack: list[tuple[Any, list[str]]] = [(root, [])]
    """Each value that is not complete and, of an object, its key that waits for a value."""
    number = count(1)
    for event in events:
        kind, (within, waiting) = type(event).__name__, stack[-1]
        if kind in ("MappingEndEvent", "SequenceEndEvent"):
            stack.pop()
        _check(kind, event, is_second=bool(root))
        if kind not in _VALUES:
            continue
        if next(number) > MAX_VALUES:
            raise ValueError(f"more than {MAX_VALUES:,} values in one document; split it")
        if isinstance(within, dict) and not waiting:
            waiting.append(_key(event))
            continue
        value = _VALUES[kind](event)
        if isinstance(within, list):
            within.append(value)
        else:
            within[waiting.pop()] = value
        if kind != "ScalarEvent":
            stack.append((value, []))
            if len(stack) > MAX_DEPTH + 1:
                raise ValueError(f"nested more than {MAX_DEPTH} levels deep, in line {_line(event)}")
    if not root:
        raise ValueError("the file is empty")
    return root[0]


def _check(kind: str, event: Any, *, is_second: bool) -> None:
    """ValueError for what is not read."""
    if kind == "AliasEvent":
        raise ValueError(f"an alias in line {_line(event)}, which is not read; write the value out in its place")
    if kind == "DocumentStartEvent" and is_second:
        raise ValueError(f"more than one YAML document in one file, from line {_line(event)} on; split it")
    if kind in _VALUES and not _PLAIN_TAG.fullmatch(event.tag or ""):
        raise ValueError(f"the tag {event.tag[:60]!r} in line {_line(event)}, which is never carried out; remove it")


def _key(event: Any) -> str:
    if not hasattr(event, "value"):
        raise ValueError(f"a key that is not a text, in line {_line(event)}")
    return str(event.value)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


_VALUES: dict[str, Any] = {
    "ScalarEvent": lambda event: _scalar(event.value) if event.implicit[0] else event.value,
    "MappingStartEvent": lambda _: {},
    "SequenceStartEvent": lambda _: [],
}
"""What begins with an event."""


def _scalar(text: str) -> object:
    if _NOTHING.fullmatch(text):
        return None
    if match := _FLAG.fullmatch(text):
        return bool(match[1])
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) and len(text) < 40 else text
