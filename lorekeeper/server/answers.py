"""Answers of the tools: results, entries and documents, as structured content and as text.

Text from entries is shown on one line, or indented: a line of an entry is never taken for one of ours.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lorekeeper.attribution import Attribution, attribution
from lorekeeper.editions import edition_label, with_twins
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import FilterError
from lorekeeper.filters import unknown_name
from lorekeeper.folding import fold
from lorekeeper.printable import lines, one_line, quantity
from lorekeeper.render import UNRELATED, Related, lean, markdown
from lorekeeper.render.note import MAX_PAGE_CHARS
from lorekeeper.rolling.tables import tables_of
from lorekeeper.search.results import Result, ResultPage, label_of
from lorekeeper.server.backlinks import related_of
from lorekeeper.server.parts import BRIEF, FIRST, LONG, Part, outline, part
from lorekeeper.server.sheets import rules_of
from lorekeeper.server.twins import without_text
from lorekeeper.text.evidence import FULL, LIST_CHARS
from lorekeeper.text.excerpts import snippet
from lorekeeper.text.facts import facts
from lorekeeper.text.names import canonical_name
from lorekeeper.text.notes import capped_path
from lorekeeper.text.secrecy import is_secret, secrecy
from lorekeeper.views.view import View

JsonObject = dict[str, Any]

MAX_FACTS, MAX_FACTS_OF_CHARACTERS = 90, 120
"""Longest facts of a concise result, in characters; a character's have its player behind all its classes."""

MAX_SECTION = 160
"""Longest heading path of a concise result, in characters; a longer one loses its outer headings."""

MAX_VARIANTS = 60
"""Most characters of the names of variants."""

MAX_PAGE = 5700
"""Most characters of the results of a page as JSON, as far as shorter snippets can bring that about."""

LIMIT, HEAD = 10, 3
"""Results of a page that is no long list, and how many of a long one keep their snippets."""

MIN_SNIPPET = 50
"""Characters that a snippet keeps."""

MAX_WHOLE = 6_000
"""Most characters of the whole entries in the text of a page, but for the first, which is always whole."""

MAX_NAMED = 3_200
"""Longest page, in characters, of an entry that a lookup gives whole since it found only that one, or one of that very name."""

ROOM = "Whole entries have room for {} of these {}; get_entity reads another one, or offset continues."

MAX_PART = 80_000
"""Most characters of an entry's page in one answer, but for those of `MAX_CHARS`."""

MAX_CHARS = {"notes": MAX_PAGE_CHARS, "characters": 3_300}
"""The same for types with pages of their own; a sheet with what stands around it has some 900 tokens."""

LESS_SURE = "Less sure:"

NOTHING = "Nothing found."

NO_BOOKS = (
    "The library is empty: the first lookup loads the starter compendium; 'lorekeeper sync open5e' and 'lorekeeper import PATH' "
    "add more books."
)

NEGATIONS = ("Nothing ", "No ", "None ", "The library has no ")
"""How notes begin that say themselves that nothing was found."""


@dataclass(frozen=True)
class Answer:
    """What a tool returns: the same essentials twice, since clients show a model one or the other."""

    structured: JsonObject
    text: str
    page: str = ""
    """Of a whole entry, the same as Markdown for people: not indented, its source and uri at the end."""


# --- results ---------------------------------------------------------------------------------------------------------


def page_answer(
    page: ResultPage, *, full: bool, related: Mapping[str, Related] | None = None, name: str | None = None
) -> Answer:
    """A page of results, with the whole entries if ``full``; ``related`` says by uri what notes are linked with.

    The text has those of the first results, as many as there is room for; the structured content has all. Of a lookup, the entry
    that is alone or has the ``name`` asked for is given whole without ``full`` if it is short: nobody has to ask for it again.
    """
    contents = _contents(page)
    if not full and (text := _named_text(page, name)):
        for content in contents[1:]:
            content["snippet"] = snippet(content["snippet"], LIST_CHARS, FULL)
        contents[0]["snippet"] = one_line(text)
        return Answer(_page_content(page, contents, full=False), _page_text(page, contents, [text]))
    texts: list[str] = []
    for result in page.results if full else ():
        text = markdown(result.entity, related=(related or {}).get(result.entity.uri, UNRELATED))
        if texts and sum(map(len, texts)) + len(text) > MAX_WHOLE:
            page = replace(page, note=" ".join(filter(None, [page.note, ROOM.format(len(texts), len(page.results))])))
            break
        texts.append(text)
    return Answer(_page_content(page, contents, full=full), _page_text(page, contents, texts))


