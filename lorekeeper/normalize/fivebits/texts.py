"""The texts and references of objects in the shape of 5e-bits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Object = Mapping[str, Any]

_SPLIT = re.compile(r"\b([^\W_]{1,40})[-\u00ad] {1,3}([^\W\d_]{1,40})(?=\W|$)")
"""A word that a printed line ended in: "Blud- geoning"."""

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_LISTED = re.compile(r"\s{0,3}(?:[-*] |\d{1,2}\. |\|)")
_DASH = re.compile(r"(?<=[\w.,;:)'’\"]) {0,1}--(?!-) {0,1}(?=\w)")
_BREAK = re.compile(r" {1,8}\n|\n {1,8}(?=[^\s\-*|\d])")

_RUN_IN = re.compile(
    r"(?m)^(\| ?(?:\d+[-\u2013])?(?P<last>\d+) ?\|[^|\n]*?) (?P<next>(?P<first>\d+)[-\u2013]\d+) ([^|\n]*\|)$"
)
"""A row of a table that is rolled on with the next one within its cell."""


def prose(value: object) -> str:
    """A text of one string, or of one for each paragraph; rows of a table and items of a list stay together."""
    lines = [part for part in value if isinstance(part, str)] if isinstance(value, list) else [value]
    text = ""
    for line in (_line(str(line)) for line in lines if line):
        together = _LISTED.match(line) and _LISTED.match(text.rpartition("\n")[2])
        text += ("\n" if together else "\n\n") + line
    return text.strip()


def _line(text: str) -> str:
    return _RUN_IN.sub(_apart, _DASH.sub("—", _BREAK.sub("\n", text)).strip())


def _apart(found: re.Match[str]) -> str:
    """Two rows, if the numbers of the second follow those of the first."""
    follows = int(found["first"]) == int(found["last"]) + 1
    return f"{found[1]} |\n| {found['next']} | {found[5]}" if follows else found[0]


class Words:
    """The words of a source: how often each is in it, so that one which a line's end has split is put together.

    A split word becomes the form that stands elsewhere: without the hyphen, or with it. What stands nowhere else stays.
    """

    def __init__(self, objects: Iterable[object]) -> None:
        self._number: Counter[str] = Counter()
        for each in objects:
            strings(each, self._count)

    def _count(self, text: str) -> str:
        self._number.update(map(str.lower, _WORD.findall(text)))
        return text

    def mended(self, value: Any) -> Any:
        """A value with all its texts mended."""
        return strings(value, lambda text: _SPLIT.sub(self._joined, text))

    def _joined(self, found: re.Match[str]) -> str:
        whole, hyphened = f"{found[1]}{found[2]}", f"{found[1]}-{found[2]}"
        number, hyphens = (self._number[word.lower()] for word in (whole, hyphened))
        if not number and not hyphens:
            return found[0]
        return whole if number >= hyphens else hyphened


def strings(value: Any, change: Callable[[str], str]) -> Any:
    """A value with each of its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [strings(each, change) for each in value]
    if isinstance(value, Mapping):
        return {key: strings(each, change) for key, each in value.items()}
    return value


def text_of(obj: Object) -> str:
    """What an object says, which its editions keep under two keys."""
    return prose(obj.get("desc") or obj.get("description"))


def name_of(reference: object) -> str:
    """The name in a reference to another object, or of a part."""
    return str(reference.get("name") or "") if isinstance(reference, Mapping) else ""


def names(references: object) -> list[str]:
    """The names in a list of references."""
    return [name for each in references if (name := name_of(each))] if isinstance(references, list) else []


def index_of(reference: object) -> str:
    """The key of what a reference means."""
    return str(reference.get("index") or "") if isinstance(reference, Mapping) else ""


def objects(value: object) -> list[Object]:
    """The objects in a list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def titled(label: str, text: str) -> str:
    """A paragraph with its label, as books print it; "" without a text."""
    return f"**{label}.** {text}" if text else ""


def paragraphs(*parts: str) -> str:
    """Texts with an empty line between them."""
    return "\n\n".join(part for part in parts if part)
