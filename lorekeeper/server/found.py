"""Pages of results: as a model, and as the text that a language model reads.

The text begins with the best entry, and its passage that answers; two or three more follow in a clause each, and the names
of the others. Text from entries stands on one line behind what we call the entry, or is indented: a line of an entry is never
taken for one of ours.
"""

from __future__ import annotations

import textwrap
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from lorekeeper.editions import parts_of
from lorekeeper.entities import Entity, parse_uri
from lorekeeper.folding import fold
from lorekeeper.printable import lines, one_line, shortened
from lorekeeper.render import UNRELATED, Related, lean, markdown
from lorekeeper.search.addresses import addresses, as_paths
from lorekeeper.search.dossier.lines import date_of
from lorekeeper.search.expansion import both_ways
from lorekeeper.search.results import RULES, Result, ResultPage, label_of
from lorekeeper.search.versions import ALONE, says_the_same
from lorekeeper.server.answers import HIDDEN, Answer, called, identity, source_of
from lorekeeper.server.backlinks import related_of
from lorekeeper.server.models import JsonObject, Page
from lorekeeper.server.passage import SESSION, beginning, body, passage
from lorekeeper.text.evidence import CLAUSE, FULL, LIST_CHARS, evidence
from lorekeeper.text.excerpts import snippet
from lorekeeper.text.facts import SEPARATOR, facts
from lorekeeper.text.names import base_name, canonical_name
from lorekeeper.text.notes import capped_path, session_of
from lorekeeper.text.secrecy import is_secret
from lorekeeper.text.stems import stems
from lorekeeper.views.view import View

MAX_FACTS, MAX_FACTS_OF_CHARACTERS = 90, 120
"""Longest facts of a result, in characters; a character's have its player behind all its classes."""

MAX_SECTION = 160
"""Longest heading path of a result, in characters; a longer one loses its outer headings."""

MAX_VARIANTS = 60
"""Most characters of the names of variants."""

MORE, NEAREST = 3, 2
"""How many results are told in a clause behind the first that is sure, and behind the first of those that are not."""

NAMED, LESS_SURE = 16, 4
"""How many others are named: of those that are sure, and of those that are less so."""

BELOW = 12
"""Most rules below a rule that are named."""

MAX_NAME = 60
"""Longest name in a line of names, in characters."""

MAX_WHOLE = 6_000
"""Most characters of the whole entries in the text of a page, but for the first, which is always whole."""

MAX_NAMED = 4_800
"""Longest page, in characters, of an entry that is given whole since it is the only one, or the one of that very name."""

ROOM = "Whole entries have room for {} of these {}; get_entity reads another one, or offset continues."

OWN_PAGES = frozenset({"notes", "characters"})
"""Types whose pages are read with get_entity."""

NOTHING = "Nothing found."

NEGATIONS = ("Nothing ", "No ", "None ", "The library has no ")
"""How notes begin that say themselves that nothing was found."""

ALL_HIDDEN = "Only the game master sees these."


@dataclass(frozen=True)
class Shown:
    """A page with what its text needs besides.

    Attributes:
        page: the results.
        texts: the whole entries of the first results, in the place of their passages.
        wordings: of the query.
        named: the addresses of entries by uri; the path of others.
        below: lines on the rules of which the first result, a rule itself, is the chapter.
    """

    page: ResultPage
    texts: Sequence[str] = ()
    wordings: Sequence[str] = ()
    named: Mapping[str, str] = field(default_factory=dict)
    below: Sequence[str] = ()


async def page_answer(view: View, page: ResultPage, wordings: Sequence[str], name: str | None, *, full: bool) -> Answer:
    """A page of results as an answer.

    Args:
        view: what its viewer sees.
        page: the results.
        wordings: of the query.
        name: that was looked up.
        full: whether whole entries are wanted, as many of the first as there is room for; notes then have what links to them.
    """
    texts: list[str] = []
    if full:
        related = {result.entity.uri: await related_of(view, result.entity) for result in page.results}
        page, texts = whole_texts(page, related)
    elif text := _named_text(page, wordings, name):
        texts = [text]
    entities = [result.entity for result in page.results]
    others = await _loaded(view, (uri for result in page.results for uri in result.versions.values()))
    below = await _below(view, entities[0], wordings[0]) if wordings and entities and not full else []
    shown = Shown(page, texts, wordings, await addresses(view.cache, [*entities, *others]), below)
    return Answer(page_model(page, full=full), page_text(shown))


