"""One YAML document as plain values, within limits: built from the parser's events, so that nothing in it is ever executed.

Scalars are read by the core schema of YAML 1.2, as the programs read them that write these files: ``yes`` and ``12:30`` are
texts. Aliases and tags are refused: those programs write none, and a few lines of aliases can stand for billions of values.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_CHARS = 8 << 20
"""Longest text: about twice the largest JSON entry, since YAML is indented."""

MAX_VALUES = 500_000
MAX_DEPTH = 100

_INTEGER = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,4})?")
_WORDS: dict[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((f"{sign}.{word}" for sign in ("", "-", "+") for word in ("inf", "Inf", "INF")), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), None),
}
"""Plain scalars that are words; what is no number counts as nothing, since JSON has none either."""

_PLAIN_TAGS = frozenset(
    {None, "!", *(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq"))}
)


def parse(text: str) -> object:
    """The value of a text that is one YAML document.

    Raises:
        ValueError: it is not valid YAML, or not within the limits; the message says where and what to do.
    """
    import yaml  # takes 15 ms to load

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(yaml)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.YAMLError as error:
        mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
        place = f" in line {mark.line + 1}" if mark else ""
        raise ValueError(f"invalid YAML{place}: {problem or 'it has characters that no text has'}") from error
    return builder.value()


class _Builder:
    """Builds a value from events.

    Args:
        events: the module that has their classes.
    """

    def __init__(self, events: object) -> None:
        self._kinds: dict[type, Callable[[object], None]] = {
            getattr(events, name): method
            for name, method in (
                ("ScalarEvent", self._scalar),
                ("MappingStartEvent", lambda event: self._open({}, event)),
                ("SequenceStartEvent", lambda event: self._open([], event)),
                ("MappingEndEvent", lambda _: self._close()),
                ("SequenceEndEvent", lambda _: self._close()),
                ("AliasEvent", self._alias),
                ("DocumentStartEvent", self._document),
            )
        }
        self._open_values: list[tuple[dict[str, object] | list[object], list[str]]] = []
        """For each value that is not complete its place and, for an object, its key that waits for a value."""
        self._documents = self._count = 0
        self._root: object = None

    def take(self, event: object) -> None:
        """The next event."""
        method = self._kinds.get(type(event))
        if method:
            method(event)

    def value(self) -> object:
        """What was built; ValueError if there was nothing."""
        if not self._documents:
            raise ValueError("the file is empty")
        return self._root

    def _document(self, event: object) -> None:
        self._documents += 1
        if self._documents > 1:
            raise ValueError(f"more than one YAML document in one file, from line {_line(event)} on; split it")

    def _alias(self, event: object) -> None:
        raise ValueError(f"an alias in line {_line(event)}, which is not read; write the value out in its place")

    def _scalar(self, event: object) -> None:
        text = str(getattr(event, "value", ""))
        is_key = bool(self._open_values) and isinstance(self._open_values[-1][0], dict) and not self._open_values[-1][1]
        plain = bool(getattr(event, "implicit", (False,))[0])
        self._check_tag(event)
        self._add(text if is_key or not plain else _scalar_of(text), event, key=text if is_key else None)

    def _open(self, value: dict[str, object] | list[object], event: object) -> None:
        self._check_tag(event)
        if len(self._open_values) >= MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep, in line {_line(event)}")
        self._add(value, event)
        self._open_values.append((value, []))

    def _close(self) -> None:
        self._open_values.pop()

    def _add(self, value: object, event: object, key: str | None = None) -> None:
        self._count += 1
        if self._count > MAX_VALUES:
            raise ValueError(f"more than {MAX_VALUES:,} values in one document; split it")
        if not self._open_values:
            self._root = value
            return
        within, waiting = self._open_values[-1]
        if isinstance(within, list):
            within.append(value)
        elif key is not None:
            waiting.append(key)
        elif waiting:
            within[waiting.pop()] = value
        else:
            raise ValueError(f"a key that is not a text, in line {_line(event)}")

    def _check_tag(self, event: object) -> None:
        tag = getattr(event, "tag", None)
        if tag not in _PLAIN_TAGS:
            raise ValueError(f"the tag {str(tag)[:60]!r} in line {_line(event)}, which is never carried out; remove it")


def _line(event: object) -> int:
    mark = getattr(event, "start_mark", None)
    return mark.line + 1 if mark else 1


def _scalar_of(text: str) -> object:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) and len(text) < 40 else text
