"""The texts and references of objects in the shape of 5e-bits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lorekeeper.normalize import reading
from lorekeeper.normalize.printed_srd.structure import Block
from lorekeeper.normalize.reading import by_path
from lorekeeper.records.values import mapping
from lorekeeper.terms import ABILITY_OF

word = reading.Words(__file__)
"""What the lists do not say, and how their keys and values are printed."""

Object = Mapping[str, Any]

_SPLIT = re.compile(r"\b([^\W_]{1,40})[-\u00ad] {1,3}([^\W\d_]{1,40})(?=\W|$)")
"""A word that a printed line ended in: "Blud- geoning"."""

_BROKEN = re.compile(r"(?m)^([^\W_][^\n|]{50,400}[\w,]) ?\n ?(?=[^\W\d_])")
"""A printed line that ended within a sentence, and is no item of a list."""

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_LISTED = re.compile(r"\s{0,3}(?:[-*] |\d{1,2}\. |\|)")
_DASH = re.compile(r"(?<=[\w.,;:)'’\"]) {0,1}--(?!-) {0,1}(?=\w)")
_BREAK = re.compile(r" {1,8}\n|\n {1,8}(?=[^\s\-*|\d])")

_RUN_IN = re.compile(
    r"(?m)^(\| ?(?:\d+[-\u2013])?(?P<last>\d+) ?\|[^|\n]*?) (?P<next>(?P<first>\d+)[-\u2013]\d+) ([^|\n]*\|)$"
)
"""A row of a table that is rolled on with the next one within its cell."""


@by_path
def prose(value: object) -> str:
    """A text of one string, or of one for each paragraph; rows of a table and items of a list stay together."""
    lines = [part for part in value if isinstance(part, str)] if isinstance(value, list) else [value]
    text = ""
    for line in (_line(str(line)) for line in lines if line):
        together = _LISTED.match(line) and _LISTED.match(text.rpartition("\n")[2])
        text += ("\n" if together else "\n\n") + line
    return text.strip()


def _line(text: str) -> str:
    text = _RUN_IN.sub(_apart, _DASH.sub("—", _BREAK.sub("\n", text)).strip())
    return "\n".join(Block(line, 0).markdown for line in text.split("\n"))


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
        return strings(value, lambda text: _SPLIT.sub(self._joined, _BROKEN.sub(r"\1 ", text)))

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


@by_path
def objects(value: object) -> list[Object]:
    """The objects in a list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


@by_path
def text(value: object) -> str:
    """A text or a number as text; of a reference to another object, or of a part, its name."""
    return str((value.get("name") if isinstance(value, Mapping) else value) or "")


name_of = by_path(lambda value: text(mapping(value).get("name")))
"""The name of an object, or of a part of one; "" for what is none."""

names = by_path(lambda value: [*filter(None, map(text, objects(value)))])
"""The names in a list of references."""

index_of = by_path(lambda value: text(mapping(value).get("index")))
"""The key of what a reference means."""


def text_of(obj: Object) -> str:
    """What an object says, which its editions keep under two keys."""
    return prose(obj, "desc", "description")


def ability_of(reference: object) -> str:
    """The name of an ability that is referred to."""
    return ABILITY_OF.get(index_of(reference), text(reference)).capitalize()


def score_of(o: Object) -> str:
    """A score that something asks for: "Dexterity 13"."""
    return f"{ability_of(o.get('ability_score'))} {o.get('minimum_score')}"


def titled(label: str, text: str) -> str:
    """A paragraph with its label, as books print it; "" without a text."""
    return f"**{label}.** {text}" if text else ""


def many(o: Object, key: str, sign: str = "") -> list[str]:
    """What a list gives, each with how many there are of it."""
    return [f"{each.get('quantity')} {sign}{text(each, 'equipment', 'item')}" for each in objects(o, key)]
