"""Campaign notes, as the library has them: what a note says, under which headings, and what it links to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lorekeeper.audience import Audience, parsed
from lorekeeper.fields import AUDIENCE, MAX_TEXT_LENGTH
from lorekeeper.records.values import Object, objects

BETWEEN = " > "
"""Between the headings of a path."""

WRITTEN = "written"
"""Key of a section's text with its links, embedded notes and callouts as written, where it differs from what is searched."""

TOLD, AHEAD, BEFORE = "told", "ahead", "before"
"""What a section says of itself that tells what happened, what is to come, or what was before."""


@dataclass(frozen=True)
class Section:
    """What stands under one heading of a note.

    Attributes:
        path: its heading and those above it, "" before the first heading.
        text: Markdown, without what only the program that wrote it understands.
        written: as it is written, "" if that is the text.
        mark: what says who may see it.
        audience: who may see it, None if no mark says so.
        tells: "told" if its headings say that it tells what happened, "ahead" of what is to come, "before" of what was; else "".
    """

    path: str = ""
    text: str = ""
    written: str = ""
    mark: str = ""
    audience: Audience | None = None
    tells: str = ""

    @property
    def source(self) -> str:
        """As it is written; of a library of an earlier version as searched."""
        return self.written or self.text

    @property
    def heading(self) -> str:
        """The innermost heading."""
        return self.path.rpartition(BETWEEN)[2]


@dataclass(frozen=True)
class Link:
    """A link in a note.

    Attributes:
        to: path of the note that it means, "" for none.
        target: as written.
        shown: what is shown of it.
        path: of the section that it is in.
    """

    to: str = ""
    target: str = ""
    shown: str = ""
    path: str = ""


@dataclass(frozen=True)
class Note:
    """A note.

    Attributes:
        title: the heading of the text below its title, "" if that is its name.
        aliases: its other names.
        facts: what it says of its subject, by keys.
        in_text: keys of facts that the text has too.
        sections: in reading order.
        links: in reading order.
        mark: what says who may see it.
        audience: who may see it, None if no mark says so.
    """

    title: str = ""
    aliases: tuple[str, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    in_text: tuple[str, ...] = ()
    sections: tuple[Section, ...] = ()
    links: tuple[Link, ...] = ()
    mark: str = ""
    audience: Audience | None = None


def note(data: Object) -> Note:
    """A note from its object; whatever of it is missing or of another type is left out."""
    return Note(
        title_of(data),
        tuple(aliases_of(data)),
        facts_of(data),
        tuple(facts_in_text(data)),
        tuple(sections_of(data)),
        tuple(links_of(data)),
        _text(data, "mark"),
        parsed(data.get(AUDIENCE)),
    )


def title_of(data: Object) -> str:
    """The heading that stands above the text below the title of a note, "" for none."""
    return _text(data, "heading")


def aliases_of(data: Object) -> list[str]:
    """The other names of a note."""
    return list(dict.fromkeys(filter(None, map(str.strip, _texts(data, "aliases")))))


def facts_of(data: Object) -> dict[str, str]:
    """What a note says of its subject, by keys."""
    listed = data.get("facts")
    pairs = listed.items() if isinstance(listed, Mapping) else ()
    return {str(key).strip(): value.strip() for key, value in pairs if isinstance(value, str) and value.strip()}


def facts_in_text(data: Object) -> list[str]:
    """The keys of facts that the text of a note has too."""
    return list(_texts(data, "facts_in_text"))


def sections_of(data: Object) -> Iterator[Section]:
    """The sections of a note."""
    for each in objects(data.get("sections")):
        yield Section(
            _path(each, "name"),
            _text(each, "desc"),
            _text(each, WRITTEN),
            _text(each, "mark"),
            parsed(each.get(AUDIENCE)),
            _text(each, "tells"),
        )


def links_of(data: Object) -> Iterator[Link]:
    """The links of a note."""
    for each in objects(data.get("links")):
        yield Link(_text(each, "to"), _text(each, "target"), _text(each, "text"), _path(each, "heading"))


def mark_of(data: Object) -> str:
    """The mark of a part of a note that is an entry of its own, else that of the note."""
    return _text(data, "mark") or _text(data, "note_mark")


def _text(data: Object, key: str) -> str:
    value = data.get(key)
    return value if isinstance(value, str) else ""


def _path(data: Object, key: str) -> str:
    return " ".join(_text(data, key)[:MAX_TEXT_LENGTH].split())


def _texts(data: Object, key: str) -> Iterator[str]:
    listed = data.get(key)
    return (each for each in (listed if isinstance(listed, list) else ()) if isinstance(each, str))
