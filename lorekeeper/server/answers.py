"""Answers of the tools: what all of them have, and those on one entry and on the documents.

Text from entries is shown on one line, or indented: a line of an entry is never taken for one of ours.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from lorekeeper.attribution import Attribution, attribution
from lorekeeper.editions import edition_label, with_twins
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.filters import unknown_name
from lorekeeper.play.tables import tables_of
from lorekeeper.printable import lines, one_line, quantity
from lorekeeper.render import lean, markdown
from lorekeeper.render.note import MAX_PAGE_CHARS
from lorekeeper.render.prose import prose
from lorekeeper.search.addresses import addresses, as_paths
from lorekeeper.server.backlinks import related_of
from lorekeeper.server.models import Documents, Entry, JsonObject, Model
from lorekeeper.server.parts import BRIEF, FIRST, LONG, Part, outline, part
from lorekeeper.server.sheets import rules_of
from lorekeeper.server.twins import title_of, without_text
from lorekeeper.text.facts import facts
from lorekeeper.text.printed_on import PDF, page_asked, page_of, pages_of, text_on, with_page
from lorekeeper.text.secrecy import is_secret, secrecy
from lorekeeper.views.view import View

MAX_PART = 80_000
"""Most characters of an entry's page in one answer, but for those of `MAX_CHARS`."""

MAX_CHARS = {"notes": MAX_PAGE_CHARS, "characters": 3_300}
"""The same for types with pages of their own; a sheet with what stands around it has some 900 tokens."""

NO_BOOKS = (
    "The library is empty: the first lookup loads the SRDs 5.1 and 5.2; 'lorekeeper sync open5e' and 'lorekeeper import PATH' "
    "add more books."
)


@dataclass(frozen=True)
class Answer:
    """What a tool returns: a model of all that it says, and the text that is made from it."""

    model: Model
    text: str
    page: str = ""
    """Of a whole entry, the same as Markdown for people: not indented, its source and uri at the end."""

    @property
    def structured(self) -> JsonObject:
        """Every field that is given, as the REST interface and the page have it."""
        return self.model.content()


def source_of(content: JsonObject) -> str:
    """Title of a document, with the page of a printed one, and with its edition unless the title says it."""
    title = with_edition(str(content["document_name"]), one_line(content["edition"]))
    return with_page(title, content.get("page", ""))


def with_edition(title: str, edition: str) -> str:
    """A title, or a key, with the label of an edition unless it says it."""
    label = edition_label(edition)
    return title if label in title else f"{title} [{label}]"


def identity(entity: Entity) -> JsonObject:
    """What says which entry it is."""
    return {
        "uri": entity.uri,
        "name": one_line(entity.name),
        "type": entity.type,
        "kind": one_line(entity.kind),
        "document": entity.document,
    }


async def sourced(view: View, entity: Entity) -> JsonObject:
    """The same with its document."""
    edition, page = await view.searcher.documents.edition_of(entity.document), page_of(entity)
    source = {"document_name": one_line(await title_of(view, entity)), "edition": edition}
    return {**identity(entity), **source} | ({"page": page} if page else {})


HIDDEN = "game master only"
"""What is said of what players do not see."""


def secret_mark(content: JsonObject) -> str:
    """What the text says behind the address of what players do not see; "" for others."""
    return f"; {HIDDEN}" if "secret" in content else ""


def called(name: str, address: str) -> str:
    """A name with the address at which it is read: the address alone if it begins with the name."""
    return address if address.startswith(name) else f"{name} | {address}"


_TITLE = re.compile(r"\A# [^\n]*\n+")


def untitled(page: str) -> str:
    """A page without its title, which stands above it already."""
    return _TITLE.sub("", page)


# --- one entry -------------------------------------------------------------------------------------------------------


