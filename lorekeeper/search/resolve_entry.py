"""One entry by its uri, or by its name as a person types it, and all versions of one entry: those of several books and editions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from lorekeeper.editions import COMPLETED_BY
from lorekeeper.entities import Entity, parse_uri
from lorekeeper.errors import FilterError, NotFoundError
from lorekeeper.folding import fold
from lorekeeper.printable import MAX_SHOWN, one_line, shown
from lorekeeper.search.doubt import CLOSED, closed_name, instead_of
from lorekeeper.search.query import Query
from lorekeeper.search.results import Result, ResultPage
from lorekeeper.text.matching import occurring, word_stems
from lorekeeper.text.names import canonical_name
from lorekeeper.text.notes import aliases

Search = Callable[[Query], Awaitable[ResultPage]]

EntitiesAt = Callable[[str, str, str], Awaitable[list[Entity]]]
"""Gives the entries at a type, document and slug: one, or those that have taken its place, the preferred one first."""

CANDIDATES = 25
"""Entries of a name that are looked at."""

SUGGESTED = 5
"""Names that are suggested where none is the one that was asked for."""


@dataclass(frozen=True)
class Found:
    """An entry, and what else has its name.

    Attributes:
        entity: the entry.
        others: uris of further entries of the name, such as those of other books.
        note: how the name was understood, None if it is the entry's.
    """

    entity: Entity
    others: list[str]
    note: str | None = None


async def find_entry(
    search: Search, entities_at: EntitiesAt, wanted: str, types: Sequence[str], documents: Sequence[str] | None = None
) -> Found:
    """The entry of a uri or a name: of several with the name, the first that a search lists.

    Args:
        search: a library's search.
        entities_at: gives its entries by uri.
        wanted: a ``lore://`` uri or a name; a part of a name does if only one entry has it.
        types: the entity types to look in.
        documents: keys of the only documents to look in; None for all.

    Raises:
        NotFoundError: there is no such entry; the message has names that may be meant.
        FilterError: the uri or a document is invalid.
    """
    if wanted.strip().startswith("lore://"):
        first, *others = await entries_of(entities_at, wanted.strip())
        return Found(first, [entity.uri for entity in others])
    page = await called(search, wanted, types, documents)
    first, *others = [result.entity for result in page.results]
    return Found(first, [entity.uri for entity in others], page.note)


async def called(search: Search, name: str, types: Sequence[str], documents: Sequence[str] | None = None) -> ResultPage:
    """What has a name: of a search by name the results that have all of it, or those with a part if these share one name.

    Raises:
        NotFoundError: there is none; the message has names that may be meant.
        FilterError: a document is invalid.
    """
    page = await search(Query(types, filters={"name": name}, documents=documents, limit=CANDIDATES))
    whole = _whole(page, name)
    if not whole and page.total > len(page.results):
        # the names that only have a part of it filled the page
        pages = [
            await search(Query([each], filters={"name": name}, documents=documents, limit=CANDIDATES)) for each in types
        ]
        whole = [result for each in pages for result in _whole(each, name)]
    if not whole and len({canonical_name(result.entity.name) for result in page.results}) != 1:
        refusal = await _no_entry(search, name, types, documents, [result.entity for result in page.results])
        raise NotFoundError(f"{refusal}{'' if refusal[-1] in '.?' else '.'} {page.note}" if page.note else refusal)
    return replace(page, results=whole or page.results)


def _whole(page: ResultPage, name: str) -> list[Result]:
    """The results that have all of a name, or of what it was read as: those of another name with that alias come last."""
    for wanted in map(canonical_name, filter(None, (name, page.read_as))):
        whole = [
            result
            for result in page.results
            if wanted in map(canonical_name, (result.entity.name, *aliases(result.entity)))
        ]
        if whole:
            return sorted(whole, key=lambda result: canonical_name(result.entity.name) != wanted)
    return []


async def entries_of(entities_at: EntitiesAt, uri: str) -> list[Entity]:
    """The entry of a uri, or those that have taken its place.

    Raises:
        FilterError: it is not a uri of an entry.
        NotFoundError: there is no such entry.
    """
    try:
        entity_type, document, slug = parse_uri(uri)
    except ValueError as error:
        raise FilterError(str(error)) from error
    entities = await entities_at(entity_type, document, slug)
    if not entities:
        raise NotFoundError(f"there is no {one_line(uri, MAX_SHOWN)} in the library; take an address from an answer")
    return entities


async def _no_entry(
    search: Search, wanted: str, types: Sequence[str], documents: Sequence[str] | None, entities: Sequence[Entity]
) -> str:
    """Why a name has no entry: several have a part of it, or none has; with names that have half of its words."""
    if entities:
        return (
            f"several entries have {shown(wanted)} in their names or translated names: {_listed(entities)}; "
            "give the whole name or a uri"
        )
    closed = closed_name(fold(wanted), fold(wanted).split())
    if closed:
        return f"no entry is called {shown(wanted)}; {CLOSED.format(shown(closed))}{instead_of(closed)}"
    stems = word_stems(wanted)
    page = await search(Query(types, wanted, documents=documents, limit=CANDIDATES, mode="keyword"))
    near = [result.entity for result in page.results if 2 * len(occurring(stems, result.entity.name)) >= len(stems)]
    hint = f"did you mean {_listed(near)}?" if near else "a search finds entries by meaning"
    return f"no entry is called {shown(wanted)}; {hint}"


def _listed(entities: Sequence[Entity]) -> str:
    return ", ".join(list(dict.fromkeys(one_line(entity.name) for entity in entities))[:SUGGESTED])


@dataclass(frozen=True)
class Versions:
    """The entries of one name and type, of one kind if several are.

    Attributes:
        entities: one of each edition first, in the order in which a search lists them.
        left_out: uris of further ones, and of what tells the same in other words.
        note: how the name was understood, None if it is the entries' own.
    """

    entities: list[Entity]
    left_out: list[str]
    note: str | None


async def versions(
    search: Search, name: str, types: Sequence[str], most: int, documents: Sequence[str] | None = None
) -> Versions:
    """The versions of an entry.

    Args:
        search: a library's search.
        name: as people write it.
        types: the entity types to look in.
        most: number of entries to give.
        documents: keys of the only documents to look in; None for all.

    Raises:
        NotFoundError: there is no entry of that name, or only one; the message says what to give instead.
    """
    page = await called(search, name, types, documents)
    first = page.results[0].entity
    named = [result for result in page.results if result.entity.type == first.type]
    books = {result.entity.document for result in named}
    # the same rule in our words is no version of it
    retold = {COMPLETED_BY[book] for book in books if book in COMPLETED_BY}
    printed = [result for result in named if result.entity.document not in retold]
    of_type = printed if len(printed) > 1 else named
    of_kind = [result for result in of_type if result.entity.kind == first.kind]
    # one book has as gear what another has as a magic item
    alike = of_kind if len(of_kind) > 1 else of_type
    if len(alike) < 2:
        page = await search(Query([first.type], filters={"name": first.name}, documents=documents, limit=CANDIDATES))
        others = [each.entity.uri for each in page.results if each.entity.document not in books][:most]
        like = f" Other books have {' and '.join(others)}." if others else ""
        raise NotFoundError(
            f"only one entry is called {first.name}: {first.uri}; give addresses of what to compare it with.{like}"
        )
    ordered = [result.entity for result in _editions_first(alike)]
    ordered += [result.entity for result in named if result not in of_type]
    number = min(most, len(alike))
    return Versions(ordered[:number], [entity.uri for entity in ordered[number:]], page.note)


def _editions_first(results: Sequence[Result]) -> list[Result]:
    """One result of each edition, then the others; both in order."""
    firsts = {result.edition: result for result in reversed(results)}
    return sorted(results, key=lambda result: result is not firsts[result.edition])