def _named_text(page: ResultPage, name: str | None) -> str:
    """The text of the first entry that a lookup found, if it is the only one or is called so, and short; "" otherwise.

    A misspelt or foreign name calls what it was read as.
    """
    if page.mode != "structured" or not page.results or page.results[0].entity.type in MAX_CHARS:
        return ""
    first = page.results[0].entity
    called = {canonical_name(fold(each)) for each in (name, page.read_as) if each}
    if page.total > 1 and canonical_name(fold(first.name)) not in called:
        return ""
    text = markdown(first)
    return text if len(text) <= MAX_NAMED else ""


async def full_answer(view: View, page: ResultPage) -> Answer:
    """A page of results with the whole entries, notes with what links to them."""
    related = {result.entity.uri: await related_of(view, result.entity) for result in page.results}
    return page_answer(page, full=True, related=related)


def page_content(page: ResultPage) -> JsonObject:
    """A page as structured content: ``{"results", "total", "mode", "next_offset", "note"}``."""
    return _page_content(page, _contents(page), full=False)


def page_text(page: ResultPage) -> str:
    """A page as text: a numbered list of names with facts, source and uri, each with its snippet.

    Results that are not `Result.sure` stand under a line that says so.
    """
    return _page_text(page, _contents(page), [])


def _page_content(page: ResultPage, contents: Sequence[JsonObject], *, full: bool) -> JsonObject:
    """With ``full``, the whole entry stands in the place of the snippet."""
    results = list(contents)
    if full:
        results = [c | {"snippet": "", "entity": lean(r.entity)} for c, r in zip(results, page.results, strict=True)]
    return {
        "results": results,
        "total": page.total,
        "mode": page.mode,
        "next_offset": page.next_offset,
        "note": page.note and one_line(page.note),
    }


def _page_text(page: ResultPage, contents: Sequence[JsonObject], texts: Sequence[str]) -> str:
    """``texts`` are the whole entries of the first results, which stand in the place of their snippets.

    A long list gives the title of a document once: further on its key in the uri says it.
    """
    if not page.results:
        return nothing_found(page.note)
    parts = [_heading(page)]
    if page.note:
        parts.append(f"Note: {one_line(page.note)}")
    titled = set[object]()
    sure = max((number for number, result in enumerate(page.results, 1) if result.sure), default=0)
    for number, shown in enumerate(contents, 1):
        if number == sure + 1:
            parts.append(LESS_SURE)
        variants = f", also as {shown['variants']}" if "variants" in shown else ""
        wording = f" | wording {shown['wording']}" if "wording" in shown else ""
        source = "" if len(contents) > LIMIT and shown["document"] in titled else f" from {source_of(shown)}"
        titled.add(shown["document"])
        differs = f" | {shown['differs']}" if "differs" in shown else ""
        address = f"{shown['uri']}{differs}{wording}{secret_mark(shown)}"
        parts.append(f"{number}. {shown['name']}{variants} ({shown['facts']}){source} | {address}")
        parts.append(_quoted(texts[number - 1] if number <= len(texts) else shown["snippet"]))
    if page.next_offset is not None:
        parts.append(f"More: offset={page.next_offset}")
    return "\n".join(parts)


def nothing_found(note: str | None) -> str:
    """What a page without results says: its note, if that says it already, else with "Nothing found." before it."""
    said = one_line(note or "")
    return said if said.startswith(NEGATIONS) else f"{NOTHING} {said}".strip()


