"""The documents of a library, and their editions: which of them a query searches, which edition its text names, and what of that
its results say."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lorekeeper.cache.protocol import SearchCache
from lorekeeper.editions import (
    DOCUMENTS,
    LABELS,
    Book,
    edition_label,
    edition_of,
    in_order,
    parse_edition,
    parts_of,
    with_twins,
)
from lorekeeper.entities import COLLECTIONS, Entity
from lorekeeper.errors import CacheError, UnknownDocumentError
from lorekeeper.filters import unknown_name
from lorekeeper.folding import fold
from lorekeeper.order import BOOK, EDITION, NEWEST
from lorekeeper.printable import shown
from lorekeeper.search.fusion import NOTES, FusedHit
from lorekeeper.search.intent import ways
from lorekeeper.search.query import Query
from lorekeeper.search.results import Key, Result, ResultPage

logger = logging.getLogger(__name__)

MAX_AGE_SECONDS = 10.0
"""How long the list of documents is used before it is read again."""

Scopes = dict[str, list[str] | None]
"""Keys of the documents to search, by entity type; None for all."""


@dataclass
class _Snapshot:
    """A snapshot of the documents.

    Attributes:
        taken_at: when, on the monotonic clock.
        titles: by key, of documents that have a record.
        books: by key, of documents that have a record.
        counts: number of entries by entity type and document; a type is counted when it is first needed.
    """

    taken_at: float
    titles: dict[str, str]
    books: dict[str, Book]
    counts: dict[str, dict[str, int]] = field(default_factory=dict)


class DocumentRegistry:
    """Looks documents up in a cache, and keeps a snapshot of them for `MAX_AGE_SECONDS`."""

    def __init__(self, cache: SearchCache, edition: Sequence[str] = ()) -> None:
        self._cache = cache
        self.edition = tuple(edition)
        """The editions and documents that come first, in order, unless a query says otherwise."""
        self._current: _Snapshot | None = None

    def forget(self) -> None:
        """Drop the snapshot; call it after writing."""
        self._current = None

    async def titles(self) -> dict[str, str]:
        """Titles of the documents by key."""
        return (await self._snapshot()).titles

    async def titled(self) -> dict[str, str]:
        """Titles of all documents by key, also of those that have entries but no record: these are titled by their keys."""
        counts = (await self._snapshot(list(COLLECTIONS))).counts
        keys = sorted({key for by_document in counts.values() for key in by_document})
        return {**{key: key for key in keys}, **await self.titles()}

    async def behind(self, name: str) -> tuple[str, list[str]] | None:
        """A name without the key or title behind it, and the keys of the documents that are called so; None without one."""
        parted = list(parted_names(name))
        titles = await self.titled() if parted else {}
        for text, book in parted:
            keys = [key for key, title in titles.items() if fold(book) in (fold(key), fold(title))]
            if keys:
                return text, keys
        return None

    async def edition_of(self, key: str) -> str:
        """The code of a document's edition, "" if it is unknown."""
        book = (await self._snapshot()).books.get(key)
        return book.edition if book else edition_of(key, None)

    async def order(self, edition: Sequence[str] | None = None) -> list[str]:
        """Keys of documents in the order in which they are preferred (`editions.in_order`); others come after them.

        Args:
            edition: what comes first instead of the library's own edition, as `editions.parse_edition` gives it.
        """
        wanted = self.edition if edition is None else edition
        without_record = {key: Book(key, edition_of(key, None)) for key in [*wanted, *DOCUMENTS]}
        books = without_record | (await self._snapshot()).books
        return in_order(books.values(), wanted)

    async def require_edition(self, edition: Sequence[str]) -> None:
        """UnknownDocumentError if one of these is neither an edition nor a document of the library."""
        await self._check([name for name in edition if name not in LABELS], [*LABELS], "edition or document")

    async def editions(self, types: Sequence[str]) -> dict[str, Counter[str]]:
        """Number of entries of these types by edition and document; documents of unknown edition are under ""."""
        counts = (await self._snapshot(types)).counts
        editions: dict[str, Counter[str]] = {}
        for key, number in (item for entity_type in types for item in counts[entity_type].items()):
            editions.setdefault(await self.edition_of(key), Counter())[key] += number
        return editions

    async def newest_first(self) -> list[str]:
        """Keys of the documents that have a record, the latest publication first."""
        books = (await self._snapshot()).books
        return sorted(sorted(books), key=lambda key: books[key].published, reverse=True)

    async def arranged(self) -> dict[str, list[str]]:
        """Keys of the documents as the orders of `order.BY_DOCUMENT` put them: by date, by title, by edition and title."""
        titles = await self.titled()
        by_title = sorted(titles, key=lambda key: (fold(titles[key]), key))
        editions = {key: edition_label(await self.edition_of(key)) for key in by_title}
        by_edition = sorted(by_title, key=lambda key: (not editions[key], editions[key]))
        return {NEWEST: await self.newest_first(), BOOK: by_title, EDITION: by_edition}

    async def scopes(self, types: Sequence[str], documents: Sequence[str] | None) -> Scopes:
        """The documents to search: those given with their twins, else all.

        The parts of one book (`editions.TWINS`) are searched together, whichever of them is given, and with a book what completes
        it (`editions.COMPLETED_BY`).

        Raises:
            UnknownDocumentError: there is no such document.
            CacheError: a type cannot be read.
        """
        if documents is not None:
            await self._check(documents)
        return {entity_type: with_twins(documents) if documents is not None else None for entity_type in types}

    async def count(self, scopes: Scopes) -> int:
        """Number of entries within scopes, at most `MAX_AGE_SECONDS` old if another process writes."""
        counts = (await self._snapshot(list(scopes))).counts
        return sum(
            number
            for entity_type, documents in scopes.items()
            for key, number in counts[entity_type].items()
            if documents is None or key in documents
        )

    async def _check(self, documents: Sequence[str], others: Sequence[str] = (), what: str = "document") -> None:
        """UnknownDocumentError for a document without record and entries; an empty library accepts all."""
        if (await self.titles()).keys() >= set(documents):
            return
        self.forget()
        counts = await self._cache.documents()
        keys = counts.keys() | (await self.titles()).keys()
        unknown = [key for key in documents if keys.isdisjoint(parts_of(key))]
        if unknown and keys:
            message = unknown_name(unknown[0], [*others, *sorted(keys)], what)
            titles = await self.titles()
            key = next((key for key in sorted(titles) if fold(titles[key]) == fold(unknown[0])), None)
            raise UnknownDocumentError(f"{message}. {shown(unknown[0])} is the title of {key}" if key else message)

    async def _snapshot(self, types: Sequence[str] = ()) -> _Snapshot:
        """The current snapshot, or a new one, with the counts of these types."""
        snapshot = self._current
        if snapshot is None or time.monotonic() - snapshot.taken_at > MAX_AGE_SECONDS:
            snapshot = self._current = await self._taken()
        for entity_type in types:
            if entity_type not in snapshot.counts:
                counts = await self._cache.documents([entity_type])
                snapshot.counts[entity_type] = {key: by_type[entity_type] for key, by_type in counts.items()}
        return snapshot

    async def _taken(self) -> _Snapshot:
        try:
            records = await self._cache.get_entities("documents")
        except CacheError as error:
            logger.warning("the titles of documents are not available: %s", error)
            records = []
        return _Snapshot(
            taken_at=time.monotonic(),
            titles={record.document: str(record.data.get("display_name") or record.name) for record in records},
            books={record.document: _book(record) for record in records},
        )


