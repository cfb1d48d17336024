"""Campaign notes as safe HTML, with an outline.

A note is made of the stored entity only, as far as its viewer sees it: the file is never read. HTML in a note is shown as text;
what comes out has the tags, attributes and classes below only, and addresses of our own pages or, for links that leave, of the web.
Nothing is loaded from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from itertools import islice

import nh3

from lorekeeper.entities import Entity, parse_uri, uri_of
from lorekeeper.folding import fold
from lorekeeper.notes.links import LINK, read_inline, target_of
from lorekeeper.printable import lines, one_line
from lorekeeper.records.notes import BETWEEN, Section, links_of, sections_of
from lorekeeper.render.embeds import MAX_DEPTH, MAX_EMBEDDED
from lorekeeper.render.note_rules import CALLOUTS, Way, rendered
from lorekeeper.text.notes import new_headings, note_facts, parts_under
from lorekeeper.text.secrecy import section_mark

MAX_CHARS = 200_000
"""Most characters of a note's sections, and of those of the notes embedded in it, that are shown."""

MOST_SHOWN = 500
"""Most links whose names are looked for in one heading or fact."""

LAST_LEVEL = 5
"""Deepest heading of a page: those of a note begin with level 2."""

TAGS = frozenset(
    "h3 h4 h5 h6 p ul ol li blockquote pre code em strong s mark a br hr table thead tbody tr th td div span details "
    "summary".split()
)

ATTRIBUTES = {
    "a": {"href", "rel"},
    "span": {"title", "role", "aria-label"},
    "ol": {"start"},
    "details": {"open"},
    "div": {"dir"},
}

CLASSES = {
    "a": {"tag", "away"},
    "span": {"dangling", "box"},
    "div": {"callout", "plain", "embed", "secret", *CALLOUTS.values()},
    "details": {"callout", "plain", *CALLOUTS.values()},
    "p": {"callout-title", "embed-title", "mark"},
    "li": {"task"},
}

Address = Callable[[str], str]
"""The path of the page of an entry, by its uri."""

MAX_LINE_CHARS = 240
"""Most characters of a line that is quoted."""

_LINE_MARKS = re.compile(
    r"^[\s>]*(?:[-*+]\s+|\d{1,3}[.)]\s+)?(?:\[[ xX]\]\s+)?|\*{1,3}|__|==|`|\[![^\[\]]{1,60}\][-+]?"
)

_PATH = re.compile(r"(?:/(?![/\\])[!-\[\]-~]*|#[!-\[\]-~]+|(?:https?://|mailto:)[!-\[\]-~]+)")
"""A path of our own, a place in the page, or an address elsewhere."""


@dataclass(frozen=True)
class Heading:
    """A heading of a note.

    Attributes:
        level: 2 for the uppermost ones.
        text: as written.
        anchor: id of its element.
        secret: whether it heads something that players do not see.
    """

    level: int
    text: str
    anchor: str
    secret: bool


@dataclass(frozen=True)
class Body:
    """A note as HTML.

    Attributes:
        html: its sections.
        outline: its headings, in reading order.
    """

    html: str
    outline: list[Heading]


@dataclass(frozen=True)
class Quoted:
    """A line of a note.

    Attributes:
        heading: the heading that it stands under, "" for none.
        text: without marks of Markdown.
        secret: whether players do not see it.
    """

    heading: str
    text: str
    secret: bool


def note_body(entity: Entity, address: Address, others: Mapping[str, Entity] | None = None) -> Body:
    """A note as its viewer sees it.

    Args:
        entity: as the viewer sees it.
        address: says where the pages of entries are.
        others: notes that may be embedded, by their paths, as the viewer sees them.
    """
    return _Page(address, others or {}).body(entity)


def linking_lines(entity: Entity, path: str, most: int = 3) -> list[Quoted]:
    """The lines with which a note links to the note of a path, in one line each, at most so many."""
    targets = {target for target, to in _links_of(entity).targets.items() if to == path}
    found = (quoted for section in sections_of(entity.data) for quoted in _linking(entity, section, targets))
    return list(islice(found, most))


