"""One law for all readers: a text of a source stands in the entries that were made of it, or is reported.

A text is any string of two words or more. It stands in an entry if its words do, in their order: in the text that is searched, in
a value to filter by, in a text of its data that the page prints under its key, or anywhere else on the page. What a source says
besides what it is about (its licence, its pictures, notes for the program) is left out with a reason: `left_out.toml` has the
keys of each format with theirs.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

from lorekeeper.entities import Entity
from lorekeeper.folding import words_apart
from lorekeeper.records.values import Source
from lorekeeper.render import markdown
from lorekeeper.render.page import PLUMBING
from lorekeeper.repairs import OPEN5E, repaired_excerpt
from lorekeeper.repairs.entries import repaired_entry
from lorekeeper.text.cleaning import clean
from lorekeeper.text.sections import full_text

Text = tuple[str, str]
"""A text of a source, after the key that it has there."""

LEFT_OUT = Path(__file__).with_name("left_out.toml")

MAX_DEPTH = 100
"""Most levels of a source's object that are looked at: what is nested deeper is refused as an entry."""

FEW = 100
"""Up to how many texts are looked for one by one."""

SHORT, LONG = 2, 6
"""With how many of its first words a text is looked for."""

_MARKED = re.compile(r"[\\\n<>{}\[\]|&]")
_ENDS = re.compile(r"<(h[1-6]|strong|b|em|i)\b[^<>]*>[^<>]{0,80}</\1>|<[^<>]*>|\\[nr]|[\n|]", re.IGNORECASE)
"""Where a line, a paragraph or a cell ends, in the markup of any source. Headings and labels are names, which differ by style."""

_UNIT = re.compile(r"(?<=\d)(?=[a-z])")

_MARK = "\0"

_REPLACED = re.compile(
    r"\{@[^{}]*\}|(?:@|&(?:amp;)?)\w+\[[^\[\]]*\](?:\{[^{}]*\})?|\[\[[^\[\]]*\]\](?:\{[^{}]*\})?"
    r"|\[[^\[\]]*\](?:\([^()]*\))?|\{[^{}]*\}|[{}\[\]]"
)
"""Markup that a reader replaces by words of its own: what stands around it is looked for, without what touches it."""


_LISTS = (list, tuple, set, frozenset)
_MAY_SAY = (str, dict, *_LISTS)


def texts_of(value: object, source: str, path: str = "", depth: int = 0) -> Iterator[Text]:
    """The texts of an object of a source as it is repaired, but for those that are left out with a reason.

    Args:
        value: the object, or a part of it.
        source: as in `Entity.source_api`.
        path: the keys that lead to the part.
        depth: their number, and that of the lists on the way.
    """
    if isinstance(value, str):
        if " " in value:
            yield path.rpartition(".")[2], value
    elif depth > MAX_DEPTH:
        return
    elif isinstance(value, dict):
        if not path and OPEN5E in source:
            value = repaired_entry(value)
        reasons = _reasons(source)
        for key, item in value.items():
            if not isinstance(item, _MAY_SAY) or (isinstance(item, str) and " " not in item):
                continue
            whole = f"{path}.{key}"
            if key not in reasons or not any(map(whole.endswith, reasons[key])):
                yield from texts_of(item, source, whole, depth + 1)
    else:
        for item in value if isinstance(value, _LISTS) else ():
            yield from texts_of(item, source, path, depth + 1)


@cache
def _reasons(source: str) -> Mapping[str, tuple[str, ...]]:
    """The keys of a format that are left out with what leads to them, each behind a dot, by the last of them."""
    formats = tomllib.loads(LEFT_OUT.read_text("utf-8"))
    found: dict[str, tuple[str, ...]] = {}
    for name, keys in formats.items():
        for path in keys if source.startswith(name) else ():
            last = path.rpartition(".")[2]
            found[last] = (*found.get(last, ()), f".{path}")
    return found


def says_nothing(data: Mapping[str, Any]) -> bool:
    """Whether an object has nothing but a name, and where it is from."""
    return all(key in PLUMBING or key in _ORIGIN for key, _ in Source(data).rest())


_ORIGIN = frozenset({"book", "tags", "also_called"})
"""Keys besides `PLUMBING` that say where an entry stands, and not what it is."""


def not_taken(texts: Iterable[Text], entities: Sequence[Entity]) -> list[Text]:
    """Those of the texts of a source, or parts of them between its markup, that stand in none of the entities made of it.

    The pages, whose texts are repaired, are only made if something stands nowhere else.
    """
    wanted: dict[str, Text] = {}
    for key, text in texts:
        for part in _parts(text) if _MARKED.search(text) else (text,):
            if words := _words(part):
                wanted.setdefault(words, (key, " ".join(part.split())))
    _strike_out(wanted, map(_kept, entities))
    if wanted and entities:
        printed = ((repaired_excerpt(entities[0], text), (key, text)) for key, text in wanted.values())
        wanted = {words: each for text, each in printed if (words := _words(text))}
        _strike_out(wanted, map(_page, entities))
    return list(wanted.values())


def _parts(text: str) -> Iterator[str]:
    """The parts of a text between its markup."""
    marked = _REPLACED.sub(_MARK, unescape(text))
    for line in _ENDS.sub("\n", marked).split("\n"):
        parts = line.split(_MARK)
        for place, part in enumerate(parts):
            if place and part[:1].strip():
                part = part.partition(" ")[2]
            if place < len(parts) - 1 and part[-1:].strip():
                part = part.rpartition(" ")[0]
            yield part


def _words(text: str) -> str:
    """The words of a text in comparable form, "" if there are not two of them."""
    words = words_apart(text).split()
    told = (word for word in words if len(word) > 1 and word.isalpha())
    return _spaced(" ".join(words)) if next(told, None) and next(told, None) else ""


def _strike_out(wanted: dict[str, Text], shown: Iterable[str]) -> None:
    """Remove what stands in any of some texts. If it is much, it is looked for by its first words, not one by one."""
    if len(wanted) <= FEW:
        for whole in map(_folded, shown):
            for words in [words for words in wanted if f" {words} " in whole]:
                del wanted[words]
        return
    begins: dict[int, dict[tuple[str, ...], list[str]]] = {SHORT: {}, LONG: {}}
    for words in wanted:
        each = words.split()
        number = LONG if len(each) >= LONG else SHORT
        begins[number].setdefault(tuple(each[:number]), []).append(words)
    for whole in map(_folded, shown):
        there = whole.split()
        for number, by_begin in begins.items():
            for begin in by_begin.keys() & set(zip(*(there[place:] for place in range(number)), strict=False)):
                for words in by_begin[begin]:
                    if words in wanted and f" {words} " in whole:
                        del wanted[words]


def _folded(text: str) -> str:
    return f" {_spaced(' '.join(words_apart(text).split()))} "


def _spaced(words: str) -> str:
    """Words with a number apart from its unit: readers print "100gp" as "100 gp"."""
    return _UNIT.sub(" ", words)


def _kept(entity: Entity) -> str:
    """What is searched of an entry, its values, and the texts of its data that its page prints under their keys."""
    said = [entity.name, full_text(entity)]
    for value in (*entity.fields.values(), *(value for key, value in entity.data.items() if key not in PLUMBING)):
        if isinstance(value, str):
            said.append(value)
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], str):
            said += [each for each in value if isinstance(each, str)]
    return "\n".join(said)


def _page(entity: Entity) -> str:
    try:
        return clean(markdown(entity))
    except (TypeError, ValueError, AttributeError, KeyError, RecursionError):  # an entry that has no page shows nothing
        return ""
