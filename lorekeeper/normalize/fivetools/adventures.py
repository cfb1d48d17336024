"""Adventures and books of 5etools: their text, section by section.

The index of an adventure and its text are two objects with the same ``id``. All of it is for the game master, but what is read
aloud, which is besides an entry that players may see. Its name gives nothing away that the text does not say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lorekeeper.normalize.build import without_empty
from lorekeeper.normalize.fivetools.entries import CHILDREN
from lorekeeper.normalize.fivetools.subject import Subject
from lorekeeper.normalize.fivetools.values import Data, Object, listed, mapping, objects, text

LONG_SECTION = 12_000
"""A section whose text has more characters is divided into those within it."""

MAX_DIVISIONS = 5
"""Most times that a section is divided into smaller ones."""

MAX_LEVELS = 60
"""Most levels of entries in which texts to read aloud are looked for."""

READ_ALOUD = "insetReadaloud"


@dataclass(frozen=True)
class Chapter:
    """A part of an adventure or a book.

    Attributes:
        kind: of the entry: "section" or "read-aloud".
        name: its heading.
        path: names of the adventure and of the sections that it is in, its own included.
        data: of the entry.
        is_secret: whether it is for the game master only.
    """

    kind: str
    name: str
    path: tuple[str, ...]
    data: Data
    is_secret: bool = True


def overview(subject: Subject) -> Data:
    """What the index of an adventure or a book says."""
    level = mapping(subject.obj, "level")
    ends = [text(level.get(key)) for key in ("start", "end") if text(level.get(key))]
    chapters = [
        f"- {name}" for each in objects(subject.obj, "contents") if (name := subject.reader.plain(text(each, "name")))
    ]
    return without_empty(
        {
            "desc": "\n".join(chapters),
            "storyline": subject.words("storyline"),
            "levels": "–".join(ends),
            "published": subject.words("published"),
            "author": subject.words("author"),
        }
    )


def chapters(subject: Subject, entries: object) -> Iterator[Chapter]:
    """The sections of an adventure or a book, and the texts in it that are read aloud."""
    spoken = 0
    for place, entry in enumerate(listed(entries), 1):
        section = mapping(entry) or {"entries": [entry]}
        yield from _sections(subject, section, place, (subject.name,), 0)
        for found in _read_aloud(section, 0):
            spoken += 1
            own = subject.reader.plain(text(found, "name"))
            name = own or f"Read-aloud text {spoken}"
            desc = subject.writer.markdown([found.get("entries")])
            data = without_empty({"parent": subject.name, "desc": desc})
            if desc:
                yield Chapter(
                    "read-aloud", name, (subject.name, f"{name} {spoken}" if own else name), data, is_secret=False
                )


def _sections(subject: Subject, section: Object, place: int, path: tuple[str, ...], level: int) -> Iterator[Chapter]:
    """A section as one entry; a long one as an entry for each named part, and one for what stands before them."""
    name = subject.reader.plain(text(section, "name")) or f"Part {place}"
    own_path = (*path, name)
    children = [each for key in CHILDREN for each in listed(section.get(key))]
    words = subject.writer.markdown(children, headings=2)
    inner = [
        each for each in children if isinstance(each, Mapping) and each.get("name") and each.get("type") in _DIVIDED
    ]
    if len(words) > LONG_SECTION and inner and level < MAX_DIVISIONS:
        divided = set(map(id, inner))
        words = subject.writer.markdown([each for each in children if id(each) not in divided], headings=2)
        for number, part in enumerate(inner, 1):
            yield from _sections(subject, part, number, own_path, level + 1)
    if words:
        yield Chapter("section", name, own_path, {"parent": " > ".join(path), "desc": words})


_DIVIDED = ("section", "entries")


def _read_aloud(entry: object, level: int) -> Iterator[Object]:
    """The texts to read aloud in an entry."""
    if level > MAX_LEVELS:
        return
    if isinstance(entry, list):
        for each in entry:
            yield from _read_aloud(each, level + 1)
    elif isinstance(entry, Mapping):
        if entry.get("type") == READ_ALOUD:
            yield entry
            return
        for key in (*CHILDREN, "rows", "tables"):
            yield from _read_aloud(entry.get(key), level + 1)