def _heading(page: ResultPage) -> str:
    """How much there is: of a ranked search, the number of relevant entries; of a lookup, that of all that match."""
    number = len(page.results) + sum(len(result.variants) for result in page.results)
    if page.mode != "structured" or number == len(page.results):
        best = "best " if page.mode != "structured" and page.total > len(page.results) else ""
        return f"{len(page.results)} {best}of {page.total} found ({page.mode})"
    things = f"{quantity(len(page.results), 'thing')} ({quantity(number, 'entry')} with their variants)"
    return f"{things} of {page.total} found ({page.mode})"


def _contents(page: ResultPage) -> list[JsonObject]:
    """The results as they are shown, their snippets so short that a page is at most `MAX_PAGE` characters long."""
    contents = [_content(result) for result in page.results]
    lengths = [len(content["snippet"]) for content in contents]
    room = MAX_PAGE - len(json.dumps(contents, ensure_ascii=False)) + sum(lengths)
    longest = next(
        (n for n in range(max(lengths, default=0), MIN_SNIPPET, -10) if _capped(lengths, n) <= room), MIN_SNIPPET
    )
    first = HEAD if len(contents) > LIMIT else 0  # of a long list the first are read, and the others chosen from
    for place, content in enumerate(contents):
        content["snippet"] = snippet(content["snippet"], longest if place >= first else max(lengths), FULL)
    return contents


def _capped(lengths: Sequence[int], longest: int) -> int:
    """The sum of some lengths if each is at most ``longest``."""
    return sum(min(length, longest) for length in lengths)


def _content(result: Result) -> JsonObject:
    entity = result.entity
    content: JsonObject = {
        "uri": entity.uri,
        "name": one_line(entity.name),
        "type": entity.type,
        "kind": one_line(entity.kind),
        "document": entity.document,
        "document_name": one_line(result.document_name),
        "edition": result.edition,
        "score": result.score,
        "match": result.match,
        "section": capped_path(one_line(result.section), MAX_SECTION),
        "facts": _facts(result),
        "snippet": one_line(result.snippet),
    }
    if result.variants:
        content |= {"variants": _variants(entity.name, result.variants), "entries": 1 + len(result.variants)}
    if result.differs:
        content["differs"] = one_line(result.differs)
    if result.wording_number:
        content["wording"] = result.wording_number
    if is_secret(entity, result.path, result.snippet.removeprefix(f"{result.section}: ")):
        content["secret"] = True
    return content


def _facts(result: Result) -> str:
    """The facts of a result, with those of its variants that differ: what is left out is said with an ellipsis."""
    if not result.others:
        longest = MAX_FACTS_OF_CHARACTERS if result.entity.type == "characters" else MAX_FACTS
        return _short(one_line(result.facts), longest)
    return f"{_short(one_line(result.facts))}; {_short(one_line(result.others))}"


def _variants(name: str, variants: Sequence[str]) -> str:
    """The first variants, as far as their names differ, and how many there are besides: "Axe, Club and 17 more"."""
    shown: list[str] = []
    for variant in variants:
        label = label_of(name, variant)
        if sum(map(len, shown)) + len(label) > MAX_VARIANTS:
            break
        shown.append(label)
    more = len(variants) - len(shown)
    counted = f"{more} more" if shown else f"{more} variant{'s' if more > 1 else ''}"
    return " and ".join(filter(None, [", ".join(shown), counted if more else ""]))


def source_of(content: JsonObject) -> str:
    """Title of a document, with its edition unless the title says it."""
    return with_edition(str(content["document_name"]), one_line(content["edition"]))


def with_edition(title: str, edition: str) -> str:
    """A title, or a key, with the label of an edition unless it says it."""
    label = edition_label(edition)
    return title if label in title else f"{title} [{label}]"


def secret_mark(content: JsonObject) -> str:
    """What the text says behind the uri of what players do not see; "" for others."""
    return " | secret" if "secret" in content else ""


def _short(line: str, longest: int = MAX_FACTS) -> str:
    return line if len(line) <= longest else line[: longest - 1].rstrip(" ,·") + "…"


def _quoted(text: str) -> str:
    return textwrap.indent(lines(text), "   ")


# --- one entry -------------------------------------------------------------------------------------------------------