async def entity_answer(
    view: View, entity: Entity, *others: Entity, section: str | None = None, offset: int = 0, brief: bool = False
) -> Answer:
    """An entry, or a part of it, with its source and attribution; ``others`` have taken the place of the same earlier entry.

    With ``brief`` a part that is named has at most `BRIEF` characters, and of a long entry its outline and beginning are given.

    Raises:
        NotFoundError: the entry has no such section, or ends before the offset.
    """
    record = await view.cache.get_entity("documents", entity.document, entity.document)
    source = attribution(record, entity)
    named, related = await subclasses(view, entity), await related_of(view, entity)
    rules = await rules_of(view, entity)
    most = MAX_CHARS.get(entity.type, MAX_PART)
    page = whole = markdown(entity, subclasses=named, related=related, rules=rules, whole=True)
    if len(whole) > most:
        page = markdown(entity, subclasses=named, related=related, rules=rules)
    if brief and entity.type != "notes" and (section is not None or (not offset and len(whole) > LONG)):
        most = min(most, FIRST if section is None else BRIEF)
    on_page = page_asked(section or "")
    on_page = on_page if entity.source_api == PDF else ""
    if on_page:
        given = replace(part(await printed_page(view, entity, on_page), None, offset, most), path=f"p. {on_page}")
    else:
        given = part(whole, section, offset, most)
    is_part = section is not None or offset > 0
    is_cut = brief and given.end < given.total
    content: JsonObject = {
        **await sourced(view, entity),
        "licenses": [one_line(licence) for licence in source.licenses],
        "attribution": one_line(source.line) or None,
        "facts": one_line(facts(entity)),
        "entity": {"name": entity.name, "section": given.path, "text": given.text}
        if is_part or is_cut
        else lean(entity),
    }
    if is_secret(entity):
        content["secret"] = True
    if missing := await without_text(view, entity):
        content["note"] = missing
    origin = f"{source_of(content)} ({one_line(entity.document)})"
    origin = f"{origin}, {content['attribution']}" if content["attribution"] else origin
    contents = [f"Section: {one_line(given.path)}"] if given.path else []
    contents += [f"Within it: {given.within}"] if given.within and not offset else []
    if len(whole) > LONG and not is_part:
        contents = [f"Sections, for section: {outline(whole)}"]
    named_so = await addresses(view.cache, [entity, *others])
    if others:
        content["note"] = (
            f"Other books have an entry of their own: {', '.join(map(one_line, list(named_so.values())[1:]))}"
        )
    address = one_line(named_so[entity.uri])
    head = [*_head(entity, content, origin, address), *contents, *([] if is_part else _rollable(entity, page)), ""]
    more = [f"\n{_more(given, section)}"] if given.end < given.total else []
    text = given.text if is_part else untitled(given.text)
    return Answer(
        Entry.model_validate(content),
        "\n".join([*head, textwrap.indent(lines(text), "   "), *more]).rstrip(),
        lines(f"{page}\n\n*Source: {origin}*\n\n{entity.uri}"),
    )


async def printed_page(view: View, entity: Entity, page: str) -> str:
    """What an entry has on a page of its book; of the book itself all of that page, entry by entry.

    Raises:
        NotFoundError: there is nothing on that page.
    """
    entities = [entity]
    if entity.type == "documents":
        of_type = [await view.cache.get_entities(each, entity.document) for each in COLLECTIONS if each != "documents"]
        entities = sorted(chain.from_iterable(of_type), key=lambda each: int(each.data.get("page_order") or 0))
    found = [(each, text) for each in entities if (text := text_on(each, page))]
    if not found:
        pages = sorted({page for each in entities for page in pages_of(each)}, key=lambda each: (len(each), each))
        named = f"its pages are {pages[0]} to {pages[-1]}" if pages else "it has none"
        raise NotFoundError(f"nothing was read on p. {one_line(page, 20)}; {named}")
    return "\n\n".join(
        f"## {each.name}\n\n{prose(text) if each.type == 'rules' else untitled(markdown(each))}" for each, text in found
    )


def _more(given: Part, asked: str | None) -> str:
    section = f'section="{one_line(asked)}" and ' if asked else ""
    return (
        f"Cut at character {given.end:,} of {given.total:,}. To read on, call get_entity with {section}offset={given.end}, or with "
        "section for one section."
    )


