"""Notes: where they stand, what they say of their subject, their sections, and what they are linked with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lorekeeper import dates, records
from lorekeeper.entities import Entity, uri_of
from lorekeeper.records.notes import Section, links_of
from lorekeeper.render.embeds import Embedding
from lorekeeper.render.page import capital, italic, section
from lorekeeper.render.prose import inline
from lorekeeper.render.source import Source, title
from lorekeeper.text.notes import folder, new_headings, session, tags
from lorekeeper.text.secrecy import said_of_note, said_of_section
from lorekeeper.text.spelling import as_spelt

MAX_PAGE_CHARS = 40_000
"""Characters of its sections that the page of a note shows, about 10,000 tokens; of further ones it has the headings."""

MAX_LINKED = 50
"""Most notes that are listed among the links, and among those that link to a note."""

MAX_HEADINGS = 100
"""Most headings that are listed of sections that are left out."""


@dataclass(frozen=True)
class Linked:
    """Another note.

    Attributes:
        name: its title.
        uri: its address.
    """

    name: str
    uri: str


@dataclass(frozen=True)
class Related:
    """What a note is linked with.

    Attributes:
        names: titles of notes that it links to, by path.
        linked_from: notes that link to it.
        more: how many others do.
        embedded: the notes that are embedded in it, and in these, by path.
    """

    names: Mapping[str, str]
    linked_from: Sequence[Linked] = ()
    more: int = 0
    embedded: Mapping[str, Entity] = field(default_factory=dict)


UNRELATED = Related({})


def note(entity: Entity, source: Source, related: Related = UNRELATED, *, whole: bool = False) -> Iterator[str]:
    """The blocks of a note; `whole` is for what reads a long one part by part."""
    source.skip("path", "heading", "title_from", "aliases", "facts", "facts_in_text", "keys", "sections", "links")
    source.skip("tags", "folder", "session", "modified")
    source.skip("session_date", "mark", "audience", "opened_by", "open_tags")
    yield _line(entity)
    yield f"({said})" if (said := said_of_note(entity)) else ""
    read = records.note(entity.data)
    yield f"Also called {', '.join(map(inline, read.aliases))}." if read.aliases else ""
    yield "\n".join(f"- **{inline(key)}** {inline(value)}" for key, value in read.facts.items())
    yield from _sections(entity, read.sections, Embedding(related.embedded), whole=whole)
    links, more = linked(entity, related)
    yield section("Links", _listed(links, more))
    yield section("Linked from", _listed(related.linked_from, related.more))


def linked(entity: Entity, related: Related = UNRELATED) -> tuple[list[Linked], int]:
    """The notes that a note links to, each once, and how many there are besides."""
    paths = linked_paths(entity)
    known = related.names
    shown = [
        Linked(known.get(path) or _stem(path), uri_of(entity.type, entity.document, path))
        for path in paths[:MAX_LINKED]
    ]
    return shown, len(paths) - len(shown)


def linked_paths(entity: Entity) -> list[str]:
    """The paths of the notes that a note links to, each once, without its own."""
    found = dict.fromkeys(link.to for link in links_of(entity.data))
    return [path for path in found if path and path != entity.slug]


def _line(entity: Entity) -> str:
    """Kind, vault, folder, session, date of the last change and tags in one line."""
    modified = entity.fields.get("modified")
    changed = f"changed {dates.written(modified)[:10]}" if isinstance(modified, int) else ""
    vault = entity.document_name or entity.document
    spelt = as_spelt(entity)
    parts = [capital(title(spelt.kind)), vault, folder(entity), session(entity), changed, tags(spelt)]
    return italic(*map(inline, parts), separator=" · ")


def _sections(entity: Entity, found: Sequence[Section], embedding: Embedding, *, whole: bool) -> Iterator[str]:
    used, before = 0, ""
    for number, each in enumerate(found):
        path, text = each.path, embedding.text(entity, each)
        if not whole and used and used + len(text) > MAX_PAGE_CHARS:
            yield _left_out(found[number:])
            return
        shown = text if whole or len(text) <= MAX_PAGE_CHARS else _shortened(text)
        yield (
            "\n\n".join(filter(None, [_headings(path, before), said_of_section(entity, each), shown])) if shown else ""
        )
        used += len(shown)
        before = path if shown else before


def _shortened(text: str) -> str:
    return (
        f"{text[:MAX_PAGE_CHARS]} …\n\n*{len(text) - MAX_PAGE_CHARS:,} characters more of this section are left out.*"
    )


def _headings(path: str, before: str) -> str:
    """The headings of a path that the section before does not stand under."""
    return "\n\n".join(f"{'#' * min(depth + 2, 6)} {inline(name)}" for depth, name in new_headings(path, before))


def _left_out(found: Sequence[Section]) -> str:
    """What a page is too long for: how much it is, and under which headings."""
    size = sum(len(each.text) for each in found)
    paths = list(dict.fromkeys(each.path for each in found if each.path))
    more = [f"and {len(paths) - MAX_HEADINGS} more"] if len(paths) > MAX_HEADINGS else []
    said = f"{size:,} characters of {len(found)} further sections are left out; get_entity with section reads one."
    return section("Further sections", said, "\n".join(f"- {inline(path)}" for path in paths[:MAX_HEADINGS]), *more)


def _listed(linked: Sequence[Linked], more: int) -> str:
    lines = [f"- [{inline(each.name).replace('[', '(').replace(']', ')')}]({each.uri})" for each in linked]
    return "\n".join([*lines, *([f"- and {more:,} more"] if more else [])])


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0] or path