async def entity_answer(
    view: View, entity: Entity, *others: Entity, section: str | None = None, offset: int = 0, brief: bool = False
) -> Answer:
    """An entry, or a part of it, with its source and attribution; ``others`` have taken the place of the same earlier entry.

    With ``brief`` a part that is named has at most `BRIEF` characters, and of a long entry its outline and beginning are given.

    Raises:
        NotFoundError: the entry has no such section, or ends before the offset.
    """
    titles = await view.searcher.documents.titles()
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
    given = part(whole, section, offset, most)
    is_part = section is not None or offset > 0
    is_cut = brief and given.end < given.total
    content: JsonObject = {
        "uri": entity.uri,
        "name": one_line(entity.name),
        "type": entity.type,
        "kind": one_line(entity.kind),
        "document": entity.document,
        "document_name": one_line(titles.get(entity.document) or entity.document_name or entity.document),
        "edition": await view.searcher.documents.edition_of(entity.document),
        "licenses": [one_line(licence) for licence in source.licenses],
        "attribution": one_line(source.line) or None,
        "facts": one_line(facts(entity)),
        "entity": {"name": entity.name, "section": given.path, "text": given.text}
        if is_part or is_cut
        else lean(entity),
    }
    if is_secret(entity):
        content["secret"] = True
    if others:
        content["note"] = f"Other books have an entry of their own: {', '.join(other.uri for other in others)}"
    elif missing := await without_text(view, entity):
        content["note"] = missing
    origin = _origin(entity, content)
    contents = [f"Section: {one_line(given.path)}"] if given.path else []
    contents += [f"Within it: {given.within}"] if given.within and not offset else []
    if len(whole) > LONG and not is_part:
        contents = [f"Sections, for section: {outline(whole)}"]
    head = [*_head(entity, content, origin), *contents, *([] if is_part else _rollable(entity, page)), entity.uri, ""]
    more = [f"\n{_more(given, section)}"] if given.end < given.total else []
    return Answer(
        content,
        "\n".join([*head, _quoted(given.text), *more]).rstrip(),
        lines(f"{page}\n\n*Source: {origin}*\n\n{entity.uri}"),
    )


def _more(given: Part, asked: str | None) -> str:
    section = f'section="{one_line(asked)}" and ' if asked else ""
    return (
        f"Cut at character {given.end:,} of {given.total:,}. To read on, call get_entity with {section}offset={given.end}, or with "
        "section for one section."
    )


def _head(entity: Entity, content: JsonObject, origin: str) -> Iterator[str]:
    """What the text of an entry begins with: what is to be known of it, its name and facts, its source."""
    if "note" in content:
        yield f"Note: {content['note']}"
    if entity.type != "notes" and secrecy(entity):
        yield f"Secret: {one_line(secrecy(entity))}"
    yield f"{content['name']} ({content['facts']})"
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


def _origin(entity: Entity, content: JsonObject) -> str:
    """Title, edition and key of an entry's document, with its attribution."""
    origin = f"{source_of(content)} ({one_line(entity.document)})"
    return f"{origin}, {content['attribution']}" if content["attribution"] else origin


# --- documents -------------------------------------------------------------------------------------------------------


async def documents_answer(view: View, entity_type: str | None = None) -> Answer:
    """Every document; those with entries of a type if one is given."""
    documents = await document_list(view, entity_type)
    is_empty = not documents and entity_type is None and view.viewer.sees_all
    lines = [NO_BOOKS] if is_empty else map(_document_line, documents)
    text = "\n".join([quantity(len(documents), "document"), *lines])
    return Answer({"documents": documents}, text)


def _document_line(document: JsonObject) -> str:
    counts = ", ".join(f"{number} {name}" for name, number in document["counts"].items()) or "no entries"
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
            documents.append(_document(key, source, shown) | ({"searched_with": twins} if twins else {}))
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


async def _attribution(view: View, key: str, types: Collection[str], record: Entity | None) -> Attribution:
    """The attribution of a document, from one of its entries if it has no record of its own."""
    if record is not None:
        return attribution(record)
    for entity_type in types:
        for entry in await view.cache.get_entities(entity_type, key, limit=1):
            return attribution(None, entry)
    return attribution(None)