def _linking(entity: Entity, section: Section, targets: Collection[str]) -> Iterator[Quoted]:
    if "[" not in section.source:
        return
    _, secret = section_mark(entity, section)
    for line in section.source.split("\n"):
        if any(target_of(match)[0] in targets for match in LINK.finditer(line)):
            shown = one_line(_LINE_MARKS.sub("", read_inline(line).text), MAX_LINE_CHARS)
            yield Quoted(section.heading, shown, secret)


def fact_rows(entity: Entity, address: Address) -> list[tuple[str, str]]:
    """The facts of a note, and their values as HTML: what they say of other notes leads to these."""
    paths = {shown: to for each in _links_of(entity).shown.values() for shown, to in each.items()}
    return [(one_line(key), _with_links(value, paths, entity, address)) for key, value in note_facts(entity).items()]


def _with_links(text: str, paths: Mapping[str, str], entity: Entity, address: Address) -> str:
    """A text of one line as HTML, in which what is shown of links leads to notes of the same vault, by these paths."""
    text = one_line(text)
    known = sorted((shown for shown in islice(paths, MOST_SHOWN) if shown in text), key=len, reverse=True)
    if not known:
        return escape(text)
    parts, end = list[str](), 0
    for match in re.finditer(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)", text):
        href = escape(address(uri_of(entity.type, entity.document, paths[match[0]])))
        parts.append(f'{escape(text[end : match.start()])}<a href="{href}">{escape(match[0])}</a>')
        end = match.end()
    return "".join([*parts, escape(text[end:])])


def anchor(heading: str) -> str:
    """The id of the element of a heading."""
    return f"s-{fold(heading).replace(' ', '-')[:100]}"


