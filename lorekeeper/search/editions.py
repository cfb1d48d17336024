"""Editions of a page of results: which one each result is of, and what the books of an edition lack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lorekeeper.editions import LABELS, edition_label
from lorekeeper.entities import COLLECTIONS
from lorekeeper.search.documents import DocumentRegistry
from lorekeeper.search.results import Result, ResultPage

COMPLETE = 0.5
"""Share of the entries of another edition from which on an edition is taken to have as good a choice of a type."""


async def with_editions(documents: DocumentRegistry, wanted: Sequence[str], page: ResultPage) -> ResultPage:
    """A page whose results say their editions; its note says if the books of the edition that comes first have too few.

    Args:
        documents: of the library.
        wanted: editions and documents that come first.
        page: the page.
    """
    results = [replace(r, edition=await documents.edition_of(r.entity.document)) for r in page.results]
    edition = next((name for name in wanted if name in LABELS), None)
    lack = await _lack(documents, edition, results[0]) if edition and results else None
    return replace(page, results=results, note=" ".join(filter(None, [page.note, lack])) or None)


async def _lack(documents: DocumentRegistry, wanted: str, first: Result) -> str | None:
    """What to say if the first result is of another edition, and the wanted one has far fewer entries of its type."""
    entity_type, found = first.entity.type, first.edition
    if not found or found == wanted:
        return None
    counts = await documents.editions([entity_type])
    own, other = counts.get(wanted, 0), counts.get(found, 0)
    if own >= COMPLETE * other:
        return None
    what, which = f"{COLLECTIONS[entity_type].label}s", edition_label(found)
    return (
        f"Your books have {own or 'no'} {what} of the {edition_label(wanted)} edition and {other} of {which}: "
        f"the first result is of {which}."
    )
