"""Why a page has no results where its filters do not explain it: nothing of the type is there, or the page is beyond the end."""

from __future__ import annotations

from collections.abc import Sequence

from lorekeeper.entities import COLLECTIONS
from lorekeeper.printable import MAX_SHOWN, one_line
from lorekeeper.search.corpora import NOTES
from lorekeeper.search.documents import DocumentRegistry
from lorekeeper.search.query import Query
from lorekeeper.search.results import ResultPage

BRING_NOTES = "'lorekeeper vault add FOLDER' adds a folder of notes"

BRING_BOOKS = "'lorekeeper sync open5e' and 'lorekeeper import PATH' add books"

BRING_CHARACTERS = (
    "'lorekeeper import FILE' adds those of Foundry VTT or D&D Beyond; a note with 'kind: pc' and a class is one too"
)

NONE_AT_ALL = "The library has no "
"""How a note begins that denies all entries of a type: it is not known while notes are still being read."""

BRINGS = {NOTES: BRING_NOTES, "characters": BRING_CHARACTERS}
"""What brings entries of the types that no book has."""


async def why_nothing(documents: DocumentRegistry, query: Query, page: ResultPage) -> str | None:
    """What to say of a page without results; None if it has some, or if its entries are there but none is meant.

    Args:
        documents: those of the library, as the viewer sees them.
        query: the search.
        page: its page.
    """
    if page.results:
        return None
    if page.total and query.offset >= page.total:
        return f"offset={query.offset} is beyond the end: {page.total:,} found in all, so offset goes up to {page.total - 1}."
    if query.documents is not None and not query.documents:
        return "documents is an empty list, so nothing was searched; leave it out to search all."
    if await documents.count(await documents.scopes(query.types, query.documents)):
        return None
    if not await documents.count(await documents.scopes(list(COLLECTIONS), None)):
        return None  # the first search of a library without any entry loads the starter compendium, and says so
    labels = _listed([f"{COLLECTIONS[name].label}s" for name in query.types])
    if query.documents and await documents.count(await documents.scopes(query.types, None)):
        keys = _listed([repr(one_line(key, MAX_SHOWN)) for key in query.documents])
        return f"The library has {labels}, but not in {keys}; list_documents counts what each document has."
    return f"{NONE_AT_ALL}{labels} to search: {what_brings(query.types)}."


def what_brings(types: Sequence[str]) -> str:
    """The commands that bring entries of some types."""
    books = [BRING_BOOKS] if any(name not in BRINGS for name in types) else []
    return "; ".join([*books, *(BRINGS[name] for name in types if name in BRINGS)])


def _listed(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
