"""Front matter: YAML of any shape as keys and texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import yaml

from lorekeeper.folding import fold

LARGEST = 1 << 16
"""Characters of YAML that are parsed: PyYAML reads some 100,000 a second."""

MOST_TEXTS, MOST_STEPS = 1000, 20_000
"""Texts taken from one value, and steps to find them: aliases of YAML can make millions of a few lines."""

DEEPEST = 6

_LINE = re.compile(r"([^\W_][\w -]{0,60}):[ \t]+(\S.*)")
_ABSENT = frozenset({"", "~", "null", "none", "undefined"})


class Properties:
    """The keys and values of a note's front matter, found by their folded keys: "Session Number" is "session-number"."""

    def __init__(self, values: Mapping[str, object]) -> None:
        self.values = values
        self._keys = {fold(key): key for key in reversed(list(values))}

    def texts(self, *keys: str) -> list[str]:
        """The texts of the first of these keys that has any."""
        return next((found for key in keys if (found := self._texts(key))), [])

    def text(self, *keys: str) -> str:
        """The first text of the first of these keys that has any, "" for none."""
        return next(iter(self.texts(*keys)), "")

    def key(self, *keys: str) -> str:
        """The first of these keys that has a text, as it was written; "" for none."""
        return next((self._keys[key] for key in keys if self._texts(key)), "")

    def _texts(self, key: str) -> list[str]:
        return texts(self.values[self._keys[key]]) if key in self._keys else []


def read_properties(text: str) -> tuple[Properties, list[str]]:
    """Front matter by key, scalars as they are written; and what is wrong with it.

    Where YAML finds no sense in it, the lines of the form ``key: value`` are taken by themselves: a mark that keeps a
    note secret must not be lost to a stray bracket elsewhere.
    """
    if not text.strip():
        return Properties({}), []
    try:
        values = _parsed(text)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, AttributeError) as error:
        return Properties(_lines(text)), [f"front matter: {_reason(error)}"]
    if values is None or (isinstance(values, str) and not values.strip()):
        return Properties({}), []
    if not isinstance(values, dict):
        return Properties({}), [f"front matter: a {_shape(values)}, not keys and values"]
    return Properties({str(key).strip(): value for key, value in values.items()}), []


def _parsed(text: str) -> object:
    if len(text) > LARGEST:
        raise ValueError(f"longer than {LARGEST:,} characters")
    loader = yaml.BaseLoader(text.replace("\t", "  "))
    try:
        return loader.get_single_data()
    finally:
        loader.dispose()


def _lines(text: str) -> dict[str, object]:
    matches = (_LINE.fullmatch(line.rstrip()) for line in text[:LARGEST].split("\n"))
    return {match[1].strip(): match[2].strip("\"' ") for match in matches if match}


def _reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error) or type(error).__name__
    return f"{problem} (line {mark.line + 2})" if mark else str(problem)


def _shape(values: object) -> str:
    return "list" if isinstance(values, list) else "text"


def texts(value: object) -> list[str]:
    """The texts of a value, at most 1,000: of each item of a list, of each "key: value" of an object."""
    found: list[str] = []
    waiting: list[tuple[str, object, int]] = [("", value, 0)]
    for _ in range(MOST_STEPS):
        if not waiting or len(found) >= MOST_TEXTS:
            break
        before, part, depth = waiting.pop()
        inner = list(_parts(part))
        if inner and depth < DEEPEST:
            waiting += [(before + key, item, depth + 1) for key, item in reversed(inner[:MOST_TEXTS])]
        elif not inner and (text := _scalar(part)):
            found.append(before + text)
    return found


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """What a list or an object holds, with what to write before it."""
    if _link(value) is not None:
        return
    if isinstance(value, Mapping):
        yield from ((f"{key}: ", part) for key, part in value.items())
    elif isinstance(value, (list, tuple, set)):
        yield from (("", part) for part in value)


def _scalar(value: object) -> str:
    if (link := _link(value)) is not None:
        return link
    if value is None or isinstance(value, (Mapping, list, tuple, set)):
        return ""
    text = " ".join(str(value).split())
    return "" if text.casefold() in _ABSENT else text


def _link(value: object) -> str | None:
    """The wikilink that YAML reads as a list in a list where it is not quoted."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        (inner,) = value
        if len(inner) == 1 and isinstance(inner[0], str):
            return f"[[{inner[0]}]]"
    return None


def listed(found: list[str]) -> list[str]:
    """Texts apart where one holds several, between commas or semicolons."""
    parts = (part.strip().strip("\"'").strip() for text in found for part in re.split(r"[,;\n]", text))
    return [part for part in parts if part]