def _book(record: Entity) -> Book:
    system = record.fields.get("game_system")
    return Book(
        key=record.document,
        edition=edition_of(record.document, str(system) if system else None),
        published=str(record.data.get("publication_date") or ""),
    )


LEADING = 3
"""How many of the first results are looked at."""


async def editions_first(
    documents: DocumentRegistry,
    wanted: Sequence[str],
    hits: Sequence[FusedHit[Key]],
    compared: Sequence[str],
    names: Mapping[Key, str],
) -> list[FusedHit[Key]]:
    """Hits with those of the wanted editions and documents first, among the sure ones and among the others; each keeps its score.

    What shares a place is headed by what is wanted, too. Notes are of no edition: they are what the reader's own game adds to all,
    and stay where they are among the first.

    Args:
        documents: of the library.
        wanted: editions and documents.
        hits: a ranking.
        compared: editions of each of which what a sure hit means has a place of its own.
        names: folded, of the hits, where nothing sure is of the wanted ones, what they have by a longer name is.
    """
    keys = {
        key: await documents.edition_of(key)
        for key in dict.fromkeys(k[1][0] for h in hits for k in (h.key, *h.duplicates))
    }
    wanted, found = with_twins(wanted), list[FusedHit[Key]]()

    def place(key: Key) -> int:
        names = (key[1][0], keys[key[1][0]])
        return 0 if key[0] == NOTES else next((n for n, name in enumerate(wanted) if name in names), len(wanted))

    for hit in hits:
        own = sorted((hit.key, *hit.duplicates), key=place)
        firsts = {keys[key[1][0]]: key for key in reversed(own)}
        heads = dict.fromkeys((own[0], *(firsts[each] for each in compared if hit.sure and each in firsts)))
        found += [hit._replace(key=head, duplicates=tuple(key for key in own if key != head)) for head in heads]
    sure = [hit.key for hit in found if hit.sure and hit.key[0] != NOTES]
    if all(place(key) == len(wanted) for key in sure):
        words = {key: {*name.split()} for key, name in names.items() if place(key) < len(wanted) or key in sure}
        longer = {k for k in words for s in sure if k[0] == s[0] and s in words and words[s] < words[k]}
        found = [hit._replace(sure=hit.sure or hit.key in longer) for hit in found]
    return sorted(found, key=lambda hit: (not hit.sure, place(hit.key)))


