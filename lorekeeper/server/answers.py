"""Answers of the tools: results, entries and documents, as structured content and as text.

Text from entries is shown on one line, or indented: a line of an entry is never taken for one of ours.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from lorekeeper.attribution import Attribution, attribution
from lorekeeper.editions import edition_label
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import unknown_name
from lorekeeper.library import Library
from lorekeeper.printable import lines, one_line
from lorekeeper.render import lean, markdown
from lorekeeper.search.results import Result, ResultPage
from lorekeeper.text.facts import facts

JsonObject = dict[str, Any]

MAX_FACTS = 90
"""Longest facts of a concise result, in characters."""


@dataclass(frozen=True)
class Answer:
    """What a tool returns: the same essentials twice, since clients show a model one or the other."""

    structured: JsonObject
    text: str
    page: str = ""
    """Of a whole entry, the same as Markdown for people: not indented, its source and uri at the end."""


# --- results ---------------------------------------------------------------------------------------------------------


def page_answer(page: ResultPage, *, full: bool) -> Answer:
    """A page of results, with the whole entries if ``full``."""
    return Answer(page_content(page, full=full), page_text(page, full=full))


def page_content(page: ResultPage, *, full: bool = False) -> JsonObject:
    """A page as structured content: ``{"results", "total", "mode", "next_offset", "note"}``."""
    results = [_content(result) for result in page.results]
    if full:
        results = [c | {"entity": lean(r.entity)} for c, r in zip(results, page.results, strict=True)]
    return {
        "results": results,
        "total": page.total,
        "mode": page.mode,
        "next_offset": page.next_offset,
        "note": page.note and one_line(page.note),
    }


def page_text(page: ResultPage, *, full: bool = False) -> str:
    """A page as text: a numbered list of names with facts, source and uri, each with its snippet or whole text."""
    parts = [f"{len(page.results)} of {page.total} found ({page.mode})" if page.results else "Nothing found."]
    if page.note:
        parts.append(f"Note: {one_line(page.note)}")
    for number, result in enumerate(page.results, 1):
        shown = _content(result)
        parts.append(f"{number}. {shown['name']} ({shown['facts']}) from {_source(shown)} | {shown['uri']}")
        parts.append(_quoted(markdown(result.entity) if full else shown["snippet"]))
    if page.next_offset is not None:
        parts.append(f"More: offset={page.next_offset}")
    return "\n".join(parts)


def _content(result: Result) -> JsonObject:
    entity = result.entity
    return {
        "uri": entity.uri,
        "name": one_line(entity.name),
        "type": entity.type,
        "kind": one_line(entity.kind),
        "document": entity.document,
        "document_name": one_line(result.document_name),
        "edition": result.edition,
        "score": result.score,
        "match": result.match,
        "facts": _short(one_line(result.facts)),
        "snippet": one_line(result.snippet),
    }


def _source(content: JsonObject) -> str:
    """Title of a document, with its edition unless the title says it."""
    title, label = str(content["document_name"]), edition_label(one_line(content["edition"]))
    return title if label in title else f"{title} [{label}]"


def _short(line: str) -> str:
    return line if len(line) <= MAX_FACTS else line[: MAX_FACTS - 1].rstrip(" ,·") + "…"


def _quoted(text: str) -> str:
    return textwrap.indent(lines(text), "   ")


# --- one entry -------------------------------------------------------------------------------------------------------


async def entity_answer(library: Library, entity: Entity, *others: Entity) -> Answer:
    """A whole entry with its source and attribution; ``others`` have taken the place of the same earlier entry."""
    titles = await library.searcher.documents.titles()
    record = await library.cache.get_entity("documents", entity.document, entity.document)
    source = attribution(record, entity)
    content = {
        "uri": entity.uri,
        "name": one_line(entity.name),
        "type": entity.type,
        "kind": one_line(entity.kind),
        "document": entity.document,
        "document_name": one_line(titles.get(entity.document) or entity.document_name or entity.document),
        "edition": await library.searcher.documents.edition_of(entity.document),
        "licenses": [one_line(licence) for licence in source.licenses],
        "attribution": one_line(source.line) or None,
        "facts": one_line(facts(entity)),
        "entity": lean(entity),
    }
    if others:
        content["note"] = f"Other books have an entry of their own: {', '.join(other.uri for other in others)}"
    page = markdown(entity, subclasses=await _subclasses(library, entity))
    origin = _origin(entity, content)
    note = [f"Note: {content['note']}"] if others else []
    head = [*note, f"{content['name']} ({content['facts']})", f"Source: {origin}", entity.uri, ""]
    return Answer(
        content, "\n".join([*head, _quoted(page)]).rstrip(), lines(f"{page}\n\n*Source: {origin}*\n{entity.uri}")
    )


async def _subclasses(library: Library, entity: Entity) -> list[str]:
    """Names of the subclasses of a class in its own document, in order."""
    if entity.type != "character_options" or entity.kind != "class" or "archetypes" in entity.data:
        return []
    found = await library.cache.get_entities(entity.type, entity.document, kind="subclass", parent=entity.name)
    return sorted(each.name for each in found)


def _origin(entity: Entity, content: JsonObject) -> str:
    """Title, edition and key of an entry's document, with its attribution."""
    origin = f"{_source(content)} ({one_line(entity.document)})"
    return f"{origin}, {content['attribution']}" if content["attribution"] else origin