@dataclass
class _Page:
    """One page while it is made."""

    address: Address
    others: Mapping[str, Entity]
    room: int = MAX_CHARS
    embedded: int = 0
    outline: list[Heading] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=dict)
    """How many headings of each name there have been."""
    links: dict[str, _Links] = field(default_factory=dict)
    """By the paths of notes."""

    def body(self, entity: Entity) -> Body:
        """The sections of a note, each in a box of its own if it is a secret."""
        found = list(sections_of(entity.data))
        names = {anchor(part) for section in found for part in section.path.split(BETWEEN)}
        parts, before = list[str](), ""
        for section in found:
            if self.room <= 0:
                parts.append('<p class="quiet">The rest is left out: search for what it says.</p>')
                break
            mark, secret = section_mark(entity, section)
            path = section.path
            headings = self._headings(entity, path, before, secret=secret)
            text = self._section(entity, section, names, ())
            parts.append(_box(headings, text, mark, secret=secret, headed=mark in path.split(BETWEEN)))
            before = path
        return Body("\n".join(parts), self.outline)

    def _headings(self, entity: Entity, path: str, before: str, *, secret: bool) -> str:
        """The headings of a path that the section before does not stand under."""
        made, paths = list[str](), self._links(entity).shown.get(path, {})
        for depth, text in new_headings(path, before):
            found = Heading(min(depth + 2, LAST_LEVEL), one_line(text), self._anchor(text), secret)
            self.outline.append(found)
            shown = _with_links(text, paths, entity, self.address)
            made.append(f'<h{found.level} id="{escape(found.anchor)}" dir="auto">{shown}</h{found.level}>\n')
        return "".join(made)

    def _anchor(self, text: str) -> str:
        base = name = anchor(text)
        number = self.numbers.get(base, 1)
        while name in self.anchors:
            number += 1
            name = f"{base}-{number}"
        self.numbers[base] = number
        self.anchors.add(name)
        return name

    def _links(self, entity: Entity) -> _Links:
        """The links of a note, which are read once."""
        if entity.slug not in self.links:
            self.links[entity.slug] = _links_of(entity)
        return self.links[entity.slug]

    def _section(self, entity: Entity, section: Section, names: set[str] | None, within: tuple[str, ...]) -> str:
        """The text of a section as HTML."""
        text = lines(section.source)
        shown = text if len(text) <= self.room else f"{text[: self.room]} …"
        self.room -= len(text)
        targets = self._links(entity).targets

        def lead(target: str, heading: str) -> Way:
            return self._way(entity, targets, names, target, heading)

        def embed(target: str, heading: str) -> str | None:
            return self._embed(targets.get(target), heading, (*within, entity.slug))

        html = rendered(shown, lead, embed)
        return html if within else _cleaner().clean(html)

    def _way(
        self, entity: Entity, targets: Mapping[str, str | None], names: set[str] | None, target: str, heading: str
    ) -> Way:
        if target.startswith("lore://"):
            return Way(_entry(target, self.address))
        if not target:
            page = self.address(entity.uri) if names is None else ""
            return Way(f"{page}#{anchor(heading)}" if names is None or anchor(heading) in names else None)
        path = targets.get(target)
        if path is None:
            return Way()
        place = f"#{anchor(heading)}" if heading else ""
        return Way(self.address(uri_of(entity.type, entity.document, path)) + place)

    def _embed(self, path: str | None, heading: str, within: tuple[str, ...]) -> str | None:
        """An embedded note; None if it is not among the others, is what it stands in, or there are too many."""
        other = self.others.get(path or "")
        if (
            other is None
            or path in within
            or len(within) > MAX_DEPTH
            or self.embedded >= MAX_EMBEDDED
            or self.room <= 0
        ):
            return None
        self.embedded += 1
        title = BETWEEN.join(filter(None, (other.name, heading)))
        href = escape(self.address(other.uri))
        inner = "".join(self._embedded_parts(other, heading, within))
        return (
            f'<div class="embed"><p class="embed-title"><a href="{href}">{escape(one_line(title))}</a></p>{inner}</div>'
        )

    def _embedded_parts(self, other: Entity, heading: str, within: tuple[str, ...]) -> Iterator[str]:
        before = ""
        for section in parts_under(other, heading):
            path = section.path
            mark, secret = section_mark(other, section)
            headings = "".join(f"<h6>{escape(one_line(text))}</h6>" for _, text in new_headings(path, before))
            text = self._section(other, section, None, within)
            yield _box(headings, text, mark, secret=secret, headed=mark in path.split(BETWEEN))
            before = path


def _box(headings: str, text: str, mark: str, *, secret: bool, headed: bool = False) -> str:
    """A section below its headings, with what is said of who sees it; within a secret if a heading makes it one."""
    said = f'<p class="mark">{escape(mark)}</p>' if mark and not headed else ""
    if not secret:
        return f'{headings}<div dir="auto">{said}{text}</div>'
    outside, inside = ("", headings) if headed else (headings, "")
    return f'{outside}<div class="secret" dir="auto">{inside}{said}{text}</div>'


@dataclass(frozen=True)
class _Links:
    """The links of a note.

    Attributes:
        targets: the path of the note that each target means, None for none.
        shown: by heading path the paths of the notes that are linked to there, by what is shown of the links.
    """

    targets: dict[str, str | None] = field(default_factory=dict)
    shown: dict[str, dict[str, str]] = field(default_factory=dict)


def _links_of(entity: Entity) -> _Links:
    found = _Links()
    for link in links_of(entity.data):
        found.targets[link.target] = link.to or None
        if link.to and len(link.shown) > 1:
            found.shown.setdefault(link.path, {})[link.shown] = link.to
    return found


def _entry(uri: str, address: Address) -> str | None:
    try:
        return address(uri_of(*parse_uri(uri)))
    except ValueError:
        return None


@cache
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        attribute_filter=_checked,
        url_schemes={"http", "https", "mailto"},
        link_rel=None,
    )


def _checked(_: str, attribute: str, value: str) -> str | None:
    return value if attribute != "href" or _PATH.fullmatch(value) else None
