"""Editions of a page of results: which one each result is of, and what the books of an edition lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from lorekeeper.editions import LABELS, edition_label
from lorekeeper.search.documents import DocumentRegistry
from lorekeeper.search.results import Result, ResultPage

COMPLETE = 0.5
"""Share of another edition's largest book from which on a book has as good a choice of a type. Books are compared one by
one, so that an edition with many books of further creatures does not make a full set of another one look poor."""

LEADING = 3
"""How many of the first results are looked at."""


async def with_editions(documents: DocumentRegistry, wanted: Sequence[str], page: ResultPage) -> ResultPage:
    """A page whose results say their editions; its note says if the books of the edition that comes first have too few.

    Args:
        documents: of the library.
        wanted: editions and documents that come first.
        page: the page.
    """
    results = [replace(r, edition=await documents.edition_of(r.entity.document)) for r in page.results]
    edition = next((name for name in wanted if name in LABELS), None)
    lack = await _lack(documents, edition, results[:LEADING]) if edition else None
    return replace(page, results=results, note=" ".join(filter(None, [page.note, lack])) or None)


async def _lack(documents: DocumentRegistry, wanted: str, leading: Sequence[Result]) -> str | None:
    """What to say if one of the leading results is of another edition, and the wanted one's books have few of its type."""
    other = next((result for result in leading if result.edition not in ("", wanted)), None)
    if other is None:
        return None
    counts = await documents.editions([other.entity.type])
    own, others = counts.get(wanted, Counter()), counts.get(other.edition, Counter())
    if max(own.values(), default=0) >= COMPLETE * max(others.values(), default=0):
        return None
    what, which = f"{other.entity.collection.label}s", edition_label(other.edition)
    return (
        f"Your books have {own.total() or 'no'} {what} of the {edition_label(wanted)} edition and {others.total()} of "
        f"{which}, which are shown {'too' if own.total() else 'instead'}."
    )