def together(results: Iterable[Result]) -> list[list[Result]]:
    """The results that are versions of one entry as one group, where the first of them stands."""
    groups: dict[Hashable, list[Result]] = {}
    for result in results:
        entity = result.entity
        chapter = entity.fields.get("parent") if entity.type == RULES else None
        version: Hashable = (entity.type, entity.kind, chapter, canonical_name(entity.name))
        groups.setdefault(entity.uri if entity.type in ALONE else version, []).append(result)
    return list(groups.values())


async def _below(view: View, entity: Entity, query: str) -> list[str]:
    """Lines on the rules of a book below one of it, if they are at most `BELOW`: what the one asked for says, and all names."""
    if entity.type != RULES:
        return []
    found = await view.cache.get_entities(RULES, entity.document, limit=BELOW + 1, parent=entity.name)
    if not 0 < len(found) <= BELOW:
        return []
    asked = stems(fold(query)) - stems(fold(entity.name))
    named = [each for each in found if frozenset() < stems(base_name(each.name)) <= asked]
    told = [f"Below it, {each.name}: {evidence(each, query, limit=2 * CLAUSE).text}" for each in named]
    return [*told, f"Below it: {'; '.join(one_line(each.name, MAX_NAME) for each in found)}."]


async def _loaded(view: View, uris: Iterable[str]) -> list[Entity]:
    """The entries at some uris, as far as they exist."""
    wanted: dict[str, list[tuple[str, str]]] = {}
    for uri in dict.fromkeys(uris):
        entity_type, document, slug = parse_uri(uri)
        wanted.setdefault(entity_type, []).append((document, slug))
    return [each for entity_type, own in wanted.items() for each in await view.cache.load(entity_type, own)]


def whole_texts(page: ResultPage, related: Mapping[str, Related]) -> tuple[ResultPage, list[str]]:
    """The whole entries of the first results, and the page with a note if not all have room."""
    texts: list[str] = []
    for result in page.results:
        text = body(result.entity, markdown(result.entity, related=related.get(result.entity.uri, UNRELATED)))
        if texts and sum(map(len, texts)) + len(text) > MAX_WHOLE:
            note = " ".join(filter(None, [page.note, ROOM.format(len(texts), len(page.results))]))
            return replace(page, note=note), texts
        texts.append(text)
    return page, texts


def _named_text(page: ResultPage, wordings: Sequence[str], name: str | None) -> str:
    """The text of the first entry if it is called as was asked, or is all that a lookup found, and short; "" otherwise.

    A misspelt or foreign name calls what it was read as. A long entry that is asked about has its passage instead.
    """
    first = page.results[0] if page.results else None
    if first is None or first.entity.type in OWN_PAGES:
        return ""
    called = {canonical_name(fold(each)) for each in (name, page.read_as, *wordings) if each}
    is_alone = page.mode == "structured" and page.total == 1
    if not is_alone and canonical_name(fold(first.entity.name)) not in called:
        return ""
    text = body(first.entity)
    if len(text) <= MAX_NAMED:
        return text
    return "" if name and wordings else beginning(first.entity)


# --- the model -------------------------------------------------------------------------------------------------------


def page_model(page: ResultPage, *, full: bool = False) -> Page:
    """A page as a model; with ``full``, the whole entry stands in the place of the snippet."""
    sure = max((number for number, result in enumerate(page.results, 1) if result.sure), default=0)
    results = [_content(result, sure=number <= sure) for number, result in enumerate(page.results, 1)]
    if full:
        results = [c | {"snippet": "", "entity": lean(r.entity)} for c, r in zip(results, page.results, strict=True)]
    return Page.model_validate(
        {
            "results": results,
            "total": page.total,
            "mode": page.mode,
            "next_offset": page.next_offset,
            "note": page.note and one_line(page.note),
        }
    )


def page_content(page: ResultPage) -> JsonObject:
    """The same as JSON: ``{"results", "total", "mode", "next_offset", "note"}``."""
    return page_model(page).content()


def _content(result: Result, *, sure: bool) -> JsonObject:
    entity = result.entity
    content: JsonObject = {
        **identity(entity),
        "document_name": one_line(result.document_name),
        "edition": result.edition,
        "score": result.score,
        "match": result.match,
        "section": capped_path(one_line(result.section), MAX_SECTION),
        "facts": _facts(result, result.facts),
        "snippet": one_line(result.snippet),
    }
    if result.variants:
        content |= {"variants": _variants(entity.name, result.variants), "entries": 1 + len(result.variants)}
    if result.differs:
        content["differs"] = one_line(result.differs)
    if result.wording_number:
        content["wording"] = result.wording_number
    if result.page:
        content["page"] = one_line(result.page)
    if _is_secret(result):
        content["secret"] = True
    return content if sure else content | {"sure": False}