# --- documents -------------------------------------------------------------------------------------------------------


async def documents_answer(library: Library, entity_type: str | None = None) -> Answer:
    """Every document; those with entries of a type if one is given."""
    documents = await document_list(library, entity_type)
    text = "\n".join([f"{len(documents)} documents", *map(_document_line, documents)])
    return Answer({"documents": documents}, text)


def _document_line(document: JsonObject) -> str:
    counts = ", ".join(f"{number} {name}" for name, number in document["counts"].items()) or "no entries"
    licences = f" [{', '.join(document['licenses'])}]" if document["licenses"] else ""
    people = document["publisher"] or document["author"]
    by = f" by {people}" if people else ""
    return f"{one_line(document['key'])}: {document['name']}{by}{licences}: {counts}"


async def document_list(library: Library, entity_type: str | None = None) -> list[JsonObject]:
    """Every document with its title, attribution, game system and counts; of one type if one is given.

    Raises:
        FilterError: there is no such type.
    """
    if entity_type is not None and entity_type not in COLLECTIONS:
        raise FilterError(unknown_name(entity_type, list(COLLECTIONS), "type"))
    counts = await library.cache.documents()
    records = {record.document: record for record in await library.cache.get_entities("documents")}
    documents = []
    for key in sorted(counts.keys() | records.keys()):
        by_type = counts.get(key, {})
        shown = {t: n for t, n in by_type.items() if t != "documents" and entity_type in (None, t)}
        if shown or entity_type is None:
            source = await _attribution(library, key, by_type, records.get(key))
            documents.append(_document(key, source, shown))
    return documents


def _document(key: str, source: Attribution, counts: Mapping[str, int]) -> JsonObject:
    return {
        "key": key,
        "name": one_line(source.title or key),
        "publisher": source.publisher and one_line(source.publisher),
        "author": source.author and one_line(source.author),
        "game_system": source.game_system and one_line(source.game_system),
        "licenses": [one_line(licence) for licence in source.licenses],
        "url": source.url and one_line(source.url),
        "counts": dict(counts),
    }


async def _attribution(library: Library, key: str, types: Collection[str], record: Entity | None) -> Attribution:
    """The attribution of a document, from one of its entries if it has no record of its own."""
    if record is not None:
        return attribution(record)
    for entity_type in types:
        for entry in await library.cache.get_entities(entity_type, key, limit=1):
            return attribution(None, entry)
    return attribution(None)