async def with_editions(
    documents: DocumentRegistry, wanted: Sequence[str], page: ResultPage, *, asked: bool
) -> tuple[ResultPage, list[str]]:
    """A page whose results say their editions, and a note if none is of the wanted one, or the books have none of it.

    Args:
        documents: of the library.
        wanted: editions and documents that come first.
        page: the page.
        asked: whether the search asks for them, beside what the reader has set for good.
    """
    results = [replace(r, edition=await documents.edition_of(r.entity.document)) for r in page.results]
    edition = next((name for name in wanted if name in LABELS), None)
    lack = await _lack(documents, edition, results[:LEADING]) if edition else None
    none = _none_of(wanted, results, page.total) if asked and edition else None
    return replace(page, results=results), [note for note in (lack or none,) if note]


def _none_of(wanted: Sequence[str], results: Sequence[Result], total: int) -> str | None:
    """That none of some results is of an edition that was asked for; None if one is: each says of which it is."""
    editions = [name for name in wanted if name in LABELS]
    books = [result for result in results if result.entity.type != NOTES]
    having = [each.sure for each in books if each.edition in editions or each.entity.document in wanted]
    labels = " or ".join(map(edition_label, editions))
    if not books or any(having) or (having and not books[0].sure):
        return None
    if having:
        return f"Nothing that is sure is from the {labels} edition."
    if total > len(results):
        return (
            f"None of these {len(results)} of {total} is from the {labels} edition; documents searches its books alone."
        )
    return f"None of these is from the {labels} edition."


async def _lack(documents: DocumentRegistry, wanted: str, leading: Sequence[Result]) -> str | None:
    """What to say if one of the leading results is of another edition, and the wanted one's books have none of its type."""
    other = next((result for result in leading if result.edition not in ("", wanted)), None)
    if other is None or (await documents.editions([other.entity.type])).get(wanted):
        return None
    what, which = f"{other.entity.collection.label}s", edition_label(other.edition)
    return f"Your books have no {what} of the {edition_label(wanted)} edition; those of {which} are shown instead."


# --- the edition that a question names: "how does surprise work in 2024" -----------------------------------------------

STATED = "Your question set edition='{}'."
STATED_IN_NAME = "The name set edition='{}'."
READ_AS = "The name was read as '{}'."
BOOK_IN_NAME = "The name set documents='{}'."

COMPARED = "The question names {}: compare_entries says of an entry how they differ."


def stated_edition(query: Query) -> tuple[Query, str | None, Sequence[str]]:
    """A search in the edition that its text names at an end, without these words, a note, and the editions if it names several.

    A year may also be one of the campaign: then what happened is asked for, and a question about that keeps its words.

    Args:
        query: the search; one of notes alone, one that has an edition, or is no plain question, is left as it is.
    """
    text = query.text or ""
    named = sorted({each["edition"].casefold() for each in ways("ANYEDITION").finditer(text)})
    if len(named) > 1 and query.edition is None and (rest := " ".join(ways("ANYEDITION").sub(" ", text).split())):
        return replace(query, text=rest), COMPARED.format(" and ".join(named)), [parse_edition(n)[0] for n in named]
    found = _found(query)
    if found is None or len(named) > 1 or (ways("OFCAMPAIGN").search(text) and not found["rules"]):
        return query, None, ()
    rest = f"{text[: found.start()]}{text[found.end() :]}".strip()
    edition = parse_edition(found["edition"])
    return replace(query, text=rest, edition=edition), STATED.format(edition_label(edition[0])), ()


def readings(name: str) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """What a name may be that no entry has as it is written, and the edition that it states.

    People add the edition, at an end or in brackets, and what else they know of an entry: "Fireball 2024", "Fireball (5th level)".
    """
    outer, *added = _BRACKET.split(name, maxsplit=1)
    for text, others in ((name, ""), (outer, "".join(added))):
        stated = ways("ATEND").search(text) or ways("ATSTART").search(text)
        rest = f"{text[: stated.start()]}{text[stated.end() :]}".strip() if stated else text.strip()
        edition = stated or ways("EDITION").search(others)
        if rest != name and any(map(str.isalpha, rest)):
            yield rest, parse_edition(edition["edition"]) if edition else None


def parted_names(name: str) -> Iterator[tuple[str, str]]:
    """The ways in which a name may have its book behind it: after a comma, in brackets, after "from", as results list it."""
    for found in ways("BEHIND").finditer(name):
        text, book = name[: found.start()].strip(), name[found.end() :].rstrip(" )]")
        if any(map(str.isalpha, text)) and book:
            yield text, book


_BRACKET = re.compile(r"\s*[(\[]")


def _found(query: Query) -> re.Match[str] | None:
    """Where the text of a plain question names an edition; None if it does not, or says nothing else."""
    text = query.text or ""
    is_plain = query.mode == "auto" and not (query.also or query.phrases or query.unfinished)
    if not is_plain or query.edition is not None or set(query.types) == {NOTES}:
        return None
    found = ways("ATEND").search(text) or ways("ATSTART").search(text)
    if found is None or "://" in text or ways("OFDATE").search(text[: found.start("edition")]):
        return None
    return found if any(map(str.isalpha, text[: found.start()] + text[found.end() :])) else None