def _is_secret(result: Result) -> bool:
    return is_secret(result.entity, result.path, result.snippet.removeprefix(f"{result.section}: "))


def _facts(result: Result, own: str) -> str:
    """The facts of a result, with those of its variants that differ: what is left out is said with an ellipsis."""
    if not result.others:
        return shortened(one_line(own), MAX_FACTS_OF_CHARACTERS if result.entity.type == "characters" else MAX_FACTS)
    return f"{shortened(one_line(own), MAX_FACTS)}; {shortened(one_line(result.others), MAX_FACTS)}"


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


# --- the text --------------------------------------------------------------------------------------------------------


def page_text(shown: Shown) -> str:
    """A page as text: what is to be known of it, the results, and how to read on."""
    page = shown.page
    if not page.results:
        return nothing_found(page.note)
    parts = [f"Note: {as_paths(one_line(page.note))}"] if page.note else []
    every_one_secret = len(page.results) > 1 and all(map(_is_secret, page.results))
    parts += [ALL_HIDDEN] if every_one_secret else []
    writer = _Writer(shown, marks=not every_one_secret)
    parts += writer.listed() if page.mode == "structured" else writer.ranked()
    return "\n".join(parts)


def nothing_found(note: str | None) -> str:
    """What a page without results says: its note, if that says it already, else with "Nothing found." before it."""
    said = as_paths(one_line(note or ""))
    return said if said.startswith(NEGATIONS) else f"{NOTHING} {said}".strip()


