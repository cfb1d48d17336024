"""Answers of `gather_topic`: a dossier as structured content, and as Markdown that says the same.

Text from entries is indented: a line of an entry is never taken for one of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.addresses import addresses, as_paths
from lorekeeper.search.dossier.lines import Dossier, Line, Part, Quote, date_of
from lorekeeper.search.dossier.spans import blocks
from lorekeeper.server.answers import Answer, called
from lorekeeper.server.found import nothing_found
from lorekeeper.server.models import Topic
from lorekeeper.text.notes import session_of
from lorekeeper.text.printed_on import page_of, with_page
from lorekeeper.views.view import View


async def topic_answer(view: View, topic: str, types: Sequence[str] | None, limit: int) -> Answer:
    """The dossier on a topic; see `search.dossier.gather.gather` for errors."""
    dossier = await view.topic(topic, types, limit)
    named = await addresses(view.cache, [line.entity for part in dossier.parts for line in part.lines])
    return Answer(Topic.model_validate(dossier.content()), topic_text(dossier, named))


def topic_text(dossier: Dossier, named: Mapping[str, str] = MappingProxyType({})) -> str:
    """A dossier as Markdown: a heading for each part, and for each line its entry, section and address, then what it says.

    ``named`` has the addresses of entries by uri; the path of others is given.
    """
    name = dossier.main.name if dossier.main else dossier.topic
    head = [f"# {one_line(name, MAX_SHOWN)}"]
    if not dossier.parts:
        return "\n".join([*head, nothing_found(dossier.note)])
    if dossier.note:
        head.append(f"Note: {one_line(dossier.note)}")
    return "\n".join([*head, *(line for part in dossier.parts for line in _part(part, named))])


def _part(part: Part, named: Mapping[str, str]) -> Iterator[str]:
    yield f"\n## {part.title}"
    for place, line in enumerate(part.lines):
        if not place or line.entity.uri != part.lines[place - 1].entity.uri:
            address = one_line(named.get(line.entity.uri) or as_paths(line.entity.uri))
            said = f"{called(one_line(line.entity.name), address)} ({described(line)})"
            yield f"- {RELATIONS.get(line.relation, '')}{said}"
        if line.quote.sentences:
            yield from (f"   {each}" for each in quoted(line.quote))
    if part.left_out:
        address = one_line(named.get(part.more) or as_paths(part.more)) if part.more else ""
        yield f"{part.left_out} more{f' at {address}' if address else ''}"


RELATIONS = {"link": "links to ", "backlink": "linked from ", "mention": "mentioned: "}
"""What stands before the name of a related note."""


def where(quote: Quote) -> str:
    """Where a quote stands, and that it is secret: "[Goals, secret: Secrets (GM only)] ", "[from Umbra] "."""
    place = f"from {quote.source}" if quote.source else quote.section
    place = place.removesuffix(quote.mark).removesuffix(" > ")
    place = ", ".join(filter(None, [place, quote.mark and f"secret: {quote.mark}"]))
    return f"[{one_line(place)}] " if place else ""


def quoted(quote: Quote) -> list[str]:
    """What a line quotes, behind where it stands: texts in one line each, tables and lists as such."""
    place, found = where(quote), blocks(quote.sentences)
    lines = [one_line(line) for block in found for line in block.lines]
    if place and found[0].shape in ("table", "list"):
        return [place.rstrip(), *lines]
    return [f"{place}{lines[0]}", *lines[1:]]


def described(line: Line) -> str:
    """Kind of an entry, for a session with number and date: "session 3, 2025-08-08"; of a book also the document and the page."""
    entity = line.entity
    number, date = session_of(entity), date_of(entity)
    kind = one_line(entity.kind) if number is None else f"{one_line(entity.kind)} {number}"
    source = None if entity.type == "notes" else with_page(entity.document, page_of(entity, line.quote.text))
    return ", ".join(filter(None, [kind, date, source]))