def _head(entity: Entity, content: JsonObject, origin: str, address: str) -> Iterator[str]:
    """What the text of an entry begins with: what is to be known of it, its name and facts, its source."""
    if "note" in content:
        yield f"Note: {as_paths(content['note'])}"
    if entity.type != "notes" and secrecy(entity):
        yield f"Secret: {one_line(secrecy(entity))}"
    yield f"{called(content['name'], address)} ({content['facts']})"
    yield f"Source: {origin}"


def _rollable(entity: Entity, page: str) -> list[str]:
    """What there is to roll on in an entry, as a line; none if there is nothing."""
    names = [one_line(table.title) for table in tables_of(entity, page)]
    return [f"Tables to roll on: {', '.join(names)}"] if names else []


async def subclasses(view: View, entity: Entity) -> list[str]:
    """Names of the subclasses of a class in its own document, in order."""
    if entity.type != "character_options" or entity.kind != "class" or "archetypes" in entity.data:
        return []
    found = await view.cache.get_entities(entity.type, entity.document, kind="subclass", parent=entity.name)
    return sorted(each.name for each in found)


# --- documents -------------------------------------------------------------------------------------------------------


async def documents_answer(view: View, entity_type: str | None = None) -> Answer:
    """Every document; those with entries of a type if one is given."""
    documents = await document_list(view, entity_type)
    is_empty = not documents and entity_type is None and view.viewer.sees_all
    lines = [NO_BOOKS] if is_empty else [_document_line(each) for each in documents if each["counts"]]
    empty = [one_line(each["key"]) for each in documents if not each["counts"]]
    bare = [f"Without entries: {', '.join(empty)}."] if empty else []
    text = "\n".join([quantity(len(documents), "document"), *lines, *bare])
    return Answer(Documents.model_validate({"documents": documents}), text)


def _document_line(document: JsonObject) -> str:
    counts = ", ".join(f"{number} {name}" for name, number in document["counts"].items())
    licences = f" [{', '.join(document['licenses'])}]" if document["licenses"] else ""
    people = document["publisher"] or document["author"]
    by = f" by {people}" if people else ""
    twins = f" (searched together with {', '.join(document['searched_with'])})" if "searched_with" in document else ""
    return f"{one_line(document['key'])}: {document['name']}{by}{licences}: {counts}{twins}"


async def document_list(view: View, entity_type: str | None = None) -> list[JsonObject]:
    """Every document with its title, attribution, game system and counts; of one type if one is given.

    Raises:
        FilterError: there is no such type.
    """
    if entity_type is not None and entity_type not in COLLECTIONS:
        raise FilterError(unknown_name(entity_type, list(COLLECTIONS), "type"))
    counts = await view.cache.documents()
    records = {record.document: record for record in await view.cache.get_entities("documents")}
    documents = []
    for key in sorted(counts.keys() | records.keys()):
        by_type = counts.get(key, {})
        shown = {t: n for t, n in by_type.items() if t != "documents" and entity_type in (None, t)}
        if shown or entity_type is None:
            source = await _attribution(view, key, by_type, records.get(key))
            twins = [twin for twin in with_twins([key]) if twin != key and twin in counts]
            content = {
                "key": key,
                "name": one_line(source.title or key),
                "publisher": source.publisher and one_line(source.publisher),
                "author": source.author and one_line(source.author),
                "game_system": source.game_system and one_line(source.game_system),
                "licenses": [one_line(licence) for licence in source.licenses],
                "url": source.url and one_line(source.url),
                "statement": one_line(str(records[key].data.get("attribution") or "")) if key in records else "",
                "counts": shown,
            }
            documents.append(content | ({"searched_with": twins} if twins else {}))
    return documents


async def _attribution(view: View, key: str, types: Collection[str], record: Entity | None) -> Attribution:
    """The attribution of a document, from one of its entries if it has no record of its own."""
    if record is not None:
        return attribution(record)
    for entity_type in types:
        for entry in await view.cache.get_entities(entity_type, key, limit=1):
            return attribution(None, entry)
    return attribution(None)