class _Writer:
    """Writes the lines of one page."""

    def __init__(self, shown: Shown, *, marks: bool) -> None:
        self._shown, self._page, self._marks = shown, shown.page, marks

    def ranked(self) -> Iterator[str]:
        """The best result with the passage that answers, the next ones in a clause each, the others by name."""
        results, texts = self._page.results, self._shown.texts
        sure = max((number for number, result in enumerate(results, 1) if result.sure), default=0)
        told = list(range(len(texts))) if len(texts) > 1 else self._told(sure)
        for number in told:
            if number < len(texts):
                yield from self._whole(results[number], texts[number])
            elif number == told[0]:
                yield from self._whole(results[number], self._passage(results[number]))
                yield from (f"   {one_line(line)}" for line in self._shown.below)
            else:
                yield _with_clause(self._head(results[number]), results[number], CLAUSE)
        others = [number for number in range(len(results)) if number not in told]
        named, less = [n for n in others if n < sure][:NAMED], [n for n in others if n >= sure][:LESS_SURE]
        yield from self._names("Also", [results[n] for n in named])
        yield from self._names("Less sure" if sure else "Also", [results[n] for n in less])
        shown = told if len(texts) > 1 else [*told, *named, *less]
        untold = [each.hit.key for n, each in enumerate(results) if n not in shown and each.hit]
        places = (self._page.found.index(key) for key in untold if key in self._page.found)
        if (offset := next(places, self._page.next_offset)) is not None:
            yield f"offset={offset} continues."

    def _told(self, sure: int) -> list[int]:
        """The places of the results that are told: the first, and of each further wording the first that it found."""
        results = self._page.results
        if not sure:
            return list(range(min(1 + NEAREST, len(results))))
        told = list(range(min(1 + MORE, sure)))
        firsts: dict[int, int] = {}
        for number, result in enumerate(results[:sure]):
            firsts.setdefault(result.wording_number, number)
        return sorted({*told, *(number for wording, number in firsts.items() if wording)})

    def listed(self) -> Iterator[str]:
        """The entries under the filters, a line each; the one that was asked for by name is whole, and the others are named."""
        results, texts = self._page.results, self._shown.texts
        first, *others = together(results)
        if len(texts) > 1:
            others = together(results[len(texts) :])
            for result, text in zip(results, texts, strict=False):
                yield from self._whole(result, text)
        elif texts or len(results) == 1:
            yield from self._whole(first[0], texts[0] if texts else self._passage(first[0]), first[1:])
            yield from self._names("Also", chain.from_iterable(others))
            others = []
        else:
            others.insert(0, first)
        yield from (self._line(*group) for group in others)
        if self._page.next_offset is not None:
            more = max(self._page.total - self._page.next_offset, 1)
            outside = f", {min(more, self._page.others):,} outside that edition" if self._page.others else ""
            yield f"{more:,} more{outside}: offset={self._page.next_offset}"

    def _line(self, result: Result, *versions: Result) -> str:
        """A result of a list: its facts say what it is; of types that have few, its beginning too."""
        head, most = self._head(result, versions), LIST_CHARS
        if len(self._page.results) <= MORE + 1:
            most = CLAUSE
        elif result.entity.type in ("spells", "creatures", "equipment"):
            return f"{head}{f': {one_line(result.values)}' if result.values else ''}"
        return _with_clause(head, result, most)

    def _whole(self, result: Result, text: str, versions: Sequence[Result] = ()) -> Iterator[str]:
        yield self._head(result, versions, source=True, stated=text == body(result.entity))
        yield textwrap.indent(lines(text), "   ")

    def _passage(self, result: Result) -> str:
        query = result.wording or both_ways(next(iter(self._shown.wordings), ""))
        is_told = query or result.entity.kind == SESSION
        return (passage(result.entity, result.path, query) if is_told else "") or result.snippet

    def _head(
        self, result: Result, versions: Sequence[Result] = (), *, source: bool = False, stated: bool = False
    ) -> str:
        """ "- Falling, srd-2014 (hazard · environment; 5e 2014 Rules; 2024 differs: Falling, srd-2024)".

        With ``source`` it has the title of the document; facts that are ``stated`` below it are left out. Other ``versions`` of the
        list stand in its row, with the facts in which they differ.
        """
        also = f"also as {_variants(result.entity.name, result.variants)}" if result.variants else ""
        page = f"p. {one_line(result.page)}" if result.page else ""
        title = source_of(_source(result)) if source else page
        differs = [
            f"differs from {self._at(uri)}" if label == parse_uri(uri)[1] else f"{label} differs: {self._at(uri)}"
            for label, uri in result.versions.items()
        ]
        differs += [self._version(result.entity, each.entity) for each in versions]
        hidden = is_secret(result.entity, result.path or None) if source else _is_secret(result)
        secret = HIDDEN if self._marks and hidden else ""
        others = shortened(one_line(result.others), MAX_FACTS) if stated else ""
        about = one_line(result.entity.kind) if stated else self._about(result)
        told = "; ".join(filter(None, [also, about, others, title, *differs, secret]))
        return f"- {called(one_line(result.entity.name), self._at(result.entity.uri))} ({told})"

    def _version(self, entity: Entity, other: Entity) -> str:
        """Another version of an entry: "also Frog, srd-2014", "Crab, srd-2014: HP 2", "differs from Hide, srd-2014" in its text."""
        own, theirs, address = facts(entity), facts(other), self._at(other.uri)
        differing = [fact for fact in theirs.split(SEPARATOR) if fact not in own.split(SEPARATOR)]
        if theirs == own:
            return f"also {address}" if says_the_same(entity, other) else f"differs from {address}"
        return f"{address}: {shortened(one_line(SEPARATOR.join(differing) or theirs), MAX_FACTS)}"

    def _about(self, result: Result) -> str:
        """What an entry is: its facts; of a note its kind and session, since folders and tags say little."""
        if result.entity.type != "notes":
            return _facts(result, facts(result.entity))
        number, date = session_of(result.entity), date_of(result.entity)
        kind = one_line(result.entity.kind)
        return ", ".join(filter(None, [kind if number is None else f"{kind} {number}", date]))

    def _at(self, uri: str) -> str:
        """The address of what is at a uri."""
        return one_line(self._shown.named.get(uri) or as_paths(uri))

    def _names(self, label: str, results: Iterable[Result]) -> Iterator[str]:
        """A line of names, those of the same documents together: "Also: Fog, Mist (srd-2014, srd-2024); Haze (homebrew)."."""
        documents: dict[str, dict[str, None]] = {}
        for result in results:
            name = one_line(result.entity.name, MAX_NAME)
            documents.setdefault(name, {})[one_line(parts_of(result.entity.document)[0])] = None
        names: dict[str, list[str]] = {}
        for name, own in documents.items():
            names.setdefault(", ".join(own), []).append(name)
        named = [f"{', '.join(each)} ({keys})" for keys, each in names.items()]
        if named:
            yield f"{label}: {'; '.join(named)}."


def _with_clause(head: str, result: Result, most: int) -> str:
    told = snippet(one_line(result.snippet), most, FULL / 2)
    return f"{head}: {told}" if told else head


def _source(result: Result) -> JsonObject:
    return {"document_name": one_line(result.document_name), "edition": result.edition, "page": one_line(result.page)}
