"""Values of fields as people read them: those that are compared are folded, which takes the marks from letters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace

from lorekeeper.entities import Entity, Value, made_once, remembered
from lorekeeper.folding import fold

LONGEST, DEEPEST = 300, 8
"""Longest text of an entry's data in which a value is looked for, in characters, and how deeply it may be nested."""

_PARTS = re.compile(r"\s*[,;/()]\s*|\s+-\s+")


@remembered
def as_spelt(entity: Entity) -> Entity:
    """An entry with its kind and the texts of its fields as its source spells them, in lower case.

    "большои великан" becomes "большой великан", and "elementaire" "élémentaire". What is in ASCII at the source stays as it is.
    """
    spellings = _spellings(entity)
    if not spellings:
        return entity
    fields = {name: _spelt(value, spellings) for name, value in entity.fields.items()}
    return replace(entity, fields=fields, kind=str(_spelt(entity.kind, spellings)))


def spelling(entity: Entity, name: str, value: str) -> str:
    """How the source of an entry spells one value of a field, in lower case."""
    folded, own = entity.fields.get(name), as_spelt(entity).fields.get(name)
    listed = zip(folded, own, strict=True) if isinstance(folded, tuple) and isinstance(own, tuple) else [(folded, own)]
    return next((str(spelt) for each, spelt in listed if each == value), value)


def _spelt(value: Value, spellings: Mapping[str, str]) -> Value:
    if isinstance(value, tuple):
        return tuple(str(_spelt(each, spellings)) for each in value)
    if not isinstance(value, str):
        return value
    return spellings.get(value) or "/".join(
        " ".join(spellings.get(word, word) for word in part.split(" ")) for part in value.split("/")
    )


@made_once(dict)
def _spellings(entity: Entity) -> dict[str, str]:
    """The short texts of an entry that have letters beyond ASCII, their parts and their words, by their folded forms."""
    found: dict[str, str] = {}
    for text in _texts(entity.data, DEEPEST):
        if text.isascii() or len(text) > LONGEST:
            continue
        own = unicodedata.normalize("NFC", text).lower()
        for part in (own, *_PARTS.split(own), *re.findall(r"\w+", own)):
            if not part.isascii():
                found.setdefault(fold(part), part.strip())
    return found


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)) and depth:
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(each, depth - 1)
